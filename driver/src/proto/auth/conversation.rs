//! The conversation of one connection, from its first message to the last reply.

#[cfg(feature = "aws-auth")]
use std::time::Duration;

#[cfg(feature = "gssapi")]
use super::gssapi::{GssCall, GssClient, GssNext, GssOutput};
#[cfg(feature = "aws-auth")]
use super::{
    aws::{self, AwsServerFirst},
    login::Nonce,
};
use super::{
    mechanism::{Mechanism, ScramHash},
    oidc::{IdpInfo, OidcFlow, Progress, Token, TokenRequest, principal_payload, token_payload},
    reply::SaslReply,
    request::{Content, Request},
    scram::{ClientFinal, ClientFirst, SaltedKeys, ScramParameters, ServerFirst},
};
#[cfg(feature = "aws-auth")]
use crate::types::aws_credentials::AwsCredentials;
use crate::{
    bson::Bson,
    error::{AuthenticationError, AuthenticationFailure},
};

/// The next step.
pub enum Step {
    /// Send the command, and pass its reply to [`Awaiting::handle_reply`].
    Send(Request, Awaiting),
    /// Derive the keys, and pass them to [`AwaitingKeys::handle_keys`].
    Derive(ScramParameters, AwaitingKeys),
    /// Obtain an access token, and pass it to [`AwaitingToken::handle_token`].
    Token(TokenRequest, AwaitingToken),
    /// Obtain credentials of AWS, and pass them to [`AwaitingCredentials::handle_credentials`].
    #[cfg(feature = "aws-auth")]
    Credentials(AwaitingCredentials),
    /// Call the GSS-API, and pass the result to [`AwaitingSecurityContext::handle_output`].
    #[cfg(feature = "gssapi")]
    SecurityContext(GssCall, AwaitingSecurityContext),
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

/// An access token is being obtained.
#[derive(Debug)]
pub struct AwaitingToken {
    source: String,
    username: Option<String>,
    progress: Progress,
    /// The `conversationId`, after the server named an identity provider.
    conversation: Option<Bson>,
}

/// Credentials of AWS are being obtained, before the first message, so that the server does not wait.
#[cfg(feature = "aws-auth")]
#[derive(Debug)]
pub struct AwaitingCredentials {
    pub(super) source: String,
    pub(super) nonce: Nonce,
}

/// A call of the GSS-API is being made.
#[cfg(feature = "gssapi")]
#[derive(Debug)]
pub struct AwaitingSecurityContext {
    source: String,
    client: GssClient,
    /// The `conversationId`, after the first message.
    conversation: Option<Bson>,
}

#[derive(Debug)]
pub(super) enum State {
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
    /// The description of the identity provider is expected.
    IdpInfo(Progress, Option<String>),
    /// The reply to an access token is expected, which must end the conversation.
    TokenOutcome(Progress, Option<String>, Token),
    /// The first message of the server is expected, for these credentials.
    #[cfg(feature = "aws-auth")]
    AwsServerFirst(Box<AwsSigner>),
    /// The reply to the signature is expected, which must end the conversation.
    #[cfg(feature = "aws-auth")]
    AwsOutcome,
    /// A token, the offer of security layers, or the end of the conversation is expected.
    #[cfg(feature = "gssapi")]
    Gssapi(GssClient),
}

/// Signs the first message of the server.
#[cfg(feature = "aws-auth")]
#[derive(Debug)]
pub(super) struct AwsSigner {
    nonce: Nonce,
    credentials: AwsCredentials,
    now: Duration,
}

/// The first command of a SASL conversation.
pub(super) fn start(
    source: &str,
    mechanism: Mechanism,
    payload: Vec<u8>,
    state: State,
) -> (Request, Awaiting) {
    let payload = payload.into();
    send(source, Content::Start { mechanism, payload }, state)
}

pub(super) fn send(source: &str, content: Content, state: State) -> (Request, Awaiting) {
    let request = Request {
        source: source.to_owned(),
        content,
    };
    let source = source.to_owned();
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
            State::IdpInfo(progress, _) | State::TokenOutcome(progress, _, _) => {
                Mechanism::Oidc(progress.flow)
            }
            #[cfg(feature = "aws-auth")]
            State::AwsServerFirst(_) | State::AwsOutcome => Mechanism::Aws,
            #[cfg(feature = "gssapi")]
            State::Gssapi(_) => Mechanism::Gssapi,
        }
    }

    /// The access token that was sent.
    pub(crate) fn token(&self) -> Option<&Token> {
        match &self.state {
            State::TokenOutcome(_, _, token) => Some(token),
            _ => None,
        }
    }

    /// Handles a reply with `ok: 0` and this code. `None`: authentication failed.
    pub fn handle_refusal(self, error_code: i32) -> Option<Step> {
        let State::TokenOutcome(progress, username, token) = self.state else {
            return None;
        };
        let awaiting = AwaitingToken {
            source: self.source,
            username,
            progress: progress.reject(&token, error_code)?,
            conversation: None,
        };
        Some(Step::Token(TokenRequest::Replace(token), awaiting))
    }

    /// Handles a reply with `ok: 1`, or the reply to the speculative conversation.
    pub fn handle_reply(self, body: &[u8]) -> Result<Step, AuthenticationError> {
        let mechanism = self.mechanism();
        self.advance(body)
            .map_err(|failure| AuthenticationError::new(mechanism.as_str(), failure))
    }

    fn advance(self, body: &[u8]) -> Result<Step, AuthenticationFailure> {
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
                Ok(continue_conversation(&source, conversation, Vec::new(), state))
            }
            State::IdpInfo(..) if done => Err(invalid_message(
                "the server ends the conversation before an access token was sent",
            )),
            State::IdpInfo(progress, username) => {
                let awaiting = AwaitingToken {
                    source,
                    username,
                    progress,
                    conversation: Some(conversation),
                };
                Ok(Step::Token(
                    TokenRequest::Ask(IdpInfo::parse(&payload)?),
                    awaiting,
                ))
            }
            #[cfg(feature = "aws-auth")]
            State::AwsServerFirst(_) if done => Err(invalid_message(
                "the server ends the conversation before a signature was sent",
            )),
            #[cfg(feature = "aws-auth")]
            State::AwsServerFirst(signer) => {
                let first = AwsServerFirst::parse(&payload, &signer.nonce)?;
                let payload = first.sign(&signer.credentials, signer.now);
                let state = State::AwsOutcome;
                Ok(continue_conversation(&source, conversation, payload, state))
            }
            #[cfg(feature = "gssapi")]
            State::Gssapi(client) => Ok(match client.handle_payload(payload, done)? {
                None => Step::Done,
                Some(call) => {
                    let awaiting = AwaitingSecurityContext {
                        source,
                        client,
                        conversation: Some(conversation),
                    };
                    Step::SecurityContext(call, awaiting)
                }
            }),
            _ if !done => Err(invalid_message("the server does not end the conversation")),
            _ => Ok(Step::Done),
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
        continue_conversation(&self.source, self.conversation, payload, state)
    }
}

