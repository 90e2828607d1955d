//! Sort patterns and sort keys.

use super::Env;
use super::path::{Part, Path, check_field_path};
use crate::error::{Error, Result, code};
use crate::refusal::{ServerProfile, queries};
use crate::storage::key::keys_of;
use crate::value::compare::compare;
use crate::value::number::Number;
use crate::value::{format, metadata};
use bson::{Bson, Document};
use std::borrow::Borrow;
use std::cmp::Ordering;

/// A sort pattern: the paths in the order of the pattern. Empty patterns do not sort.
#[derive(Debug, Clone)]
pub(crate) struct Sort {
    paths: Vec<Vec<Part>>,
    /// One direction per path.
    ascending: Vec<bool>,
    /// `$natural`: true for the forward direction.
    natural: Option<bool>,
}

impl Sort {
    /// Parses a pattern such as `{a: 1, b: -1}`.
    pub(crate) fn parse(pattern: &Document) -> Result<Sort> {
        if pattern.len() > 32 {
            return Err(Error::bad_value("too many compound keys"));
        }
        let mut sort = Sort {
            paths: Vec::with_capacity(pattern.len()),
            ascending: Vec::with_capacity(pattern.len()),
            natural: None,
        };
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
                    sort.paths.push(vec![
                        Part::new(metadata::FIELD),
                        Part::new(by_metadata(direction)?),
                    ]);
                    sort.ascending.push(false);
                    continue;
                }
                None => {
                    return Err(Error::new(
                        15974,
                        format!("Illegal key in $sort specification: {name}: {direction}"),
                    ));
                }
            };
            if name == "$natural" {
                if pattern.len() != 1 {
                    return Err(Error::bad_value(format!(
                        "Cannot include '$natural' in compound sort: {}",
                        format::document(pattern)
                    )));
                }
                sort.natural = Some(ascending);
                return Ok(sort);
            }
            check_field_path(name)?;
            sort.paths.push(Path::new(name).parts);
            sort.ascending.push(ascending);
        }
        Ok(sort)
    }

    /// Before 4.4, fails on a sort of `find` by other values than 1, -1 and the text score.
    pub(crate) fn check_values(pattern: &Document, profile: ServerProfile) -> Result<()> {
        let valid = |value: &Bson| match value {
            Bson::Document(inner) => {
                inner.len() == 1 && inner.get_str("$meta").is_ok_and(|kind| kind == "textScore")
            }
            other => matches!(
                Number::from_bson(other).and_then(Number::to_exact_i64),
                Some(1 | -1)
            ),
        };
        let invalid = pattern
            .iter()
            .any(|(name, value)| name.is_empty() || !valid(value));
        queries::SORT_SPECIFICATION.check(profile, invalid, &[])
    }

    /// Before 4.4, fails on a sort by metadata that the projection does not contain.
    pub(crate) fn check_metadata(pattern: &Document, projection: Option<&Document>, env: &Env) -> Result<()> {
        let by_metadata =
            |value: &Bson| matches!(value, Bson::Document(inner) if inner.contains_key("$meta"));
        let missing = pattern
            .iter()
            .filter(|(_, direction)| by_metadata(direction))
            .any(|(name, _)| {
                !projection
                    .and_then(|fields| fields.get(name))
                    .is_some_and(by_metadata)
            });
        queries::TEXT_SCORE_SORT.check(env.profile, missing, &[])
    }

    /// Sorts items by their documents. The sort is stable.
    pub(crate) fn sort<T: Borrow<Document>>(&self, items: &mut Vec<T>, env: &Env) -> Result<()> {
        if let Some(forward) = self.natural {
            if !forward {
                items.reverse();
            }
            return Ok(());
        }
        if self.paths.is_empty() {
            return Ok(());
        }
        let mut keyed = items
            .drain(..)
            .map(|item| Ok((self.key(item.borrow(), env)?, item)))
            .collect::<Result<Vec<_>>>()?;
        keyed.sort_by(|(a, _), (b, _)| self.compare_keys(a, b));
        items.extend(keyed.into_iter().map(|(_, item)| item));
        Ok(())
    }

    /// Returns the sort key of a document: of the keys that the document has in an index with this
    /// pattern, the first in the order of the pattern. With a collation, strings are replaced by
    /// their collation keys.
    pub(crate) fn key(&self, document: &Document, env: &Env) -> Result<Vec<Bson>> {
        for path in &self.paths {
            if let [field, kind] = path.as_slice()
                && field.name == metadata::FIELD
            {
                metadata::get(document, &kind.name)?;
            }
        }
        let keys = keys_of(document, &self.paths).map_err(|error| match error.code {
            code::CANNOT_INDEX_PARALLEL_ARRAYS => {
                Error::bad_value("cannot sort with keys that are parallel arrays").executing()
            }
            _ => error,
        })?;
        let folded = |value: Option<Bson>| {
            let value = value.unwrap_or(Bson::Null);
            env.collation
                .as_ref()
                .map_or_else(|| value.clone(), |collation| collation.fold(&value))
        };
        Ok(keys
            .into_iter()
            .map(|key| key.into_iter().map(folded).collect::<Vec<_>>())
            .min_by(|a, b| self.compare_keys(a, b))
            .unwrap_or_default())
    }

    /// Compares two sort keys with the directions of this pattern.
    pub(crate) fn compare_keys(&self, left: &[Bson], right: &[Bson]) -> Ordering {
        self.ascending
            .iter()
            .zip(left.iter().zip(right))
            .map(|(ascending, (a, b))| {
                let order = compare(a, b, None);
                if *ascending { order } else { order.reverse() }
            })
            .find(|order| *order != Ordering::Equal)
            .unwrap_or(Ordering::Equal)
    }
}

