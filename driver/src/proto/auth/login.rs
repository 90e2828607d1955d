//! The authentication of one connection: in the handshake, and its first message.

#[cfg(feature = "aws-auth")]
use super::conversation::AwaitingCredentials;
#[cfg(feature = "gssapi")]
use super::conversation::AwaitingSecurityContext;
use super::{
    conversation::{Awaiting, AwaitingToken, State, Step, send, start},
    mechanism::{Mechanism, ScramHash},
    oidc::{OidcFlow, Token, TokenRequest},
    reply::Offer,
    request::{Content, Request},
    scram::{ClientFirst, User},
};
use crate::{bson::DocumentWriter, error::AuthenticationError, types::secret::Secret};

/// Random bytes. Each conversation uses new ones.
pub type Nonce = [u8; 32];

/// The part of a [`Nonce`] that SCRAM uses. Its Base64 form has no padding.
const SCRAM_NONCE: usize = 24;

type Result<T> = std::result::Result<T, AuthenticationError>;

/// The user that a connection authenticates as.
#[derive(Clone, Debug)]
pub struct Identity {
    /// `None`: negotiated (Authentication, "Default Authentication Methods").
    pub mechanism: Option<Mechanism>,
    /// `authSource`
    pub source: String,
    /// `None` only for mechanisms that do not require it.
    pub username: Option<String>,
    pub(crate) password: Option<Secret>,
}

impl Identity {
    /// The user `username` in the database `source`. The mechanism is negotiated if it is `None`.
    #[cfg(any(test, feature = "internals"))]
    /// An authentication with this mechanism (default: negotiated), on the database `source`.
    pub fn new(
        mechanism: Option<Mechanism>,
        source: impl Into<String>,
        username: Option<&str>,
        password: Option<&str>,
    ) -> Self {
        Self {
            mechanism,
            source: source.into(),
            username: username.map(str::to_owned),
            password: password.map(Secret::new),
        }
    }

    fn name(&self) -> &str {
        self.username.as_deref().unwrap_or_default()
    }

    fn scram(&self, hash: ScramHash, nonce: Nonce) -> ClientFirst {
        let user = User {
            hash,
            name: self.name().to_owned(),
            password: self.password.clone().unwrap_or_else(|| Secret::new("")),
        };
        ClientFirst::new(user, &nonce[..SCRAM_NONCE])
    }
}

/// An authentication that has not started.
#[derive(Debug)]
pub struct Login {
    identity: Identity,
    nonce: Nonce,
    /// The cached access token.
    token: Option<Token>,
}

impl Login {
    /// An authentication whose speculative conversation uses this nonce.
    pub fn new(identity: Identity, nonce: Nonce) -> Self {
        Self {
            identity,
            nonce,
            token: None,
        }
    }

    /// The same with the cached access token, which `MONGODB-OIDC` requires for the speculative
    /// conversation.
    #[must_use]
    pub fn with_cached_token(mut self, token: Option<Token>) -> Self {
        self.token = token;
        self
    }

    /// The speculative conversation in the handshake (MongoDB Handshake, "Speculative
    /// Authentication"). `None` if the mechanism has none.
    fn speculate(&self) -> Option<(Request, Awaiting)> {
        let (identity, nonce) = (&self.identity, self.nonce);
        match identity.mechanism {
            None => Some(identity.start_scram(ScramHash::Sha256, nonce)),
            Some(Mechanism::Scram(hash)) => Some(identity.start_scram(hash, nonce)),
            Some(Mechanism::X509) => Some(identity.start_x509()),
            Some(Mechanism::Oidc(flow)) => {
                let token = self.token.clone()?;
                let awaiting = identity.awaiting_token(flow);
                Some(awaiting.send_token(token))
            }
            Some(Mechanism::Plain) => None,
            #[cfg(feature = "aws-auth")]
            Some(Mechanism::Aws) => None,
            #[cfg(feature = "gssapi")]
            Some(Mechanism::Gssapi) => None,
        }
    }

