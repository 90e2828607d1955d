//! `aggregate`.

use std::time::Duration;

use super::{Operation, ReplyContext, Retry, cursor, find::ReadScope, write_result};
use crate::{
    Result,
    bson::{Bson, RawDocumentBuf},
    operation::cursor::CursorReply,
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        server_selection::Criteria,
        wire::ReplyBuffer,
    },
    types::{collation::Collation, concern::WriteConcern, hint::Hint},
};

/// Options of an aggregation.
#[derive(Clone, Debug, Default)]
pub(crate) struct AggregateOptions {
    pub(crate) raw_data: Option<bool>,
    pub(crate) pipeline: Vec<RawDocumentBuf>,
    pub(crate) batch_size: Option<u32>,
    pub(crate) allow_disk_use: Option<bool>,
    pub(crate) bypass_document_validation: Option<bool>,
    pub(crate) max_time: Option<Duration>,
    pub(crate) max_await_time: Option<Duration>,
    pub(crate) hint: Option<Box<Hint>>,
    pub(crate) collation: Option<Box<Collation>>,
    pub(crate) comment: Option<Box<Bson>>,
    pub(crate) let_vars: Option<RawDocumentBuf>,
}

impl AggregateOptions {
    /// Whether the last stage writes (`$out` or `$merge`).
    pub(crate) fn writes(&self) -> bool {
        let last = self.pipeline.last().and_then(|stage| stage.iter().next());
        matches!(last, Some(Ok((key, _))) if key.as_str() == "$out" || key.as_str() == "$merge")
    }
}

/// Runs a pipeline on a collection, or on the database when `whole_database`.
pub(crate) struct Aggregate<'a> {
    pub(crate) scope: ReadScope<'a>,
    pub(crate) whole_database: bool,
    pub(crate) options: &'a AggregateOptions,
    /// Sent only by a pipeline that writes.
    pub(crate) write_concern: &'a WriteConcern,
}

impl Operation for Aggregate<'_> {
    type Output = CursorReply;
    const NAME: &'static str = "aggregate";

    fn database(&self) -> &str {
        &self.scope.namespace.database
    }

    fn target(&self) -> Criteria<'_> {
        if self.options.writes() {
            Criteria::AggregateWithWrite(self.scope.read_preference)
        } else {
            Criteria::Read(self.scope.read_preference)
        }
    }

    fn retry(&self) -> Retry {
        if self.options.writes() {
            Retry::No
        } else {
            Retry::Read
        }
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        let options = self.options;
        let writes = options.writes();
        if self.whole_database {
            command.i32("aggregate", 1);
        } else {
            command.str("aggregate", &self.scope.namespace.collection);
        }
        command.documents("pipeline", options.pipeline.iter().map(|stage| &**stage));
        let cursor = command.begin_document("cursor");
        if let Some(size) = options.batch_size.filter(|size| *size > 0 || !writes) {
            command.i64("batchSize", i64::from(size));
        }
        command.end(cursor);
        command.optional_bool("allowDiskUse", options.allow_disk_use);
        command.optional_bool("bypassDocumentValidation", options.bypass_document_validation);
        super::write_raw_data(command, options.raw_data, server);
        command.max_time(options.max_time);
        command.hint(options.hint.as_deref());
        command.collation(options.collation.as_deref());
        command.optional_bson("comment", options.comment.as_deref());
        command.optional_document("let", options.let_vars.as_deref());
        command.read_concern(self.scope.read_concern);
        if writes {
            command.write_concern(self.write_concern);
        }
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<CursorReply> {
        write_result::check_single(reply)?;
        cursor::parse(reply, context)
    }

    fn attach_reply(output: &mut CursorReply, take: impl FnOnce() -> ReplyBuffer) {
        cursor::attach(output, take);
    }

    fn open_cursor(output: &mut CursorReply) -> Option<&mut CursorReply> {
        output.if_open()
    }
}
