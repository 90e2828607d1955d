//! Encodes messages and documents, for the precomputed replies and requests.

use bson::Document;
use serde::Serialize;

const OP_MSG: i32 = 2013;

/// Encodes a value as BSON.
///
/// # Panics
/// If the value cannot be encoded. All values are defined in this package.
#[must_use]
pub fn document(value: &impl Serialize) -> Vec<u8> {
    bson::serialize_to_vec(value).expect("a value of this package")
}

/// A length as a little-endian Int32.
///
/// # Panics
/// If the length exceeds `i32::MAX`.
#[must_use]
pub fn length(bytes: usize) -> [u8; 4] {
    i32::try_from(bytes).expect("a length below 2 GiB").to_le_bytes()
}

/// Encodes an `OP_MSG` with a body and, unless it is empty, a document sequence `documents`.
/// `requestID` and `responseTo` are 0.
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

/// Sets `messageLength` of a complete message.
#[must_use]
pub fn seal(mut message: Vec<u8>) -> Vec<u8> {
    let length = length(message.len());
    message[..4].copy_from_slice(&length);
    message
}
