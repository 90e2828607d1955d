//! Authentication on a connection after its handshake: runs the conversations of
//! [`proto::auth`](crate::proto::auth).

mod limits;
mod waiting;

use std::{fmt, sync::Arc};

use zeroize::Zeroize as _;

pub(super) use self::limits::LoginLimits;
use self::{limits::Awaited, waiting::Waiting};
use super::{
    Connection, ConnectionSettings, MetadataServices,
    keys::KeyCache,
    oidc::{Missing, OidcTokens},
};
#[cfg(feature = "aws-auth")]
use super::{
    aws_auth::{AwsCache, AwsLogin},
    source_error::SourceError,
};
#[cfg(feature = "gssapi")]
use super::{dns::DnsLookup, gssapi::GssapiLogin};
#[cfg(feature = "aws-auth")]
use crate::options::TlsOptions;
#[cfg(feature = "gssapi")]
use crate::proto::auth::{AwaitingSecurityContext, GssCall};
use crate::{
    Error, ErrorKind, NetworkPhase, Result, ServerAddress,
    error::{AuthenticationError, AuthenticationFailure},
    options::Credential,
    proto::{
        auth::{Awaiting, Identity, Login, Mechanism, Nonce, Offer, Request, ScramHash, Step, parse_reply},
        command::CommandBuilder,
    },
    types::{
        deadline::{Deadline, Elapsed},
        variables::SharedVariables,
    },
};

/// Who logs in on the connections of a client.
#[derive(Clone, Debug)]
pub struct LoginSettings {
    identity: Identity,
    keys: Arc<KeyCache>,
    waiting: Waiting,
    oidc: Option<Arc<OidcTokens>>,
    #[cfg(feature = "aws-auth")]
    aws: Option<Arc<AwsLogin>>,
    #[cfg(feature = "gssapi")]
    gssapi: Option<Arc<GssapiLogin>>,
}

/// The sources of tokens and credentials outside the options.
#[derive(Clone)]
pub struct LoginEnvironment {
    /// The environment variables.
    pub variables: SharedVariables,
    /// Where metadata services are.
    pub services: MetadataServices,
    /// Credentials of web identities, ECS and EC2.
    #[cfg(feature = "aws-auth")]
    pub aws_cache: AwsCache,
    /// How connections to the Security Token Service are encrypted.
    #[cfg(feature = "aws-auth")]
    pub sts_tls: TlsOptions,
    /// Looks up canonical names of hosts.
    #[cfg(feature = "gssapi")]
    pub dns: Arc<dyn DnsLookup>,
}

impl fmt::Debug for LoginEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LoginEnvironment")
    }
}

/// Why a login ended.
#[derive(Debug)]
pub(super) struct Unfinished(Error);

impl Unfinished {
    pub(super) fn error(self) -> Error {
        as_login_error(self.0)
    }
}

