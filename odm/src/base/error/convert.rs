//! Conversion of driver errors: duplicate keys and encode errors have variants of their own.

use std::fmt;

use crate::{
    base::{
        bson::{Document, RawDocument, decode_document},
        error::{Error, ValueError},
    },
    driver::{self, ErrorKind, WriteError, error::code},
};

/// The code of a stage that only Atlas has. It has no name.
pub(crate) const STAGE_OF_ATLAS: i32 = 6_047_401;

impl From<driver::Error> for Error {
    fn from(e: driver::Error) -> Self {
        if e.is_duplicate_key() {
            return duplicate(e);
        }
        if matches!(e.code(), Some(code::SEARCH_NOT_ENABLED | STAGE_OF_ATLAS)) {
            return Error::SearchUnsupported { source: e };
        }
        match e.kind() {
            ErrorKind::Encode(encode) => Error::Encode {
                path: encode.path().to_owned(),
                source: ValueError::new(encode.message()),
            },
            _ => Error::Driver(e),
        }
    }
}

fn duplicate(e: driver::Error) -> Error {
    let failed = e.write_errors().iter().find(|w| code::is_duplicate_key(w.code));
    let message = failed.map(|w| w.message.clone()).or_else(|| match e.kind() {
        ErrorKind::Command(c) => Some(c.message.clone()),
        _ => None,
    });
    let key = failed
        .and_then(|w| w.key_pattern.clone())
        .or_else(|| e.server_response().and_then(key_pattern))
        .map(Box::new);
    Error::Duplicate {
        index: message.as_deref().and_then(index_name),
        key,
        source: e,
    }
}

/// Appends the number of failed writes of a bulk write, and the first ten of their indexes.
pub(super) fn failed_writes(f: &mut fmt::Formatter<'_>, errors: &[WriteError]) -> fmt::Result {
    const SHOWN: usize = 10;
    let indexes: Vec<String> = errors.iter().take(SHOWN).map(|e| e.index.to_string()).collect();
    let indexes = indexes.join(", ");
    match errors.len() {
        0 => Ok(()),
        1 => write!(f, "; the write at index {indexes} of the call failed"),
        count if count > SHOWN => write!(
            f,
            "; {count} writes of the call failed, at the indexes {indexes}, …"
        ),
        count => write!(f, "; {count} writes of the call failed, at the indexes {indexes}"),
    }
}

/// `findAndModify` reports a duplicate key as a command error, with `keyPattern` beside `code`.
fn key_pattern(reply: &RawDocument) -> Option<Document> {
    let pattern = reply.get_document("keyPattern").ok()?;
    decode_document(pattern.as_bytes()).ok()
}

/// The name in `E11000 duplicate key error collection: db.c index: email_1 dup key: { … }`, or in
/// `Duplicate key violation on the requested collection: Index 'email_1'` of DocumentDB.
pub(super) fn index_name(message: &str) -> Option<String> {
    if let Some((_, rest)) =
        message.split_once("Duplicate key violation on the requested collection: Index '")
    {
        let (name, _) = rest.rsplit_once('\'')?;
        return (!name.is_empty()).then(|| name.to_owned());
    }
    let (_, rest) = message.split_once("index: ")?;
    let whole = rest.split_once(" dup key").map_or(rest, |(name, _)| name);
    let name = whole
        .split_once(" collation:")
        .map_or(whole, |(name, _)| name)
        .trim();
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::index_name;

    #[test]
    fn index_names_are_read_from_the_message() {
        let message = "E11000 duplicate key error collection: db.c index: email_1 dup key: { email: \"a\" }";
        assert_eq!(index_name(message).as_deref(), Some("email_1"));
        let collated =
            "E11000 duplicate key error collection: db.c index: e collation: { locale: \"en\" } dup key: {}";
        assert_eq!(index_name(collated).as_deref(), Some("e"));
        let documentdb = "Duplicate key violation on the requested collection: Index 'number_1'";
        assert_eq!(index_name(documentdb).as_deref(), Some("number_1"));
        let quoted = "Duplicate key violation on the requested collection: Index 'o'neil_1'.";
        assert_eq!(index_name(quoted).as_deref(), Some("o'neil_1"));
        assert_eq!(
            index_name("Duplicate key violation on the requested collection: Index ''"),
            None
        );
        assert_eq!(
            index_name("Duplicate key violation on the requested collection: Index '"),
            None
        );
        assert_eq!(index_name("something else"), None);
    }
}
