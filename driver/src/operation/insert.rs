//! The statements of `insert`: documents.

use serde::Serialize;

use super::write_command::{Statements, WriteKind};
use crate::{
    Error, Result,
    bson::{self, Bson, ElementType, ObjectId, find_element},
    proto::{command::CommandBuilder, description::HelloReply},
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

/// The documents of a call. They are encoded into the connection's buffer, without a copy of their own.
#[derive(Debug)]
pub(crate) struct Documents<'a, T> {
    documents: &'a [T],
    /// How many of them have been sent.
    offset: usize,
    /// The call takes one document, so the path of an encoding error does not name its position.
    is_single: bool,
    options: &'a InsertOptions,
    /// The `_id` and the position of each document of the next command, set when it is first appended. A retry sends the same.
    ids: Vec<(usize, Bson)>,
}

impl<'a, T: Serialize> Documents<'a, T> {
    /// The document of a call that takes one.
    pub(crate) fn single(document: &'a T, options: &'a InsertOptions) -> Self {
        Self {
            documents: std::slice::from_ref(document),
            offset: 0,
            is_single: true,
            options,
            ids: Vec::with_capacity(1),
        }
    }

    pub(crate) fn new(documents: &'a [T], options: &'a InsertOptions) -> Self {
        Self {
            documents,
            offset: 0,
            is_single: false,
            options,
            ids: Vec::new(),
        }
    }

    /// The `_id` of the document that begins at `start`. A document without `_id` gets a new one as its first field.
    fn find_or_add_id(&self, index: usize, start: usize, buffer: &mut Vec<u8>) -> Result<Bson> {
        if let Some(element) = find_element(buffer.get(start..).unwrap_or_default(), "_id")? {
            return Ok(element.value.to_bson()?);
        }
        let id = match self.ids.get(index) {
            Some((_, Bson::ObjectId(id))) => *id,
            _ => ObjectId::new(),
        };
        prepend_id(buffer, start, id)?;
        Ok(Bson::ObjectId(id))
    }
}

impl<T: Serialize> Statements for Documents<'_, T> {
    const KIND: WriteKind = WriteKind::Insert;

    fn remaining(&self) -> usize {
        self.documents.len() - self.offset
    }

    fn position(&self, index: usize) -> usize {
        self.offset + index
    }

    fn write_options(&self, command: &mut CommandBuilder<'_>, server: &HelloReply) {
        command.bool("ordered", self.options.ordered.unwrap_or(true));
        command.optional_bool(
            "bypassDocumentValidation",
            self.options.bypass_document_validation,
        );
        super::write_raw_data(command, self.options.raw_data, server);
        command.optional_bson("comment", self.options.comment.as_deref());
    }

    fn append(&mut self, index: usize, buffer: &mut Vec<u8>) -> Result<()> {
        let position = self.position(index);
        let Some(document) = self.documents.get(position) else {
            return Ok(());
        };
        let start = buffer.len();
        bson::append(document, buffer).map_err(|error| {
            if self.is_single {
                error
            } else {
                error.at_index(position).in_field("documents")
            }
        })?;
        let id = match leading_object_id(buffer.get(start..).unwrap_or_default()) {
            Some(id) => Bson::ObjectId(id),
            None => self.find_or_add_id(index, start, buffer)?,
        };
        match self.ids.get_mut(index) {
            Some((_, known)) => *known = id,
            None => self.ids.push((position, id)),
        }
        Ok(())
    }

    fn reserve(&mut self, count: usize) {
        self.ids.reserve(count);
    }

    fn truncate(&mut self, count: usize) {
        self.ids.truncate(count);
    }

    fn advance(&mut self, count: usize) -> Vec<(usize, Bson)> {
        self.offset += count;
        std::mem::take(&mut self.ids)
    }
}

/// The `_id` of a document whose first element is an `_id` of type ObjectId, as in nearly all documents. Other documents are
/// searched.
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
