//! What tests that run a pool without a deployment use beside the interface of the layers above.

use std::sync::{Arc, Weak};

use super::{Pool, PoolListener, PoolSettings, PooledConnection};
use crate::{Error, ServerAddress, bson::ObjectId, connection::ConnectionSettings, proto::cmap::Counts};

impl Pool {
    /// An empty, paused pool with a background task. Must be called within a tokio runtime, which will run the tasks that
    /// establish connections. The listener hears of handshakes.
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

    /// The server was found healthy: requests are served from now on. Nothing changes if they were already.
    pub fn ready(self: &Arc<Self>) {
        self.ready_without_events();
        self.settle();
    }

    /// Gives up all connections, or those of one service. Without a service, all requests are refused until
    /// [`ready`](Self::ready). Connections in use stay usable unless they are to be interrupted; they are closed when they
    /// come back.
    pub fn clear(self: &Arc<Self>, cause: &Error, service_id: Option<ObjectId>, interrupt_in_use: bool) {
        self.clear_without_events(cause, service_id, interrupt_in_use);
        self.settle();
    }

    /// How many connections and waiting requests there are.
    pub fn counts(&self) -> Counts {
        self.lock().machine.counts()
    }
}

impl PooledConnection {
    /// The generation of the pool, or of the service, when the connection was created.
    pub fn generation(&self) -> u64 {
        self.key.generation
    }

    /// The service behind the load balancer, if there is one.
    pub fn service_id(&self) -> Option<ObjectId> {
        self.key.service_id
    }
}