    /// Writes the fields of the first hello: `saslSupportedMechs` if the mechanism is negotiated,
    /// and `speculativeAuthenticate` with the first message of the conversation, which saves a
    /// round trip.
    pub fn write_hello(&self, command: &mut DocumentWriter<'_>) {
        let identity = &self.identity;
        if identity.mechanism.is_none() {
            let user = format!("{}.{}", identity.source, identity.name());
            command.str("saslSupportedMechs", &user);
        }
        let Some((request, _)) = self.speculate() else {
            return;
        };
        let document = command.begin_document("speculativeAuthenticate");
        request.write(command);
        command.str("db", request.database());
        command.end(document);
    }

    /// Handles the hello reply. If it does not answer the speculative conversation, a conversation
    /// with the nonce `fresh` is started.
    pub fn handle_hello(self, offer: &Offer<'_>, fresh: Nonce) -> Result<Step> {
        let negotiated = if offer.scram_sha_256 {
            ScramHash::Sha256
        } else {
            ScramHash::Sha1
        };
        let mechanism = self.identity.mechanism;
        let mechanism = mechanism.unwrap_or(Mechanism::Scram(negotiated));
        // The first message is computed again from the same nonce; the reply in the hello answers it.
        let speculated = self
            .speculate()
            .filter(|(_, awaiting)| awaiting.mechanism() == mechanism);
        match (offer.speculative, speculated) {
            (Some(reply), Some((_, awaiting))) => match (awaiting.handle_reply(reply), mechanism) {
                // A token that is not accepted at once is sent again ("Speculative Authentication").
                (Err(_), Mechanism::Oidc(_)) => Ok(self.identity.begin(mechanism, fresh)),
                (outcome, _) => outcome,
            },
            _ => Ok(self.identity.begin(mechanism, fresh)),
        }
    }

    /// Starts without a handshake, for reauthentication: with the mechanism of the credential, or
    /// else with the one negotiated before.
    pub fn begin(self, negotiated: Option<Mechanism>) -> Step {
        let mechanism = self
            .identity
            .mechanism
            .or(negotiated)
            .unwrap_or(Mechanism::Scram(ScramHash::Sha256));
        self.identity.begin(mechanism, self.nonce)
    }

    /// The access token in the speculative conversation.
    pub(crate) fn cached_token(&self) -> Option<&Token> {
        self.token.as_ref()
    }
}

impl Identity {
    fn begin(&self, mechanism: Mechanism, nonce: Nonce) -> Step {
        let (request, awaiting) = match mechanism {
            Mechanism::Scram(hash) => self.start_scram(hash, nonce),
            Mechanism::X509 => self.start_x509(),
            Mechanism::Plain => self.start_plain(),
            Mechanism::Oidc(flow) => {
                return Step::Token(TokenRequest::Stored, self.awaiting_token(flow));
            }
            #[cfg(feature = "aws-auth")]
            Mechanism::Aws => {
                return Step::Credentials(AwaitingCredentials {
                    source: self.source.clone(),
                    nonce,
                });
            }
            #[cfg(feature = "gssapi")]
            Mechanism::Gssapi => return AwaitingSecurityContext::start(&self.source, self.name()),
        };
        Step::Send(request, awaiting)
    }

    fn awaiting_token(&self, flow: OidcFlow) -> AwaitingToken {
        AwaitingToken::new(&self.source, self.username.as_deref(), flow)
    }

    fn start_scram(&self, hash: ScramHash, nonce: Nonce) -> (Request, Awaiting) {
        let scram = self.scram(hash, nonce);
        let payload = scram.payload();
        let state = State::ServerFirst(scram);
        start(&self.source, Mechanism::Scram(hash), payload, state)
    }

    fn start_plain(&self) -> (Request, Awaiting) {
        let password = self.password.as_ref().map_or("", Secret::expose);
        let payload = format!("\0{}\0{password}", self.name()).into_bytes();
        start(&self.source, Mechanism::Plain, payload, State::PlainOutcome)
    }

    fn start_x509(&self) -> (Request, Awaiting) {
        let username = self.username.clone().filter(|name| !name.is_empty());
        let content = Content::Certificate { username };
        send(&self.source, content, State::X509Outcome)
    }
}

#[cfg(test)]
mod tests;
