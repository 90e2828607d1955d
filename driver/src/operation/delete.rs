//! The statements of `delete`.

use super::write_command::{Statements, WriteKind};
use crate::{
    Result,
    bson::{Bson, DocumentWriter, RawDocument, RawDocumentBuf},
    proto::{command::CommandBuilder, description::HelloReply},
    types::{collation::Collation, hint::Hint},
};

/// Options of a delete.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) raw_data: Option<bool>,
    pub(crate) hint: Option<Box<Hint>>,
    pub(crate) collation: Option<Box<Collation>>,
    pub(crate) let_vars: Option<RawDocumentBuf>,
    pub(crate) comment: Option<Box<Bson>>,
}

/// An element of `deletes`. A call that takes one statement sends it as it is; a bulk write encodes it first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeleteStatement<'a> {
    pub(crate) filter: &'a RawDocument,
    /// Whether it applies to all documents that match.
    pub(crate) multi: bool,
    pub(crate) options: &'a DeleteOptions,
}

impl DeleteStatement<'_> {
    /// Appends the statement to a buffer.
    pub(crate) fn encode(&self, buffer: &mut Vec<u8>) -> Result<()> {
        let mut writer = DocumentWriter::new(buffer);
        let statement = writer.begin();
        writer.document("q", self.filter);
        writer.i32("limit", i32::from(!self.multi));
        if let Some(hint) = self.options.hint.as_deref() {
            writer.bson("hint", &hint.to_bson());
        }
        if let Some(collation) = self.options.collation.as_deref() {
            writer.serialize("collation", collation);
        }
        writer.end(statement);
        writer.finish()?;
        Ok(())
    }
}

/// A call of one statement.
impl Statements for DeleteStatement<'_> {
    const KIND: WriteKind = WriteKind::Delete;

    fn remaining(&self) -> usize {
        1
    }

    fn position(&self, index: usize) -> usize {
        index
    }

    fn is_multi(&self, _index: usize) -> bool {
        self.multi
    }

    fn needs_4_4(&self, _index: usize) -> bool {
        self.options.hint.is_some()
    }

    fn write_options(&self, command: &mut CommandBuilder<'_>, server: &HelloReply) {
        command.bool("ordered", true);
        super::write_raw_data(command, self.options.raw_data, server);
        command.optional_bson("comment", self.options.comment.as_deref());
        command.optional_document("let", self.options.let_vars.as_deref());
    }

    fn append(&mut self, _index: usize, buffer: &mut Vec<u8>) -> Result<()> {
        self.encode(buffer)
    }

    fn advance(&mut self, _count: usize) -> Vec<(usize, Bson)> {
        Vec::new()
    }
}
