//! `getMore`: the next batch of a cursor.

use std::time::Duration;

use super::{Operation, Pinned, ReplyContext, cursor};
use crate::{
    Error, Namespace, RETRYABLE_ERROR, Result, ServerAddress,
    bson::Bson,
    operation::cursor::CursorReply,
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        retry::Intent,
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
    pub(crate) pin: &'a mut Option<Pinned>,
    pub(crate) batch_size: Option<u32>,
    pub(crate) max_await_time: Option<Duration>,
    pub(crate) comment: Option<&'a Bson>,
    /// Whether the server freed the cursor with its error reply; `None` before there is one. A refusal with the label
    /// `RetryableError` leaves the cursor open: nothing of the command was executed.
    pub(crate) is_freed: Option<bool>,
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

    fn pin(&mut self) -> Option<&mut Option<Pinned>> {
        Some(self.pin)
    }

    fn uses_session(&self) -> bool {
        self.session.is_some()
    }

    fn intent(&self) -> Intent {
        Intent::Read
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        command.i64("getMore", self.id);
        command.str("collection", &self.namespace.collection);
        if let Some(size) = self.batch_size.filter(|size| *size > 0) {
            command.i64("batchSize", i64::from(size));
        }
        command.max_await_time(self.max_await_time);
        // Servers before 4.4 refuse a comment here.
        command.optional_bson("comment", self.comment.filter(|_| server.is_4_4()));
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<CursorReply> {
        cursor::parse(reply, context)
    }

    fn refused(&mut self, error: &Error) {
        self.is_freed = Some(!error.contains_label(RETRYABLE_ERROR));
    }

    fn attach_reply(output: &mut CursorReply, take: impl FnOnce() -> ReplyBuffer) {
        cursor::attach(output, take);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::{RawDocument, rawdoc};

    #[test]
    fn only_servers_that_take_a_comment_are_sent_one() {
        let comment = Bson::from("why");
        let address = ServerAddress::tcp("a", 1);
        for (max_wire_version, commented) in [(8, false), (9, true)] {
            let mut operation = GetMore {
                id: 7,
                namespace: &Namespace::new("d", "c"),
                address: &address,
                session: None,
                pin: &mut None,
                batch_size: Some(3),
                max_await_time: None,
                comment: Some(&comment),
                is_freed: None,
            };
            let server = HelloReply {
                max_wire_version,
                ..HelloReply::default()
            };
            let mut bytes = Vec::new();
            let mut command = CommandBuilder::new(&mut bytes);
            operation.build(&mut command, &server).unwrap();
            command.finish("d").unwrap();
            let mut expected = rawdoc! { "getMore": 7_i64, "collection": "c", "batchSize": 3_i64 };
            if commented {
                expected.append(crate::bson::cstr!("comment"), "why");
            }
            expected.append(crate::bson::cstr!("$db"), "d");
            assert_eq!(RawDocument::from_bytes(&bytes).unwrap(), &*expected);
        }
    }
}
