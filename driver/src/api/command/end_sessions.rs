//! `endSessions`: ends the sessions of a client that is shut down or dropped ([Driver Sessions],
//! "endSessions").
//!
//! [Driver Sessions]: https://github.com/mongodb/specifications/blob/master/source/sessions/driver-sessions.md

use crate::{
    Result,
    bson::{Document, Uuid, doc},
    operation::{ImplicitSession, Operation, Properties, ReplyContext, Retry},
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        retry::Intent,
    },
    types::read_preference::PRIMARY_PREFERRED,
};

/// `endSessions` with these session IDs.
pub(in crate::api) struct EndSessions<'a> {
    pub(in crate::api) ids: &'a [[u8; 16]],
}

impl Operation for EndSessions<'_> {
    type Output = ();

    fn properties(&self) -> Properties<'_> {
        Properties {
            retry: Retry::No,
            intent: Intent::Any,
            implicit_session: ImplicitSession::None,
            ..Properties::read("endSessions", "admin", PRIMARY_PREFERRED).without_causal_consistency()
        }
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, _server: &HelloReply) -> Result<()> {
        let sessions: Vec<Document> = self
            .ids
            .iter()
            .map(|id| doc! { "id": Uuid::from_bytes(*id) })
            .collect();
        command.serialize("endSessions", &sessions);
        Ok(())
    }

    fn parse(&mut self, _reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<()> {
        Ok(())
    }
}
