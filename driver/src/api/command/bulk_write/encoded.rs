//! The statements of a bulk write on a collection. They are encoded before they are sent.

use std::marker::PhantomData;

use super::super::shown::debug_without_values;
use super::BulkWriteOptions;
use crate::{
    Result,
    api::command::wire::WriteOptions,
    bson::{Bson, RawDocumentBuf},
    operation::{
        OperationOverrides,
        write_command::{Statements, WriteKind},
    },
    proto::{command::CommandBuilder, description::HelloReply},
    types::server_requirement::ServerRequirement,
};

/// An encoded statement.
#[derive(Clone)]
pub(super) struct EncodedStatement {
    pub(super) kind: WriteKind,
    /// The document to insert, or the element of `updates` or `deletes`.
    pub(super) bytes: RawDocumentBuf,
    /// The `_id` of the document, for an insert.
    pub(super) id: Option<Bson>,
    /// Whether the statement can write several documents.
    pub(super) multi: bool,
    /// Whether the statement has a hint that servers before 4.4 do not support.
    pub(super) needs_4_4: bool,
}

debug_without_values! { [] EncodedStatement, "EncodedStatement", |it| kind: it.kind, bytes: it.bytes.as_bytes().len() }

/// A [`WriteKind`] as a type parameter.
pub(super) trait Kind {
    const KIND: WriteKind;
}

#[derive(Debug)]
pub(super) struct Inserts;
#[derive(Debug)]
pub(super) struct Updates;
#[derive(Debug)]
pub(super) struct Deletes;

impl Kind for Inserts {
    const KIND: WriteKind = WriteKind::Insert;
}

impl Kind for Updates {
    const KIND: WriteKind = WriteKind::Update;
}

impl Kind for Deletes {
    const KIND: WriteKind = WriteKind::Delete;
}

/// The statements of one kind. In an unordered bulk write they may be separated by others.
#[derive(Debug)]
pub(super) struct EncodedStatements<'a, K> {
    /// All statements of the call.
    all: &'a [EncodedStatement],
    /// The positions of the statements of this kind that have not been sent.
    positions: &'a [usize],
    options: &'a BulkWriteOptions,
    kind: PhantomData<K>,
}

impl<'a, K: Kind> EncodedStatements<'a, K> {
    pub(super) fn new(
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

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    fn requirement(&self) -> Option<&ServerRequirement> {
        self.options.requirement()
    }

    fn write_options(&self, command: &mut CommandBuilder<'_>, server: &HelloReply) {
        command.bool("ordered", self.options.ordered.unwrap_or(true));
        if K::KIND != WriteKind::Delete {
            command.optional_bool(
                "bypassDocumentValidation",
                self.options.bypass_document_validation,
            );
        }
        self.options.write(command, server);
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
