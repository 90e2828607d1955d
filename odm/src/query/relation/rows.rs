//! The documents of a query, with the values of the fields that others are related by.

use crate::{
    base::{
        bson::{
            Bson, DecodeError, Document, RawBsonRef, RawDocument, RawDocumentBuf, decode_document,
            to_raw_document,
        },
        error::{Error, Result},
        stage_versions::{self, requiring},
    },
    document::decode::ReadAs,
    driver::Namespace,
    models::{model::Model, projection::Output},
    path::{Mode, Path, field::Field},
    query::read::find::Find,
    values::codec::{Decode, Value},
};

pub(super) const HIDDEN_FIELDS: &str = "a projection or `return_key` in the options can hide the fields that documents are related by; use `select`";

/// The field of a projection that has the values of the paths it leaves out.
const RELATED: &str = "marulaRelated";

/// A document that is not decoded yet.
pub(super) struct Undecoded(RawDocumentBuf);

impl Undecoded {
    pub(super) fn new(document: RawDocumentBuf) -> Self {
        Undecoded(document)
    }
}

impl Field for Undecoded {
    type Nav<R, M: Mode> = Path<R, Undecoded, M>;
    fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
        path
    }
}

impl<'de> Decode<'de> for Undecoded {
    fn decode(value: &Value<'de>) -> std::result::Result<Self, DecodeError> {
        let raw =
            RawDocument::from_bytes(value.document_bytes()?).map_err(|e| DecodeError::new(e.to_string()))?;
        Ok(Undecoded(raw.to_owned()))
    }
}

/// Reads documents and the values at paths.
pub(super) struct Reader<T> {
    read_as: ReadAs<T>,
    namespace: Namespace,
    paths: Vec<String>,
    /// Whether the values are in the field [`RELATED`].
    are_added: bool,
}

/// The values at each of the paths, in a document.
pub(super) type Values = Vec<Vec<Bson>>;

impl<T: Output> Reader<T> {
    /// A query that finds the same documents with the values at the paths, and the reader of its documents.
    pub(super) fn of<'a, D: Model>(
        find: Find<'a, D, T>,
        paths: Vec<String>,
    ) -> Result<(Find<'a, D, Undecoded>, Self)> {
        if find.options.__changes_fields() {
            return Err(Error::argument(HIDDEN_FIELDS));
        }
        let (projection, are_added) = with_values(find.projection, &paths);
        let reader = Reader {
            read_as: find.read_as,
            namespace: find.collection.namespace().clone(),
            paths,
            are_added,
        };
        let needed = are_added.then(stage_versions::of_added_relations);
        let find = Find {
            collection: find.collection,
            filter: find.filter,
            options: requiring!(find.options, needed),
            projection,
            sort: find.sort,
            read_as: ReadAs::value(),
            session: find.session,
            token_key: find.token_key,
        };
        Ok((find, reader))
    }

    /// The document in its present form, without the added field, and the values.
    pub(super) fn values(&self, document: Undecoded) -> Result<(RawDocumentBuf, Values)> {
        let all = |document: &RawDocument| {
            let values = self.paths.iter().enumerate().map(|(at, path)| {
                let mut values = Vec::new();
                if !self.are_added {
                    collect(document, path, &mut values)?;
                } else if let Some(first) = document.get(at.to_string()).map_err(malformed)? {
                    let rest = path.split_once('.').map(|(_, rest)| rest);
                    collect_value(first, rest, false, &mut values)?;
                }
                Ok(values)
            });
            values.collect::<Result<_>>()
        };
        if self.are_added {
            let values = match document.0.get_document(RELATED) {
                Ok(added) => all(added)?,
                Err(_) => vec![Vec::new(); self.paths.len()],
            };
            return Ok((without_values(&document.0)?, values));
        }
        let document = self.read_as.present(&self.namespace, document.0)?;
        let values = all(&document)?;
        Ok((document, values))
    }

    /// Decodes a document in its present form.
    pub(super) fn decode(&self, document: &RawDocument) -> Result<T> {
        self.read_as.decode(&self.namespace, document)
    }

    /// Reads the documents of a query: the values of each path, for all documents.
    pub(super) fn read(&self, documents: Vec<Undecoded>) -> Result<(Vec<T>, Columns)> {
        let mut items = Vec::with_capacity(documents.len());
        let mut columns = Columns::new(self.paths.len());
        for document in documents {
            let (document, values) = self.values(document)?;
            items.push(self.decode(&document)?);
            columns.push(values);
        }
        Ok((items, columns))
    }
}

/// The values of the documents of a query, by path.
pub struct Columns(Vec<Values>);

impl Columns {
    pub(super) fn new(paths: usize) -> Self {
        Columns(vec![Vec::new(); paths])
    }

    /// Adds the values of a document.
    pub(super) fn push(&mut self, values: impl IntoIterator<Item = Vec<Bson>>) {
        for (column, values) in self.0.iter_mut().zip(values) {
            column.push(values);
        }
    }

    /// Takes the values of the last path, for each document.
    pub(super) fn take_last(&mut self) -> Values {
        self.0.pop().unwrap_or_default()
    }
}

