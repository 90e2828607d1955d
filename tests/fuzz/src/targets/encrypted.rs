//! The fuzz target for the check of documents before libmongocrypt reads them: the library reads
//! some malformed values outside of their bounds, so that what passes the check must be harmless.

use std::sync::OnceLock;

use marula_driver::bson::{Binary, BinarySubtype, Document, doc, to_vec};
use marula_mongocrypt::{Context, Crypt, CryptOptions, Error, ErrorKind, Library, State, Zeroizing};

use super::Target;

pub(super) const TARGET: Target = Target {
    name: "encrypted",
    run,
    seeds,
};

/// The library, or why it cannot be loaded.
static CRYPT: OnceLock<Option<Crypt>> = OnceLock::new();

/// Whether libmongocrypt is installed. Without it, the target checks nothing.
pub fn is_available() -> bool {
    crypt().is_some()
}

fn crypt() -> Option<&'static Crypt> {
    let load = || {
        let library = Library::load(None).ok()?;
        let options = CryptOptions {
            kms_providers: Zeroizing::new(bytes_of(&doc! { "local": { "key": binary(0, &[5; 96]) } })),
            ..CryptOptions::default()
        };
        Some(Crypt::new(library, &options).expect("valid options"))
    };
    CRYPT.get_or_init(load).as_ref()
}

fn run(bytes: &[u8]) {
    let Some(crypt) = crypt() else { return };
    finish(crypt.decrypt(bytes), bytes);
    finish(crypt.decrypt_value(bytes), bytes);
    finish(crypt.encrypt("db", bytes), bytes);
}

/// Passes the bytes as each answer that the context asks for.
fn finish(context: Result<Context, Error>, bytes: &[u8]) {
    let mut context = match context {
        Ok(context) => context,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    for _ in 0..8 {
        let Ok(state) = context.state() else { return };
        let step = match state {
            State::NeedCollectionInfo | State::NeedMarkings | State::NeedKeys => {
                let asked = context.operation();
                asked
                    .and_then(|_| context.feed(bytes))
                    .and_then(|()| context.done())
            }
            State::NeedKms => context.kms_done(),
            State::Ready => return check_result(context.finalize()),
            _ => return,
        };
        if let Err(error) = step {
            assert!(!error.to_string().is_empty());
            return;
        }
    }
}

/// A result of the library is a document that passes the same check.
fn check_result(result: Result<Zeroizing<Vec<u8>>, Error>) {
    let (Ok(result), Some(crypt)) = (result, crypt()) else {
        return;
    };
    if let Err(error) = crypt.decrypt(&result) {
        assert!(!matches!(error.kind, ErrorKind::Malformed), "{error}");
    }
}

fn bytes_of(document: &Document) -> Vec<u8> {
    to_vec(document).expect("a document")
}

fn binary(subtype: u8, bytes: &[u8]) -> Binary {
    Binary {
        subtype: BinarySubtype::from(subtype),
        bytes: bytes.to_vec(),
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let encrypted = |kind: u8| {
        let mut value = vec![kind];
        value.extend([7; 16]);
        value.push(2);
        value.extend([1; 64]);
        binary(6, &value)
    };
    [
        doc! { "v": encrypted(1) },
        doc! { "a": encrypted(2), "b": [{ "c": encrypted(0), "d": encrypted(7) }], "e": encrypted(14) },
        doc! { "v": encrypted(16), "__safeContent__": [binary(0, &[3; 32])] },
        doc! {
            "_id": binary(4, &[7; 16]), "keyMaterial": binary(0, &[1; 160]), "status": 0, "masterKey": { "provider": "local" },
            "creationDate": marula_driver::bson::DateTime::from_millis(5), "updateDate": marula_driver::bson::DateTime::from_millis(5),
        },
        doc! { "find": "c", "filter": { "a": 5, "b": { "$gt": "x" } } },
        doc! {
            "name": "c", "type": "collection",
            "options": { "validator": { "$jsonSchema": { "bsonType": "object", "properties": { "a": { "encrypt": {
                "bsonType": "int", "keyId": [binary(4, &[7; 16])], "algorithm": "AEAD_AES_256_CBC_HMAC_SHA_512-Random",
            } } } } } },
        },
    ]
    .map(|document| bytes_of(&document))
    .to_vec()
}
