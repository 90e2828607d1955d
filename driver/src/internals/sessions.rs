//! The state of sessions that the specification tests inspect.

use crate::{
    ClientSession, ServerAddress,
    proto::session::{Pin, ServerSession, Transaction},
};

/// What the transaction of the session is pinned to.
pub fn pin(session: &ClientSession) -> Option<Pin> {
    session
        .shared()
        .lock()
        .transaction()
        .and_then(Transaction::pin)
        .cloned()
}

/// The address of the mongos that the transaction of the session is pinned to.
pub fn pinned_address(session: &ClientSession) -> Option<ServerAddress> {
    match pin(session)? {
        Pin::Mongos(address) => Some(address),
        Pin::Connection => None,
    }
}

/// Whether the server session is dirty.
pub fn is_dirty(session: &ClientSession) -> bool {
    session
        .shared()
        .lock()
        .server
        .as_ref()
        .is_some_and(ServerSession::is_dirty)
}
