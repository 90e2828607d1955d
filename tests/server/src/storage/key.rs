//! Index keys: the tuples of values of a document in an index.

use crate::error::{Error, Result, code};
use crate::query::path::Part;
use crate::value::compare::compare;
use bson::{Bson, Document};
use std::cmp::Ordering;

/// An index key. With a collation, strings are collation keys.
#[derive(Debug, Clone)]
pub(crate) struct Key(pub(crate) Vec<Bson>);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0
            .iter()
            .zip(&other.0)
            .map(|(a, b)| compare(a, b, None))
            .find(|order| *order != Ordering::Equal)
            .unwrap_or_else(|| self.0.len().cmp(&other.0.len()))
    }
}

/// The progress of extracting one key field.
#[derive(Clone)]
enum Field<'d> {
    Done(Option<Bson>),
    At(&'d Bson, &'d [Part]),
}

/// The keys of a document: one, or one per element of an array on an indexed path. `None` is a
/// missing value. Arrays on different indexed paths are an error.
pub(crate) fn keys_of(document: &Document, paths: &[Vec<Part>]) -> Result<Vec<Vec<Option<Bson>>>> {
    let fields = paths
        .iter()
        .map(|parts| match parts.split_first() {
            Some((first, rest)) => document
                .get(&first.name)
                .map_or(Field::Done(None), |value| Field::At(value, rest)),
            None => Field::Done(None),
        })
        .collect();
    let mut keys = Vec::new();
    expand(fields, &mut keys)?;
    Ok(keys)
}

fn expand(mut fields: Vec<Field<'_>>, keys: &mut Vec<Vec<Option<Bson>>>) -> Result<()> {
    for field in &mut fields {
        advance(field);
    }
    let mut array: Option<&Vec<Bson>> = None;
    for field in &fields {
        if let Field::At(Bson::Array(items), _) = field {
            if array.is_some_and(|other| !std::ptr::eq(other, items)) {
                return Err(Error::new(
                    code::CANNOT_INDEX_PARALLEL_ARRAYS,
                    "cannot index parallel arrays",
                ));
            }
            array = Some(items);
        }
    }
    let Some(items) = array else {
        keys.push(
            fields
                .into_iter()
                .map(|field| match field {
                    Field::Done(value) => value,
                    Field::At(value, _) => Some(value.clone()),
                })
                .collect(),
        );
        return Ok(());
    };
    if items.is_empty() {
        let emptied = fields
            .into_iter()
            .map(|field| match field {
                // An empty array at the end is indexed as undefined, which sorts before null.
                Field::At(Bson::Array(_), []) => Field::Done(Some(Bson::Undefined)),
                Field::At(Bson::Array(_), _) => Field::Done(None),
                other => other,
            })
            .collect();
        return expand(emptied, keys);
    }
    for item in items {
        let chosen = fields
            .iter()
            .map(|field| match field {
                Field::At(Bson::Array(_), []) => Field::Done(Some(item.clone())),
                Field::At(Bson::Array(_), rest) => match item {
                    Bson::Document(_) => Field::At(item, rest),
                    _ => Field::Done(None),
                },
                other => other.clone(),
            })
            .collect();
        expand(chosen, keys)?;
    }
    Ok(())
}

/// Descends through embedded documents and explicit array indexes to the end, an array to expand,
/// or a missing value.
fn advance(field: &mut Field<'_>) {
    while let Field::At(value, parts) = field {
        let Some((first, rest)) = parts.split_first() else {
            if !matches!(value, Bson::Array(_)) {
                *field = Field::Done(Some(value.clone()));
            }
            return;
        };
        match value {
            Bson::Document(inner) => {
                *field = inner
                    .get(&first.name)
                    .map_or(Field::Done(None), |value| Field::At(value, rest));
            }
            Bson::Array(items) => match first.index.and_then(|index| items.get(index)) {
                Some(item) => *field = Field::At(item, rest),
                None => return,
            },
            _ => *field = Field::Done(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::path::Path;
    use bson::doc;

    #[expect(
        clippy::needless_pass_by_value,
        reason = "documents are written where they are passed"
    )]
    fn keys(document: Document, paths: &[&str]) -> Vec<Vec<Option<i32>>> {
        let paths: Vec<_> = paths.iter().map(|path| Path::new(path).parts).collect();
        let number = |value: Option<Bson>| value.and_then(|value| value.as_i32());
        keys_of(&document, &paths)
            .unwrap()
            .into_iter()
            .map(|key| key.into_iter().map(number).collect())
            .collect()
    }

    #[test]
    fn arrays_have_one_key_per_element() {
        assert_eq!(
            keys(doc! {"a": [1, 2], "b": 3}, &["a", "b"]),
            [[Some(1), Some(3)], [Some(2), Some(3)]]
        );
    }

    #[test]
    fn fields_of_one_array_element_form_one_key() {
        let document = doc! {"a": [{"x": 1, "y": 2}, {"x": 3}]};
        assert_eq!(
            keys(document, &["a.x", "a.y"]),
            [[Some(1), Some(2)], [Some(3), None]]
        );
    }

    #[test]
    fn parallel_arrays_are_rejected() {
        let paths = [Path::new("a").parts, Path::new("b").parts];
        assert_eq!(keys_of(&doc! {"a": [1], "b": [2]}, &paths).unwrap_err().code, 171);
    }

    #[test]
    fn missing_fields_and_empty_arrays() {
        assert_eq!(keys(doc! {}, &["a.b"]), [[None]]);
        let empty = keys_of(&doc! {"a": []}, &[Path::new("a").parts]).unwrap();
        assert_eq!(empty, [[Some(Bson::Undefined)]]);
    }
}
