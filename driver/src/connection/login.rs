//! Authentication on a connection after its handshake: runs the conversations of
//! [`proto::auth`](crate::proto::auth).

use std::{fmt, sync::Arc, time::Duration};

use zeroize::Zeroize as _;

#[cfg(feature = "aws-auth")]
use super::aws_auth::{AwsCache, AwsSource};
use super::{
    Connection, ConnectionSettings, MetadataServices,
    keys::KeyCache,
    oidc::{Missing, OidcTokens},
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
        auth::{
            Awaiting, Identity, Login, Mechanism, Nonce, Offer, OidcFlow, Request, ScramHash, Step,
            parse_reply,
        },
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
    oidc: Option<Arc<OidcTokens>>,
    #[cfg(feature = "aws-auth")]
    aws: Option<Arc<AwsSource>>,
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

/// The time limits of one login.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoginLimits {
    /// The end of the login. It is moved by the time that is spent outside it.
    deadline: Deadline,
    /// `timeoutMS`, if it applies.
    operation: Deadline,
    /// The limit of each command.
    command: Option<Duration>,
}

impl LoginLimits {
    /// The limits of a new connection.
    pub(super) fn new(deadline: Deadline, command: Option<Duration>) -> Self {
        Self {
            deadline,
            operation: Deadline::after(command),
            command,
        }
    }
}

/// Why a login ended.
#[derive(Debug)]
pub(super) enum Unfinished {
    /// A time limit expired.
    Elapsed,
    Failed(Error),
}

impl From<Elapsed> for Unfinished {
    fn from(_: Elapsed) -> Self {
        Self::Elapsed
    }
}

impl From<Error> for Unfinished {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<AuthenticationError> for Unfinished {
    fn from(error: AuthenticationError) -> Self {
        Self::Failed(error.into())
    }
}

impl LoginSettings {
    /// The same user on every connection; keys that were made for one are kept for the others.
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            keys: Arc::default(),
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
            Some(Mechanism::Aws) => self.aws = Some(Arc::new(AwsSource::new(credential, environment))),
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
    fn name(&self, unfinished: Unfinished) -> Unfinished {
        let Unfinished::Failed(error) = unfinished else {
            return unfinished;
        };
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

    fn error(&self, failure: AuthenticationFailure) -> Error {
        let negotiated = Mechanism::Scram(ScramHash::Sha256);
        let mechanism = self.identity.mechanism.unwrap_or(negotiated);
        AuthenticationError::new(mechanism.as_str(), failure).into()
    }

    /// After a failed authentication: cached credentials of AWS are not used again. They are kept if
    /// the network failed or a time limit expired.
    #[cfg(feature = "aws-auth")]
    fn handle_failure(&self, unfinished: &Unfinished) {
        if let (Some(source), Unfinished::Failed(error)) = (&self.aws, unfinished)
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
        let limits = LoginLimits {
            deadline: Deadline::after(Some(settings.connect_timeout)).min(deadline),
            operation: deadline,
            command: None,
        };
        // If this future is dropped, the connection must be closed: its user is not known then.
        self.is_established = false;
        let outcome = self.converse(step, user, limits).await;
        // Who uses it now is unknown to the server.
        outcome.map_err(|unfinished| {
            let error = match unfinished {
                Unfinished::Failed(error) => as_login_error(error),
                Unfinished::Elapsed => {
                    let elapsed = std::io::ErrorKind::TimedOut;
                    Error::network(NetworkPhase::Authentication, elapsed.into())
                }
            };
            self.fail(error)
        })?;
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
                Step::Send(request, awaiting) => self.take_message(&request, awaiting, limits).await?,
                Step::Derive(parameters, awaiting) => {
                    let mechanism = awaiting.mechanism();
                    let keys = deadline.run(settings.keys.get(parameters)).await?;
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
                    let token = obtaining.await.map_err(|missing| match missing {
                        Missing::Failed(cause) => settings.no_credentials(&cause).into(),
                        Missing::Elapsed => limits.no_token(settings),
                    })?;
                    limits.exclude(flow, began.elapsed());
                    awaiting.handle_token(token)
                }
                #[cfg(feature = "aws-auth")]
                Step::Credentials(awaiting) => {
                    let Some(source) = &settings.aws else {
                        return Err(settings.no_source());
                    };
                    let deadline = deadline.min(limits.operation);
                    let obtaining = Box::pin(source.obtain(deadline));
                    let credentials = deadline.run(obtaining).await?;
                    let credentials = credentials.map_err(|cause| settings.no_credentials(&cause))?;
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
        limits: LoginLimits,
    ) -> std::result::Result<Step, Unfinished> {
        let mechanism = awaiting.mechanism();
        self.mechanism = Some(mechanism);
        self.token = awaiting.token().map(|token| token.text.clone());
        let limit = Deadline::after(limits.command);
        let body = limits.deadline.run(self.exchange(request, limit)).await??;
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
            let output = match called.await {
                Ok(output) => output.map_err(|failure| settings.error(failure))?,
                Err(_) if limits.is_operation_expired() => return Err(Unfinished::Elapsed),
                Err(_) => return Err(settings.error(conversation.no_answer()).into()),
            };
            let step = match awaiting.handle_output(output)? {
                Step::Send(request, awaiting) => self.take_message(&request, awaiting, limits).await?,
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

impl LoginLimits {
    /// The deadline of a callback or an environment in the machine flow: never without `timeoutMS`.
    fn of_machine(self) -> Deadline {
        match self.operation.remaining() {
            Some(_) => self.deadline.min(self.operation),
            None => Deadline::NEVER,
        }
    }

    /// Whether `timeoutMS` has expired.
    #[cfg(feature = "gssapi")]
    fn is_operation_expired(self) -> bool {
        self.operation.remaining().is_some_and(|left| left.is_zero())
    }

    /// The error of a machine flow whose deadline expired. No socket timed out, unless `timeoutMS`
    /// expired: another connection to the server would not help.
    fn no_token(self, settings: &LoginSettings) -> Unfinished {
        match self.operation.remaining() {
            Some(remaining) if !remaining.is_zero() => {
                let why = "no access token was obtained within connectTimeoutMS";
                settings.no_credentials(&why).into()
            }
            _ => Unfinished::Elapsed,
        }
    }

    /// Excludes the time that obtaining a token took, unless it counts for `timeoutMS`.
    fn exclude(&mut self, flow: OidcFlow, time: Duration) {
        if flow == OidcFlow::Human || self.operation.remaining().is_none() {
            self.deadline = self.deadline.later(time);
        }
    }
}

impl LoginSettings {
    fn no_credentials(&self, cause: &dyn fmt::Display) -> Error {
        self.error(AuthenticationFailure::Credentials(cause.to_string()))
    }

    fn no_source(&self) -> Unfinished {
        self.no_credentials(&"the client has no source of credentials")
            .into()
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
pub(super) fn as_login_error(error: Error) -> Error {
    super::establish::in_phase(error, NetworkPhase::Authentication)
}
