//! `GSSAPI`: calls of the Kerberos library for the conversations of
//! [`proto::auth`](crate::proto::auth), and the host in the principal of the service
//! ([Authentication], "GSSAPI").
//!
//! The library reads files and sends requests to the key distribution center, and blocks its thread
//! meanwhile. It cannot be interrupted: after a time limit, a call goes on until the library's own
//! time limits end it, and its result is dropped. The number of such calls is limited.
//!
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

mod canonical_host;
#[cfg(unix)]
mod security_context;
#[cfg(not(unix))]
#[path = "security_context_off.rs"]
mod security_context;

use std::{fmt, sync::Arc};

use tokio::{sync::Semaphore, task::JoinSet};

use self::{canonical_host::canonical_host, security_context::LibraryError};
use super::dns::DnsLookup;
use crate::{
    ServerAddress,
    error::{AuthenticationFailure, KerberosError, KerberosFailure},
    options::Credential,
    proto::auth::{CanonicalizeHostName, GssCall, GssOutput, GssapiProperties, ServiceName},
    types::secret::Secret,
};
pub(super) use security_context::SecurityContext;

/// The maximum number of calls of the library at the same time, for a client.
const AT_ONCE: usize = 8;

/// The user, and how the service is found.
pub(super) struct GssapiLogin {
    principal: String,
    password: Option<Secret>,
    properties: GssapiProperties,
    dns: Arc<dyn DnsLookup>,
    places: Arc<Semaphore>,
}

/// Both sides of a conversation.
#[derive(Clone)]
pub(super) struct Peers {
    principal: String,
    password: Option<Secret>,
    service: ServiceName,
}

/// The security context of one conversation.
pub(super) struct Conversation {
    login: Arc<GssapiLogin>,
    address: ServerAddress,
    peers: Option<Peers>,
    context: Option<SecurityContext>,
}

impl GssapiLogin {
    pub(super) fn new(credential: &Credential, dns: Arc<dyn DnsLookup>) -> Self {
        Self {
            principal: credential.username.clone().unwrap_or_default(),
            password: credential.password().cloned(),
            properties: GssapiProperties::new(&credential.mechanism_properties),
            dns,
            places: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// A conversation with this server, without a security context.
    pub(super) fn begin(self: &Arc<Self>, address: &ServerAddress) -> Conversation {
        Conversation {
            login: Arc::clone(self),
            address: address.clone(),
            peers: None,
            context: None,
        }
    }

    /// The user and the name of the service on this server.
    async fn peers(&self, address: &ServerAddress) -> Result<Peers, AuthenticationFailure> {
        let host = match (&self.properties.host, address) {
            (Some(host), _) => host.clone(),
            (None, ServerAddress::Tcp { host, .. }) => match self.properties.canonicalize {
                CanonicalizeHostName::None => host.clone(),
                mode => canonical_host(host, mode, &*self.dns).await,
            },
            (None, ServerAddress::Unix { .. }) => {
                let peers = self.peers_on("");
                return Err(peers.error(KerberosFailure::NoHost, String::new()));
            }
        };
        Ok(self.peers_on(&host))
    }

    fn peers_on(&self, host: &str) -> Peers {
        Peers {
            principal: self.principal.clone(),
            password: self.password.clone(),
            service: self.properties.service(host),
        }
    }
}

impl Conversation {
    /// Makes a call on the security context, which is created for the first one. Dropping the future
    /// leaves a call that has begun to the library.
    pub(super) async fn call(&mut self, call: GssCall) -> Result<GssOutput, AuthenticationFailure> {
        let peers = match &self.peers {
            Some(peers) => peers.clone(),
            None => self.peers.insert(self.login.peers(&self.address).await?).clone(),
        };
        let ending = || AuthenticationFailure::Unavailable("the runtime is ending".to_owned());
        let place = Arc::clone(&self.login.places).acquire_owned().await;
        let place = place.map_err(|_| ending())?;
        let context = self.context.take();
        // A call that has not begun is cancelled when the set is dropped.
        let mut calls = JoinSet::new();
        calls.spawn_blocking(move || {
            let outcome = perform(context, call, &peers);
            drop(place);
            outcome
        });
        let (context, output) = match calls.join_next().await {
            Some(Ok(outcome)) => outcome?,
            Some(Err(error)) if error.is_panic() => {
                let why = "a call of the Kerberos library panicked".to_owned();
                return Err(AuthenticationFailure::Unavailable(why));
            }
            _ => return Err(ending()),
        };
        self.context = Some(context);
        Ok(output)
    }

    /// The error of a call that did not end within the time limit.
    pub(super) fn no_answer(&self) -> AuthenticationFailure {
        let peers = match &self.peers {
            Some(peers) => peers.clone(),
            None => self.login.peers_on(&self.address.host()),
        };
        peers.error(KerberosFailure::NoAnswer, String::new())
    }
}

/// Blocks until the library returns.
fn perform(
    context: Option<SecurityContext>,
    call: GssCall,
    peers: &Peers,
) -> Result<(SecurityContext, GssOutput), AuthenticationFailure> {
    // All calls but the first have a message of the server, which may report one of these errors.
    let answers_server = !matches!(call, GssCall::Initiate(None));
    let failed = |error: LibraryError| match error.failure {
        failure @ (KerberosFailure::ClockSkew
        | KerberosFailure::TicketExpired
        | KerberosFailure::UnknownService) => peers.error(failure, error.message),
        _ if answers_server => AuthenticationFailure::Conversation(format!(
            "the Kerberos library rejects the server's message ({})",
            error.message
        )),
        failure => peers.error(failure, error.message),
    };
    let mut context = match context {
        Some(context) => context,
        None => {
            let password = peers.password.as_ref().map(Secret::expose);
            SecurityContext::new(&peers.principal, password, &peers.service).map_err(failed)?
        }
    };
    let output = context.call(call).map_err(failed)?;
    Ok((context, output))
}

impl Peers {
    fn error(&self, failure: KerberosFailure, message: String) -> AuthenticationFailure {
        AuthenticationFailure::Kerberos(Box::new(KerberosError {
            failure,
            principal: self.principal.clone(),
            service: self.service.to_string(),
            message,
        }))
    }
}

impl fmt::Debug for GssapiLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GssapiLogin")
            .field("principal", &self.principal)
            .field("properties", &self.properties)
            .finish_non_exhaustive()
    }
}
