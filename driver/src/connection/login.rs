//! Authentication on a connection after its handshake: runs the conversations of
//! [`proto::auth`](crate::proto::auth).

use std::{sync::Arc, time::Duration};

use super::{Connection, ConnectionSettings, keys::KeyCache};
use crate::{
    Error, ErrorKind, NetworkPhase, Result,
    error::{AuthenticationError, AuthenticationFailure},
    proto::{
        auth::{Identity, Login, Mechanism, Nonce, Offer, Request, ScramHash, Step, parse_reply},
        command::CommandBuilder,
    },
    types::deadline::Deadline,
};

/// Who logs in on the connections of a client.
#[derive(Clone, Debug)]
pub struct LoginSettings {
    identity: Identity,
    keys: Arc<KeyCache>,
}

impl LoginSettings {
    /// The same user on every connection; keys that were made for one are kept for the others.
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            keys: Arc::default(),
        }
    }

    /// A login for one connection.
    pub(super) fn begin(&self) -> Result<Login> {
        let nonce = nonce().map_err(|failure| self.error(failure))?;
        Ok(Login::new(self.identity.clone(), nonce))
    }

    fn error(&self, failure: AuthenticationFailure) -> Error {
        let negotiated = Mechanism::Scram(ScramHash::Sha256);
        let mechanism = self.identity.mechanism.unwrap_or(negotiated);
        AuthenticationError::new(mechanism.as_str(), failure).into()
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
        command_timeout: Option<Duration>,
    ) -> Result<()> {
        if self.hello.is_replica_set_member() && self.hello.arbiter_only {
            return Ok(());
        }
        let fresh = nonce().map_err(|failure| settings.error(failure))?;
        let step = login.handle_hello(&Offer::parse(self.hello_reply()), fresh)?;
        self.converse(step, settings, command_timeout).await
    }

    /// Authenticates an established connection again, without a handshake and so without
    /// speculative authentication, until the deadline and within `connectTimeoutMS`. Does nothing on
    /// a connection without a user.
    pub async fn reauthenticate(&mut self, settings: &ConnectionSettings, deadline: Deadline) -> Result<()> {
        let Some(user) = &settings.login else {
            return Ok(());
        };
        let step = user.begin()?.begin(self.mechanism);
        let limit = Deadline::after(Some(settings.connect_timeout)).min(deadline);
        // If this future is dropped, the connection must be closed: its user is not known then.
        self.is_established = false;
        let outcome = match limit.run(self.converse(step, user, None)).await {
            Ok(outcome) => outcome.map_err(as_login_error),
            Err(_) => Err(Error::network(
                NetworkPhase::Authentication,
                std::io::ErrorKind::TimedOut.into(),
            )),
        };
        // Who uses it now is unknown to the server.
        outcome.map_err(|error| self.fail(error))?;
        self.is_established = true;
        Ok(())
    }

    /// Takes the steps of a conversation to its end. `command_timeout` limits each command.
    async fn converse(
        &mut self,
        mut step: Step,
        settings: &LoginSettings,
        command_timeout: Option<Duration>,
    ) -> Result<()> {
        loop {
            step = match step {
                Step::Done => return Ok(()),
                Step::Send(request, awaiting) => {
                    let mechanism = awaiting.mechanism();
                    self.mechanism = Some(mechanism);
                    let limit = Deadline::after(command_timeout);
                    let body = self.exchange(&request, limit).await?;
                    let reply = self.reply(body);
                    parse_reply(reply).map_err(|error| refused(mechanism, &error))?;
                    awaiting.handle_reply(reply)?
                }
                Step::Derive(parameters, awaiting) => {
                    let mechanism = awaiting.mechanism();
                    let keys = settings.keys.get(parameters).await;
                    let failed = |failure| AuthenticationError::new(mechanism.as_str(), failure);
                    awaiting.handle_keys(keys.map_err(failed)?)
                }
            };
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
