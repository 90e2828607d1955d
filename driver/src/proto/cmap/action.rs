//! What the pool machine answers and asks for.

use std::time::Duration;

use super::{ConnectionKey, wait_queue::WaiterId};
use crate::{bson::ObjectId, proto::event::ConnectionClosedReason};

/// Something the owner of the machine must do. Actions are in the order in which they were decided.
#[derive(Debug, PartialEq, Eq)]
pub enum Action<C, W, E> {
    /// Establish a connection, then report with `established`, or with `failing_request` and `establish_failed`.
    Establish(ConnectionKey),
    /// Close the connection. It is not counted any more.
    Close {
        connection: C,
        key: ConnectionKey,
        reason: ConnectionClosedReason,
    },
    /// Give the connection, which counts as in use, to the request. If the request is gone: `check_in`.
    Fulfil {
        waiter: W,
        key: ConnectionKey,
        connection: C,
    },
    /// Tell the request that it gets no connection.
    Fail { waiter: W, why: Refusal<E> },
    /// Stop what is being done on connections in use, of this service, created in this generation or before it. They come
    /// back as failed ones.
    Interrupt {
        service_id: Option<ObjectId>,
        generation: u64,
    },
    /// Tell those who listen.
    Emit(Event<E>),
}

/// What the specification's events tell, without the pool's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<E> {
    /// Requests are served from now on.
    PoolReady,
    /// Connections were given up: all, or those of one service.
    PoolCleared {
        service_id: Option<ObjectId>,
        interrupt_in_use: bool,
    },
    /// The pool is closed for good.
    PoolClosed,
    /// A connection counts from now on.
    ConnectionCreated { id: u32 },
    /// It was established, that long after it was created.
    ConnectionReady { id: u32, duration: Duration },
    /// It does not count any more.
    ConnectionClosed {
        id: u32,
        reason: ConnectionClosedReason,
        error: Option<E>,
    },
    /// Somebody asks for a connection.
    CheckOutStarted,
    /// The request got none. `why` is `None` when it gave up waiting.
    CheckOutFailed {
        why: Option<Refusal<E>>,
        duration: Duration,
    },
    /// The request got this one.
    CheckedOut { id: u32, duration: Duration },
    /// It was given back.
    CheckedIn { id: u32 },
}

/// Why a request gets no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal<E> {
    /// The pool is paused, or was cleared while the request waited; with what cleared it.
    Cleared(Option<E>),
    /// The pool is closed.
    Closed,
    /// The connection meant for it could not be established.
    Failed(E),
}

/// The answer to a request for a connection.
#[derive(Debug, PartialEq, Eq)]
pub enum CheckOut<C, E> {
    /// Here it is; it counts as in use.
    Connection(ConnectionKey, C),
    /// The request waits in the queue.
    Waiting(WaiterId),
    /// There is none to be had.
    Refused(Refusal<E>),
}
