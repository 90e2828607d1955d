//! `count`, for the estimate that collection metadata gives.

use std::time::Duration;

use super::{Operation, ReplyContext, Retry, find::ReadScope};
use crate::{
    Error, Result,
    bson::Bson,
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        server_selection::Criteria,
    },
};

/// Options of an estimated count.
#[derive(Clone, Debug, Default)]
pub(crate) struct CountOptions {
    pub(crate) raw_data: Option<bool>,
    pub(crate) max_time: Option<Duration>,
    pub(crate) comment: Option<Bson>,
}

/// Counts a collection from its metadata.
pub(crate) struct Count<'a> {
    pub(crate) scope: ReadScope<'a>,
    pub(crate) options: &'a CountOptions,
}

impl Operation for Count<'_> {
    type Output = u64;
    const NAME: &'static str = "count";

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
        command.str("count", &self.scope.namespace.collection);
        super::write_raw_data(command, self.options.raw_data, server);
        command.max_time(self.options.max_time);
        command.optional_bson("comment", self.options.comment.as_ref());
        command.read_concern(self.scope.read_concern);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<u64> {
        Ok(reply.n())
    }

    /// A missing collection holds nothing.
    fn recover(&mut self, error: Error) -> Result<u64> {
        if error.code() == Some(crate::error::code::NAMESPACE_NOT_FOUND) {
            Ok(0)
        } else {
            Err(error)
        }
    }
}
