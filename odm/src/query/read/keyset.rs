//! Keyset pagination: a page is selected by the sort keys of the last document of the page before
//! it, so that the server skips no documents.

use crate::{
    ast::filter::{Node, Op},
    base::{
        bson::{Bson, Document, RawDocument, RawDocumentBuf, decode_document, to_raw_document},
        error::{Error, Result},
        stage_versions::{self, ADDED_KEYS as KEYS, requiring},
    },
    document::decode::lookup,
    models::{model::Model, projection::Output},
    query::read::{
        find::Find,
        token::{self, Direction, Token},
    },
};

/// A page of documents, with the tokens of the next and the previous page.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KeysetPage<D> {
    /// The documents of the page.
    pub items: Vec<D>,
    /// The token of the next page, in the alphabet of URLs. `None` if this is the last page. It
    /// contains the sort keys of a document, encoded but not encrypted, in at most 64 KiB.
    pub next: Option<String>,
    /// The token of the previous page, as [`next`](KeysetPage::next). `None` if this is the first
    /// page.
    pub previous: Option<String>,
}

pub(in crate::query) async fn read<D: Model, T: Output>(
    find: Find<'_, D, T>,
    mut keys: Document,
    after: Option<&str>,
    size: u32,
) -> Result<KeysetPage<T>> {
    if size == 0 || size == u32::MAX {
        return Err(Error::argument(
            "the page size must be at least 1 and less than 4294967295",
        ));
    }
    if !keys.contains_key("_id") {
        keys.insert("_id", 1);
    }
    let start = after.map(|text| token::parse(text, &keys)).transpose()?;
    let forward = start.as_ref().is_none_or(|t| t.direction == Direction::Forward);
    let filter = find.filter.clone().map(|filter| match &start {
        None => filter,
        Some(token) if filter.is_empty() => filter.with(|_| after_keys(&keys, token)),
        Some(token) => filter.with(|filter| Node::All(vec![filter, after_keys(&keys, token)])),
    });
    let sort = if forward { keys.clone() } else { reversed(&keys) };
    let namespace = find.collection.namespace().clone();
    let read_as = find.read_as;
    let (projection, are_added) = with_keys(find.projection, &keys);
    let needed = are_added.then(stage_versions::of_added_keys);
    let query = Find {
        filter,
        options: requiring!(find.options, needed)
            .skip(0)
            .limit(i64::from(size) + 1),
        projection,
        sort: Some(sort),
        ..find
    };
    let mut cursor = query.into_driver()?.await?;
    let wanted = usize::try_from(size).unwrap_or(usize::MAX);
    let mut items = Vec::new();
    let mut key_values = Vec::new();
    let mut more = false;
    while cursor.advance().await? {
        if items.len() == wanted {
            more = true;
            break;
        }
        let raw = cursor.current()?;
        if are_added {
            let (document, values) = without_keys(raw)?;
            items.push(read_as.decode(&namespace, &document)?);
            key_values.push(values_of_added(&keys, &values)?);
        } else {
            items.push(read_as.decode(&namespace, raw)?);
            key_values.push(values_of(&keys, raw)?);
        }
    }
    if !forward {
        items.reverse();
        key_values.reverse();
    }
    // The page that the token came from exists: it is the previous page if the token is a `next`
    // token, and vice versa.
    let (has_previous, has_next) = if forward {
        (start.is_some(), more)
    } else {
        (more, start.is_some())
    };
    let token = |document: Option<&Vec<Bson>>, direction| {
        document
            .map(|values| {
                token::print(
                    &Token {
                        direction,
                        values: values.clone(),
                    },
                    &keys,
                )
            })
            .transpose()
    };
    Ok(KeysetPage {
        next: if has_next {
            token(key_values.last(), Direction::Forward)?
        } else {
            None
        },
        previous: if has_previous {
            token(key_values.first(), Direction::Backward)?
        } else {
            None
        },
        items,
    })
}

/// Adds the sort keys to a projection. Returns whether they are in a field of their own.
fn with_keys(projection: Option<Document>, keys: &Document) -> (Option<Document>, bool) {
    let Some(mut projection) = projection else {
        return (None, false);
    };
    let is_included = |key: &String| matches!(projection.get(key), Some(Bson::Int32(1)));
    if keys.keys().all(is_included) {
        return (Some(projection), false);
    }
    // By numbers, since the names of the keys contain dots.
    let values = keys.keys().enumerate();
    let values: Document = values
        .map(|(at, key)| (at.to_string(), Bson::String(format!("${key}"))))
        .collect();
    projection.insert(KEYS, values);
    (Some(projection), true)
}

