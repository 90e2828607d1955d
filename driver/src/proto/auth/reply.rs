//! Replies to authentication commands, and the part of the hello reply that concerns
//! authentication.

use crate::{
    Result,
    bson::{Bson, RawElements, find_element},
    error::AuthenticationFailure,
    proto::command::{Reply, array_bytes, document_bytes},
};

/// The reply to `saslStart` or `saslContinue`.
#[derive(Debug)]
pub(super) struct SaslReply {
    pub(super) conversation: Bson,
    pub(super) payload: Vec<u8>,
    pub(super) done: bool,
}

impl SaslReply {
    pub(super) fn parse(body: &[u8]) -> std::result::Result<Self, AuthenticationFailure> {
        let invalid_message = |why: &str| AuthenticationFailure::Conversation(why.to_owned());
        let field = |name: &str| {
            find_element(body, name)
                .map(|element| element.map(|element| element.value))
                .map_err(|_| invalid_message("the server's reply is not valid BSON"))
        };
        let payload = field("payload")?
            .and_then(|value| value.binary().ok().map(|binary| binary.bytes.to_vec()))
            .ok_or_else(|| invalid_message("the server's reply has no payload"))?;
        let conversation = match field("conversationId")? {
            Some(id) => id
                .to_bson()
                .map_err(|_| invalid_message("the server's reply is not valid BSON"))?,
            None => return Err(invalid_message("the server's reply has no conversationId")),
        };
        Ok(Self {
            conversation,
            payload,
            done: field("done")?.is_some_and(|value| value.is_truthy()),
        })
    }
}

/// The fields of the hello reply for authentication.
#[derive(Debug, Default)]
pub struct Offer<'a> {
    /// `saslSupportedMechs` contains `SCRAM-SHA-256`.
    pub(super) scram_sha_256: bool,
    /// `speculativeAuthenticate`: the reply to the speculative conversation.
    pub(super) speculative: Option<&'a [u8]>,
}

impl<'a> Offer<'a> {
    /// Parses a hello reply. Fields of an unexpected type are ignored.
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

/// Returns the error of a reply with `ok: 0`.
pub fn parse_reply(body: &[u8]) -> Result<()> {
    Reply::scan(body)?.command_error().map_or(Ok(()), Err)
}
