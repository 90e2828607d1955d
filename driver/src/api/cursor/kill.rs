//! Closing the cursor of a [`State`](super::state::State) on its server.

use std::time::{Duration, Instant};

use super::super::{Client, command::KillCursors};
use crate::{
    Namespace, Result, ServerAddress,
    execution::SessionHandle,
    operation::SessionUse,
    pool::PooledConnection,
    proto::{server_selection::Patience, session::ServerSession},
    telemetry::OperationScope,
    types::timeout::Timeout,
};

/// Closes a cursor on the server. If the future of [`free`](Self::free) is dropped before
/// killCursors has ended, or the server is not available now, killCursors is sent in the background.
pub(super) struct KillOnDrop {
    pub(super) client: Client,
    pub(super) id: i64,
    pub(super) namespace: Namespace,
    pub(super) address: ServerAddress,
    pub(super) session: Option<ServerSession>,
    pub(super) session_use: SessionUse,
    /// The explicit session. `None` in the background, because the application may use the session
    /// at the same time.
    pub(super) explicit: Option<SessionHandle>,
    /// The transaction that the cursor was opened in.
    pub(super) transaction: Option<i64>,
    pub(super) scope: OperationScope,
    /// `timeoutMS` of killCursors, which starts when it is sent.
    pub(super) timeout: Option<Duration>,
    pub(super) is_pinned: bool,
    pub(super) pin: Option<Box<PooledConnection>>,
    /// Whether killCursors is sent by a task of its own, and not by a call of the application.
    pub(super) in_background: bool,
}

impl KillOnDrop {
    /// Closes the cursor by [`free`](Self::free). The server closes idle cursors after 10 minutes, so an error is ignored.
    pub(super) async fn free_in_background(self) {
        let _ = self.free().await;
    }

    /// Sends killCursors, then returns the session and the connection to their pools. If the server is
    /// not available, killCursors is sent in the background, and its error is not returned.
    pub(super) async fn free(mut self) -> Result<()> {
        if let Some(session) = &mut self.session {
            session.touch(Instant::now());
        }
        let mut operation = KillCursors {
            id: self.id,
            namespace: &self.namespace,
            address: &self.address,
            session: self.session.as_ref(),
            session_use: &mut self.session_use,
            transaction: self.transaction,
            pin: &mut self.pin,
            // A call of the application does not wait, and a server that cannot be reached need not close
            // the cursor now: it does so after 10 minutes.
            patience: if self.in_background {
                Patience::UntilFailedCheck
            } else {
                Patience::None
            },
        };
        let (executor, explicit) = (self.client.executor(), self.explicit.as_ref());
        let freed = executor
            .run_in_scope(
                &self.scope,
                explicit,
                Timeout::start(self.timeout),
                &mut operation,
            )
            .await;
        // Dropping the value returns the session and the connection. If the server is not available, killCursors is
        // sent in the background, which waits for a check of it.
        if matches!(&freed, Err(error) if error.is_server_unavailable()) {
            return Ok(());
        }
        self.id = 0;
        freed
    }
}

impl Drop for KillOnDrop {
    /// The future that closes the cursor was dropped, or its server is not available. The cursor is
    /// closed in the background, without a session if killCursors may have been sent in it already.
    fn drop(&mut self) {
        let session = self.session_use.end(self.session.take());
        // The server closes the cursor of a transaction at the end of it.
        let is_in_transaction = self.transaction.is_some();
        if self.id == 0 || self.in_background || is_in_transaction || (self.is_pinned && self.pin.is_none()) {
            self.client.executor().give_back(session);
            return;
        }
        let kill = Self {
            client: self.client.clone(),
            id: std::mem::take(&mut self.id),
            namespace: self.namespace.clone(),
            address: self.address.clone(),
            session,
            session_use: SessionUse::default(),
            explicit: None,
            transaction: None,
            scope: self.scope.untraced(),
            timeout: self.timeout,
            is_pinned: self.is_pinned,
            pin: self.pin.take(),
            in_background: true,
        };
        self.client.executor().spawn(kill.free_in_background());
    }
}
