//! A connection on loan.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

use super::Pool;
use crate::{bson::ObjectId, connection::Connection, proto::cmap::ConnectionKey};

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
        if let Some(connection) = self.connection.take() {
            self.pool.check_in(self.key, connection);
        }
    }
}
