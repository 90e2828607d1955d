//! `getMore`: the next batch of a cursor.

use std::time::Duration;

use super::{Operation, ReplyContext, cursor};
use crate::{
    Namespace, Result, ServerAddress,
    bson::Bson,
    operation::cursor::CursorReply,
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        server_selection::Criteria,
        session::ServerSession,
        wire::ReplyBuffer,
    },
};

/// Asks the server that holds the cursor for more.
pub(crate) struct GetMore<'a> {
    pub(crate) id: i64,
    pub(crate) namespace: &'a Namespace,
    pub(crate) address: &'a ServerAddress,
    pub(crate) session: Option<&'a ServerSession>,
    pub(crate) batch_size: Option<u32>,
    pub(crate) max_await_time: Option<Duration>,
    pub(crate) comment: Option<&'a Bson>,
}

impl Operation for GetMore<'_> {
    type Output = CursorReply;
    const NAME: &'static str = "getMore";

    fn database(&self) -> &str {
        &self.namespace.database
    }

    fn target(&self) -> Criteria<'_> {
        Criteria::Address(self.address)
    }

    fn session(&self) -> Option<&ServerSession> {
        self.session
    }

    fn uses_session(&self) -> bool {
        self.session.is_some()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, _server: &HelloReply) -> Result<()> {
        command.i64("getMore", self.id);
        command.str("collection", &self.namespace.collection);
        if let Some(size) = self.batch_size.filter(|size| *size > 0) {
            command.i64("batchSize", i64::from(size));
        }
        command.max_time(self.max_await_time);
        command.optional_bson("comment", self.comment);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<CursorReply> {
        cursor::parse(reply, context)
    }

    fn attach_reply(output: &mut CursorReply, take: impl FnOnce() -> ReplyBuffer) {
        cursor::attach(output, take);
    }
}
