//! What a proxy can do to an exchange.

use std::{fmt, sync::Arc};

/// What becomes of a request and its reply. Of a reply that goes on by itself the request was passed on before, so that fates
/// which concern the request end the connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Fate {
    /// Both pass.
    Pass,
    /// The server never sees the request; the connection ends.
    Lose,
    /// This many bytes of the request, at most all but one, then the end of the connection.
    CutRequestAfter(usize),
    /// This many bytes of the reply, at most all but one, then the end of the connection.
    CutAfter(usize),
    /// The request passes; instead of the reply the connection is reset.
    Reset,
    /// The reply with one byte changed, then the end of the connection.
    Garble {
        /// Which byte.
        at: Place,
        /// The bits that are flipped.
        mask: u8,
    },
    /// The request is passed on when the client has given up and ended the connection, and not before. There is no reply.
    PassLate,
    /// No byte of the reply; the connection ends with the next [`Proxy::end_waits`](super::Proxy::end_waits).
    Hang,
    /// No byte of the reply, until the client ends the connection.
    Silence,
    /// No byte of the reply before the next [`Proxy::end_waits`](super::Proxy::end_waits).
    Delay,
    /// The reply, then the end of this direction; requests are still read and passed on, their replies are not.
    HalfClose,
    /// The reply in pieces that end at these offsets, the last piece being the rest, each when
    /// [`Proxy::release`](super::Proxy::release) is called; all at once with the next
    /// [`Proxy::end_waits`](super::Proxy::end_waits).
    Stepwise(Vec<usize>),
    /// Another fate, which begins with the next [`Proxy::end_waits`](super::Proxy::end_waits); the request is not passed on
    /// before.
    Later(Box<Fate>),
    /// Another fate; the callback runs when it begins.
    Observed(Box<Fate>, Done),
}

/// Where a byte lies in a reply.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// This many bytes after the first.
    FromStart(usize),
    /// The last one.
    Last,
}

/// Called once, when a fate begins; dropped uncalled when the connection ends before.
#[derive(Clone)]
pub struct Done(Arc<dyn Fn() + Send + Sync>);

impl Done {
    /// A callback.
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
