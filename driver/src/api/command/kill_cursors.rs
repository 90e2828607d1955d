//! `killCursors`: closes a [`Cursor`](crate::Cursor) that was not read to its end ([Find, getMore
//! and killCursors Commands]).
//!
//! [Find, getMore and killCursors Commands]:
//!     https://github.com/mongodb/specifications/blob/master/source/find_getmore_killcursors_commands/find_getmore_killcursors_commands.md

use crate::{
    Namespace, Result, ServerAddress,
    operation::{CommandState, Operation, Properties, ReplyContext, SessionUse},
    pool::PooledConnection,
    proto::{
        command::{self, CommandBuilder, Reply},
        description::HelloReply,
        retry::Intent,
        server_selection::Patience,
        session::ServerSession,
    },
};

/// `killCursors` for one cursor.
pub(in crate::api) struct KillCursors<'a> {
    pub(in crate::api) id: i64,
    pub(in crate::api) namespace: &'a Namespace,
    pub(in crate::api) address: &'a ServerAddress,
    pub(in crate::api) session: Option<&'a ServerSession>,
    pub(in crate::api) session_use: &'a mut SessionUse,
    /// The transaction of the explicit session that the cursor was opened in.
    pub(in crate::api) transaction: Option<i64>,
    pub(in crate::api) pin: &'a mut Option<Box<PooledConnection>>,
    pub(in crate::api) patience: Patience,
}

impl Operation for KillCursors<'_> {
    type Output = ();

    fn properties(&self) -> Properties<'_> {
        Properties {
            // The cursor is closed even if its explicit session has ended: then without `lsid`
            // (Driver Sessions, "When sending a killCursors command").
            requires_session: false,
            intent: Intent::Write,
            ..Properties::of_cursor(
                "killCursors",
                &self.namespace.database,
                self.address,
                self.session,
            )
        }
    }

    fn collection(&self) -> Option<&str> {
        Some(&self.namespace.collection)
    }

    fn cursor_transaction(&self) -> Option<Option<i64>> {
        Some(self.transaction)
    }

    fn patience(&self) -> Patience {
        self.patience
    }

    fn pin(&mut self) -> Option<&mut Option<Box<PooledConnection>>> {
        Some(self.pin)
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, _server: &HelloReply) -> Result<()> {
        let kill = command::KillCursors {
            id: self.id,
            collection: &self.namespace.collection,
        };
        kill.write(command);
        Ok(())
    }

    fn reply_lost(&mut self) {
        self.session_use.is_reply_lost = true;
    }

    fn command_state(&mut self, state: CommandState) {
        self.session_use.command = state;
    }

    fn parse(&mut self, _reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<()> {
        Ok(())
    }
}
