//! `$changeStreamSplitLargeEvent`: events that are too large for a reply are returned in fragments.

use super::token::Token;
use crate::error::{Error, Result, code};
use crate::storage::collection::MAX_DOCUMENT_SIZE;
use crate::value::document_size;
use crate::version::Version;
use bson::{Bson, Document, doc};

/// The name of the stage.
pub(super) const STAGE: &str = "$changeStreamSplitLargeEvent";

/// The maximum size of an event or a fragment. A reply may be 16 KiB larger than a document.
const MAX_EVENT_SIZE: usize = MAX_DOCUMENT_SIZE + (8 << 10);

/// Whether servers of this version have the stage.
pub(super) fn is_supported(version: Version) -> bool {
    let first_of_6_0 = Version {
        major: 6,
        minor: 0,
        patch: 9,
    };
    version.at_least(7, 0) || (version >= first_of_6_0 && !version.at_least(6, 1))
}

/// Fails unless the stage is the last of the pipeline and its argument is an empty document.
pub(super) fn check(argument: &Bson, is_last: bool) -> Result<()> {
    if argument != &Bson::Document(Document::new()) {
        return Err(Error::new(
            7_182_800,
            format!("{STAGE} spec should be an empty object"),
        ));
    }
    if !is_last {
        return Err(Error::new(
            7_182_802,
            format!("{STAGE} must be the last stage in the pipeline"),
        ));
    }
    Ok(())
}

fn too_large(size: usize) -> Error {
    Error::new(
        code::BSON_OBJECT_TOO_LARGE,
        format!(
            "BSONObj size: {size} (0x{size:X}) is invalid. Size must be between 0 and {}(16MB)",
            MAX_DOCUMENT_SIZE + (16 << 10)
        ),
    )
}

/// Fails if the event is too large for a reply.
pub(super) fn check_size(event: &Document) -> Result<()> {
    match document_size(event) {
        size if size > MAX_EVENT_SIZE => Err(too_large(size)),
        _ => Ok(()),
    }
}

/// Returns the event, or its fragments if it is too large. Only the top-level fields are
/// distributed, the smallest first, so that the first fragment has the largest number of fields.
pub(super) fn split(token: Token, event: Document) -> Result<Vec<(Token, Document)>> {
    if document_size(&event) <= MAX_EVENT_SIZE {
        return Ok(vec![(token, event)]);
    }
    let size = |fields: &Document| document_size(fields);
    let mut fields: Vec<(String, Bson)> = event.into_iter().filter(|(name, _)| name != "_id").collect();
    fields.sort_by_cached_key(|(name, value)| size(&doc! { name: value.clone() }));
    let mut fragments: Vec<Document> = Vec::new();
    let head = |fragment: i32| {
        doc! {
            "_id": token.of_fragment(fragment).to_document(),
            "splitEvent": { "fragment": fragment, "of": 0 },
        }
    };
    for (name, value) in fields {
        let added = size(&doc! { &name: value.clone() });
        let fits = |fragment: &Document| size(fragment) + added <= MAX_EVENT_SIZE;
        if !fragments.last().is_some_and(fits) {
            let next = head(fragments.len() as i32 + 1);
            if !fits(&next) {
                return Err(too_large(size(&next) + added));
            }
            fragments.push(next);
        }
        if let Some(last) = fragments.last_mut() {
            last.insert(name, value);
        }
    }
    let of = fragments.len() as i32;
    let numbered = fragments.into_iter().zip(1..).map(|(mut fragment, number)| {
        fragment.insert("splitEvent", doc! { "fragment": number, "of": of });
        (token.of_fragment(number), fragment)
    });
    Ok(numbered.collect())
}

#[cfg(test)]
mod tests {
    use super::super::token::Position;
    use super::*;
    use bson::Timestamp;

    const TOKEN: Token = Token {
        time: Timestamp {
            time: 7,
            increment: 1,
        },
        position: Position::Event,
        fragment: 0,
    };

    fn of_size(millions: usize) -> String {
        "x".repeat(millions * 1_000_000)
    }

    #[test]
    fn large_fields_are_distributed() {
        let small = doc! { "_id": TOKEN.to_document(), "a": of_size(16) };
        assert_eq!(split(TOKEN, small.clone()).unwrap(), [(TOKEN, small)]);
        let event = doc! {
            "_id": TOKEN.to_document(), "big": of_size(10), "kind": "update", "bigger": of_size(11), "key": 1,
        };
        assert!(check_size(&event).is_err());
        let fragments = split(TOKEN, event).unwrap();
        let names: Vec<Vec<&str>> = fragments
            .iter()
            .map(|(_, fragment)| fragment.keys().map(String::as_str).collect())
            .collect();
        assert_eq!(
            names,
            [
                vec!["_id", "splitEvent", "key", "kind", "big"],
                vec!["_id", "splitEvent", "bigger"]
            ]
        );
        for ((token, fragment), number) in fragments.iter().zip(1..) {
            assert_eq!(
                fragment.get_document("splitEvent").unwrap(),
                &doc! { "fragment": number, "of": 2 }
            );
            assert_eq!(fragment.get_document("_id").unwrap(), &token.to_document());
            assert_eq!(*token, TOKEN.of_fragment(number));
        }
    }

    #[test]
    fn a_field_that_is_too_large_is_not_split() {
        let event = doc! { "_id": TOKEN.to_document(), "a": of_size(20) };
        assert_eq!(split(TOKEN, event).unwrap_err().code, 10334);
    }
}
