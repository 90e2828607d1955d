//! One command of a collection's bulk write: `insert`, `update` or `delete` of many statements.

use std::marker::PhantomData;

use super::{Operation, ReplyContext, Retry};
use crate::{
    Error, ErrorKind, Namespace, Result,
    bson::{Bson, RawDocumentBuf, RawElements},
    error::BulkWriteError,
    operation::decode_owned,
    proto::{
        command::{CommandBuilder, Reply, document_bytes, write_concern_error, write_errors},
        description::HelloReply,
        server_selection::Criteria,
        wire::MessageWriter,
    },
    types::concern::{Acknowledgment, WriteConcern},
};

/// The server takes documents that are a little larger than those it stores.
const HEADROOM: usize = 16 << 10;

/// Which command a statement belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Insert,
    Update,
    Delete,
}

/// A statement as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) kind: Kind,
    /// The document to insert, or the element of `updates` or `deletes`.
    pub(crate) bytes: RawDocumentBuf,
    /// Of the document to insert.
    pub(crate) id: Option<Bson>,
    /// Whether it can change several documents, which no retry may repeat.
    pub(crate) multi: bool,
    /// Whether a server before 4.4 would ignore its hint where it sends no reply.
    pub(crate) needs_4_4: bool,
}

/// Options of a bulk write.
#[derive(Clone, Debug, Default)]
pub(crate) struct BulkWriteOptions {
    pub(crate) raw_data: Option<bool>,
    /// `None` means ordered.
    pub(crate) ordered: Option<bool>,
    pub(crate) bypass_document_validation: Option<bool>,
    pub(crate) comment: Option<Bson>,
    pub(crate) let_vars: Option<RawDocumentBuf>,
}

/// A command's name, and that of its sequence of statements.
pub(crate) trait Command {
    const NAME: &'static str;
    const SEQUENCE: &'static str;
    const KIND: Kind;
}

/// `insert`
pub(crate) struct Inserts;
/// `update`
pub(crate) struct Updates;
/// `delete`
pub(crate) struct Deletes;

impl Command for Inserts {
    const NAME: &'static str = "insert";
    const SEQUENCE: &'static str = "documents";
    const KIND: Kind = Kind::Insert;
}

impl Command for Updates {
    const NAME: &'static str = "update";
    const SEQUENCE: &'static str = "updates";
    const KIND: Kind = Kind::Update;
}

impl Command for Deletes {
    const NAME: &'static str = "delete";
    const SEQUENCE: &'static str = "deletes";
    const KIND: Kind = Kind::Delete;
}

/// What one command did.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// How many statements it held.
    pub(crate) sent: usize,
    /// `n`
    pub(crate) n: u64,
    /// `nModified`
    pub(crate) n_modified: u64,
    /// The `_id` of what upserts inserted, by the statement's place in the call.
    pub(crate) upserted: Vec<(usize, Bson)>,
    /// Errors, with places in the whole call.
    pub(crate) failures: Option<Box<BulkWriteError>>,
    /// The error to return when the failures end the call.
    pub(crate) error: Option<Error>,
}

/// One command's worth of statements, all of one kind.
///
/// Which statements the command holds follows from the limits of the server it is sent to. Whether it may be retried follows
/// from those statements alone, whatever the commands after it hold (Retryable Writes specification, "Supported Write
/// Operations": eligibility is evaluated for each command "after order and batch splitting" individually).
pub(crate) struct BulkWriteBatch<'a, C> {
    namespace: &'a Namespace,
    /// All statements of the call.
    statements: &'a [Statement],
    /// The places of those that are yet to be sent.
    places: &'a [usize],
    options: &'a BulkWriteOptions,
    write_concern: &'a WriteConcern,
    /// How many of the places the command holds.
    count: usize,
    /// Whether one of these statements can change several documents.
    multi: bool,
    /// Whether a command with these statements has been written. They are not changed after that.
    written: bool,
    batch: Batch,
    command: PhantomData<C>,
}

impl<'a, C> BulkWriteBatch<'a, C> {
    /// The next command for the statements at `places`.
    pub(crate) fn new(
        namespace: &'a Namespace,
        statements: &'a [Statement],
        places: &'a [usize],
        options: &'a BulkWriteOptions,
        write_concern: &'a WriteConcern,
    ) -> Self {
        let mut batch = Self {
            namespace,
            statements,
            places,
            options,
            write_concern,
            count: 0,
            multi: false,
            written: false,
            batch: Batch::default(),
            command: PhantomData,
        };
        // Servers have other limits than these only for tests. They count while no server is known.
        batch.split(&HelloReply::default());
        batch
    }

    /// Takes as many of the statements as a command to this server can hold: at least one.
    fn split(&mut self, server: &HelloReply) {
        let mut left = super::message_budget(server).saturating_sub(self.size_of_options());
        (self.count, self.multi) = (0, false);
        for place in self.places.iter().take(server.max_batch_size()) {
            let Some(statement) = self.statements.get(*place) else {
                break;
            };
            let size = statement.bytes.as_bytes().len();
            if self.count > 0 && size > left {
                break;
            }
            left = left.saturating_sub(size);
            self.count += 1;
            self.multi |= statement.multi;
        }
    }

