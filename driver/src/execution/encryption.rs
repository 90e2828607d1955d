//! Encrypts commands before they are sent, and decrypts replies, through a trait that the API implements ([Client Side
//! Encryption], "Auto encrypt and decrypt").
//!
//! [Client Side Encryption]:
//! https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/client-side-encryption.md

use std::{borrow::Cow, fmt, ops::Range, pin::Pin};

use zeroize::Zeroizing;

use super::{Executor, attempt::Attempt, monitoring::CommandMonitor};
use crate::{
    Error, Namespace, Result,
    bson::{
        BinarySubtype, DocumentWriter, ElementType, RawDocument, RawDocumentBuf, RawElement, RawElements,
        rawdoc,
    },
    error::EncryptionError,
    pool::PooledConnection,
    proto::{
        command::{OpenCursor, Reply},
        description::HelloReply,
        wire::whole_command,
    },
    types::timeout::Timeout,
};

/// The maximum nesting depth of documents that the server accepts.
pub(super) const CHECKED_LEVELS: usize = 200;
/// The most bytes of the statements of one command ("Size limits for Write Commands").
const MOST_STATEMENTS: usize = 2_097_152;

/// A document that is computed.
pub(crate) type Computing<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>>> + Send + 'a>>;

/// A reply that is decrypted.
pub(crate) type Decrypting<'a> = Pin<Box<dyn Future<Output = Result<Option<Vec<u8>>>> + Send + 'a>>;

/// Encrypts the commands of a client and decrypts their replies.
pub(crate) trait CommandEncryption: fmt::Debug + Send + Sync {
    /// Whether commands are encrypted. Otherwise only replies are decrypted.
    fn encrypts(&self) -> bool;

    /// Whether the values of commands are encrypted: they are, unless the analysis is bypassed.
    #[cfg(feature = "encryption")]
    fn encrypts_values(&self) -> bool {
        self.encrypts()
    }

    /// Rejects later commands on the collection that do not encrypt these fields.
    #[cfg(feature = "encryption")]
    fn require_fields(&self, _namespace: &Namespace, _paths: &[String], _required_by: &str) {}

    /// The command to send in place of `command`, which does not have the fields that the driver adds to all commands.
    fn encrypt<'a>(&'a self, database: &'a str, command: &'a RawDocument, timeout: Timeout) -> Computing<'a>;

    /// The reply with its values decrypted; `None` if nothing in it can be decrypted. The reply is copied at once.
    fn decrypt<'a>(&'a self, reply: &[u8], timeout: Timeout) -> Decrypting<'a>;

    /// `encryptedFields` in the options of the client for a collection.
    fn encrypted_fields(&self, namespace: &Namespace) -> Option<&RawDocument>;

    /// The executor of the client that reads schemas and data keys, unless the application made it.
    fn internal(&self) -> Option<&Executor> {
        None
    }

    /// Closes the clients that belong to the encryption.
    fn close(&self);
}

/// The fields that the driver adds to all commands. They are not encrypted, and are appended to the encrypted command.
fn is_generic(key: &str) -> bool {
    matches!(
        key,
        "lsid"
            | "txnNumber"
            | "startTransaction"
            | "autocommit"
            | "$clusterTime"
            | "$readPreference"
            | "apiVersion"
            | "apiStrict"
            | "apiDeprecationErrors"
            | "$db"
    )
}

/// Limits the statements of a command that is encrypted.
#[inline(always)]
pub(super) fn limited<'h>(
    hello: &'h HelloReply,
    encryption: Option<&dyn CommandEncryption>,
) -> Cow<'h, HelloReply> {
    if !encryption.is_some_and(CommandEncryption::encrypts) {
        return Cow::Borrowed(hello);
    }
    let mut limited = hello.clone();
    limited.max_statement_bytes = Some(MOST_STATEMENTS);
    Cow::Owned(limited)
}

/// An encrypted command, as one document without sequences.
pub(super) struct EncryptedRequest {
    command: Vec<u8>,
    /// The fields that the driver adds to all commands.
    generic: Vec<u8>,
}

/// Encrypts the command that was written to the connection, and discards that.
pub(super) async fn encrypt_request(
    encryption: &dyn CommandEncryption,
    connection: &mut PooledConnection,
    database: &str,
    timeout: Timeout,
) -> Result<EncryptedRequest> {
    let command = whole_command(connection.request())
        .ok_or_else(|| Error::invalid_argument("the command cannot be encrypted: it is malformed"))?;
    connection.discard_request();
    let command = Zeroizing::new(command.into_bytes());
    let (plain, generic) = split(RawDocument::from_bytes(&command).map_err(malformed)?)?;
    let plain = Zeroizing::new(plain);
    let command = encryption
        .encrypt(
            database,
            RawDocument::from_bytes(&plain).map_err(malformed)?,
            timeout,
        )
        .await?;
    Ok(EncryptedRequest { command, generic })
}

