//! The statements of a collection's bulk write, encoded before they are sent.

use std::marker::PhantomData;

use super::write_command::{Statements, WriteKind};
use crate::{
    Result,
    bson::{Bson, RawDocumentBuf},
    proto::{command::CommandBuilder, description::HelloReply},
};

/// A statement as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct EncodedStatement {
    pub(crate) kind: WriteKind,
    /// The document to insert, or the element of `updates` or `deletes`.
    pub(crate) bytes: RawDocumentBuf,
    /// The `_id` of the document to insert.
    pub(crate) id: Option<Bson>,
    /// Whether it can write several documents.
    pub(crate) multi: bool,
    /// Whether it has an option that servers before 4.4 ignore in unacknowledged writes.
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

/// A [`WriteKind`] as a type.
pub(crate) trait Kind {
    const KIND: WriteKind;
}

#[derive(Debug)]
pub(crate) struct Inserts;
#[derive(Debug)]
pub(crate) struct Updates;
#[derive(Debug)]
pub(crate) struct Deletes;

impl Kind for Inserts {
    const KIND: WriteKind = WriteKind::Insert;
}

impl Kind for Updates {
    const KIND: WriteKind = WriteKind::Update;
}

impl Kind for Deletes {
    const KIND: WriteKind = WriteKind::Delete;
}

/// Statements of one kind. They need not be neighbours in the call.
#[derive(Debug)]
pub(crate) struct EncodedStatements<'a, K> {
    /// All statements of the call.
    all: &'a [EncodedStatement],
    /// The positions of those of this kind that have not been sent.
    positions: &'a [usize],
    options: &'a BulkWriteOptions,
    kind: PhantomData<K>,
}

impl<'a, K: Kind> EncodedStatements<'a, K> {
    pub(crate) fn new(
        all: &'a [EncodedStatement],
        positions: &'a [usize],
        options: &'a BulkWriteOptions,
    ) -> Self {
        Self {
            all,
            positions,
            options,
            kind: PhantomData,
        }
    }

    fn get(&self, index: usize) -> Option<&'a EncodedStatement> {
        self.all.get(*self.positions.get(index)?)
    }
}

impl<K: Kind> Statements for EncodedStatements<'_, K> {
    const KIND: WriteKind = K::KIND;

    fn remaining(&self) -> usize {
        self.positions.len()
    }

    fn position(&self, index: usize) -> usize {
        self.positions.get(index).copied().unwrap_or(index)
    }

    fn encoded_size(&self, index: usize) -> Option<usize> {
        Some(self.get(index)?.bytes.as_bytes().len())
    }

    fn is_multi(&self, index: usize) -> bool {
        self.get(index).is_some_and(|statement| statement.multi)
    }

    fn needs_4_4(&self, index: usize) -> bool {
        self.get(index).is_some_and(|statement| statement.needs_4_4)
    }

    fn write_options(&self, command: &mut CommandBuilder<'_>, server: &HelloReply) {
        command.bool("ordered", self.options.ordered.unwrap_or(true));
        if K::KIND != WriteKind::Delete {
            command.optional_bool(
                "bypassDocumentValidation",
                self.options.bypass_document_validation,
            );
        }
        super::write_raw_data(command, self.options.raw_data, server);
        command.optional_bson("comment", self.options.comment.as_ref());
        if K::KIND != WriteKind::Insert {
            command.optional_document("let", self.options.let_vars.as_deref());
        }
    }

    fn append(&mut self, index: usize, buffer: &mut Vec<u8>) -> Result<()> {
        if let Some(statement) = self.get(index) {
            buffer.extend_from_slice(statement.bytes.as_bytes());
        }
        Ok(())
    }

    fn advance(&mut self, count: usize) -> Vec<(usize, Bson)> {
        let (sent, rest) = self.positions.split_at(count.min(self.positions.len()));
        self.positions = rest;
        let id = |position: &usize| Some((*position, self.all.get(*position)?.id.clone()?));
        sent.iter().filter_map(id).collect()
    }
}
