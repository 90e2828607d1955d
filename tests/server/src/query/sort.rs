//! Sort patterns and the keys they take from documents.

use super::Env;
use super::path::{Path, walk};
use crate::error::{Error, Result};
use crate::value::compare::compare;
use crate::value::number::Number;
use bson::{Bson, Document};
use std::borrow::Borrow;
use std::cmp::Ordering;

/// A sort pattern.
#[derive(Debug, Clone)]
pub(crate) struct Sort {
    fields: Vec<(Path, bool)>,
}

impl Sort {
    /// Parses `{a: 1, b: -1}`.
    pub(crate) fn parse(pattern: &Document) -> Result<Sort> {
        if pattern.len() > 32 {
            return Err(Error::bad_value("too many compound keys"));
        }
        let mut fields = Vec::with_capacity(pattern.len());
        for (name, direction) in pattern {
            let ascending = match Number::from_bson(direction).and_then(Number::to_exact_i64) {
                Some(1) => true,
                Some(-1) => false,
                Some(_) => {
                    return Err(Error::new(
                        15975,
                        "$sort key ordering must be 1 (for ascending) or -1 (for descending)",
                    ));
                }
                None if matches!(direction, Bson::Document(_)) => {
                    return Err(Error::not_served("a sort by $meta"));
                }
                None => {
                    return Err(Error::new(
                        15974,
                        format!("Illegal key in $sort specification: {name}: {direction}"),
                    ));
                }
            };
            if name.is_empty() || name.split('.').any(str::is_empty) {
                return Err(Error::new(
                    15998,
                    "FieldPath field names may not be empty strings.",
                ));
            }
            if name == "$natural" {
                return if pattern.len() == 1 {
                    Ok(Sort {
                        fields: vec![(Path::new("$natural"), ascending)],
                    })
                } else {
                    Err(Error::bad_value(
                        "$natural sort cannot be set to a value other than -1 or 1.",
                    ))
                };
            }
            if name.starts_with('$') {
                return Err(Error::new(
                    16410,
                    "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
                ));
            }
            fields.push((Path::new(name), ascending));
        }
        Ok(Sort { fields })
    }

    /// Sorts items by documents taken from them, stably.
    pub(crate) fn sort<T: Borrow<Document>>(&self, items: &mut Vec<T>, env: &Env) {
        if self.fields.is_empty() {
            return;
        }
        if let [(path, ascending)] = self.fields.as_slice()
            && path.text == "$natural"
        {
            if !ascending {
                items.reverse();
            }
            return;
        }
        let mut keyed: Vec<(Vec<Bson>, T)> = items
            .drain(..)
            .map(|item| (self.key(item.borrow(), env), item))
            .collect();
        keyed.sort_by(|(a, _), (b, _)| self.compare_keys(a, b));
        items.extend(keyed.into_iter().map(|(_, item)| item));
    }

    /// The values that a document sorts by, strings already folded by the collation.
    pub(crate) fn key(&self, document: &Document, env: &Env) -> Vec<Bson> {
        self.fields
            .iter()
            .map(|(path, ascending)| key_part(document, path, *ascending, env))
            .collect()
    }

    /// Order of two keys under this pattern's directions.
    pub(crate) fn compare_keys(&self, left: &[Bson], right: &[Bson]) -> Ordering {
        self.fields
            .iter()
            .zip(left.iter().zip(right))
            .map(|((_, ascending), (a, b))| {
                let order = compare(a, b, None);
                if *ascending { order } else { order.reverse() }
            })
            .find(|order| *order != Ordering::Equal)
            .unwrap_or(Ordering::Equal)
    }
}

/// An array sorts by its least element ascending and its greatest descending; an empty one before null.
fn key_part(document: &Document, path: &Path, ascending: bool, env: &Env) -> Bson {
    let mut best: Option<Bson> = None;
    let fold = |value: &Bson| {
        env.collation
            .as_ref()
            .map_or_else(|| value.clone(), |c| c.fold(value))
    };
    let mut offer = |value: Bson| {
        let better = best.as_ref().is_none_or(|held| {
            let order = compare(&value, held, None);
            if ascending {
                order == Ordering::Less
            } else {
                order == Ordering::Greater
            }
        });
        if better {
            best = Some(value);
        }
    };
    let walked = walk(document, &path.parts, None, &mut |value, _| {
        match value {
            None => offer(Bson::Null),
            Some(Bson::Array(items)) if items.is_empty() => offer(Bson::Undefined),
            Some(Bson::Array(items)) => items.iter().for_each(|item| offer(fold(item))),
            Some(value) => offer(fold(value)),
        }
        Ok(false)
    });
    debug_assert!(walked.is_ok());
    best.unwrap_or(Bson::Null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    #[expect(
        clippy::needless_pass_by_value,
        reason = "documents are written where they are passed"
    )]
    fn ids(pattern: Document, documents: Vec<Document>) -> Vec<i32> {
        let mut documents = documents;
        Sort::parse(&pattern)
            .unwrap()
            .sort(&mut documents, &Env::default());
        documents
            .iter()
            .map(|document| document.get_i32("_id").unwrap())
            .collect()
    }

    #[test]
    fn sorts_by_several_keys() {
        let documents = vec![
            doc! {"_id": 1, "a": 1, "b": 1},
            doc! {"_id": 2, "a": 1, "b": 2},
            doc! {"_id": 3, "a": 0},
        ];
        assert_eq!(ids(doc! {"a": 1, "b": -1}, documents), [3, 2, 1]);
    }

    #[test]
    fn missing_is_null_and_empty_arrays_come_first() {
        let documents = vec![doc! {"_id": 1, "a": 1}, doc! {"_id": 2}, doc! {"_id": 3, "a": []}];
        assert_eq!(ids(doc! {"a": 1}, documents), [3, 2, 1]);
    }

    #[test]
    fn arrays_sort_by_their_extremes() {
        let documents = vec![doc! {"_id": 1, "a": [5, 1]}, doc! {"_id": 2, "a": 3}];
        assert_eq!(ids(doc! {"a": 1}, documents.clone()), [1, 2]);
        assert_eq!(ids(doc! {"a": -1}, documents), [1, 2]);
    }

    #[test]
    fn dotted_paths_and_errors() {
        let documents = vec![doc! {"_id": 1, "a": [{"b": 9}]}, doc! {"_id": 2, "a": {"b": 3}}];
        assert_eq!(ids(doc! {"a.b": 1}, documents), [2, 1]);
        assert_eq!(Sort::parse(&doc! {"a": 2}).unwrap_err().code, 15975);
        assert_eq!(Sort::parse(&doc! {"a": "x"}).unwrap_err().code, 15974);
    }
}
