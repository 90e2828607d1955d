//! `getMore`: the next batch of a [`Cursor`](crate::Cursor) ([Find, getMore and killCursors
//! Commands]).
//!
//! [Find, getMore and killCursors Commands]:
//!     https://github.com/mongodb/specifications/blob/master/source/find_getmore_killcursors_commands/find_getmore_killcursors_commands.md

use std::time::Duration;

use crate::{
    Error, Namespace, RETRYABLE_ERROR, Result, ServerAddress,
    bson::Bson,
    operation::{
        CommandState, Operation, Properties, ReplyContext, SessionUse,
        cursor::{self, CursorReply},
    },
    pool::PooledConnection,
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        server_selection::Patience,
        session::ServerSession,
        timeout::MaxTime,
    },
};

/// `getMore`, sent to the server that has the cursor.
pub(in crate::api) struct GetMore<'a> {
    pub(in crate::api) id: i64,
    pub(in crate::api) namespace: &'a Namespace,
    pub(in crate::api) address: &'a ServerAddress,
    /// The implicit session of the cursor.
    pub(in crate::api) session: Option<&'a ServerSession>,
    pub(in crate::api) session_use: &'a mut SessionUse,
    /// The connection of the cursor in load-balanced mode.
    pub(in crate::api) pin: &'a mut Option<Box<PooledConnection>>,
    /// `None` and 0: the server's default.
    pub(in crate::api) batch_size: Option<u32>,
    pub(in crate::api) max_await_time: Option<Duration>,
    pub(in crate::api) comment: Option<&'a Bson>,
    /// The transaction of the explicit session that the cursor was opened in.
    pub(in crate::api) transaction: Option<i64>,
    /// Set by an error reply: whether the server closed the cursor. An error with the label
    /// `RetryableError` leaves it open, because the server did not start the command.
    pub(in crate::api) is_freed: Option<bool>,
    /// `maxWireVersion` of the connection that the command was sent on.
    pub(in crate::api) wire_version: i32,
    /// Whether the cursor is that of a change stream, which resumes on another server.
    pub(in crate::api) resumes_elsewhere: bool,
}

impl Operation for GetMore<'_> {
    type Output = CursorReply;

    fn properties(&self) -> Properties<'_> {
        Properties::of_cursor("getMore", &self.namespace.database, self.address, self.session)
    }

    fn collection(&self) -> Option<&str> {
        Some(&self.namespace.collection)
    }

    fn cursor_transaction(&self) -> Option<Option<i64>> {
        Some(self.transaction)
    }

    fn patience(&self) -> Patience {
        if self.resumes_elsewhere {
            Patience::None
        } else {
            Patience::UntilDeadline
        }
    }

    fn pin(&mut self) -> Option<&mut Option<Box<PooledConnection>>> {
        Some(self.pin)
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        self.wire_version = server.max_wire_version;
        self.is_freed = None;
        command.i64("getMore", self.id);
        command.str("collection", &self.namespace.collection);
        if let Some(size) = self.batch_size.filter(|size| *size > 0) {
            command.i64("batchSize", i64::from(size));
        }
        command.max_await_time(self.max_await_time);
        // MongoDB 4.2 rejects `comment` in getMore (Find, getMore and killCursors Commands,
        // "getMore").
        command.optional_bson("comment", self.comment.filter(|_| server.is_4_4()));
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<CursorReply> {
        cursor::parse(reply, context)
    }

    fn max_time(&self) -> MaxTime {
        self.max_await_time.map_or(MaxTime::ByDriver, MaxTime::Await)
    }

    fn refused(&mut self, error: &Error) {
        self.is_freed = Some(!error.contains_label(RETRYABLE_ERROR));
    }

    fn reply_lost(&mut self) {
        self.session_use.is_reply_lost = true;
    }

    fn command_state(&mut self, state: CommandState) {
        self.session_use.command = state;
    }

    fn cursor(output: &mut CursorReply) -> Option<&mut CursorReply> {
        Some(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::{RawDocument, rawdoc};

    #[test]
    fn the_comment_is_not_sent_to_servers_before_4_4() {
        let comment = Bson::from("why");
        let address = ServerAddress::tcp("a", 1);
        for (max_wire_version, has_comment) in [(8, false), (9, true)] {
            let mut operation = GetMore {
                id: 7,
                namespace: &Namespace::new("d", "c"),
                address: &address,
                session: None,
                session_use: &mut SessionUse::default(),
                pin: &mut None,
                batch_size: Some(3),
                max_await_time: None,
                comment: Some(&comment),
                transaction: None,
                is_freed: None,
                wire_version: 0,
                resumes_elsewhere: false,
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
            if has_comment {
                expected.append(crate::bson::cstr!("comment"), "why");
            }
            expected.append(crate::bson::cstr!("$db"), "d");
            assert_eq!(RawDocument::from_bytes(&bytes).unwrap(), &*expected);
        }
    }
}
