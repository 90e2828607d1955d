//! A connection on loan.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

use super::Pool;
use crate::{connection::Connection, proto::cmap::ConnectionKey};

/// A connection in use. Dropping it gives it back; the pool closes it if a reply is outstanding, if it failed, or if it
/// belongs to an older generation.
#[derive(Debug)]
pub struct PooledConnection {
    pool: Arc<Pool>,
    pub(super) key: ConnectionKey,
    /// Always there until drop takes it.
    connection: Option<Box<Connection>>,
}

impl PooledConnection {
    pub(super) fn new(pool: Arc<Pool>, key: ConnectionKey, connection: Box<Connection>) -> Self {
        Self {
            pool,
            key,
            connection: Some(connection),
        }
    }

    /// The driver's number of the connection: 1 for the first of its pool.
    pub fn id(&self) -> u32 {
        self.key.id
    }

    /// The pool's generation when the connection was created.
    pub fn generation(&self) -> u64 {
        self.key.generation
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
        if let Some(connection) = self.connection.take() {
            let reusable = connection.is_reusable();
            self.pool.check_in(self.key, connection, reusable);
        }
    }
}