/// Parses `{$meta: …}` as the direction of a sort.
fn by_metadata(direction: &Bson) -> Result<&'static str> {
    let argument = direction
        .as_document()
        .filter(|fields| fields.len() == 1)
        .and_then(|fields| fields.get("$meta"))
        .ok_or_else(|| Error::new(17312, "$meta is the only expression supported by $sort right now"))?;
    metadata::parse(argument)
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
            .sort(&mut documents, &Env::default())
            .unwrap();
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
    fn missing_sorts_as_null_and_empty_arrays_sort_first() {
        let documents = vec![doc! {"_id": 1, "a": 1}, doc! {"_id": 2}, doc! {"_id": 3, "a": []}];
        assert_eq!(ids(doc! {"a": 1}, documents), [3, 2, 1]);
    }

    #[test]
    fn arrays_sort_by_minimum_or_maximum() {
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

    #[test]
    fn parallel_arrays_are_rejected() {
        let sort = Sort::parse(&doc! {"a": 1, "b": 1}).unwrap();
        let key = |document: Document| sort.key(&document, &Env::default());
        let error = key(doc! {"a": [1], "b": [2]}).unwrap_err();
        assert_eq!(
            (error.code, error.message.as_str()),
            (2, "cannot sort with keys that are parallel arrays")
        );
        assert_eq!(key(doc! {"a": [2, 1], "b": 2}).unwrap(), [1.into(), 2.into()]);
    }

    #[test]
    fn fields_of_one_array_element_form_one_key() {
        let sort = Sort::parse(&doc! {"a.x": 1, "a.y": 1}).unwrap();
        let document = doc! {"a": [{"x": 1, "y": 9}, {"x": 2, "y": 0}]};
        assert_eq!(
            sort.key(&document, &Env::default()).unwrap(),
            [1.into(), 9.into()]
        );
    }

    #[test]
    fn malformed_paths() {
        let code = |path: &str| Sort::parse(&doc! { path: 1 }).unwrap_err().code;
        assert_eq!(
            ["", "a.", "a..b", ".a", "a.$b"].map(code),
            [40352, 40353, 15998, 15998, 16410]
        );
    }
}
