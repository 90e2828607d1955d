//! `insert`.

use serde::Serialize;

use super::{Operation, ReplyContext, Retry};
use crate::{
    Error, ErrorKind, Namespace, Result,
    bson::{self, Bson, ElementType, ObjectId, find_element},
    error::BulkWriteError,
    proto::{
        command::{CommandBuilder, Reply, write_concern_error, write_errors},
        description::HelloReply,
        server_selection::Criteria,
        wire::MessageWriter,
    },
    types::concern::WriteConcern,
};

/// Options of an insert.
#[derive(Clone, Debug, Default)]
pub(crate) struct InsertOptions {
    pub(crate) raw_data: Option<bool>,
    /// `None` means ordered.
    pub(crate) ordered: Option<bool>,
    pub(crate) bypass_document_validation: Option<bool>,
    /// Boxed, since it is large and rare.
    pub(crate) comment: Option<Box<Bson>>,
}

/// One command's worth of documents, taken from `documents` starting at `offset`.
pub(crate) struct Insert<'a, T> {
    pub(crate) namespace: &'a Namespace,
    pub(crate) documents: &'a [T],
    pub(crate) offset: usize,
    /// The call takes one document, so an error names its fields without the document's place.
    pub(crate) is_single: bool,
    pub(crate) options: &'a InsertOptions,
    pub(crate) write_concern: &'a WriteConcern,
    /// The ids of the documents sent by this command, each with the document's place in the whole call, filled while it
    /// is built. Kept for a retry, which must send the same ids again.
    pub(crate) ids: Vec<(usize, Bson)>,
}

/// What one insert command did.
#[derive(Debug)]
pub(crate) struct InsertBatch {
    /// How many documents the command held.
    pub(crate) sent: usize,
    /// Errors of this command, with places in the whole call.
    pub(crate) failures: Option<Box<BulkWriteError>>,
    /// The error to return when the failures end the call.
    pub(crate) error: Option<Error>,
}

/// A document over the server's limit is refused here, with its place, before anything of the batch is sent.
const HEADROOM: usize = 16 << 10;

/// The smallest document.
const MIN_DOCUMENT: usize = 5;

impl<T: Serialize> Insert<'_, T> {
    fn append_document(&mut self, index: usize, document: &T, message: &mut MessageWriter<'_>) -> Result<()> {
        let start = message.buffer.len();
        bson::append(document, message.buffer).map_err(|error| {
            if self.is_single {
                error
            } else {
                error.at_index(self.offset + index).in_field("documents")
            }
        })?;
        let id = match leading_object_id(message.buffer.get(start..).unwrap_or_default()) {
            Some(id) => Bson::ObjectId(id),
            None => self.find_or_make_id(index, start, message)?,
        };
        match self.ids.get_mut(index) {
            Some((_, place)) => *place = id,
            None => self.ids.push((self.offset + index, id)),
        }
        Ok(())
    }

    /// The `_id` of the document that begins at `start`, wherever and of whatever type it is; a document without gets one.
    fn find_or_make_id(&self, index: usize, start: usize, message: &mut MessageWriter<'_>) -> Result<Bson> {
        if let Some(element) = find_element(message.buffer.get(start..).unwrap_or_default(), "_id")? {
            return Ok(element.value.to_bson()?);
        }
        let id = match self.ids.get(index) {
            Some((_, Bson::ObjectId(id))) => *id,
            _ => ObjectId::new(),
        };
        prepend_id(message.buffer, start, id)?;
        Ok(Bson::ObjectId(id))
    }

    /// Makes room for `count` documents like the first, of `size` bytes, as far as one message of `limit` bytes holds them.
    fn reserve(&mut self, count: usize, size: usize, limit: usize, message: &mut MessageWriter<'_>) {
        let fitting = limit.saturating_sub(message.size()) / size.max(MIN_DOCUMENT);
        let count = count.min(fitting);
        message.buffer.reserve(count * size);
        self.ids.reserve(count);
    }
}

