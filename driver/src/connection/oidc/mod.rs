//! Access tokens of `MONGODB-OIDC`: the cache of a client, and the calls of its callback or
//! environment ([Authentication], "Credential Caching").
//!
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

mod call;
mod environment;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{runtime::Handle, time::Instant};

use super::{login::LoginEnvironment, source_error::SourceError};
use crate::{
    ServerAddress,
    options::{Credential, DEFAULT_ALLOWED_HOSTS, OidcCallback},
    proto::auth::{IdpInfo, Token, TokenRequest, TokenSource},
    types::{
        deadline::Deadline,
        host_pattern,
        lock::{Inner, InnerGuard, Outer, OuterGuard},
        secret::Secret,
    },
};
use call::{Call, Outcome, Request};
use environment::TokenEnvironment;

/// The time limit of a callback in the human flow.
const HUMAN_TIME_LIMIT: Duration = Duration::from_secs(5 * 60);
/// The time limit of a callback in the machine flow, without `timeoutMS`.
const MACHINE_TIME_LIMIT: Duration = Duration::from_secs(60);
/// The least time between the beginnings of two calls.
const CALL_INTERVAL: Duration = Duration::from_millis(100);

/// The tokens of a client.
pub(super) struct OidcTokens {
    cache: Arc<Cache>,
    /// The call that runs, or the last one: one runs at a time.
    call: Outer<Option<Call>>,
    /// The client was shut down. Set while `call` is locked.
    is_closed: AtomicBool,
    /// Calls run in the runtime of the client: that of an operation may end before the call.
    runtime: Handle,
}

/// The tokens and what obtains them.
struct Cache {
    provider: Provider,
    username: Option<String>,
    environment: LoginEnvironment,
    stored: Inner<Stored>,
    /// The time at which the last call began. Locked during a call: one that was ended may still be polled once more,
    /// and the callback must not run twice at the same time.
    last_call: tokio::sync::Mutex<Option<Instant>>,
}

enum Provider {
    Machine(OidcCallback),
    Human(OidcCallback, Vec<String>),
    Environment(TokenEnvironment),
}

/// The client cache.
#[derive(Default)]
struct Stored {
    access: Option<Secret>,
    refresh: Option<Refresh>,
    idp_info: Option<IdpInfo>,
}

/// A refresh token.
#[derive(Clone)]
struct Refresh {
    text: Secret,
    /// The access token that the callback returned with it.
    access: Secret,
}

/// Why there is no token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// The deadline of the login expired.
    Elapsed,
    Failed(SourceError),
}

type Result<T> = std::result::Result<T, Missing>;

impl OidcTokens {
    /// The tokens of a valid credential. `None` if it does not use `MONGODB-OIDC`.
    ///
    /// # Panics
    /// Outside a runtime. A client is created within one.
    pub(super) fn new(credential: &Credential, environment: LoginEnvironment) -> Option<Self> {
        let provider = if let Some(callback) = &credential.oidc_callback {
            Provider::Machine(callback.clone())
        } else if let Some(callback) = &credential.oidc_human_callback {
            let hosts = credential.allowed_hosts.clone();
            let default = || DEFAULT_ALLOWED_HOSTS.map(str::to_owned).to_vec();
            Provider::Human(callback.clone(), hosts.unwrap_or_else(default))
        } else {
            Provider::Environment(TokenEnvironment::of(credential)?)
        };
        Some(Self {
            cache: Arc::new(Cache {
                provider,
                username: credential.username.clone(),
                environment,
                stored: Inner::default(),
                last_call: tokio::sync::Mutex::default(),
            }),
            call: Outer::default(),
            is_closed: AtomicBool::new(false),
            runtime: Handle::current(),
        })
    }

    /// Whether tokens may be sent to the host (`ALLOWED_HOSTS`). Ports are ignored.
    pub(super) fn allows(&self, address: &ServerAddress) -> bool {
        match &self.cache.provider {
            Provider::Human(_, hosts) => host_pattern::matches(&address.host(), hosts),
            Provider::Machine(_) | Provider::Environment(_) => true,
        }
    }

    /// The cached access token.
    pub(super) fn cached(&self) -> Option<Token> {
        let text = self.cache.stored().access.clone()?;
        let source = TokenSource::Cache;
        Some(Token { text, source })
    }

    /// Removes the access token from the cache, unless another one is cached.
    pub(super) fn invalidate(&self, rejected: &Secret) {
        let mut stored = self.cache.stored();
        if stored.access.as_ref() == Some(rejected) {
            stored.access = None;
        }
    }

