//! Stored values: what the server makes of an insert or update payload, and the tags in it.
//!
//! ```text
//! 14 ‖ key ID ‖ type ‖ value ‖ block
//! 15 ‖ key ID ‖ type ‖ number of blocks: u8 ‖ value ‖ blocks
//! 17 ‖ key ID ‖ type ‖ numbers of blocks, of substrings, of suffixes: u32 ‖ value ‖ blocks
//! block = encrypted counter and contention: 32 bytes ‖ tag: 32 bytes ‖ encrypted zeros: 32 bytes
//! ```

use super::malformed;
use super::payload::{InsertPayload, Sets};
use super::token::{Token, derive, encrypt};
use crate::error::Result;
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Document};

const EQUALITY: u8 = 14;
const RANGE: u8 = 15;
const TEXT: u8 = 17;
/// The length of the first byte, the key ID and the type.
const HEADER: usize = 18;
const BLOCK: usize = 96;

/// The stored form of a payload, with a counter and a tag for each of its sets.
pub(super) fn value(payload: &InsertPayload, positions: &[(u64, Token)]) -> Result<Bson> {
    let kind = match payload.sets {
        Sets::Equality(_) => EQUALITY,
        Sets::Range(_) => RANGE,
        Sets::Text { .. } => TEXT,
    };
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&payload.key_id);
    bytes.push(payload.value_type);
    let length = |length: usize| u32::try_from(length).map_err(|_| malformed("too many tokens"));
    match &payload.sets {
        Sets::Equality(_) => {}
        Sets::Range(edges) => {
            bytes.push(u8::try_from(edges.len()).map_err(|_| malformed("too many tokens"))?);
        }
        Sets::Text {
            substrings, suffixes, ..
        } => {
            for count in [positions.len(), substrings.len(), suffixes.len()] {
                bytes.extend_from_slice(&length(count)?.to_le_bytes());
            }
        }
    }
    bytes.extend(encrypt(&payload.server_token, &payload.value));
    for (set, (counter, tag)) in payload.sets.all().into_iter().zip(positions) {
        let mut position = counter.to_le_bytes().to_vec();
        position.extend_from_slice(&payload.contention.to_le_bytes());
        bytes.extend(encrypt(&derive(&set.metadata, 1), &position));
        bytes.extend_from_slice(tag);
        bytes.extend(encrypt(&derive(&set.metadata, 2), &[0; 16]));
    }
    Ok(Bson::Binary(Binary {
        subtype: BinarySubtype::Encrypted,
        bytes,
    }))
}

/// The tags of all stored values of a document.
pub(super) fn tags(document: &Document) -> Vec<&[u8]> {
    let mut found = Vec::new();
    for (_, value) in document {
        match value {
            Bson::Document(inner) => found.extend(tags(inner)),
            Bson::Binary(Binary {
                subtype: BinarySubtype::Encrypted,
                bytes,
            }) => found.extend(tags_of(bytes)),
            _ => {}
        }
    }
    found
}

/// The tags of a stored value. Empty for other values.
fn tags_of(bytes: &[u8]) -> Vec<&[u8]> {
    let number = |at: usize| {
        let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    let count = match bytes.first() {
        Some(&EQUALITY) => Some(1),
        Some(&RANGE) => bytes.get(HEADER).map(|count| usize::from(*count)),
        Some(&TEXT) => number(HEADER),
        _ => None,
    };
    let blocks = count
        .and_then(|count| bytes.len().checked_sub(count.checked_mul(BLOCK)?))
        .filter(|start| *start >= HEADER)
        .map_or(&[][..], |start| &bytes[start..]);
    blocks.chunks_exact(BLOCK).map(|block| &block[32..64]).collect()
}
