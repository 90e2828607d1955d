//! A checked out connection.

use std::{
    ops::{Deref, DerefMut},
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::Pool;
use crate::{
    Result,
    connection::{Condition, Connection},
    proto::cmap::ConnectionKey,
    types::{
        deadline::Deadline,
        lock::{Inner, InnerGuard},
    },
};

/// What a connection is pinned to (Load Balancer specification, "Connection Pooling": wait queue
/// timeout errors state the counts).
#[derive(Debug)]
enum PinnedTo {
    Cursor,
    Transaction(Weak<PinnedConnection>),
}

/// The connection that a transaction is pinned to, while no command is running.
#[derive(Debug, Default)]
pub(crate) struct PinnedConnection(Inner<Option<Box<PooledConnection>>>);

impl PinnedConnection {
    fn lock(&self) -> InnerGuard<'_, Option<Box<PooledConnection>>> {
        self.0.lock()
    }

    /// Takes the connection for a command. It returns when it is dropped, unless it is broken.
    pub(crate) fn take(&self) -> Option<Box<PooledConnection>> {
        self.lock().take()
    }

    /// Whether there is one.
    pub(crate) fn is_held(&self) -> bool {
        self.lock().is_some()
    }

    /// Unpins the connection: it returns to its pool.
    pub(crate) fn release(&self) {
        // Dropped after the lock is released.
        let connection = self.take();
        if let Some(mut connection) = connection {
            connection.unpin();
        }
    }

    fn keep(&self, connection: Box<PooledConnection>) {
        let before = self.lock().replace(connection);
        if let Some(mut before) = before {
            before.unpin();
        }
    }
}

/// The number of pinned connections. All others are in use by operations.
#[derive(Debug, Default)]
pub(super) struct PinnedCounters {
    pub(super) cursors: AtomicUsize,
    pub(super) transactions: AtomicUsize,
}

impl PinnedCounters {
    fn of(&self, pinned_to: &PinnedTo) -> &AtomicUsize {
        match pinned_to {
            PinnedTo::Cursor => &self.cursors,
            PinnedTo::Transaction(_) => &self.transactions,
        }
    }
}

/// A connection in use. Dropping it checks it in; the pool closes it if it failed or is stale, and
/// awaits an outstanding reply in the background. A connection that is pinned to a transaction returns to the
/// `PinnedConnection` instead, unless it is broken: all commands of the transaction must use it.
#[derive(Debug)]
pub struct PooledConnection {
    pool: Arc<Pool>,
    pub(super) key: ConnectionKey,
    /// `None` only during drop.
    pub(super) connection: Option<Box<Connection>>,
    /// Boxed, so that the value is not larger: few connections are pinned.
    pinned_to: Option<Box<PinnedTo>>,
}

impl PooledConnection {
    pub(super) fn new(pool: Arc<Pool>, key: ConnectionKey, connection: Box<Connection>) -> Self {
        Self {
            pool,
            key,
            connection: Some(connection),
            pinned_to: None,
        }
    }

    /// Whether the connection is one of this pool.
    pub(super) fn is_of(&self, pool: &Arc<Pool>) -> bool {
        Arc::ptr_eq(&self.pool, pool)
    }

    /// Whether the pool was cleared since the connection was created.
    pub(super) fn is_stale(&self) -> bool {
        self.key.generation < self.pool.generation(self.key.service_id)
    }

    /// Whether the server closed the connection.
    pub(super) fn has_perished(&mut self) -> bool {
        self.connection
            .as_mut()
            .is_none_or(|connection| connection.has_perished())
    }

    /// Counts the connection as pinned to a cursor, which holds it.
    pub(crate) fn pin_to_cursor(&mut self) {
        self.pin(PinnedTo::Cursor);
    }

    /// Pins the connection to the transaction with this place.
    pub(crate) fn pin_to_transaction(&mut self, place: &Arc<PinnedConnection>) {
        self.pin(PinnedTo::Transaction(Arc::downgrade(place)));
    }

    fn pin(&mut self, pinned_to: PinnedTo) {
        self.unpin();
        self.pool.pinned.of(&pinned_to).fetch_add(1, Ordering::Relaxed);
        self.pinned_to = Some(Box::new(pinned_to));
    }

    /// Counts the connection as in use by an operation. It returns to its pool.
    pub(crate) fn unpin(&mut self) {
        if let Some(before) = self.pinned_to.take() {
            self.pool.pinned.of(&before).fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Returns a pinned connection to its transaction. Returns whether it did: not if the connection
    /// is broken, or pinned to a cursor.
    #[cold]
    fn return_to_transaction(&mut self) -> bool {
        let place = match self.pinned_to.as_deref() {
            Some(PinnedTo::Transaction(place)) => place.upgrade(),
            Some(PinnedTo::Cursor) | None => None,
        };
        let connection = self.connection.as_deref();
        let is_usable = connection.is_some_and(|connection| connection.condition() != Condition::Broken);
        match place {
            Some(place) if is_usable => {
                place.keep(Box::new(Self {
                    pool: Arc::clone(&self.pool),
                    key: self.key,
                    connection: self.connection.take(),
                    pinned_to: self.pinned_to.take(),
                }));
                true
            }
            _ => {
                self.unpin();
                false
            }
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
        if self.pinned_to.is_some() && self.return_to_transaction() {
            return;
        }
        if let Some(connection) = self.connection.take() {
            self.pool.check_in(self.key, connection);
        }
    }
}