impl From<Error> for Unfinished {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl From<AuthenticationError> for Unfinished {
    fn from(error: AuthenticationError) -> Self {
        Self(error.into())
    }
}

impl LoginSettings {
    /// The same user on every connection; keys that were made for one are kept for the others.
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            keys: Arc::default(),
            waiting: Waiting::default(),
            oidc: None,
            #[cfg(feature = "aws-auth")]
            aws: None,
            #[cfg(feature = "gssapi")]
            gssapi: None,
        }
    }

    /// The same with the sources of tokens and credentials of a valid credential.
    #[must_use]
    pub fn with_sources(mut self, credential: &Credential, environment: LoginEnvironment) -> Self {
        match self.identity.mechanism {
            Some(Mechanism::Oidc(_)) => self.oidc = OidcTokens::new(credential, environment).map(Arc::new),
            #[cfg(feature = "aws-auth")]
            Some(Mechanism::Aws) => self.aws = Some(Arc::new(AwsLogin::new(credential, environment))),
            #[cfg(feature = "gssapi")]
            Some(Mechanism::Gssapi) => {
                self.gssapi = Some(Arc::new(GssapiLogin::new(credential, environment.dns)));
            }
            _ => {}
        }
        self
    }

    /// A login for one connection to this server.
    ///
    /// # Errors
    /// The human flow of OIDC does not allow the host.
    pub(super) fn begin(&self, address: &ServerAddress) -> Result<Login> {
        let nonce = nonce().map_err(|failure| self.error(failure))?;
        let login = Login::new(self.identity.clone(), nonce);
        let Some(tokens) = &self.oidc else {
            return Ok(login);
        };
        if !tokens.allows(address) {
            let host = address.host().into_owned();
            return Err(self.error(AuthenticationFailure::HostNotAllowed(host)));
        }
        Ok(login.with_cached_token(tokens.cached()))
    }

    /// The error names the user.
    fn name(&self, Unfinished(error): Unfinished) -> Unfinished {
        let ErrorKind::Authentication(failed) = error.kind() else {
            return error.into();
        };
        let (username, source) = (self.identity.username.as_deref(), &self.identity.source);
        let named = failed.clone().of_user(username, source);
        error.with_kind(named.into()).into()
    }

    /// The client is shut down: ends the call of a callback that may otherwise wait for a person.
    pub fn close(&self) {
        if let Some(tokens) = &self.oidc {
            tokens.close();
        }
    }

    /// What logins of the client wait for now, besides replies of servers.
    pub(crate) fn awaited(&self) -> Option<String> {
        let what = match self.identity.mechanism? {
            Mechanism::Oidc(_) => "an access token of the callback or of the environment",
            #[cfg(feature = "aws-auth")]
            Mechanism::Aws => self.aws.as_ref()?.description(),
            #[cfg(feature = "gssapi")]
            Mechanism::Gssapi => "the Kerberos library (key distribution center)",
            _ => return None,
        };
        let user = named(self);
        self.waiting.is_any().then(|| format!("{user} waits for {what}"))
    }

    fn error(&self, failure: AuthenticationFailure) -> Error {
        AuthenticationError::new(self.mechanism().as_str(), failure).into()
    }

    fn mechanism(&self) -> Mechanism {
        let negotiated = Mechanism::Scram(ScramHash::Sha256);
        self.identity.mechanism.unwrap_or(negotiated)
    }

    /// After a failed authentication: cached credentials of AWS are not used again ("Credential caching"), also if it failed
    /// because their source did not answer within `connectTimeoutMS` or its own limit. They are kept if the connection to the
    /// server failed, a reply of the server was late, or `timeoutMS` expired.
    #[cfg(feature = "aws-auth")]
    fn handle_failure(&self, Unfinished(error): &Unfinished) {
        if let Some(source) = &self.aws
            && matches!(error.kind(), ErrorKind::Authentication(_))
        {
            source.invalidate();
        }
    }

    #[cfg(not(feature = "aws-auth"))]
    fn handle_failure(&self, _: &Unfinished) {}

    /// The cached access token of OIDC.
    #[cfg(feature = "internals")]
    pub fn cached_token(&self) -> Option<String> {
        let token = self.oidc.as_ref()?.cached()?;
        Some(token.text.expose().to_owned())
    }

    /// Replaces the cached access token of OIDC.
    #[cfg(feature = "internals")]
    pub fn set_cached_token(&self, token: Option<&str>) {
        if let Some(tokens) = &self.oidc {
            tokens.store(token);
        }
    }
}

fn nonce() -> std::result::Result<Nonce, AuthenticationFailure> {
    let mut nonce = Nonce::default();
    match getrandom::fill(&mut nonce) {
        Ok(()) => Ok(nonce),
        Err(error) => Err(AuthenticationFailure::Unavailable(format!(
            "no random numbers: {error}"
        ))),
    }
}

impl Connection {
    /// Continues the authentication that the reply to the hello began. Arbiters have no users:
    /// connections to them are not authenticated.
    pub(super) async fn log_in(
        &mut self,
        login: Login,
        settings: &LoginSettings,
        limits: LoginLimits,
    ) -> std::result::Result<(), Unfinished> {
        if self.hello.is_replica_set_member() && self.hello.arbiter_only {
            self.write.zeroize();
            return Ok(());
        }
        let fresh = nonce().map_err(|failure| settings.error(failure))?;
        self.token = login.cached_token().map(|token| token.text.clone());
        let step = login.handle_hello(&Offer::parse(self.hello_reply()), fresh)?;
        self.converse(step, settings, limits).await
    }

