//! Keyset pagination: a page is selected by the sort keys of the last document of the page before
//! it, so that the server skips no documents.

use crate::{
    ast::filter::{Node, Op},
    base::{
        bson::{Bson, Document, RawBsonRef, RawDocument, RawDocumentBuf, decode_document, to_raw_document},
        error::{Error, Result},
        stage_versions::{self, ADDED_KEYS as KEYS, requiring},
    },
    models::{model::Model, projection::Output},
    query::read::{
        find::Find,
        token::{Direction, Key, Token, Tokens, sort_of},
    },
};

/// A page of documents, with the tokens of the next and the previous page.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KeysetPage<D> {
    /// The documents of the page.
    pub items: Vec<D>,
    /// The token of the next page, in the alphabet of URLs. `None` if this is the last page. It
    /// contains the values of the sort keys of a document, in at most 64 KiB: encrypted with a
    /// [`TokenKey`](crate::TokenKey), otherwise readable and changeable.
    pub next: Option<String>,
    /// The token of the previous page, as [`next`](KeysetPage::next). `None` if this is the first
    /// page.
    pub previous: Option<String>,
}

pub(in crate::query) async fn read<D: Model, T: Output>(
    find: Find<'_, D, T>,
    keys: Vec<Key>,
    after: Option<&str>,
    size: u32,
) -> Result<KeysetPage<T>> {
    if size == 0 || size == u32::MAX {
        return Err(Error::argument(
            "the page size must be at least 1 and less than 4294967295",
        ));
    }
    if find.options.__changes_fields() {
        return Err(Error::argument(
            "a projection or `return_key` in the options can hide the keys of the sort, from which the pages are made; use `select`",
        ));
    }
    let secret = find.token_key.clone();
    let tokens = Tokens {
        keys: &keys,
        namespace: find.collection.namespace().to_string(),
        secret: secret.as_ref(),
    };
    let start = after.map(|text| tokens.parse(text)).transpose()?;
    let direction = start.as_ref().map_or(Direction::Forward, |token| token.direction);
    let forward = direction == Direction::Forward;
    let filter = find.filter.clone().map(|filter| match &start {
        None => filter,
        Some(token) if filter.is_empty() => filter.with(|_| after_keys(&keys, token)),
        Some(token) => filter.with(|filter| Node::All(vec![filter, after_keys(&keys, token)])),
    });
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
        sort: Some(sort_of(&keys, direction)),
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
                tokens.print(&Token {
                    direction,
                    values: values.clone(),
                })
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
fn with_keys(projection: Option<Document>, keys: &[Key]) -> (Option<Document>, bool) {
    let Some(mut projection) = projection else {
        return (None, false);
    };
    let is_included = |key: &Key| matches!(projection.get(&key.path), Some(Bson::Int32(1)));
    // Without fields it returns whole documents.
    if projection.is_empty() || keys.iter().all(is_included) {
        return (Some(projection), false);
    }
    // By numbers, since the names of the keys contain dots.
    let values = keys.iter().enumerate();
    let values: Document = values
        .map(|(at, key)| (at.to_string(), Bson::String(format!("${}", key.path))))
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
fn values_of_added(keys: &[Key], values: &Document) -> Result<Vec<Bson>> {
    let value = |(at, key): (usize, &Key)| key_value(key, values.get(at.to_string()).cloned());
    keys.iter().enumerate().map(value).collect()
}

/// The values of the sort keys in a document.
fn values_of(keys: &[Key], document: &RawDocument) -> Result<Vec<Bson>> {
    let value = |key: &Key| key_value(key, sorted_value(document, &key.path)?);
    keys.iter().map(value).collect()
}

/// The value of a key in a document, which the server sorts as null if it is missing.
fn key_value(key: &Key, value: Option<Bson>) -> Result<Bson> {
    let value = value.unwrap_or(Bson::Null);
    if key.accepts(&value) {
        return Ok(value);
    }
    let null = if key.is_nullable { "" } else { "missing, null, " };
    Err(Error::argument(format!(
        "a document of the page has no value at `{}` that can be a sort key ({null}an array or a regular expression)",
        key.path
    )))
}

/// The value by which the server sorts a document, if the path is not inside of an array: there, the array.
fn sorted_value(document: &RawDocument, path: &str) -> Result<Option<Bson>> {
    let (name, rest) = match path.split_once('.') {
        None => (path, None),
        Some((name, rest)) => (name, Some(rest)),
    };
    match (document.get(name).map_err(malformed)?, rest) {
        (None, _) => Ok(None),
        (Some(RawBsonRef::Document(inner)), Some(rest)) => sorted_value(inner, rest),
        (Some(value @ RawBsonRef::Array(_)), _) | (Some(value), None) => {
            Bson::try_from(value).map(Some).map_err(malformed)
        }
        (Some(_), Some(_)) => Ok(None),
    }
}

/// The filter of the documents after the token's values: after the first value, or equal to it and
/// after the second, and so on. The server sorts null and missing values as equal, before all
/// others, and `$eq` and `$ne` of null compare missing values as null; `$gt` and `$lt` compare
/// values of one type only.
fn after_keys(keys: &[Key], token: &Token) -> Node {
    let backward = token.direction == Direction::Backward;
    let mut alternatives = Vec::new();
    let mut equal = Vec::new();
    for (key, value) in keys.iter().zip(&token.values) {
        let leaf = |op: Op| Node::leaf(key.path.clone(), op);
        let is_ascending = key.is_descending == backward;
        let after = match (value, is_ascending) {
            (Bson::Null, true) => vec![Op::Ne(Bson::Null)],
            (Bson::Null, false) => vec![],
            (value, true) => vec![Op::Gt(value.clone())],
            (value, false) if key.is_nullable => vec![Op::Lt(value.clone()), Op::Eq(Bson::Null)],
            (value, false) => vec![Op::Lt(value.clone())],
        };
        for op in after {
            let mut alternative = equal.clone();
            alternative.push(leaf(op));
            alternatives.push(Node::document(alternative));
        }
        equal.push(leaf(Op::Eq(value.clone())));
    }
    match alternatives.len() {
        // Nothing is after null in a descending order.
        0 => Node::nothing(),
        1 => alternatives.remove(0),
        _ => Node::Any(alternatives),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bson::doc;

    fn key(path: &str, is_descending: bool) -> Key {
        Key {
            path: path.to_owned(),
            is_descending,
            is_nullable: path.starts_with("note"),
        }
    }

    fn after(keys: &[Key], direction: Direction, values: impl IntoIterator<Item = Bson>) -> Document {
        let values = values.into_iter().collect();
        after_keys(keys, &Token { direction, values }).to_document()
    }

    #[test]
    fn filter_of_the_next_documents_follows_the_directions() {
        let keys = [key("at", true), key("n", false), key("_id", false)];
        let values = || [5, 6, 7].map(Bson::Int32);
        let forward = doc! { "$or": [
            { "at": { "$lt": 5 } },
            { "at": { "$eq": 5 }, "n": { "$gt": 6 } },
            { "at": { "$eq": 5 }, "n": { "$eq": 6 }, "_id": { "$gt": 7 } },
        ] };
        assert_eq!(after(&keys, Direction::Forward, values()), forward);
        let backward = doc! { "$or": [
            { "at": { "$gt": 5 } },
            { "at": { "$eq": 5 }, "n": { "$lt": 6 } },
            { "at": { "$eq": 5 }, "n": { "$eq": 6 }, "_id": { "$lt": 7 } },
        ] };
        assert_eq!(after(&keys, Direction::Backward, values()), backward);
        let one = after(&[key("_id", false)], Direction::Forward, [5.into()]);
        assert_eq!(one, doc! { "_id": { "$gt": 5 } });
        assert_eq!(
            sort_of(&keys, Direction::Forward),
            doc! { "at": -1, "n": 1, "_id": 1 }
        );
        assert_eq!(
            sort_of(&keys, Direction::Backward),
            doc! { "at": 1, "n": -1, "_id": -1 }
        );
    }

    #[test]
    fn null_is_before_all_values_of_a_nullable_key() {
        let ascending = [key("note", false), key("_id", false)];
        let descending = [key("note", true), key("_id", false)];
        let null = || [Bson::Null, 7.into()];
        let value = || [Bson::Int32(5), 7.into()];
        let last = |value: Bson, op: &str| doc! { "note": { "$eq": value }, "_id": { op: 7 } };
        let (above, below) = (doc! { "note": { "$gt": 5 } }, doc! { "note": { "$lt": 5 } });
        let (is_null, is_value) = (doc! { "note": { "$eq": null } }, doc! { "note": { "$ne": null } });
        for (keys, direction, values, expected) in [
            (
                &ascending,
                Direction::Forward,
                null(),
                doc! { "$or": [is_value.clone(), last(Bson::Null, "$gt")] },
            ),
            (
                &ascending,
                Direction::Forward,
                value(),
                doc! { "$or": [above.clone(), last(5.into(), "$gt")] },
            ),
            (&descending, Direction::Forward, null(), last(Bson::Null, "$gt")),
            (
                &descending,
                Direction::Forward,
                value(),
                doc! { "$or": [below.clone(), is_null.clone(), last(5.into(), "$gt")] },
            ),
            (&ascending, Direction::Backward, null(), last(Bson::Null, "$lt")),
            (
                &ascending,
                Direction::Backward,
                value(),
                doc! { "$or": [below, is_null, last(5.into(), "$lt")] },
            ),
            (
                &descending,
                Direction::Backward,
                null(),
                doc! { "$or": [is_value, last(Bson::Null, "$lt")] },
            ),
            (
                &descending,
                Direction::Backward,
                value(),
                doc! { "$or": [above, last(5.into(), "$lt")] },
            ),
        ] {
            assert_eq!(after(keys, direction, values), expected, "{keys:?} {direction:?}");
        }
        let nothing = after(&[key("note", true)], Direction::Forward, [Bson::Null]);
        assert_eq!(nothing, doc! { "$nor": [{}] });
    }

    #[test]
    fn key_values_are_read_from_embedded_documents() {
        let raw = to_raw_document(&doc! { "a": { "b": 3 }, "_id": 1, "l": [{ "b": 1 }], "z": null }).unwrap();
        assert_eq!(
            values_of(&[key("a.b", false), key("_id", false)], &raw).unwrap(),
            [Bson::Int32(3), Bson::Int32(1)]
        );
        for path in ["a.c", "x.y", "l", "l.b", "z", "z.b"] {
            assert!(values_of(&[key(path, false)], &raw).is_err(), "{path}");
        }
        let raw = to_raw_document(&doc! { "note": null, "notes": [{ "b": 1 }], "note1": 1 }).unwrap();
        for path in ["note", "note.b", "note1.b", "note2", "note2.b"] {
            assert_eq!(
                values_of(&[key(path, false)], &raw).unwrap(),
                [Bson::Null],
                "{path}"
            );
        }
        assert!(values_of(&[key("notes.b", false)], &raw).is_err());
    }
}
