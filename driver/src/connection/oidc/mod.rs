//! Access tokens of `MONGODB-OIDC`: the cache of a client, and the calls of its callback or
//! environment ([Authentication], "Credential Caching").
//!
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

mod environment;

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

use super::{login::LoginEnvironment, source_error::SourceError};
use crate::{
    ServerAddress,
    options::{Credential, DEFAULT_ALLOWED_HOSTS, OidcCallback, OidcCallbackParams, OidcCredential},
    proto::auth::{IdpInfo, Token, TokenRequest, TokenSource},
    types::{deadline::Deadline, secret::Secret},
};
use environment::TokenEnvironment;

/// The time limit of a callback in the human flow.
const HUMAN_TIME_LIMIT: Duration = Duration::from_secs(5 * 60);
/// The least time between the beginnings of two calls.
const CALL_INTERVAL: Duration = Duration::from_millis(100);

/// The tokens of a client.
pub(super) struct OidcTokens {
    provider: Provider,
    username: Option<String>,
    environment: LoginEnvironment,
    stored: Mutex<Stored>,
    /// Held during a call: one call runs at a time. Contains the time at which the last one began.
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
    refresh: Option<Secret>,
    idp_info: Option<IdpInfo>,
}

/// Why there is no token.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// The time limit expired.
    Elapsed,
    Failed(SourceError),
}

type Result<T> = std::result::Result<T, Missing>;

impl OidcTokens {
    /// The tokens of a valid credential. `None` if it does not use `MONGODB-OIDC`.
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
            provider,
            username: credential.username.clone(),
            environment,
            stored: Mutex::default(),
            last_call: tokio::sync::Mutex::default(),
        })
    }

    /// Whether tokens may be sent to the host (`ALLOWED_HOSTS`). Ports are ignored.
    pub(super) fn allows(&self, address: &ServerAddress) -> bool {
        match &self.provider {
            Provider::Human(_, hosts) => is_allowed(&address.host(), hosts),
            Provider::Machine(_) | Provider::Environment(_) => true,
        }
    }

    /// The cached access token.
    pub(super) fn cached(&self) -> Option<Token> {
        self.stored().access.clone().map(|text| Token {
            text,
            source: TokenSource::Cache,
        })
    }

    /// Removes the access token from the cache, unless another one is cached.
    pub(super) fn invalidate(&self, rejected: &Secret) {
        let mut stored = self.stored();
        if stored.access.as_ref() == Some(rejected) {
            stored.access = None;
        }
    }

    /// Replaces the cached access token.
    #[cfg(feature = "internals")]
    pub(super) fn store(&self, token: Option<&str>) {
        self.stored().access = token.map(Secret::new);
    }

    /// Obtains the token that a conversation needs. The deadline applies to the machine flow. In the
    /// human flow, a callback has five minutes from its beginning. `None`: the human flow has neither
    /// an access token nor a refresh token.
    ///
    /// Dropping the future drops the future of the callback.
    pub(super) async fn obtain(&self, request: TokenRequest, deadline: Deadline) -> Result<Option<Token>> {
        let request = match request {
            TokenRequest::Replace(rejected) => {
                self.invalidate(&rejected.text);
                if rejected.source == TokenSource::Refresh {
                    self.stored().refresh = None;
                }
                TokenRequest::Stored
            }
            request => request,
        };
        if let Some(token) = self.cached() {
            return Ok(Some(token));
        }
        if matches!(self.provider, Provider::Human(..)) {
            let idp_info = match request {
                TokenRequest::Ask(info) => Some(info),
                _ => None,
            };
            return self.sign_in(idp_info).await;
        }
        match deadline.run(self.machine(deadline)).await {
            Ok(token) => token.map(Some),
            Err(_) => Err(Missing::Elapsed),
        }
    }

    async fn machine(&self, deadline: Deadline) -> Result<Token> {
        let mut last_call = self.last_call.lock().await;
        if let Some(token) = self.cached() {
            return Ok(token);
        }
        keep_interval(&mut last_call).await;
        let token = match &self.provider {
            Provider::Environment(environment) => {
                let token = environment.token(&self.environment, deadline).await;
                token.map_err(Missing::Failed)?
            }
            Provider::Machine(callback) | Provider::Human(callback, _) => {
                let timeout = deadline.remaining().unwrap_or(Duration::MAX);
                let params = OidcCallbackParams::new(timeout, self.username.clone(), None, None);
                call(callback, params).await?.access_token
            }
        };
        self.stored().access = Some(token.clone());
        Ok(Token {
            text: token,
            source: TokenSource::New,
        })
    }

    /// Calls the callback of the human flow: with the identity provider that the server names, or
    /// else with a cached refresh token, if there is one.
    async fn sign_in(&self, idp_info: Option<IdpInfo>) -> Result<Option<Token>> {
        let Provider::Human(callback, _) = &self.provider else {
            return Ok(None);
        };
        if idp_info.is_none() && self.stored().refresh.is_none() {
            return Ok(None);
        }
        let mut last_call = self.last_call.lock().await;
        if let Some(token) = self.cached() {
            return Ok(Some(token));
        }
        let (idp_info, refresh, source) = match idp_info {
            Some(info) => (Some(info), None, TokenSource::New),
            None => {
                let stored = self.stored();
                let Some(refresh) = stored.refresh.clone() else {
                    return Ok(None);
                };
                (stored.idp_info.clone(), Some(refresh), TokenSource::Refresh)
            }
        };
        keep_interval(&mut last_call).await;
        let username = self.username.clone();
        let params = OidcCallbackParams::new(HUMAN_TIME_LIMIT, username, idp_info.clone(), refresh);
        let deadline = Deadline::after(Some(HUMAN_TIME_LIMIT));
        let credential = deadline.run(call(callback, params)).await;
        let credential = credential.map_err(|_| Missing::Failed(SourceError::NoPerson))??;
        *self.stored() = Stored {
            access: Some(credential.access_token.clone()),
            refresh: credential.refresh_token,
            idp_info,
        };
        Ok(Some(Token {
            text: credential.access_token,
            source,
        }))
    }

    fn stored(&self) -> MutexGuard<'_, Stored> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for OidcTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OidcTokens")
    }
}

/// Waits until the interval since the last call has passed, and notes the beginning of the next.
async fn keep_interval(last_call: &mut Option<Instant>) {
    if let Some(last) = *last_call {
        sleep_until(last + CALL_INTERVAL).await;
    }
    *last_call = Some(Instant::now());
}

async fn call(callback: &OidcCallback, params: OidcCallbackParams) -> Result<OidcCredential> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        Missing::Failed(SourceError::Application {
            what: "the callback",
            cause: error.to_string(),
        })
    };
    let credential = callback.call(params).await.map_err(failed)?;
    if credential.access_token.expose().is_empty() {
        return Err(Missing::Failed(SourceError::EmptyToken));
    }
    Ok(credential)
}

/// Whether a host matches a pattern: its name, or `*.` and a domain that it is below.
fn is_allowed(host: &str, patterns: &[String]) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    patterns.iter().any(|pattern| {
        let pattern = pattern.to_ascii_lowercase();
        match pattern.strip_prefix('*') {
            Some(domain) if domain.starts_with('.') => host.len() > domain.len() && host.ends_with(domain),
            _ => host == pattern,
        }
    })
}

#[cfg(test)]
mod tests;
