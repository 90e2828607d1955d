//! `find` (Find, getMore and killCursors specification).

use std::{marker::PhantomData, time::Duration};

use serde::de::DeserializeOwned;

use super::{Operation, ReplyContext, Retry, cursor};
use crate::{
    Namespace, Result,
    bson::{Bson, RawDocumentBuf},
    operation::cursor::CursorReply,
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        server_selection::Criteria,
        wire::ReplyBuffer,
    },
    types::{collation::Collation, concern::ReadConcern, hint::Hint, read_preference::ReadPreference},
};

/// Options of a `find`, by their specified names. What is large and rare is boxed, since options travel with their action.
#[derive(Clone, Debug, Default)]
pub(crate) struct FindOptions {
    pub(crate) raw_data: Option<bool>,
    pub(crate) filter: RawDocumentBuf,
    pub(crate) sort: Option<RawDocumentBuf>,
    pub(crate) projection: Option<RawDocumentBuf>,
    pub(crate) skip: Option<u64>,
    pub(crate) limit: Option<i64>,
    pub(crate) batch_size: Option<u32>,
    pub(crate) hint: Option<Box<Hint>>,
    pub(crate) collation: Option<Box<Collation>>,
    pub(crate) comment: Option<Box<Bson>>,
    pub(crate) max_time: Option<Duration>,
    pub(crate) let_vars: Option<RawDocumentBuf>,
    pub(crate) allow_disk_use: Option<bool>,
    pub(crate) allow_partial_results: Option<bool>,
    pub(crate) min: Option<RawDocumentBuf>,
    pub(crate) max: Option<RawDocumentBuf>,
    pub(crate) return_key: Option<bool>,
    pub(crate) show_record_id: Option<bool>,
    pub(crate) no_cursor_timeout: Option<bool>,
}

/// Where and how a read runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadScope<'a> {
    pub(crate) namespace: &'a Namespace,
    pub(crate) read_concern: &'a ReadConcern,
    pub(crate) read_preference: &'a ReadPreference,
}

impl FindOptions {
    fn write(&self, scope: &ReadScope<'_>, command: &mut CommandBuilder<'_>, single: bool) -> Result<()> {
        command.str("find", &scope.namespace.collection);
        command.document("filter", &self.filter);
        command.optional_document("sort", self.sort.as_deref());
        command.optional_document("projection", self.projection.as_deref());
        command.hint(self.hint.as_deref());
        if let Some(skip) = self.skip.filter(|skip| *skip > 0) {
            command.i64("skip", i64::try_from(skip).unwrap_or(i64::MAX));
        }
        self.write_limits(command, single);
        command.optional_bson("comment", self.comment.as_deref());
        command.max_time(self.max_time);
        command.optional_document("max", self.max.as_deref());
        command.optional_document("min", self.min.as_deref());
        command.optional_bool("returnKey", self.return_key);
        command.optional_bool("showRecordId", self.show_record_id);
        command.optional_bool("noCursorTimeout", self.no_cursor_timeout);
        command.optional_bool("allowPartialResults", self.allow_partial_results);
        command.optional_bool("allowDiskUse", self.allow_disk_use);
        command.collation(self.collation.as_deref());
        command.optional_document("let", self.let_vars.as_deref());
        command.read_concern(scope.read_concern);
        Ok(())
    }

    /// A negative limit means "this many, in one batch".
    fn write_limits(&self, command: &mut CommandBuilder<'_>, single: bool) {
        if single {
            command.i32("limit", 1);
            command.bool("singleBatch", true);
            return;
        }
        let limit = self.limit.unwrap_or(0);
        if limit != 0 {
            command.i64("limit", limit.saturating_abs());
        }
        if let Some(size) = self.batch_size {
            // Equal to the limit, the server would keep an exhausted cursor open.
            let size = i64::from(size);
            let adjusted = if size == limit { size + 1 } else { size };
            command.i64("batchSize", adjusted);
        }
        if limit < 0 {
            command.bool("singleBatch", true);
        }
    }
}

/// Opens a cursor.
pub(crate) struct Find<'a> {
    pub(crate) scope: ReadScope<'a>,
    pub(crate) options: &'a FindOptions,
}

impl Operation for Find<'_> {
    type Output = CursorReply;
    const NAME: &'static str = "find";

    fn database(&self) -> &str {
        &self.scope.namespace.database
    }

    fn target(&self) -> Criteria<'_> {
        Criteria::Read(self.scope.read_preference)
    }

    fn retry(&self) -> Retry {
        Retry::Read
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        self.options.write(&self.scope, command, false)?;
        super::write_raw_data(command, self.options.raw_data, server);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<CursorReply> {
        cursor::parse(reply, context)
    }

    fn attach_reply(output: &mut CursorReply, take: impl FnOnce() -> ReplyBuffer) {
        cursor::attach(output, take);
    }

    fn open_cursor(output: &mut CursorReply) -> Option<&mut CursorReply> {
        output.if_open()
    }
}

/// Reads at most one document, straight from the reply into `T`.
pub(crate) struct FindOne<'a, T> {
    pub(crate) scope: ReadScope<'a>,
    pub(crate) options: &'a FindOptions,
    pub(crate) document: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned + 'static> Operation for FindOne<'_, T> {
    type Output = Option<T>;
    const NAME: &'static str = "find";

    fn database(&self) -> &str {
        &self.scope.namespace.database
    }

    fn target(&self) -> Criteria<'_> {
        Criteria::Read(self.scope.read_preference)
    }

    fn retry(&self) -> Retry {
        Retry::Read
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        self.options.write(&self.scope, command, true)?;
        super::write_raw_data(command, self.options.raw_data, server);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<Option<T>> {
        match cursor::first_document(reply)? {
            Some(bytes) => super::decode_owned(bytes).map(Some),
            None => Ok(None),
        }
    }
}