    /// An upper bound for the bytes of those fields of the command that can be long.
    fn size_of_options(&self) -> usize {
        let comment = self.options.comment.as_ref().map_or(0, |comment| {
            let encoded = crate::bson::to_vec(&crate::bson::doc! { "comment": comment.clone() });
            // What cannot be encoded fails when the command is written.
            encoded.map_or(0, |bytes| bytes.len())
        });
        let variables = self
            .options
            .let_vars
            .as_ref()
            .map_or(0, |vars| vars.as_bytes().len());
        let concern = match &self.write_concern.w {
            Some(Acknowledgment::Custom(name)) => name.len(),
            _ => 0,
        };
        let Namespace { database, collection } = self.namespace;
        comment + variables + concern + database.len() + collection.len()
    }

    /// The statements of the command, each with its place in the call.
    fn held(&self) -> impl Iterator<Item = (usize, &Statement)> {
        self.places
            .iter()
            .take(self.count)
            .filter_map(|place| Some((*place, self.statements.get(*place)?)))
    }

    fn place(&self, index: usize) -> usize {
        self.places.get(index).copied().unwrap_or(index)
    }

    fn read_upserted(&self, reply: &Reply<'_>) -> Result<Vec<(usize, Bson)>> {
        #[derive(serde::Deserialize)]
        struct Upserted {
            index: i64,
            #[serde(rename = "_id")]
            id: Bson,
        }
        let Some(array) = reply.upserted() else {
            return Ok(Vec::new());
        };
        RawElements::new(array)?
            .map(|element| {
                let bytes = document_bytes(element?.value)
                    .ok_or_else(|| Error::invalid_reply("an entry of \"upserted\" is no document"))?;
                let upserted: Upserted = decode_owned(bytes)?;
                let index = usize::try_from(upserted.index).unwrap_or_default();
                Ok((self.place(index), upserted.id))
            })
            .collect()
    }
}

impl<C: Command> Operation for BulkWriteBatch<'_, C> {
    type Output = Batch;
    const NAME: &'static str = C::NAME;

    fn database(&self) -> &str {
        &self.namespace.database
    }

    fn target(&self) -> Criteria<'_> {
        Criteria::Writable
    }

    fn retry(&self) -> Retry {
        if self.multi { Retry::No } else { Retry::Write }
    }

    fn prepare(&mut self, server: &HelloReply) {
        if !self.written {
            self.split(server);
        }
    }

    fn write_concern(&self) -> Option<&WriteConcern> {
        Some(self.write_concern)
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        if !self.write_concern.is_acknowledged()
            && !server.is_4_4()
            && self.held().any(|(_, statement)| statement.needs_4_4)
        {
            return Err(Error::unsupported(
                "a hint on this unacknowledged write needs server 4.4",
            ));
        }
        command.str(C::NAME, &self.namespace.collection);
        command.bool("ordered", self.options.ordered.unwrap_or(true));
        if C::KIND != Kind::Delete {
            command.optional_bool(
                "bypassDocumentValidation",
                self.options.bypass_document_validation,
            );
        }
        super::write_raw_data(command, self.options.raw_data, server);
        command.optional_bson("comment", self.options.comment.as_ref());
        if C::KIND != Kind::Insert {
            command.optional_document("let", self.options.let_vars.as_deref());
        }
        command.write_concern(self.write_concern);
        Ok(())
    }

    fn build_sequences(&mut self, message: &mut MessageWriter<'_>, server: &HelloReply) -> Result<()> {
        let sequence = message.begin_sequence(C::SEQUENCE);
        let largest = server.max_document_size() + HEADROOM;
        for (place, statement) in self.held() {
            let bytes = statement.bytes.as_bytes();
            if statement.kind == Kind::Insert && bytes.len() > largest {
                return Err(Error::invalid_argument(format!(
                    "the document of model {place} has {} bytes, the server stores at most {}",
                    bytes.len(),
                    server.max_document_size()
                )));
            }
            message.buffer.extend_from_slice(bytes);
        }
        self.batch.sent = self.count;
        self.written = true;
        message.end_sequence(sequence)?;
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<Batch> {
        self.batch.n = reply.n();
        self.batch.n_modified = reply.n_modified();
        self.batch.upserted = self.read_upserted(reply)?;
        if !reply.has_write_failures() {
            return self.unacknowledged();
        }
        let mut failures = BulkWriteError {
            write_errors: write_errors(reply, 0)?,
            write_concern_error: write_concern_error(reply)?,
            ..BulkWriteError::default()
        };
        for error in &mut failures.write_errors {
            error.index = self.place(error.index);
        }
        let error = Error::new(ErrorKind::BulkWrite(Box::new(failures))).with_address(context.address);
        Err(reply.decorate(error))
    }

    /// Failures of single statements are an error while a retry is decided about; then they belong to the whole call.
    fn recover(&mut self, error: Error) -> Result<Batch> {
        match error.kind() {
            ErrorKind::BulkWrite(failures) => {
                let mut batch = std::mem::take(&mut self.batch);
                batch.failures = Some(failures.clone());
                batch.error = Some(error);
                Ok(batch)
            }
            _ => Err(error),
        }
    }

    fn unacknowledged(&mut self) -> Result<Batch> {
        Ok(std::mem::take(&mut self.batch))
    }
}

#[cfg(test)]
mod tests;
