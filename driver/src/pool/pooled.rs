//! A connection on loan.

use std::{
    ops::{Deref, DerefMut},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::Pool;
use crate::{Result, bson::ObjectId, connection::Connection, proto::cmap::ConnectionKey};

/// What a connection is in use for, beyond the command that runs on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckOutReason {
    /// One operation.
    Operation,
    /// A cursor that holds on to it, from one batch to the next.
    Cursor,
    /// A transaction that does so, from one command to the next.
    #[allow(
        dead_code,
        reason = "told by whoever pins connections to transactions, and by tests"
    )]
    Transaction,
}

/// How many connections in use are held for a reason. The others are in use by operations.
#[derive(Debug, Default)]
pub(super) struct PinnedCounters {
    pub(super) cursors: AtomicUsize,
    pub(super) transactions: AtomicUsize,
}

impl PinnedCounters {
    fn of(&self, reason: CheckOutReason) -> Option<&AtomicUsize> {
        match reason {
            CheckOutReason::Operation => None,
            CheckOutReason::Cursor => Some(&self.cursors),
            CheckOutReason::Transaction => Some(&self.transactions),
        }
    }
}

/// A connection in use. Dropping it gives it back; the pool closes it if a reply is outstanding, if it failed, or if it
/// belongs to an older generation.
#[derive(Debug)]
pub struct PooledConnection {
    pool: Arc<Pool>,
    pub(super) key: ConnectionKey,
    /// Always there until drop takes it.
    pub(super) connection: Option<Box<Connection>>,
    reason: CheckOutReason,
}

impl PooledConnection {
    pub(super) fn new(pool: Arc<Pool>, key: ConnectionKey, connection: Box<Connection>) -> Self {
        Self {
            pool,
            key,
            connection: Some(connection),
            reason: CheckOutReason::Operation,
        }
    }

    /// Says what the connection is in use for from now on. Whoever waits in vain for one is told how many are held for what.
    pub fn set_check_out_reason(&mut self, reason: CheckOutReason) {
        let before = std::mem::replace(&mut self.reason, reason);
        if let Some(count) = self.pool.pinned.of(before) {
            count.fetch_sub(1, Ordering::Relaxed);
        }
        if let Some(count) = self.pool.pinned.of(reason) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Logs the client's user in once more, since the server wants that.
    pub async fn reauthenticate(&mut self) -> Result<()> {
        let pool = Arc::clone(&self.pool);
        Connection::reauthenticate(self, &pool.connection).await
    }

    /// Its number in the pool, its generation and its service.
    pub fn key(&self) -> ConnectionKey {
        self.key
    }

    /// The driver's number of the connection: 1 for the first of its pool, then always one more.
    pub fn id(&self) -> u32 {
        self.key.id
    }

    /// The generation of the pool, or of the service, when the connection was created.
    pub fn generation(&self) -> u64 {
        self.key.generation
    }

    /// The service behind the load balancer, if there is one.
    pub fn service_id(&self) -> Option<ObjectId> {
        self.key.service_id
    }
}

impl Deref for PooledConnection {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        match &self.connection {
            Some(connection) => connection,
            None => unreachable!("only drop takes the connection"),
        }
    }
}

impl DerefMut for PooledConnection {
    fn deref_mut(&mut self) -> &mut Connection {
        match &mut self.connection {
            Some(connection) => connection,
            None => unreachable!("only drop takes the connection"),
        }
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        self.set_check_out_reason(CheckOutReason::Operation);
        if let Some(connection) = self.connection.take() {
            self.pool.check_in(self.key, connection);
        }
    }
}
