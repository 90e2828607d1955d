//! The payloads of a client: values to store, and the operands of queries.

use super::malformed;
use super::token::Token;
use crate::error::Result;
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Document};

/// The first byte of an insert or update payload.
const INSERT: u8 = 11;
/// The first byte of find payloads: for equality, for ranges, for parts of strings.
const FIND: [u8; 3] = [12, 13, 18];

/// The tokens of one value, range or part of a string that queries can find.
#[derive(Debug, Clone)]
pub(super) struct TokenSet {
    /// `d`: for the tags in the collection.
    pub(super) collection: Token,
    /// `s`: for the positions in ESC.
    pub(super) state: Token,
    /// `l`: for the metadata of a stored value.
    pub(super) metadata: Token,
    /// `p`: encrypted tokens for ECOC. Empty in find payloads.
    pub(super) compaction: Vec<u8>,
}

/// The token sets of a value to store.
#[derive(Debug, Clone)]
pub(super) enum Sets {
    Equality(Box<TokenSet>),
    Range(Vec<TokenSet>),
    Text {
        exact: Box<TokenSet>,
        substrings: Vec<TokenSet>,
        suffixes: Vec<TokenSet>,
        prefixes: Vec<TokenSet>,
    },
}

/// A value to store.
#[derive(Debug, Clone)]
pub(super) struct InsertPayload {
    /// `u`: the UUID of the index key.
    pub(super) key_id: [u8; 16],
    /// `t`: the BSON type of the value.
    pub(super) value_type: u8,
    /// `v`: the value, encrypted by the client.
    pub(super) value: Vec<u8>,
    /// `e`: for the encryption of the value by the server.
    pub(super) server_token: Token,
    /// `k`: the contention of this value.
    pub(super) contention: u64,
    pub(super) sets: Sets,
}

/// The operand of a query.
#[derive(Debug, Clone)]
pub(super) enum FindPayload {
    /// The values of these sets match, with a contention up to `contention`.
    Sets { sets: Vec<TokenSet>, contention: u64 },
    /// The second operand of a range. The first one has the sets of both.
    Stub,
}

/// Returns the bytes of an encrypted value after its first byte, if that is one of `kinds`.
fn bytes_of<'v>(value: &'v Bson, kinds: &[u8]) -> Option<(u8, &'v [u8])> {
    let Bson::Binary(Binary {
        subtype: BinarySubtype::Encrypted,
        bytes,
    }) = value
    else {
        return None;
    };
    match bytes.split_first() {
        Some((kind, rest)) if kinds.contains(kind) => Some((*kind, rest)),
        _ => None,
    }
}

fn document(bytes: &[u8]) -> Result<Document> {
    Document::from_reader(bytes).map_err(|error| malformed(&error.to_string()))
}

impl InsertPayload {
    /// Reads an insert or update payload. `None` for other values.
    pub(super) fn read(value: &Bson) -> Result<Option<InsertPayload>> {
        let Some((_, bytes)) = bytes_of(value, &[INSERT]) else {
            return Ok(None);
        };
        let payload = document(bytes)?;
        let sets = if let Some(parts) = payload.get("b") {
            let parts = parts.as_document().ok_or_else(|| malformed("b"))?;
            let exact = parts.get("e").and_then(Bson::as_document);
            Sets::Text {
                exact: Box::new(TokenSet::read(exact.ok_or_else(|| malformed("b.e"))?)?),
                substrings: TokenSet::list(parts.get("s"))?,
                suffixes: TokenSet::list(parts.get("u"))?,
                prefixes: TokenSet::list(parts.get("p"))?,
            }
        } else if let Some(edges) = payload.get("g") {
            Sets::Range(TokenSet::list(Some(edges))?)
        } else {
            Sets::Equality(Box::new(TokenSet::read(&payload)?))
        };
        Ok(Some(InsertPayload {
            key_id: binary(&payload, "u")?.try_into().map_err(|_| malformed("u"))?,
            value_type: u8::try_from(payload.get_i32("t").map_err(|_| malformed("t"))?)
                .map_err(|_| malformed("t"))?,
            value: binary(&payload, "v")?.to_vec(),
            server_token: token(&payload, "e")?,
            contention: contention(&payload, "k")?,
            sets,
        }))
    }
}

impl Sets {
    /// The sets in the order of their tags.
    pub(super) fn all(&self) -> Vec<&TokenSet> {
        match self {
            Sets::Equality(set) => vec![set],
            Sets::Range(edges) => edges.iter().collect(),
            Sets::Text {
                exact,
                substrings,
                suffixes,
                prefixes,
            } => {
                let parts = substrings.iter().chain(suffixes).chain(prefixes);
                std::iter::once(exact.as_ref()).chain(parts).collect()
            }
        }
    }
}

impl FindPayload {
    /// Whether the value is a find payload.
    pub(super) fn is_one(value: &Bson) -> bool {
        bytes_of(value, &FIND).is_some()
    }

    /// Reads a find payload. `None` for other values.
    pub(super) fn read(value: &Bson) -> Result<Option<FindPayload>> {
        let Some((kind, bytes)) = bytes_of(value, &FIND) else {
            return Ok(None);
        };
        let payload = document(bytes)?;
        Ok(Some(match kind {
            12 => FindPayload::Sets {
                sets: vec![TokenSet::read(&payload)?],
                contention: contention(&payload, "cm")?,
            },
            13 => match payload.get("payload") {
                None => FindPayload::Stub,
                Some(Bson::Document(range)) => FindPayload::Sets {
                    sets: TokenSet::list(range.get("g"))?,
                    contention: contention(range, "cm")?,
                },
                Some(_) => return Err(malformed("payload")),
            },
            _ => {
                let parts = payload.get_document("ts").map_err(|_| malformed("ts"))?;
                let (Some(Bson::Document(set)), 1) = (parts.values().next(), parts.len()) else {
                    return Err(malformed("ts"));
                };
                FindPayload::Sets {
                    sets: vec![TokenSet::read(set)?],
                    contention: contention(&payload, "cm")?,
                }
            }
        }))
    }
}

impl TokenSet {
    fn read(document: &Document) -> Result<TokenSet> {
        Ok(TokenSet {
            collection: token(document, "d")?,
            state: token(document, "s")?,
            metadata: token(document, "l")?,
            compaction: match document.get("p") {
                None => Vec::new(),
                Some(_) => binary(document, "p")?.to_vec(),
            },
        })
    }

    fn list(sets: Option<&Bson>) -> Result<Vec<TokenSet>> {
        let Some(Bson::Array(sets)) = sets else {
            return Err(malformed("a list of tokens is missing"));
        };
        let set = |set: &Bson| match set {
            Bson::Document(set) => TokenSet::read(set),
            _ => Err(malformed("a list of tokens has another value")),
        };
        sets.iter().map(set).collect()
    }
}

fn binary<'d>(document: &'d Document, field: &str) -> Result<&'d [u8]> {
    match document.get(field) {
        Some(Bson::Binary(binary)) => Ok(&binary.bytes),
        _ => Err(malformed(field)),
    }
}

fn token(document: &Document, field: &str) -> Result<Token> {
    binary(document, field)?.try_into().map_err(|_| malformed(field))
}

fn contention(document: &Document, field: &str) -> Result<u64> {
    let number = document.get_i64(field).map_err(|_| malformed(field))?;
    u64::try_from(number).map_err(|_| malformed(field))
}
