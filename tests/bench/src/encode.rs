//! Messages and documents as bytes, for the canned replies and the floor.

use bson::Document;
use serde::Serialize;

const OP_MSG: i32 = 2013;

/// A value as BSON.
///
/// # Panics
/// When it is none; only values of this package are encoded.
#[must_use]
pub fn document(value: &impl Serialize) -> Vec<u8> {
    bson::serialize_to_vec(value).expect("a value of this package")
}

/// A length as messages hold it.
///
/// # Panics
/// When it is too long for a message.
#[must_use]
pub fn length(bytes: usize) -> [u8; 4] {
    i32::try_from(bytes).expect("a length below 2 GiB").to_le_bytes()
}

/// An `OP_MSG` of a command or reply and, when there are any, a sequence of `documents`. Its numbers are 0.
#[must_use]
pub fn message(body: &Document, documents: &[Vec<u8>]) -> Vec<u8> {
    const SEQUENCE: &[u8] = b"documents\0";
    let mut message = vec![0; 12];
    message.extend(OP_MSG.to_le_bytes());
    message.extend([0; 5]);
    message.extend(document(body));
    if !documents.is_empty() {
        let bytes: usize = documents.iter().map(Vec::len).sum();
        message.push(1);
        message.extend(length(4 + SEQUENCE.len() + bytes));
        message.extend(SEQUENCE);
        message.extend(documents.iter().flatten());
    }
    seal(message)
}

/// Writes the length of a finished message to its start.
#[must_use]
pub fn seal(mut message: Vec<u8>) -> Vec<u8> {
    let length = length(message.len());
    message[..4].copy_from_slice(&length);
    message
}
