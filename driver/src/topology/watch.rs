//! The connection between a monitor and the deployment: requested checks, cancellations, heartbeat
//! events.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::{Notify, watch};

use crate::{
    Error, ErrorKind, ServerAddress,
    bson::{ObjectId, RawDocumentBuf},
    proto::event::SdamEvent,
    telemetry::EventQueue,
    types::lock::{Outer, OuterGuard},
};

/// Shared by the monitor of a server and its handle.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Wakes the monitor for an immediate check.
    request: Notify,
    /// Cancels the running check, or the next one.
    cancellation: watch::Sender<()>,
    /// Whether the monitor awaits the next state of the server.
    is_awaiting: AtomicBool,
    heartbeats: Option<Heartbeats>,
}

/// Emits heartbeat events. Each started check has exactly one end: by the monitor, or when the
/// server is closed.
#[derive(Debug)]
struct Heartbeats {
    events: Arc<EventQueue<SdamEvent>>,
    topology_id: ObjectId,
    address: ServerAddress,
    state: Outer<State>,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    running: Option<Running>,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    since: Instant,
    awaited: bool,
    connection: MonitorConnection,
}

/// The connection of a check.
#[derive(Clone, Copy, Debug)]
pub(super) struct MonitorConnection {
    pub(super) driver_id: u32,
    pub(super) server_id: Option<i64>,
}

impl Watch {
    /// Without `events`, no heartbeat events are emitted.
    pub(super) fn new(
        address: &ServerAddress,
        topology_id: ObjectId,
        events: Option<&Arc<EventQueue<SdamEvent>>>,
    ) -> Arc<Self> {
        let heartbeats = events.map(|events| Heartbeats {
            events: Arc::clone(events),
            topology_id,
            address: address.clone(),
            state: Outer::default(),
        });
        Arc::new(Self {
            heartbeats,
            ..Self::default()
        })
    }

    /// Requests an immediate check.
    pub(super) fn request_check(&self) {
        self.request.notify_one();
    }

    /// Cancels the check in progress (SDAM, "Network error when reading or writing").
    pub(super) fn cancel_check(&self) {
        self.cancellation.send_replace(());
    }

    /// Cancels the check in progress of a monitor that awaits the next state of the server.
    pub(super) fn cancel_await(&self) {
        if self.is_awaiting.load(Ordering::Relaxed) {
            self.cancel_check();
        }
    }

    /// Says whether the monitor awaits the next state of the server, from its next check on.
    pub(super) fn set_awaiting(&self, is_awaiting: bool) {
        self.is_awaiting.store(is_awaiting, Ordering::Relaxed);
    }

    /// Completes when a check is requested, or was since the last call.
    pub(super) async fn requested(&self) {
        self.request.notified().await;
    }

    /// Removes a request: the check that just ended satisfies it.
    pub(super) fn forget_request(&self) {
        let mut request = std::pin::pin!(self.request.notified());
        // Consumes a stored request without waiting.
        request.as_mut().enable();
    }

    /// A receiver of cancellations.
    pub(super) fn cancellations(&self) -> watch::Receiver<()> {
        self.cancellation.subscribe()
    }

    /// Emits `ServerHeartbeatStarted`.
    pub(super) fn started(&self, awaited: bool, connection: MonitorConnection) {
        let Some(heartbeats) = &self.heartbeats else {
            return;
        };
        let mut state = heartbeats.lock();
        if state.closed {
            return;
        }
        state.running = Some(Running {
            since: Instant::now(),
            awaited,
            connection,
        });
        heartbeats.events.push(SdamEvent::ServerHeartbeatStarted {
            topology_id: heartbeats.topology_id,
            address: heartbeats.address.clone(),
            awaited,
            driver_connection_id: connection.driver_id,
            server_connection_id: connection.server_id,
        });
        drop(state);
        heartbeats.events.flush();
    }

    /// Emits `ServerHeartbeatSucceeded`.
    pub(super) fn succeeded(&self, duration: Duration, server_id: Option<i64>, reply: &[u8]) {
        let Some(heartbeats) = &self.heartbeats else {
            return;
        };
        let mut state = heartbeats.lock();
        let Some(running) = state.running.take() else {
            return;
        };
        heartbeats.events.push(SdamEvent::ServerHeartbeatSucceeded {
            topology_id: heartbeats.topology_id,
            address: heartbeats.address.clone(),
            duration,
            reply: RawDocumentBuf::from_bytes(reply.to_vec()).unwrap_or_default(),
            awaited: running.awaited,
            driver_connection_id: running.connection.driver_id,
            server_connection_id: server_id,
        });
        drop(state);
        heartbeats.events.flush();
    }

    /// Emits `ServerHeartbeatFailed`.
    pub(super) fn failed(&self, error: &Error) {
        if let Some(heartbeats) = &self.heartbeats {
            heartbeats.fail(&mut heartbeats.lock(), error);
            heartbeats.events.flush();
        }
    }

    /// Ends a started check. The event is emitted when the queue is flushed.
    pub(super) fn close(&self) {
        if let Some(heartbeats) = &self.heartbeats {
            let mut state = heartbeats.lock();
            state.closed = true;
            heartbeats.fail(&mut state, &Error::new(ErrorKind::Shutdown));
        }
    }
}

impl Heartbeats {
    fn lock(&self) -> OuterGuard<'_, State> {
        self.state.lock()
    }

    fn fail(&self, state: &mut State, error: &Error) {
        let Some(running) = state.running.take() else {
            return;
        };
        self.events.push(SdamEvent::ServerHeartbeatFailed {
            topology_id: self.topology_id,
            address: self.address.clone(),
            duration: running.since.elapsed(),
            failure: error.clone(),
            awaited: running.awaited,
            driver_connection_id: running.connection.driver_id,
            server_connection_id: running.connection.server_id,
        });
    }
}
