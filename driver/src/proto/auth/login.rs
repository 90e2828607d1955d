//! The authentication of one connection, from the handshake to its end.

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

/// Random bytes, fresh for every conversation.
pub type Nonce = [u8; 24];

type Result<T> = std::result::Result<T, AuthenticationError>;

/// The user of a connection.
#[derive(Clone, Debug)]
pub struct Identity {
    /// `None`: negotiated.
    pub mechanism: Option<Mechanism>,
    /// `authSource`
    pub source: String,
    /// `None` only for mechanisms that do not need it.
    pub username: Option<String>,
    pub(crate) password: Option<Secret>,
}

impl Identity {
    /// A user with this password, if it has one.
    #[cfg(any(test, feature = "internals"))]
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

    /// The mechanism that the conversation in the handshake is of.
    fn speculation(&self) -> Option<Mechanism> {
        match self.mechanism {
            None => Some(Mechanism::Scram(ScramHash::Sha256)),
            Some(Mechanism::Plain) => None,
            given => given,
        }
    }
}

/// A login that has not begun.
#[derive(Debug)]
pub struct Login {
    identity: Identity,
    nonce: Nonce,
}

/// What to do next.
pub enum Step {
    /// Send the command, and hand its reply over.
    Send(Request, Awaiting),
    /// Make the keys, and hand them over.
    Derive(ScramParameters, AwaitingKeys),
    /// Authentication succeeded.
    Done,
}

/// A command was sent.
#[derive(Debug)]
pub struct Awaiting {
    source: String,
    state: State,
}

/// Keys are being made.
#[derive(Debug)]
pub struct AwaitingKeys {
    source: String,
    conversation: Bson,
    scram: ServerFirst,
}

#[derive(Debug)]
enum State {
    /// The server's first message of SCRAM.
    ServerFirst(ClientFirst),
    /// Its final message.
    ServerFinal(ClientFinal),
    /// The last, empty exchange with a server before 4.4, which ignores `skipEmptyExchange`.
    EmptyExchange(ScramHash),
    /// The reply to a mechanism of one command.
    X509Outcome,
    /// The reply to `PLAIN`, which must be the last.
    PlainOutcome,
}

impl Login {
    /// A login whose conversation in the handshake uses this nonce.
    pub fn new(identity: Identity, nonce: Nonce) -> Self {
        Self { identity, nonce }
    }

    /// The login's fields of the first hello: which mechanisms the user has, if that is to be negotiated, and the first
    /// message of the conversation, which saves a round trip.
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

    /// Takes the reply to the hello. A conversation that was not begun in it is begun now, with a nonce of its own.
    pub fn handle_hello(self, offer: &Offer<'_>, fresh: Nonce) -> Result<Step> {
        let Self { identity, nonce } = self;
        let negotiated = match offer.scram_sha_256 {
            true => ScramHash::Sha256,
            false => ScramHash::Sha1,
        };
        let mechanism = identity.mechanism.unwrap_or(Mechanism::Scram(negotiated));
        match offer.speculative {
            Some(reply) if identity.speculation() == Some(mechanism) => {
                // The same nonce makes the same message, whose answer this is.
                let (_, awaiting) = start(&identity, mechanism, nonce);
                awaiting.handle_reply(reply)
            }
            _ => Ok(begin(&identity, mechanism, fresh)),
        }
    }

    /// Begins without a handshake, by the mechanism that was named, else by the one that was negotiated before.
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

    /// Takes a reply that says `ok: 1`, or the one in the reply to the handshake.
    pub fn handle_reply(self, body: &[u8]) -> Result<Step> {
        let mechanism = self.mechanism();
        self.advance(body)
            .map_err(|failure| AuthenticationError::new(mechanism.as_str(), failure))
    }

    fn advance(self, body: &[u8]) -> std::result::Result<Step, AuthenticationFailure> {
        let Self { source, state } = self;
        let broken = |why: &str| AuthenticationFailure::Conversation(why.to_owned());
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
                    return Err(broken("the server ends the conversation before it proved itself"));
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
                Ok(proceed(source, conversation, Vec::new(), state))
            }
            State::EmptyExchange(_) | State::PlainOutcome if !done => {
                Err(broken("the server does not end the conversation"))
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

    /// Takes the keys.
    pub fn handle_keys(self, keys: SaltedKeys) -> Step {
        let (payload, scram) = self.scram.handle_keys(keys);
        let state = State::ServerFinal(scram);
        proceed(self.source, self.conversation, payload, state)
    }
}

fn proceed(source: String, conversation: Bson, payload: Vec<u8>, state: State) -> Step {
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
