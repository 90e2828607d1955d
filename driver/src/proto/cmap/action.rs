//! What the pool machine answers and asks for.

use super::{ConnectionKey, wait_queue::WaiterId};

/// Something the owner of the machine must do. Actions are in the order in which they were decided.
#[derive(Debug, PartialEq, Eq)]
pub enum Action<C, W> {
    /// Establish a connection, then report with `established`, or with `blame` and `establish_failed`.
    Establish(ConnectionKey),
    /// Close the connection. It is not counted any more.
    Close {
        connection: C,
        key: ConnectionKey,
        reason: CloseReason,
    },
    /// Give the connection, which counts as in use, to the request. If the request is gone: `check_in`.
    Fulfil {
        waiter: W,
        key: ConnectionKey,
        connection: C,
    },
    /// Tell the request that it gets no connection.
    Fail { waiter: W, why: Refusal },
}

/// Why a connection is closed, as the specification's events name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The pool was cleared after the connection was created.
    Stale,
    /// It was available for longer than `maxIdleTimeMS`.
    Idle,
    /// It failed, or was given up with a reply outstanding.
    Error,
    /// The pool was closed.
    PoolClosed,
}

/// Why a request gets no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The pool is paused, or was cleared while the request waited.
    Cleared,
    /// The pool is closed.
    Closed,
}

/// The answer to a request for a connection.
#[derive(Debug, PartialEq, Eq)]
pub enum CheckOut<C> {
    /// Here it is; it counts as in use.
    Connection(ConnectionKey, C),
    /// The request waits in the queue.
    Waiting(WaiterId),
    /// There is none to be had.
    Refused(Refusal),
}
