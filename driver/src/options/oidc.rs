//! The callbacks of `MONGODB-OIDC` ([Authentication], "OIDC Callback").
//!
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

use std::{error::Error as StdError, fmt, pin::Pin, sync::Arc, time::Duration};

use crate::{
    proto::auth::IdpInfo,
    types::{
        panics::{CaughtFuture, Panicked},
        secret::Secret,
    },
};

/// The version of [`OidcCallbackParams`].
const VERSION: u32 = 1;

/// The hosts that the human flow allows by default (`ALLOWED_HOSTS`).
pub(crate) const DEFAULT_ALLOWED_HOSTS: [&str; 8] = [
    "*.mongodb.net",
    "*.mongodb-qa.net",
    "*.mongodb-dev.net",
    "*.mongodbgov.net",
    "localhost",
    "127.0.0.1",
    "::1",
    "*.mongo.com",
];

/// What an [`OidcCallback`] receives (`OIDCCallbackParams`). `Debug` prints no token.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OidcCallbackParams {
    /// The time limit. The future of the callback is dropped when it expires, and in the machine flow when no operation waits for
    /// the token any longer. In the human flow it goes on: a person may be entering a password. For a callback of the
    /// machine flow: with `timeoutMS`, what is left of it and of `connectTimeoutMS`; without it one minute, whatever
    /// `connectTimeoutMS` is. For one of the human flow: five minutes.
    pub timeout: Duration,
    /// The version of these parameters: 1.
    pub version: u32,
    /// The user name of the credential.
    pub username: Option<String>,
    /// The identity provider that the server names. Only in the human flow.
    pub idp_info: Option<IdpInfo>,
    refresh_token: Option<Secret>,
}

impl OidcCallbackParams {
    pub(crate) fn new(
        timeout: Duration,
        username: Option<String>,
        idp_info: Option<IdpInfo>,
        refresh_token: Option<Secret>,
    ) -> Self {
        Self {
            timeout,
            version: VERSION,
            username,
            idp_info,
            refresh_token,
        }
    }

    /// The refresh token that the callback returned before. Only in the human flow. `None` the first
    /// time, and after the server rejected an access token that the refresh token had yielded.
    #[must_use]
    pub fn refresh_token(&self) -> Option<&str> {
        self.refresh_token.as_ref().map(Secret::expose)
    }
}

/// What an [`OidcCallback`] returns (`OIDCCredential`). `Debug` prints no token.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OidcCredential {
    pub(crate) access_token: Secret,
    pub(crate) refresh_token: Option<Secret>,
    /// `expiresIn`: how long the access token is valid. Not used by this version: a token is used
    /// until the server rejects it.
    pub expires_in: Option<Duration>,
}

impl OidcCredential {
    /// An access token, which is sent as it is. An empty one is an error of the operation.
    pub fn new(access_token: impl Into<String>) -> Self {
        Self {
            access_token: Secret::new(access_token),
            refresh_token: None,
            expires_in: None,
        }
    }

    /// Adds a refresh token. In the human flow, the callback receives it when a new access token is
    /// needed.
    #[must_use]
    pub fn with_refresh_token(mut self, token: impl Into<String>) -> Self {
        self.refresh_token = Some(Secret::new(token));
        self
    }
}

type CallbackError = Box<dyn StdError + Send + Sync>;
type Calling = Pin<Box<dyn Future<Output = Result<OidcCredential, CallbackError>> + Send>>;
type Callback = dyn Fn(OidcCallbackParams) -> Calling + Send + Sync;

/// A function of the application that obtains an access token for `MONGODB-OIDC`. The driver caches
/// the token for all connections of a client, and calls the function again when the server rejects
/// it. A client runs one call at a time, and begins two calls at least 100 ms apart.
///
/// ```
/// use marula_driver::options::{OidcCallback, OidcCredential};
///
/// let callback = OidcCallback::new(|params| async move {
///     let path = std::env::var("TOKEN_FILE")?;
///     println!("a token is needed within {:?}", params.timeout);
///     Ok(OidcCredential::new(std::fs::read_to_string(path)?.trim()))
/// });
/// ```
#[derive(Clone)]
pub struct OidcCallback(Arc<Callback>);

impl OidcCallback {
    /// Obtains tokens with this function. An error of it is part of the error of the operation, so
    /// it must not contain a secret. So is a panic of it, without its message. It must not block: its
    /// time limit applies between polls.
    pub fn new<F, O>(call: F) -> Self
    where
        F: Fn(OidcCallbackParams) -> O + Send + Sync + 'static,
        O: Future<Output = Result<OidcCredential, Box<dyn StdError + Send + Sync>>> + Send + 'static,
    {
        Self(Arc::new(move |params| Box::pin(call(params))))
    }

    /// A panic of the callback is an error of it.
    pub(crate) async fn call(&self, params: OidcCallbackParams) -> Result<OidcCredential, CallbackError> {
        let called = CaughtFuture::begin(|| (self.0)(params)).await;
        called.unwrap_or_else(|Panicked| Err("it panicked".into()))
    }
}

/// Whether both are clones of the same callback.
impl PartialEq for OidcCallback {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for OidcCallback {}

impl fmt::Debug for OidcCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OidcCallback")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_prints_no_token() {
        let credential = OidcCredential::new("hunter2").with_refresh_token("hunter3");
        let params = OidcCallbackParams::new(Duration::ZERO, None, None, Some(Secret::new("hunter4")));
        let shown = format!("{credential:?} {params:?}");
        assert!(!shown.contains("hunter"), "{shown}");
        assert_eq!(params.refresh_token(), Some("hunter4"));
    }
}