/// The `_id` as nearly all documents have it: the first element, an ObjectId. It is found by one look.
#[inline]
fn leading_object_id(document: &[u8]) -> Option<ObjectId> {
    const TYPE: u8 = ElementType::ObjectId as u8;
    match document {
        [_, _, _, _, TYPE, b'_', b'i', b'd', 0, rest @ ..] => {
            rest.first_chunk().map(|bytes| ObjectId::from_bytes(*bytes))
        }
        _ => None,
    }
}

/// Makes `_id` the first field of the document that begins at `start`.
pub(crate) fn prepend_id(buffer: &mut Vec<u8>, start: usize, id: ObjectId) -> Result<()> {
    let mut element = [0; 17];
    element[0] = 0x07;
    element[1..4].copy_from_slice(b"_id");
    element[5..].copy_from_slice(&id.bytes());
    buffer.splice(start + 4..start + 4, element);
    let length = i32::try_from(buffer.len() - start)
        .map_err(|_| Error::invalid_argument("a document is larger than 2 GiB"))?;
    if let Some(place) = buffer.get_mut(start..start + 4) {
        place.copy_from_slice(&length.to_le_bytes());
    }
    Ok(())
}

impl<T: Serialize> Operation for Insert<'_, T> {
    type Output = InsertBatch;
    const NAME: &'static str = "insert";

    fn database(&self) -> &str {
        &self.namespace.database
    }

    fn target(&self) -> Criteria<'_> {
        Criteria::Writable
    }

    fn retry(&self) -> Retry {
        Retry::Write
    }

    fn write_concern(&self) -> Option<&WriteConcern> {
        Some(self.write_concern)
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        command.str("insert", &self.namespace.collection);
        command.bool("ordered", self.options.ordered.unwrap_or(true));
        command.optional_bool(
            "bypassDocumentValidation",
            self.options.bypass_document_validation,
        );
        super::write_raw_data(command, self.options.raw_data, server);
        command.optional_bson("comment", self.options.comment.as_deref());
        command.write_concern(self.write_concern);
        Ok(())
    }

    fn build_sequences(&mut self, message: &mut MessageWriter<'_>, server: &HelloReply) -> Result<()> {
        let sequence = message.begin_sequence("documents");
        let limit = super::message_budget(server);
        let largest = server.max_document_size() + HEADROOM;
        let documents = self.documents.get(self.offset..).unwrap_or_default();
        // A retry holds the documents of the first try, all of them: the server repeats its answer to those it has stored.
        let is_retry = !self.ids.is_empty();
        let most = if is_retry {
            self.ids.len()
        } else {
            server.max_batch_size()
        };
        for (index, document) in documents.iter().take(most).enumerate() {
            let before = message.buffer.len();
            self.append_document(index, document, message)?;
            let size = message.buffer.len() - before;
            if size > largest {
                return Err(Error::invalid_argument(format!(
                    "document {} of the insert has {size} bytes, the server stores at most {}",
                    self.offset + index,
                    server.max_document_size()
                )));
            }
            if index == 0 {
                self.reserve(documents.len().min(most) - 1, size, limit, message);
            } else if !is_retry && message.size() > limit {
                message.buffer.truncate(before);
                self.ids.truncate(index);
                break;
            }
        }
        message.end_sequence(sequence)?;
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<InsertBatch> {
        if !reply.has_write_failures() {
            return self.unacknowledged();
        }
        let failures = BulkWriteError {
            write_errors: write_errors(reply, self.offset)?,
            write_concern_error: write_concern_error(reply)?,
            ..BulkWriteError::default()
        };
        let error = Error::new(ErrorKind::BulkWrite(Box::new(failures))).with_address(context.address);
        Err(reply.decorate(error))
    }

    /// Failures of single statements are an error while a retry is decided about; then they belong to the whole call.
    fn recover(&mut self, error: Error) -> Result<InsertBatch> {
        match error.kind() {
            ErrorKind::BulkWrite(failures) => Ok(InsertBatch {
                sent: self.ids.len(),
                failures: Some(failures.clone()),
                error: Some(error),
            }),
            _ => Err(error),
        }
    }

    fn unacknowledged(&mut self) -> Result<InsertBatch> {
        Ok(InsertBatch {
            sent: self.ids.len(),
            failures: None,
            error: None,
        })
    }
}