/// A document without the field of [`KEYS`], and this field.
fn without_keys(document: &RawDocument) -> Result<(RawDocumentBuf, Document)> {
    let mut document = decode_document(document.as_bytes()).map_err(malformed)?;
    let values = match document.remove(KEYS) {
        Some(Bson::Document(values)) => values,
        _ => Document::new(),
    };
    let document = to_raw_document(&document).map_err(|e| Error::encode("", e.into()))?;
    Ok((document, values))
}

fn malformed(e: impl std::fmt::Display) -> Error {
    Error::argument(format!("a document of the page is malformed: {e}"))
}

/// The values of the sort keys in the field of [`KEYS`].
fn values_of_added(keys: &Document, values: &Document) -> Result<Vec<Bson>> {
    let value = |(at, path): (usize, &String)| {
        let value = values.get(at.to_string()).cloned();
        value.filter(token::can_be_key).ok_or_else(|| no_key(path))
    };
    keys.keys().enumerate().map(value).collect()
}

fn no_key(path: &str) -> Error {
    Error::argument(format!(
        "a document of the page has no value at `{path}` that can be a sort key (missing, null, an array or a regular expression)"
    ))
}

fn reversed(keys: &Document) -> Document {
    keys.iter()
        .map(|(key, direction)| (key.clone(), Bson::Int32(if descends(direction) { 1 } else { -1 })))
        .collect()
}

fn descends(direction: &Bson) -> bool {
    matches!(direction, Bson::Int32(..0))
}

/// The filter of the documents after the token's keys: greater in the first key, or equal in it and
/// greater in the second, and so on.
fn after_keys(keys: &Document, token: &Token) -> Node {
    let backward = token.direction == Direction::Backward;
    let mut alternatives = Vec::new();
    let mut equal = Vec::new();
    for ((key, direction), value) in keys.iter().zip(&token.values) {
        let leaf = |op: fn(Bson) -> Op| Node::leaf(key.clone(), op(value.clone()));
        let is_ascending = descends(direction) == backward;
        let mut alternative = equal.clone();
        alternative.push(leaf(if is_ascending { Op::Gt } else { Op::Lt }));
        alternatives.push(Node::document(alternative));
        equal.push(leaf(Op::Eq));
    }
    match alternatives.len() {
        1 => alternatives.remove(0),
        _ => Node::Any(alternatives),
    }
}

/// The values of the sort keys in a document.
fn values_of(keys: &Document, document: &RawDocument) -> Result<Vec<Bson>> {
    keys.keys()
        .map(|path| {
            let value = lookup(document, path).filter(token::can_be_key);
            value.ok_or_else(|| no_key(path))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bson::doc;

    #[test]
    fn filter_of_the_next_documents_follows_the_directions() {
        let keys = doc! { "at": -1, "n": 1, "_id": 1 };
        let token = |direction| Token {
            direction,
            values: vec![Bson::Int32(5), Bson::Int32(6), Bson::Int32(7)],
        };
        let forward = doc! { "$or": [
            { "at": { "$lt": 5 } },
            { "at": { "$eq": 5 }, "n": { "$gt": 6 } },
            { "at": { "$eq": 5 }, "n": { "$eq": 6 }, "_id": { "$gt": 7 } },
        ] };
        assert_eq!(
            after_keys(&keys, &token(Direction::Forward)).to_document(),
            forward
        );
        let backward = doc! { "$or": [
            { "at": { "$gt": 5 } },
            { "at": { "$eq": 5 }, "n": { "$lt": 6 } },
            { "at": { "$eq": 5 }, "n": { "$eq": 6 }, "_id": { "$lt": 7 } },
        ] };
        assert_eq!(
            after_keys(&keys, &token(Direction::Backward)).to_document(),
            backward
        );
        let one = Token {
            direction: Direction::Forward,
            values: vec![Bson::Int32(5)],
        };
        assert_eq!(
            after_keys(&doc! { "_id": 1 }, &one).to_document(),
            doc! { "_id": { "$gt": 5 } }
        );
        assert_eq!(reversed(&keys), doc! { "at": 1, "n": -1, "_id": -1 });
    }

    #[test]
    fn key_values_are_read_from_embedded_documents() {
        let raw =
            crate::base::bson::to_raw_document(&doc! { "a": { "b": 3 }, "_id": 1, "l": [1], "z": null })
                .unwrap();
        assert_eq!(
            values_of(&doc! { "a.b": 1, "_id": 1 }, &raw).unwrap(),
            [Bson::Int32(3), Bson::Int32(1)]
        );
        for path in ["a.c", "x.y", "l", "z"] {
            assert!(values_of(&doc! { path: 1 }, &raw).is_err(), "{path}");
        }
    }
}
