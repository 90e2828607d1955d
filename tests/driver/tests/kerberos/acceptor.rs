//! The server's side of security contexts, with the keytab of the environment.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use libgssapi::context::{SecurityContext as _, ServerCtx};
use marula_test_server::{GssapiAcceptor, GssapiContext};

/// What the server does instead of what RFC 4752 says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    /// Nothing.
    None,
    /// Replies with another token, as a server without the key of the service.
    Token,
    /// Offers these layers and this size.
    Offer(&'static [u8]),
    /// Sends the offer without wrapping it.
    Unwrapped,
}

/// Accepts contexts, and counts them.
#[derive(Debug)]
pub(crate) struct Acceptor {
    lie: Lie,
    accepted: AtomicUsize,
}

impl Acceptor {
    pub(crate) fn new(lie: Lie) -> Arc<Self> {
        let accepted = AtomicUsize::new(0);
        Arc::new(Self { lie, accepted })
    }

    /// The number of contexts.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

impl GssapiAcceptor for Acceptor {
    fn accept(&self) -> Result<Box<dyn GssapiContext>, String> {
        self.accepted.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(Context {
            context: ServerCtx::new(None),
            lie: self.lie,
        }))
    }
}

#[derive(Debug)]
struct Context {
    context: ServerCtx,
    lie: Lie,
}

impl GssapiContext for Context {
    fn step(&mut self, token: &[u8]) -> Result<Vec<u8>, String> {
        let token = self
            .context
            .step(token, None)
            .map_err(|error| error.to_string())?;
        let mut token = token.map(|token| token.to_vec()).unwrap_or_default();
        if self.lie == Lie::Token {
            // The last bytes are part of the encrypted time that proves the key.
            token.iter_mut().rev().take(8).for_each(|byte| *byte ^= 0x55);
        }
        Ok(token)
    }

    fn is_established(&self) -> bool {
        self.context.is_complete()
    }

    fn client(&self) -> Result<String, String> {
        let name = self.context.source_name();
        name.map(|name| name.to_string())
            .map_err(|error| error.to_string())
    }

    fn wrap(&mut self, message: &[u8]) -> Result<Vec<u8>, String> {
        let message = match self.lie {
            Lie::Offer(offer) => offer,
            Lie::Unwrapped => return Ok(message.to_vec()),
            Lie::None | Lie::Token => message,
        };
        let wrapped = self.context.wrap(false, message);
        wrapped
            .map(|message| message.to_vec())
            .map_err(|error| error.to_string())
    }

    fn unwrap(&mut self, message: &[u8]) -> Result<Vec<u8>, String> {
        let message = self.context.unwrap(message);
        message
            .map(|message| message.to_vec())
            .map_err(|error| error.to_string())
    }
}
