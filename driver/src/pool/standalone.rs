//! What tests that run a pool without a deployment use beside the interface of the layers above.

use std::sync::{Arc, Weak};

use super::{Pool, PoolListener, PoolSettings, PooledConnection};
use crate::{Error, ServerAddress, bson::ObjectId, connection::ConnectionSettings, proto::cmap::Counts};

impl Pool {
    /// Creates an empty, paused pool with a background task. Must be called within a tokio runtime,
    /// which runs the tasks that establish connections. The listener is called after handshakes.
    pub fn new(
        address: ServerAddress,
        settings: PoolSettings,
        connection: ConnectionSettings,
        listener: Weak<dyn PoolListener>,
    ) -> Arc<Self> {
        let pool = Self::new_without_events(address, settings, connection, listener);
        pool.settle();
        pool
    }

    /// Marks the pool as ready. No effect if it is not paused.
    pub fn ready(self: &Arc<Self>) {
        self.ready_without_events();
        self.settle();
    }

    /// Clears the pool, or one service of it. Without a service, the pool is paused until
    /// [`ready`](Self::ready). Connections in use stay usable unless `interrupt_in_use`, and are
    /// closed when they are checked in.
    pub fn clear(self: &Arc<Self>, cause: &Error, service_id: Option<ObjectId>, interrupt_in_use: bool) {
        self.clear_without_events(cause, service_id, interrupt_in_use);
        self.settle();
    }

    /// The number of connections and waiting requests.
    pub fn counts(&self) -> Counts {
        self.lock().machine.counts()
    }
}

impl PooledConnection {
    /// The generation of the pool, or of the service, when the connection was created.
    pub fn generation(&self) -> u64 {
        self.key.generation
    }
}
