//! The authentication of one connection, from the handshake to the last reply.

use super::{
    mechanism::{Mechanism, ScramHash},
    reply::{Offer, SaslReply},
    request::{Content, Request},
    scram::{ClientFinal, ClientFirst, SaltedKeys, ScramParameters, ServerFirst, User},
};
use crate::{
    bson::{Bson, DocumentWriter},
    error::{AuthenticationError, AuthenticationFailure},
    types::secret::Secret,
};

/// Random bytes. Each conversation uses new ones.
pub type Nonce = [u8; 24];

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
        ClientFirst::new(user, &nonce)
    }

    /// The mechanism of the speculative conversation in the handshake (MongoDB Handshake,
    /// "Speculative Authentication").
    fn speculation(&self) -> Option<Mechanism> {
        match self.mechanism {
            None => Some(Mechanism::Scram(ScramHash::Sha256)),
            Some(Mechanism::Plain) => None,
            given => given,
        }
    }
}

/// An authentication that has not started.
#[derive(Debug)]
pub struct Login {
    identity: Identity,
    nonce: Nonce,
}

/// The next step.
pub enum Step {
    /// Send the command, and pass its reply to [`Awaiting::handle_reply`].
    Send(Request, Awaiting),
    /// Derive the keys, and pass them to [`AwaitingKeys::handle_keys`].
    Derive(ScramParameters, AwaitingKeys),
    /// Authentication succeeded.
    Done,
}

/// A command was sent; its reply is expected.
#[derive(Debug)]
pub struct Awaiting {
    source: String,
    state: State,
}

/// Keys are being derived.
#[derive(Debug)]
pub struct AwaitingKeys {
    source: String,
    conversation: Bson,
    scram: ServerFirst,
}

#[derive(Debug)]
enum State {
    /// `server-first-message` of SCRAM is expected.
    ServerFirst(ClientFirst),
    /// `server-final-message` of SCRAM is expected.
    ServerFinal(ClientFinal),
    /// The reply to the empty message is expected, from a server before 4.4, which ignores
    /// `skipEmptyExchange`.
    EmptyExchange(ScramHash),
    /// The reply to `authenticate` with `MONGODB-X509` is expected.
    X509Outcome,
    /// The reply to `saslStart` with `PLAIN` is expected, which must end the conversation.
    PlainOutcome,
}

impl Login {
    /// An authentication whose speculative conversation uses this nonce.
    pub fn new(identity: Identity, nonce: Nonce) -> Self {
        Self { identity, nonce }
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
        let Some(mechanism) = identity.speculation() else {
            return;
        };
        let document = command.begin_document("speculativeAuthenticate");
        let (request, _) = start(identity, mechanism, self.nonce);
        request.write(command);
        command.str("db", request.database());
        command.end(document);
    }