impl EncryptedRequest {
    /// Writes the request to the connection, with this `maxTimeMS`.
    pub(super) fn write(
        &self,
        connection: &mut PooledConnection,
        max_time_ms: Option<i64>,
        expects_reply: bool,
    ) -> Result<()> {
        let (mut message, _) = connection.begin();
        join(message.buffer, &self.command, &self.generic, max_time_ms)?;
        if !expects_reply {
            message.expect_no_reply();
        }
        message.finish()?;
        Ok(())
    }
}

/// Whether the document has an encrypted value (Binary subtype 6) at any depth. A malformed one counts as such: documents are
/// checked before they are decrypted.
pub(super) fn has_encrypted_value(document: &[u8]) -> bool {
    fn is_in(document: &[u8], levels: usize) -> bool {
        let Ok(elements) = RawElements::new(document) else {
            return true;
        };
        elements.into_iter().any(|element| match element {
            Ok(RawElement { value, .. }) => match value.kind() {
                ElementType::EmbeddedDocument | ElementType::Array => {
                    levels == 0 || is_in(value.bytes(), levels - 1)
                }
                // The length, and then the subtype.
                ElementType::Binary => value.bytes().get(4) == Some(&u8::from(BinarySubtype::Encrypted)),
                _ => false,
            },
            Err(_) => true,
        })
    }
    is_in(document, CHECKED_LEVELS)
}

/// Decrypts the values in the reply to a command, if it has succeeded; `None` if none can be decrypted. The times of the
/// reply are noted first. A reply with the errors of single writes is not an error: its encrypted values remain as they
/// are.
///
/// A cursor that the reply opened is closed if the decryption fails so or the future is dropped.
pub(super) async fn decrypt_reply<'a>(
    attempt: &Attempt<'a>,
    encryption: &dyn CommandEncryption,
    connection: &mut PooledConnection,
    body: Range<usize>,
    monitor: &mut Option<Box<CommandMonitor<'a>>>,
) -> Result<Option<Vec<u8>>> {
    let bytes = connection.reply(body);
    // A malformed reply is reported with that error.
    let Ok(reply) = Reply::scan(bytes) else {
        return Ok(None);
    };
    if reply.command_error().is_some() {
        return Ok(None);
    }
    // The event has the reply as it was received.
    CommandMonitor::succeeded(monitor.take(), Some(bytes));
    attempt.note_times(&reply);
    let (state_change, has_write_errors) = (reply.state_change(), reply.reports_write_errors());
    let decrypting = encryption.decrypt(bytes, attempt.timeout);
    // The server closes the cursors of a transaction at its end.
    let cursor = OpenCursor::opened_by(bytes).filter(|_| attempt.transaction.is_none());
    if let Some(cursor) = cursor {
        connection.hold_cursor(cursor);
    }
    let decrypted = match decrypting.await {
        // The counts and codes of a write are not encrypted; only the values of a duplicate key are.
        Err(_) if has_write_errors => Ok(None),
        decrypted => decrypted,
    };
    match decrypted {
        Ok(decrypted) => {
            connection.release_cursor();
            Ok(decrypted)
        }
        Err(error) => {
            if let Some(error) = state_change {
                let error = error.with_address(attempt.server.address());
                let topology = attempt.executor.topology();
                topology.handle_error(attempt.server, connection.key(), &error);
            }
            let error = Error::from(EncryptionError::Reply(error));
            Err(error.with_address(attempt.server.address()))
        }
    }
}

fn malformed(error: impl fmt::Display) -> Error {
    Error::invalid_argument(format!("the command cannot be encrypted: {error}"))
}

/// The fields of the operation, and those that the driver adds to all commands.
fn split(command: &RawDocument) -> Result<(Vec<u8>, Vec<u8>)> {
    let (mut plain, mut generic) = (Vec::with_capacity(command.as_bytes().len()), Vec::new());
    for (target, wants_generic) in [(&mut plain, false), (&mut generic, true)] {
        write(target, &[(command.as_bytes(), Some(wants_generic))])?;
    }
    Ok((plain, generic))
}