    /// Replaces the cached access token.
    #[cfg(feature = "internals")]
    pub(super) fn store(&self, token: Option<&str>) {
        self.cache.stored().access = token.map(Secret::new);
    }

    /// Obtains the token that a conversation needs. The deadline applies to the machine flow, where
    /// a call without one has a minute. In the human flow, a call has five minutes. `None`: the human
    /// flow has neither an access token nor a refresh token.
    ///
    /// Dropping the future ends a call of the machine flow, unless another login waits for it. One of
    /// the human flow goes on, and its token is for the next login. Dropping the tokens of the client
    /// ends every call.
    pub(super) async fn obtain(&self, request: TokenRequest, deadline: Deadline) -> Result<Option<Token>> {
        let request = match request {
            TokenRequest::Replace(rejected) => {
                self.reject(&rejected);
                TokenRequest::Stored
            }
            request => request,
        };
        loop {
            if let Some(token) = self.cached() {
                return Ok(Some(token));
            }
            let Some(request) = self.cache.request(&request, deadline) else {
                return Ok(None);
            };
            let deadline = match request {
                Request::Machine(_) => deadline,
                Request::Human { .. } => Deadline::NEVER,
            };
            let mut waiting = match self.join(request) {
                Joined::Cached(token) => return Ok(Some(token)),
                Joined::Closed => return Err(Missing::Failed(SourceError::ShutDown)),
                Joined::Waiting(waiting) => waiting,
            };
            let is_own = waiting.is_own;
            let ended = deadline.run(call::end(&mut waiting.outcome)).await;
            match ended.map_err(|_| Missing::Elapsed)? {
                Ok(mut token) => {
                    if !is_own {
                        token.source = TokenSource::Cache;
                    }
                    return Ok(Some(token));
                }
                // The deadline of another login ended the call.
                Err(Missing::Elapsed) if !is_own => {}
                Err(missing) => return Err(missing),
            }
        }
    }

    /// Ends the call that runs, also one of the human flow, and lets no further one begin.
    pub(super) fn close(&self) {
        let mut call = self.call();
        self.is_closed.store(true, Ordering::Relaxed);
        call.take();
    }

    /// Removes what a server rejected from the cache.
    fn reject(&self, rejected: &Token) {
        self.invalidate(&rejected.text);
        if rejected.source == TokenSource::Refresh {
            let mut stored = self.cache.stored();
            stored.refresh = stored
                .refresh
                .take()
                .filter(|refresh| refresh.access != rejected.text);
        }
    }

    /// Waits for the call that runs, or begins one.
    fn join(&self, request: Request) -> Joined<'_> {
        let mut call = self.call();
        if let Some(running) = call.as_mut().filter(|call| call.is_running()) {
            return Joined::Waiting(Waiting {
                outcome: running.join(),
                is_own: false,
                tokens: self,
            });
        }
        // A call may have ended since the cache was read.
        if let Some(token) = self.cached() {
            return Joined::Cached(token);
        }
        if self.is_closed.load(Ordering::Relaxed) {
            return Joined::Closed;
        }
        let mut new = Call::spawn(Arc::clone(&self.cache), request, &self.runtime);
        let outcome = new.join();
        *call = Some(new);
        Joined::Waiting(Waiting {
            outcome,
            is_own: true,
            tokens: self,
        })
    }

    fn call(&self) -> OuterGuard<'_, Option<Call>> {
        self.call.lock()
    }
}

enum Joined<'a> {
    Cached(Token),
    Closed,
    Waiting(Waiting<'a>),
}

/// A login that waits for a call.
struct Waiting<'a> {
    outcome: Outcome,
    /// The call was begun for this login.
    is_own: bool,
    tokens: &'a OidcTokens,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        call::leave(&mut self.tokens.call(), &self.outcome);
    }
}

impl Cache {
    fn stored(&self) -> InnerGuard<'_, Stored> {
        self.stored.lock()
    }

    /// The call that obtains a token. In the human flow: with the identity provider that the server
    /// names, or else with the cached refresh token. `None` if there is neither.
    fn request(&self, request: &TokenRequest, deadline: Deadline) -> Option<Request> {
        if !matches!(self.provider, Provider::Human(..)) {
            return Some(Request::Machine(deadline));
        }
        if let TokenRequest::Ask(info) = request {
            return Some(Request::Human {
                idp_info: Some(info.clone()),
                refresh: None,
            });
        }
        let stored = self.stored();
        let refresh = stored.refresh.as_ref()?;
        Some(Request::Human {
            idp_info: stored.idp_info.clone(),
            refresh: Some(refresh.text.clone()),
        })
    }
}

impl fmt::Debug for OidcTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OidcTokens")
    }
}

#[cfg(test)]
mod tests;
