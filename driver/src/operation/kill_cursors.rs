//! `killCursors`: frees a cursor that was not read to its end.

use super::{Operation, Pinned, ReplyContext};
use crate::{
    Namespace, Result, ServerAddress,
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        server_selection::Criteria,
        session::ServerSession,
    },
};

/// Frees one cursor.
pub(crate) struct KillCursors<'a> {
    pub(crate) id: i64,
    pub(crate) namespace: &'a Namespace,
    pub(crate) address: &'a ServerAddress,
    pub(crate) session: Option<&'a ServerSession>,
    pub(crate) pin: &'a mut Option<Pinned>,
}

impl Operation for KillCursors<'_> {
    type Output = ();
    const NAME: &'static str = "killCursors";

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

    /// The cursor is to be freed, whatever became of the session it was opened in. The specification allows that.
    fn needs_session(&self) -> bool {
        false
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, _server: &HelloReply) -> Result<()> {
        command.str("killCursors", &self.namespace.collection);
        command.serialize("cursors", &[self.id]);
        Ok(())
    }

    fn parse(&mut self, _reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<()> {
        Ok(())
    }
}