/// Appends a document of the fields of both.
fn join(target: &mut Vec<u8>, encrypted: &[u8], generic: &[u8], max_time_ms: Option<i64>) -> Result<()> {
    let limit = max_time_ms.map_or_else(RawDocumentBuf::new, |limit| rawdoc! { "maxTimeMS": limit });
    // libmongocrypt adds `$db`, which is a generic field.
    let sources = [
        (encrypted, Some(false)),
        (limit.as_bytes(), None),
        (generic, None),
    ];
    write(target, &sources)
}

/// Appends a document of the fields of several, for some of which only the generic or the other fields are wanted.
fn write(target: &mut Vec<u8>, sources: &[(&[u8], Option<bool>)]) -> Result<()> {
    let mut writer = DocumentWriter::new(target);
    let document = writer.begin();
    for (source, wants_generic) in sources {
        let mut elements = RawElements::new(source)?;
        while let Some(RawElement { key, value, .. }) = elements.next_element()? {
            if wants_generic.is_none_or(|wanted| wanted == is_generic(key)) {
                writer.raw_value(key, value);
            }
        }
    }
    writer.end(document);
    writer.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::{decode_document, doc};

    #[test]
    fn generic_fields_are_kept_apart_and_appended() {
        let command = rawdoc! {
            "insert": "c", "ordered": true, "lsid": { "id": 1 }, "$db": "d", "documents": [{ "a": 1 }],
        };
        let (plain, generic) = split(&command).unwrap();
        let expected = doc! { "insert": "c", "ordered": true, "documents": [{ "a": 1 }] };
        assert_eq!(decode_document(&plain).unwrap(), expected);
        let encrypted = rawdoc! { "insert": "c", "documents": [{ "a": 2 }], "$db": "d" };
        let mut joined = Vec::new();
        join(&mut joined, encrypted.as_bytes(), &generic, Some(9)).unwrap();
        let expected = doc! {
            "insert": "c", "documents": [{ "a": 2 }], "maxTimeMS": 9_i64, "lsid": { "id": 1 }, "$db": "d",
        };
        assert_eq!(decode_document(&joined).unwrap(), expected);
    }

    #[test]
    fn encrypted_values_are_found_at_any_depth() {
        let value = |subtype| crate::bson::Binary {
            subtype,
            bytes: vec![6; 6],
        };
        let encrypted = || value(BinarySubtype::Encrypted);
        let batch = |document: RawDocumentBuf| rawdoc! { "cursor": { "firstBatch": [{ "a": 1 }, document] }, "ok": 1 };
        for (reply, is_found) in [
            (
                rawdoc! { "ok": 1.0, "value": { "a": [6, "\u{6}"], "b": value(BinarySubtype::Generic) } },
                false,
            ),
            (rawdoc! { "a": encrypted() }, true),
            (batch(rawdoc! { "a": { "b": [[encrypted()]] } }), true),
            (
                batch(rawdoc! { "a": { "b": [[value(BinarySubtype::Sensitive)]] } }),
                false,
            ),
        ] {
            assert_eq!(has_encrypted_value(reply.as_bytes()), is_found, "{reply:?}");
        }
        // Malformed: rejected by libmongocrypt.
        assert!(has_encrypted_value(&[5, 0, 0, 0]) && has_encrypted_value(b"\x08\0\0\0\x10a\0\0"));
        let mut deep = rawdoc! { "a": 1 };
        for _ in 0..=CHECKED_LEVELS {
            deep = rawdoc! { "a": deep };
        }
        assert!(has_encrypted_value(deep.as_bytes()));
    }

    #[test]
    fn the_limit_applies_to_commands_that_are_encrypted() {
        #[derive(Debug)]
        struct Encryption(bool);
        impl CommandEncryption for Encryption {
            fn encrypts(&self) -> bool {
                self.0
            }

            fn encrypt<'a>(&'a self, _: &'a str, command: &'a RawDocument, _: Timeout) -> Computing<'a> {
                Box::pin(async { Ok(command.as_bytes().to_vec()) })
            }

            fn decrypt<'a>(&'a self, _: &[u8], _: Timeout) -> Decrypting<'a> {
                Box::pin(async { Ok(None) })
            }

            fn encrypted_fields(&self, _: &Namespace) -> Option<&RawDocument> {
                None
            }

            fn close(&self) {}
        }
        let hello = HelloReply {
            max_message_size_bytes: Some(48_000_000),
            ..HelloReply::default()
        };
        let budget = |encryption: Option<&dyn CommandEncryption>| {
            crate::operation::message_budget(&limited(&hello, encryption))
        };
        assert_eq!(budget(Some(&Encryption(true))), 2_097_152);
        assert_eq!(budget(Some(&Encryption(false))), budget(None));
    }
}
