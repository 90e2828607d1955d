//! What servers answer: to the handshake, and to the commands that log in.

use crate::{
    Result,
    bson::{Bson, RawElements, find_element},
    error::AuthenticationFailure,
    proto::command::{Reply, array_bytes, document_bytes},
};

/// A reply in a conversation, without the fields that all replies have.
#[derive(Debug)]
pub struct SaslReply {
    pub(super) conversation: Bson,
    pub(super) payload: Vec<u8>,
    pub(super) done: bool,
}

impl SaslReply {
    pub(super) fn parse(body: &[u8]) -> std::result::Result<Self, AuthenticationFailure> {
        let broken = |why: &str| AuthenticationFailure::Conversation(why.to_owned());
        let field = |name: &str| {
            find_element(body, name)
                .map(|element| element.map(|element| element.value))
                .map_err(|_| broken("the server's reply is no BSON"))
        };
        let payload = field("payload")?
            .and_then(|value| value.binary().ok().map(|binary| binary.bytes.to_vec()))
            .ok_or_else(|| broken("the server's reply has no payload"))?;
        let conversation = match field("conversationId")? {
            Some(id) => id
                .to_bson()
                .map_err(|_| broken("the server's reply is no BSON"))?,
            None => return Err(broken("the server's reply has no conversationId")),
        };
        Ok(Self {
            conversation,
            payload,
            done: field("done")?.is_some_and(|value| value.is_truthy()),
        })
    }
}

/// What the reply to the handshake says about logging in.
#[derive(Debug, Default)]
pub struct Offer<'a> {
    /// Whether the user may prove itself by SCRAM-SHA-256.
    pub(super) scram_sha_256: bool,
    /// The reply to the part of the conversation that was in the handshake.
    pub(super) speculative: Option<&'a [u8]>,
}

impl<'a> Offer<'a> {
    /// Reads the reply to a hello. What is not understood counts as absent.
    pub fn parse(hello: &'a [u8]) -> Self {
        let value = |name| {
            find_element(hello, name)
                .ok()
                .flatten()
                .map(|element| element.value)
        };
        let mechanisms = value("saslSupportedMechs")
            .and_then(array_bytes)
            .and_then(|array| RawElements::new(array).ok());
        Self {
            scram_sha_256: mechanisms.is_some_and(|mut names| {
                names.any(|name| name.is_ok_and(|name| name.value.str().is_ok_and(|n| n == "SCRAM-SHA-256")))
            }),
            speculative: value("speculativeAuthenticate").and_then(document_bytes),
        }
    }
}

/// Whether a command of a conversation was accepted: the error of a reply with `ok: 0`.
pub fn parse_reply(body: &[u8]) -> Result<()> {
    Reply::scan(body)?.command_error().map_or(Ok(()), Err)
}