impl AwaitingToken {
    pub(super) fn new(source: &str, username: Option<&str>, flow: OidcFlow) -> Self {
        Self {
            source: source.to_owned(),
            username: username.map(str::to_owned),
            progress: Progress::new(flow),
            conversation: None,
        }
    }

    /// Who obtains the token.
    pub fn flow(&self) -> OidcFlow {
        self.progress.flow
    }

    /// Continues with the access token. `None`: in the human flow, the server is asked for the
    /// identity provider.
    pub fn handle_token(self, token: Option<Token>) -> Step {
        let (request, awaiting) = match token {
            Some(token) => self.send_token(token),
            None => {
                let payload = principal_payload(self.username.as_deref());
                let mechanism = Mechanism::Oidc(self.progress.flow);
                let state = State::IdpInfo(self.progress, self.username);
                start(&self.source, mechanism, payload, state)
            }
        };
        Step::Send(request, awaiting)
    }

    pub(super) fn send_token(self, token: Token) -> (Request, Awaiting) {
        let payload = token_payload(&token.text).into();
        let content = match self.conversation {
            None => Content::Start {
                mechanism: Mechanism::Oidc(self.progress.flow),
                payload,
            },
            Some(conversation) => Content::Continue {
                conversation,
                payload,
            },
        };
        let state = State::TokenOutcome(self.progress, self.username, token);
        send(&self.source, content, state)
    }
}

#[cfg(feature = "aws-auth")]
impl AwaitingCredentials {
    /// Starts with these credentials. The signature is that of the time `now` since the Unix epoch.
    pub fn handle_credentials(self, credentials: AwsCredentials, now: Duration) -> Step {
        let Self { source, nonce } = self;
        let payload = aws::client_first(&nonce);
        let signer = AwsSigner {
            nonce,
            credentials,
            now,
        };
        let state = State::AwsServerFirst(Box::new(signer));
        let (request, awaiting) = start(&source, Mechanism::Aws, payload, state);
        Step::Send(request, awaiting)
    }
}

#[cfg(feature = "gssapi")]
impl AwaitingSecurityContext {
    /// The first step: the first token.
    pub(super) fn start(source: &str, username: &str) -> Step {
        let awaiting = Self {
            source: source.to_owned(),
            client: GssClient::new(username),
            conversation: None,
        };
        Step::SecurityContext(GssCall::Initiate(None), awaiting)
    }

    /// Continues with the result of the call.
    pub fn handle_output(mut self, output: GssOutput) -> Result<Step, AuthenticationError> {
        let next = self.client.handle_output(output);
        let next = next.map_err(|failure| AuthenticationError::new(Mechanism::Gssapi.as_str(), failure))?;
        Ok(match next {
            GssNext::Call(call) => Step::SecurityContext(call, self),
            GssNext::Send(payload) => {
                let state = State::Gssapi(self.client);
                match self.conversation {
                    Some(conversation) => continue_conversation(&self.source, conversation, payload, state),
                    None => {
                        let (request, awaiting) = start(&self.source, Mechanism::Gssapi, payload, state);
                        Step::Send(request, awaiting)
                    }
                }
            }
        })
    }
}

fn continue_conversation(source: &str, conversation: Bson, payload: Vec<u8>, state: State) -> Step {
    let payload = payload.into();
    let content = Content::Continue {
        conversation,
        payload,
    };
    let (request, awaiting) = send(source, content, state);
    Step::Send(request, awaiting)
}
