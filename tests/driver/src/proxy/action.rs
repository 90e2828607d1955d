//! The actions of a proxy.

use std::{fmt, sync::Arc};

/// What the proxy does with a request and its reply. The request of a further reply has already
/// been forwarded; for a further reply, the actions that concern the request close the connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Action {
    /// Forwards request and reply.
    Pass,
    /// Closes the connection without forwarding the request.
    DropRequest,
    /// Forwards this many bytes of the request, at most all but one, then closes the connection.
    CutRequestAfter(usize),
    /// Forwards this many bytes of the reply, at most all but one, then closes the connection.
    CutAfter(usize),
    /// Forwards the request, and resets the connection instead of forwarding the reply.
    Reset,
    /// Forwards the reply with one byte changed, then closes the connection.
    Corrupt {
        /// The position of the byte.
        at: Place,
        /// The bits that are inverted.
        mask: u8,
    },
    /// Forwards the request after the client has closed the connection. No reply is sent.
    ForwardLate,
    /// Holds the reply back, and closes the connection at the next
    /// [`Proxy::end_waits`](super::Proxy::end_waits).
    Hang,
    /// Holds the reply back until the client closes the connection.
    Silence,
    /// Holds the reply back until the next [`Proxy::end_waits`](super::Proxy::end_waits).
    Delay,
    /// Forwards the reply, then closes this direction. Further requests are read and forwarded;
    /// their replies are dropped.
    HalfClose,
    /// Forwards the reply in pieces that end at these offsets; the last piece is the rest. Each
    /// call of [`Proxy::release`](super::Proxy::release) forwards one piece;
    /// [`Proxy::end_waits`](super::Proxy::end_waits) forwards all.
    Stepwise(Vec<usize>),
    /// Performs another action after the next [`Proxy::end_waits`](super::Proxy::end_waits). The
    /// request is not forwarded before.
    Later(Box<Action>),
    /// Runs the callback, then performs another action.
    Observed(Box<Action>, Done),
}

/// The position of a byte in a reply.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// The offset from the first byte.
    FromStart(usize),
    /// The last byte.
    Last,
}

/// A callback that runs once, when an action begins. It is dropped without a call if the connection
/// ends before.
#[derive(Clone)]
pub struct Done(Arc<dyn Fn() + Send + Sync>);

impl Done {
    /// Wraps a function.
    pub fn new(call: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(call))
    }

    pub(super) fn call(&self) {
        (self.0)();
    }
}

impl fmt::Debug for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Done")
    }
}
