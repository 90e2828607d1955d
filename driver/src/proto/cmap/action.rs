//! Actions, events and results of the pool.

use std::time::Duration;

use super::{ConnectionKey, wait_queue::WaiterId};
use crate::{bson::ObjectId, proto::event::ConnectionClosedReason};

/// What the owner of the pool must do. Actions are returned in the order in which they were
/// decided.
#[derive(Debug, PartialEq, Eq)]
pub enum Action<C, W, E> {
    /// Establish a connection. Report the outcome with `established`, or with `failing_request` and
    /// `establish_failed`.
    Establish(ConnectionKey),
    /// Close the connection. It is no longer counted.
    Close {
        /// The connection, which the pool no longer owns.
        connection: C,
        /// Its key.
        key: ConnectionKey,
        /// The reason, as in the event `ConnectionClosed`.
        reason: ConnectionClosedReason,
    },
    /// Hand the connection to the request; it counts as in use. If the request is gone: `check_in`.
    Fulfil {
        /// The request.
        waiter: W,
        /// The key of the connection.
        key: ConnectionKey,
        /// The connection.
        connection: C,
    },
    /// Await the reply that the connection owes, and report the outcome with `drained`. Give up when
    /// `is_draining` returns false, and when no byte has arrived for 3 s. Call `drain_slow`
    /// if it takes so long that a new connection would serve a waiting request sooner.
    Drain {
        /// The key of the connection.
        key: ConnectionKey,
        /// The connection.
        connection: C,
    },
    /// A draining connection was given up: `is_draining` returns false for it.
    Abandon,
    /// Fail the request.
    Fail {
        /// The request.
        waiter: W,
        /// The reason.
        why: Refusal<E>,
    },
    /// Interrupt the connections in use of this service that were created in this generation or an
    /// earlier one (CMAP, "interruptInUseConnections"). They are checked in as failed.
    Interrupt {
        /// `None`: connections without a service.
        service_id: Option<ObjectId>,
        /// The last generation to interrupt.
        generation: u64,
    },
    /// Pass the event to the listener.
    Emit(Event<E>),
}

/// The events of the specification, without the address of the server (CMAP, "Events").
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<E> {
    /// `PoolReady`.
    PoolReady,
    /// `PoolCleared`.
    PoolCleared {
        /// The cleared service; `None`: the whole pool.
        service_id: Option<ObjectId>,
        /// `interruptInUseConnections`.
        interrupt_in_use: bool,
    },
    /// `PoolClosed`.
    PoolClosed,
    /// `ConnectionCreated`.
    ConnectionCreated {
        /// `connectionId`.
        id: u32,
    },
    /// `ConnectionReady`.
    ConnectionReady {
        /// `connectionId`.
        id: u32,
        /// Since `ConnectionCreated`.
        duration: Duration,
    },
    /// `ConnectionClosed`.
    ConnectionClosed {
        /// `connectionId`.
        id: u32,
        /// Why it was closed.
        reason: ConnectionClosedReason,
        /// The error, if `reason` is `error` and it is known.
        error: Option<E>,
    },
    /// `ConnectionCheckOutStarted`.
    CheckOutStarted,
    /// `ConnectionCheckOutFailed`.
    CheckOutFailed {
        /// `None`: the request was cancelled or timed out.
        why: Option<Refusal<E>>,
        /// Since `ConnectionCheckOutStarted`.
        duration: Duration,
    },
    /// `ConnectionCheckedOut`.
    CheckedOut {
        /// `connectionId`.
        id: u32,
        /// Since `ConnectionCheckOutStarted`.
        duration: Duration,
    },
    /// `ConnectionCheckedIn`.
    CheckedIn {
        /// `connectionId`.
        id: u32,
    },
}

/// Why a check-out fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal<E> {
    /// `PoolClearedError`: the pool is paused, or was cleared while the request waited. Holds the
    /// error that cleared it.
    Cleared(Option<E>),
    /// `PoolClosedError`.
    Closed,
    /// The connection established for the request failed.
    Failed(E),
}

/// The result of a check-out.
#[derive(Debug, PartialEq, Eq)]
pub enum CheckOut<C, E> {
    /// A connection, which counts as in use.
    Connection(ConnectionKey, C),
    /// The request is in the WaitQueue.
    Waiting(WaiterId),
    /// The check-out failed.
    Refused(Refusal<E>),
}
