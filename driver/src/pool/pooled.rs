//! A checked out connection.

use std::{
    ops::{Deref, DerefMut},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::Pool;
use crate::{Result, connection::Connection, proto::cmap::ConnectionKey, types::deadline::Deadline};

/// Why a connection is checked out (Load Balancer specification, "Connection Pooling": wait queue
/// timeout errors state the counts).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckOutReason {
    /// For one operation.
    Operation,
    /// Pinned to a cursor.
    Cursor,
    /// Pinned to a transaction.
    Transaction,
}

/// The number of pinned connections. All others are in use by operations.
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

/// A connection in use. Dropping it checks it in; the pool closes it if it failed or is stale, and
/// awaits an outstanding reply in the background.
#[derive(Debug)]
pub struct PooledConnection {
    pool: Arc<Pool>,
    pub(super) key: ConnectionKey,
    /// `None` only during drop.
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

    /// Sets why the connection is checked out, for the counts in wait queue timeout errors.
    pub(crate) fn set_check_out_reason(&mut self, reason: CheckOutReason) {
        let before = std::mem::replace(&mut self.reason, reason);
        if let Some(count) = self.pool.pinned.of(before) {
            count.fetch_sub(1, Ordering::Relaxed);
        }
        if let Some(count) = self.pool.pinned.of(reason) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Authenticates the connection again, until the deadline (Authentication,
    /// "Reauthentication").
    pub async fn reauthenticate(&mut self, deadline: Deadline) -> Result<()> {
        let pool = Arc::clone(&self.pool);
        Connection::reauthenticate(self, &pool.connection, deadline).await
    }

    /// The id, generation and service.
    pub fn key(&self) -> ConnectionKey {
        self.key
    }

    /// `connectionId` (`driverConnectionId` in events): 1 for the first connection of the pool,
    /// then ascending.
    pub fn id(&self) -> u32 {
        self.key.id
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
