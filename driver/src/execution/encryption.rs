//! Encrypts commands before they are sent, and decrypts replies, through a trait that the API implements ([Client Side
//! Encryption], "Auto encrypt and decrypt").
//!
//! [Client Side Encryption]:
//! https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/client-side-encryption.md

use std::{borrow::Cow, fmt, pin::Pin};

use crate::{
    Error, Namespace, Result,
    bson::{DocumentWriter, RawDocument, RawDocumentBuf, RawElement, RawElements, rawdoc},
    pool::PooledConnection,
    proto::{description::HelloReply, wire::whole_command},
    types::timeout::Timeout,
};

/// The most bytes of the statements of one command ("Size limits for Write Commands").
const MOST_STATEMENTS: usize = 2_097_152;

/// A document that is computed.
pub(crate) type Computing<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>>> + Send + 'a>>;

/// Encrypts the commands of a client and decrypts their replies.
pub(crate) trait CommandEncryption: fmt::Debug + Send + Sync {
    /// Whether commands are encrypted. Otherwise only replies are decrypted.
    fn encrypts(&self) -> bool;

    /// The command to send in place of `command`, which does not have the fields that the driver adds to all commands.
    fn encrypt<'a>(&'a self, database: &'a str, command: &'a RawDocument, timeout: Timeout) -> Computing<'a>;

    /// The decrypted reply.
    fn decrypt<'a>(&'a self, reply: &'a [u8], timeout: Timeout) -> Computing<'a>;

    /// `encryptedFields` in the options of the client for a collection.
    fn encrypted_fields(&self, namespace: &Namespace) -> Option<&RawDocument>;

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
    let (plain, generic) = split(&command)?;
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

            fn decrypt<'a>(&'a self, reply: &'a [u8], _: Timeout) -> Computing<'a> {
                Box::pin(async { Ok(reply.to_vec()) })
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