/// Adds the values at paths to a projection. Returns whether they are in a field of their own.
fn with_values(projection: Option<Document>, paths: &[String]) -> (Option<Document>, bool) {
    let Some(mut projection) = projection else {
        return (None, false);
    };
    let is_included = |path: &String| {
        matches!(projection.get(path), Some(Bson::Int32(1)))
            || path == "_id" && !projection.contains_key("_id")
    };
    // Without fields it returns whole documents.
    if projection.is_empty() || paths.iter().all(is_included) {
        return (Some(projection), false);
    }
    // By numbers, since paths contain dots. The whole values of the first fields: a path through arrays would leave out elements
    // without a value.
    let values: Document = paths
        .iter()
        .enumerate()
        .map(|(at, path)| (at.to_string(), Bson::String(format!("${}", first_field(path)))))
        .collect();
    projection.insert(RELATED, values);
    (Some(projection), true)
}

/// A document without the field of [`RELATED`].
fn without_values(document: &RawDocument) -> Result<RawDocumentBuf> {
    let mut document = decode_document(document.as_bytes()).map_err(malformed)?;
    document.remove(RELATED);
    to_raw_document(&document).map_err(|e| Error::encode("", e.into()))
}

fn first_field(path: &str) -> &str {
    path.split_once('.').map_or(path, |(first, _)| first)
}

/// The values at a path, those of the elements of arrays one by one: null for an element that has none.
fn collect(document: &RawDocument, path: &str, values: &mut Vec<Bson>) -> Result<()> {
    collect_field(document, path, false, values)
}

/// `in_array`: whether the document is an element of an array.
fn collect_field(document: &RawDocument, path: &str, in_array: bool, values: &mut Vec<Bson>) -> Result<()> {
    let (name, rest) = match path.split_once('.') {
        None => (path, None),
        Some((name, rest)) => (name, Some(rest)),
    };
    match document.get(name).map_err(malformed)? {
        Some(value) => collect_value(value, rest, in_array, values),
        None => {
            values.extend(in_array.then_some(Bson::Null));
            Ok(())
        }
    }
}

fn collect_value(
    value: RawBsonRef<'_>,
    rest: Option<&str>,
    in_array: bool,
    values: &mut Vec<Bson>,
) -> Result<()> {
    match (value, rest) {
        (RawBsonRef::Array(items), Some(rest)) => {
            let (first, after) = match rest.split_once('.') {
                None => (rest, None),
                Some((first, after)) => (first, Some(after)),
            };
            // The path to an element at an index.
            if let Ok(index) = first.parse::<usize>() {
                return match items.into_iter().nth(index) {
                    Some(item) => collect_value(item.map_err(malformed)?, after, in_array, values),
                    None => Ok(()),
                };
            }
            items
                .into_iter()
                .try_for_each(|item| collect_value(item.map_err(malformed)?, Some(rest), true, values))
        }
        // An array in an array is a value.
        (RawBsonRef::Array(items), None) => items.into_iter().try_for_each(|item| {
            values.push(Bson::try_from(item.map_err(malformed)?).map_err(malformed)?);
            Ok(())
        }),
        (RawBsonRef::Document(inner), Some(rest)) => collect_field(inner, rest, in_array, values),
        (RawBsonRef::Null, _) | (_, Some(_)) => {
            values.extend(in_array.then_some(Bson::Null));
            Ok(())
        }
        (value, None) => {
            values.push(Bson::try_from(value).map_err(malformed)?);
            Ok(())
        }
    }
}

fn malformed(e: impl std::fmt::Display) -> Error {
    Error::argument(format!("a document of the query is malformed: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bson::doc;

    #[test]
    fn values_are_those_of_all_elements() {
        let document = doc! { "a": { "b": 3 }, "l": [{ "b": 1 }, { "c": 2 }, { "b": [4, null] }], "n": null, "m": [[1]] };
        let raw = to_raw_document(&document).unwrap();
        let at = |path: &str| {
            let mut values = Vec::new();
            collect(&raw, path, &mut values).unwrap();
            values
        };
        assert_eq!(at("a.b"), [Bson::Int32(3)]);
        // An element without a value keeps its place.
        assert_eq!(
            at("l.b"),
            [Bson::Int32(1), Bson::Null, Bson::Int32(4), Bson::Null]
        );
        assert_eq!(at("m"), [Bson::Array(vec![Bson::Int32(1)])]);
        assert_eq!(at("l.0.b"), [Bson::Int32(1)]);
        assert_eq!(at("l.2.b.0"), [Bson::Int32(4)]);
        for path in ["a.c", "x", "x.y", "n", "n.b", "l.7.b"] {
            assert!(at(path).is_empty(), "{path}");
        }
    }

    #[test]
    fn values_are_added_to_projections_that_leave_them_out() {
        let paths = ["_id".to_owned(), "a.b".to_owned()];
        assert_eq!(with_values(None, &paths), (None, false));
        let whole = doc! { "a.b": 1 };
        assert_eq!(with_values(Some(whole.clone()), &paths), (Some(whole), false));
        let (added, are_added) = with_values(Some(doc! { "a": 1, "_id": 0 }), &paths);
        assert!(are_added);
        assert_eq!(
            added,
            Some(doc! { "a": 1, "_id": 0, RELATED: { "0": "$_id", "1": "$a" } })
        );
    }
}
