//! The commands of authentication conversations.

use zeroize::Zeroizing;

use super::mechanism::Mechanism;
use crate::bson::{BinarySubtype, Bson, DocumentWriter};

/// A command of a conversation. It contains secrets, so it does not implement `Debug`.
pub struct Request {
    pub(super) source: String,
    pub(super) content: Content,
}

pub(super) enum Content {
    /// `saslStart`
    Start {
        mechanism: Mechanism,
        payload: Zeroizing<Vec<u8>>,
    },
    /// `saslContinue`
    Continue {
        conversation: Bson,
        payload: Zeroizing<Vec<u8>>,
    },
    /// `authenticate` with `MONGODB-X509`. The user name is sent only if the application set it.
    Certificate { username: Option<String> },
}

impl Request {
    /// The database for the command.
    pub fn database(&self) -> &str {
        &self.source
    }

    /// The name of the command.
    pub(crate) fn command(&self) -> &'static str {
        match self.content {
            Content::Start { .. } => "saslStart",
            Content::Continue { .. } => "saslContinue",
            Content::Certificate { .. } => "authenticate",
        }
    }

    /// Writes all fields except `$db`.
    pub fn write(&self, command: &mut DocumentWriter<'_>) {
        match &self.content {
            Content::Start { mechanism, payload } => {
                command.i32("saslStart", 1);
                command.str("mechanism", mechanism.as_str());
                command.binary("payload", BinarySubtype::Generic, payload);
                command.i32("autoAuthorize", 1);
                if matches!(mechanism, Mechanism::Scram(_)) {
                    let options = command.begin_document("options");
                    command.bool("skipEmptyExchange", true);
                    command.end(options);
                }
            }
            Content::Continue {
                conversation,
                payload,
            } => {
                command.i32("saslContinue", 1);
                command.bson("conversationId", conversation);
                command.binary("payload", BinarySubtype::Generic, payload);
            }
            Content::Certificate { username } => {
                command.i32("authenticate", 1);
                command.str("mechanism", Mechanism::X509.as_str());
                if let Some(username) = username {
                    command.str("user", username);
                }
            }
        }
    }
}
