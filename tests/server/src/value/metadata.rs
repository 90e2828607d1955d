//! Metadata of documents in a query, such as the text score: values that `$meta` reads and that are
//! not part of the result. They are stored in a field of the document until the end of the query;
//! its name contains a NUL, as no name in BSON does.

use crate::error::{Error, Result};
use bson::{Bson, Document, doc};

/// The name of the field.
pub(crate) const FIELD: &str = "\0metadata";

/// The code of the error for metadata that the query does not have.
const NOT_AVAILABLE: i32 = 40218;

/// The metadata that this server implements, by their names in `$meta`.
pub(crate) const KINDS: [&str; 10] = [
    "geoNearDistance",
    "geoNearPoint",
    "score",
    "scoreDetails",
    "searchHighlights",
    "searchScore",
    "searchScoreDetails",
    "searchSequenceToken",
    "textScore",
    "vectorSearchScore",
];

/// The metadata of MongoDB that are not implemented.
const MISSING: [&str; 4] = ["indexKey", "randVal", "recordId", "sortKey"];

/// The value of `$$SEARCH_META`, which `$meta` does not read.
pub(crate) const SEARCH_META: &str = "searchMeta";

/// Parses the argument of `$meta`.
pub(crate) fn parse(argument: &Bson) -> Result<&'static str> {
    let Bson::String(name) = argument else {
        return Err(Error::new(17307, "$meta only supports string arguments"));
    };
    if MISSING.contains(&name.as_str()) {
        return Err(Error::not_served(format!("$meta: \"{name}\"")));
    }
    KINDS
        .iter()
        .find(|kind| *kind == name)
        .copied()
        .ok_or_else(|| Error::new(17308, format!("Unsupported argument to $meta: {name}")))
}

/// Sets a value of the metadata.
pub(crate) fn set(document: &mut Document, kind: &str, value: Bson) {
    match document.get_mut(FIELD) {
        Some(Bson::Document(metadata)) => {
            metadata.insert(kind, value);
        }
        _ => {
            document.insert(FIELD, doc! { kind: value });
        }
    }
}

/// The value of the metadata. Fails if the document has none of this kind.
pub(crate) fn get(document: &Document, kind: &str) -> Result<Bson> {
    document
        .get(FIELD)
        .and_then(Bson::as_document)
        .and_then(|metadata| metadata.get(kind))
        .cloned()
        .ok_or_else(|| {
            let words: String = kind
                .chars()
                .map(|c| {
                    if c.is_ascii_uppercase() {
                        format!(" {}", c.to_ascii_lowercase())
                    } else {
                        c.to_string()
                    }
                })
                .collect();
            Error::new(
                NOT_AVAILABLE,
                format!("query requires {words} metadata, but it is not available"),
            )
        })
}

/// Copies the metadata to a document that replaces another.
pub(crate) fn carry(from: &Document, to: &mut Document) {
    if let Some(metadata) = from.get(FIELD) {
        to.insert(FIELD, metadata.clone());
    }
}

/// Removes the metadata.
pub(crate) fn clear(document: &mut Document) {
    document.remove(FIELD);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_are_set_carried_and_cleared() {
        let mut document = doc! { "a": 1 };
        set(&mut document, "textScore", 1.5.into());
        set(&mut document, "searchScore", 2.0.into());
        let mut other = Document::new();
        carry(&document, &mut other);
        assert_eq!(get(&other, "textScore").unwrap(), Bson::Double(1.5));
        clear(&mut document);
        assert_eq!(document, doc! { "a": 1 });
        let error = get(&document, "textScore").unwrap_err();
        assert_eq!(
            (error.code, error.message.as_str()),
            (
                40218,
                "query requires text score metadata, but it is not available"
            )
        );
    }

    #[test]
    fn kinds() {
        assert_eq!(parse(&"textScore".into()).unwrap(), "textScore");
        assert_eq!(parse(&"sortKey".into()).unwrap_err().code, 238);
        assert_eq!(parse(&"x".into()).unwrap_err().code, 17308);
        assert_eq!(parse(&1.into()).unwrap_err().code, 17307);
    }
}
