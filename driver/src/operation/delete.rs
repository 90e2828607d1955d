//! `delete`, of one statement.

use super::{Operation, ReplyContext, Retry, write_result};
use crate::{
    Namespace, Result,
    bson::{Bson, DocumentWriter, RawDocument, RawDocumentBuf},
    operation::write_result::DeleteResult,
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        server_selection::Criteria,
        wire::MessageWriter,
    },
    types::{collation::Collation, concern::WriteConcern, hint::Hint},
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

/// Deletes one document or all that match.
pub(crate) struct Delete<'a> {
    pub(crate) namespace: &'a Namespace,
    pub(crate) filter: &'a RawDocument,
    pub(crate) multi: bool,
    pub(crate) options: &'a DeleteOptions,
    pub(crate) write_concern: &'a WriteConcern,
}

impl Operation for Delete<'_> {
    type Output = DeleteResult;
    const NAME: &'static str = "delete";

    fn database(&self) -> &str {
        &self.namespace.database
    }

    fn target(&self) -> Criteria<'_> {
        Criteria::Writable
    }

    fn retry(&self) -> Retry {
        if self.multi { Retry::No } else { Retry::Write }
    }

    fn write_concern(&self) -> Option<&WriteConcern> {
        Some(self.write_concern)
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        super::check_hint(self.options.hint.as_deref(), self.write_concern, server)?;
        command.str("delete", &self.namespace.collection);
        command.bool("ordered", true);
        super::write_raw_data(command, self.options.raw_data, server);
        command.optional_bson("comment", self.options.comment.as_deref());
        command.optional_document("let", self.options.let_vars.as_deref());
        command.write_concern(self.write_concern);
        Ok(())
    }

    fn build_sequences(&mut self, message: &mut MessageWriter<'_>, _server: &HelloReply) -> Result<()> {
        let sequence = message.begin_sequence("deletes");
        let mut writer = DocumentWriter::new(message.buffer);
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
        message.end_sequence(sequence)?;
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<DeleteResult> {
        write_result::check_single(reply)?;
        Ok(DeleteResult {
            deleted_count: reply.n(),
        })
    }

    fn unacknowledged(&mut self) -> Result<DeleteResult> {
        Ok(DeleteResult::default())
    }
}