    /// Authenticates an established connection again, without a handshake and so without
    /// speculative authentication, until the deadline and within `connectTimeoutMS`. Does nothing on
    /// a connection without a user.
    pub async fn reauthenticate(&mut self, settings: &ConnectionSettings, deadline: Deadline) -> Result<()> {
        let Some(user) = &settings.login else {
            return Ok(());
        };
        if let (Some(tokens), Some(token)) = (&user.oidc, self.token.take()) {
            tokens.invalidate(&token);
        }
        let step = user.begin(&self.address)?.begin(self.mechanism);
        let limits = LoginLimits::of_operation(settings.connect_timeout, deadline);
        // If this future is dropped, the connection must be closed: its user is not known then.
        self.is_established = false;
        let outcome = self.converse(step, user, limits).await;
        // Who uses it now is unknown to the server.
        outcome.map_err(|unfinished| self.fail(unfinished.error()))?;
        self.is_established = true;
        Ok(())
    }

    /// Takes the steps of a conversation to its end.
    async fn converse(
        &mut self,
        step: Step,
        settings: &LoginSettings,
        limits: LoginLimits,
    ) -> std::result::Result<(), Unfinished> {
        let outcome = self.take_steps(step, settings, limits).await;
        // The last message may contain a password or a token.
        self.write.zeroize();
        outcome.map_err(|unfinished| {
            settings.handle_failure(&unfinished);
            settings.name(unfinished)
        })
    }

    async fn take_steps(
        &mut self,
        mut step: Step,
        settings: &LoginSettings,
        mut limits: LoginLimits,
    ) -> std::result::Result<(), Unfinished> {
        loop {
            let deadline = limits.deadline;
            step = match step {
                Step::Done => return Ok(()),
                Step::Send(request, awaiting) => {
                    self.take_message(&request, awaiting, settings, limits).await?
                }
                Step::Derive(parameters, awaiting) => {
                    let mechanism = awaiting.mechanism();
                    let keys = deadline.run(settings.keys.get(parameters)).await;
                    let keys = keys.map_err(|Elapsed| limits.expired(Awaited::Keys, settings))?;
                    let failed = |failure| AuthenticationError::new(mechanism.as_str(), failure);
                    awaiting.handle_keys(keys.map_err(failed)?)
                }
                Step::Token(request, awaiting) => {
                    let Some(tokens) = &settings.oidc else {
                        return Err(settings.no_source());
                    };
                    let flow = awaiting.flow();
                    let began = tokio::time::Instant::now();
                    // Boxed: large, and not needed by other mechanisms.
                    let obtaining = Box::pin(tokens.obtain(request, limits.of_machine()));
                    let _wait = settings.waiting.begin();
                    let token = obtaining.await.map_err(|missing| match missing {
                        Missing::Failed(cause) => settings.no_credentials(&cause).into(),
                        Missing::Elapsed => limits.expired(Awaited::Token, settings),
                    })?;
                    limits.exclude(flow, began.elapsed());
                    awaiting.handle_token(token)
                }
                #[cfg(feature = "aws-auth")]
                Step::Credentials(awaiting) => {
                    let Some(source) = &settings.aws else {
                        return Err(settings.no_source());
                    };
                    let obtaining = Box::pin(source.obtain(deadline.min(limits.operation)));
                    let _wait = settings.waiting.begin();
                    let credentials = obtaining.await;
                    let credentials = credentials.map_err(|cause| settings.no_aws(&cause, limits))?;
                    awaiting.handle_credentials(credentials, super::aws_auth::now())
                }
                #[cfg(feature = "gssapi")]
                Step::SecurityContext(call, awaiting) => {
                    return Box::pin(self.negotiate(call, awaiting, settings, limits)).await;
                }
            };
        }
    }

    /// Sends a message, and handles its reply.
    async fn take_message(
        &mut self,
        request: &Request,
        awaiting: Awaiting,
        settings: &LoginSettings,
        limits: LoginLimits,
    ) -> std::result::Result<Step, Unfinished> {
        let mechanism = awaiting.mechanism();
        self.mechanism = Some(mechanism);
        self.token = awaiting.token().map(|token| token.text.clone());
        let limit = Deadline::after(limits.command);
        let exchanged = limits.deadline.run(self.exchange(request, limit)).await;
        let body = exchanged.map_err(|Elapsed| {
            let awaited = Awaited::Reply(request.command());
            limits.expired(awaited, settings)
        })??;
        let reply = self.reply(body);
        match parse_reply(reply) {
            Ok(()) => Ok(awaiting.handle_reply(reply)?),
            Err(error) => match error.code().and_then(|code| awaiting.handle_refusal(code)) {
                Some(step) => Ok(step),
                None => Err(refused(mechanism, &error).into()),
            },
        }
    }