    /// Handles the hello reply. If it does not answer the speculative conversation, a conversation
    /// with the nonce `fresh` is started.
    pub fn handle_hello(self, offer: &Offer<'_>, fresh: Nonce) -> Result<Step> {
        let Self { identity, nonce } = self;
        let negotiated = if offer.scram_sha_256 {
            ScramHash::Sha256
        } else {
            ScramHash::Sha1
        };
        let mechanism = identity.mechanism.unwrap_or(Mechanism::Scram(negotiated));
        match offer.speculative {
            Some(reply) if identity.speculation() == Some(mechanism) => {
                // The first message is computed again from the same nonce; the reply in the hello
                // answers it.
                let (_, awaiting) = start(&identity, mechanism, nonce);
                awaiting.handle_reply(reply)
            }
            _ => Ok(begin(&identity, mechanism, fresh)),
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
        begin(&self.identity, mechanism, self.nonce)
    }
}

fn begin(identity: &Identity, mechanism: Mechanism, nonce: Nonce) -> Step {
    let (request, awaiting) = start(identity, mechanism, nonce);
    Step::Send(request, awaiting)
}

fn start(identity: &Identity, mechanism: Mechanism, nonce: Nonce) -> (Request, Awaiting) {
    let (content, state) = match mechanism {
        Mechanism::Scram(hash) => {
            let scram = identity.scram(hash, nonce);
            let payload = scram.payload();
            (Content::Start { mechanism, payload }, State::ServerFirst(scram))
        }
        Mechanism::Plain => {
            let password = identity.password.as_ref().map_or("", Secret::expose);
            let payload = format!("\0{}\0{password}", identity.name()).into_bytes();
            (Content::Start { mechanism, payload }, State::PlainOutcome)
        }
        Mechanism::X509 => {
            let username = identity.username.clone().filter(|name| !name.is_empty());
            (Content::Certificate { username }, State::X509Outcome)
        }
    };
    let source = identity.source.clone();
    let request = Request {
        source: source.clone(),
        content,
    };
    (request, Awaiting { source, state })
}

impl Awaiting {
    /// The mechanism of the conversation.
    pub fn mechanism(&self) -> Mechanism {
        match &self.state {
            State::ServerFirst(scram) => Mechanism::Scram(scram.hash()),
            State::ServerFinal(scram) => Mechanism::Scram(scram.hash()),
            State::EmptyExchange(hash) => Mechanism::Scram(*hash),
            State::X509Outcome => Mechanism::X509,
            State::PlainOutcome => Mechanism::Plain,
        }
    }

    /// Handles a reply with `ok: 1`, or the reply to the speculative conversation.
    pub fn handle_reply(self, body: &[u8]) -> Result<Step> {
        let mechanism = self.mechanism();
        self.advance(body)
            .map_err(|failure| AuthenticationError::new(mechanism.as_str(), failure))
    }

    fn advance(self, body: &[u8]) -> std::result::Result<Step, AuthenticationFailure> {
        let Self { source, state } = self;
        let invalid_message = |why: &str| AuthenticationFailure::Conversation(why.to_owned());
        if let State::X509Outcome = state {
            return Ok(Step::Done);
        }
        let SaslReply {
            conversation,
            payload,
            done,
        } = SaslReply::parse(body)?;
        match state {
            State::ServerFirst(scram) => {
                if done {
                    return Err(invalid_message(
                        "the server ends the conversation before it proved itself with a signature",
                    ));
                }
                let (parameters, scram) = scram.handle_server_first(&payload)?;
                let awaiting = AwaitingKeys {
                    source,
                    conversation,
                    scram,
                };
                Ok(Step::Derive(parameters, awaiting))
            }
            State::ServerFinal(scram) => {
                let hash = scram.hash();
                scram.handle_server_final(&payload)?;
                if done {
                    return Ok(Step::Done);
                }
                let state = State::EmptyExchange(hash);
                Ok(continue_conversation(source, conversation, Vec::new(), state))
            }
            State::EmptyExchange(_) | State::PlainOutcome if !done => {
                Err(invalid_message("the server does not end the conversation"))
            }
            State::EmptyExchange(_) | State::PlainOutcome | State::X509Outcome => Ok(Step::Done),
        }
    }
}

impl AwaitingKeys {
    /// The mechanism of the conversation.
    pub fn mechanism(&self) -> Mechanism {
        Mechanism::Scram(self.scram.hash())
    }

    /// Continues with the derived keys.
    pub fn handle_keys(self, keys: SaltedKeys) -> Step {
        let (payload, scram) = self.scram.handle_keys(keys);
        let state = State::ServerFinal(scram);
        continue_conversation(self.source, self.conversation, payload, state)
    }
}

fn continue_conversation(source: String, conversation: Bson, payload: Vec<u8>, state: State) -> Step {
    let request = Request {
        source: source.clone(),
        content: Content::Continue {
            conversation,
            payload,
        },
    };
    Step::Send(request, Awaiting { source, state })
}

#[cfg(test)]
mod tests;