    /// Takes the steps of a conversation that needs a security context, from the first call to its
    /// end.
    #[cfg(feature = "gssapi")]
    async fn negotiate(
        &mut self,
        mut call: GssCall,
        mut awaiting: AwaitingSecurityContext,
        settings: &LoginSettings,
        limits: LoginLimits,
    ) -> std::result::Result<(), Unfinished> {
        let Some(login) = &settings.gssapi else {
            return Err(settings.no_source());
        };
        let mut conversation = login.begin(&self.address);
        loop {
            let called = limits.deadline.min(limits.operation).run(conversation.call(call));
            let wait = settings.waiting.begin();
            let called = called.await;
            drop(wait);
            let output = match called {
                Ok(output) => output.map_err(|failure| settings.error(failure))?,
                Err(Elapsed) if limits.is_operation_expired() => {
                    return Err(limits.expired(Awaited::SecurityContext, settings));
                }
                Err(Elapsed) => return Err(settings.error(conversation.no_answer()).into()),
            };
            let step = match awaiting.handle_output(output)? {
                Step::Send(request, awaiting) => {
                    self.take_message(&request, awaiting, settings, limits).await?
                }
                step => step,
            };
            match step {
                Step::SecurityContext(next, state) => (call, awaiting) = (next, state),
                _ => return Ok(()),
            }
        }
    }

    async fn exchange(&mut self, request: &Request, limit: Deadline) -> Result<std::ops::Range<usize>> {
        let api = self.server_api;
        let (message, _) = self.begin();
        let mut command = CommandBuilder::new(message.buffer);
        request.write(&mut command);
        if let Some(api) = api {
            command.server_api(api);
        }
        command.finish(request.database())?;
        message.finish()?;
        self.send(limit).await?;
        self.receive(limit).await
    }
}

impl LoginSettings {
    fn no_credentials(&self, cause: &dyn fmt::Display) -> Error {
        self.error(AuthenticationFailure::Credentials(cause.to_string()))
    }

    /// The error of AWS credentials that could not be obtained. It names the time limit, if that expired.
    #[cfg(feature = "aws-auth")]
    fn no_aws(&self, cause: &SourceError, limits: LoginLimits) -> Unfinished {
        if !cause.is_late() {
            return self.no_credentials(cause).into();
        }
        if limits.is_operation_expired() {
            return limits.expired(Awaited::Credentials(cause), self);
        }
        let limit = limits.expired_limit();
        let within = limit.map(|limit| format!(" within {limit}")).unwrap_or_default();
        self.no_credentials(&format_args!("no AWS credentials{within}: {cause}"))
            .into()
    }

    fn no_source(&self) -> Unfinished {
        self.no_credentials(&"the client has no source of credentials")
            .into()
    }
}

/// How an error refers to a login: the mechanism, the user and `authSource`.
fn named(settings: &LoginSettings) -> String {
    let mechanism = settings.mechanism().as_str();
    let Identity { username, source, .. } = &settings.identity;
    match username {
        Some(username) => format!("authentication of user {username:?} (authSource={source}) by {mechanism}"),
        None => format!("authentication (authSource={source}) by {mechanism}"),
    }
}

/// A command that the server refused is a login that it refused; the rest is what it is.
fn refused(mechanism: Mechanism, error: &Error) -> Error {
    let ErrorKind::Command(refusal) = error.kind() else {
        return error.clone();
    };
    let failure = AuthenticationFailure::Refused(refusal.clone());
    error
        .clone()
        .with_kind(AuthenticationError::new(mechanism.as_str(), failure).into())
}

/// Says of a socket that it failed while a user logged in.
fn as_login_error(error: Error) -> Error {
    super::establish::in_phase(error, NetworkPhase::Authentication)
}
