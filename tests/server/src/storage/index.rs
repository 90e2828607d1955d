//! An index: its specification, its entries, and its uniqueness constraint.

use super::RecordId;
use super::key::{Key, keys_of};
use crate::error::{Error, Result, code};
use crate::geo::parse;
use crate::query::path::{Part, Path, walk};
use crate::query::{Env, Filter};
use crate::value::collation::Collation;
use crate::value::format;
use bson::{Bson, Document, doc};
use std::collections::{BTreeMap, BTreeSet};

/// The support of an index type by this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Ascending and descending indexes, which have entries and enforce uniqueness.
    Ordered,
    /// Text, hashed, geospatial and wildcard indexes: accepted and listed, without entries.
    Listed,
}

/// An index of a collection.
#[derive(Debug, Clone)]
pub(crate) struct Index {
    pub(crate) name: String,
    /// The specification in the form of `listIndexes`.
    pub(crate) spec: Document,
    pub(crate) kind: Kind,
    pub(crate) unique: bool,
    pub(crate) sparse: bool,
    pub(crate) hidden: bool,
    /// `prepareUnique` of `collMod`: duplicates are rejected, although the index is not unique.
    pub(crate) prepare_unique: bool,
    /// `partialFilterExpression`
    pub(crate) partial: Option<Filter>,
    /// `None`: binary comparison.
    pub(crate) collation: Option<Collation>,
    pub(crate) expire_after_seconds: Option<i64>,
    /// The parsed paths of the key pattern.
    paths: Vec<Vec<Part>>,
    entries: BTreeMap<Key, BTreeSet<RecordId>>,
}

impl Index {
    /// The `_id` index of a collection.
    pub(crate) fn on_id(collation: Option<&Collation>) -> Index {
        let mut spec = doc! { "v": 2, "key": { "_id": 1 }, "name": "_id_" };
        if let Some(collation) = collation {
            spec.insert("collation", collation.to_document());
        }
        let mut index = Index::new("_id_", spec, Kind::Ordered);
        index.unique = true;
        index.collation = collation.cloned();
        index
    }

    /// An index without entries. `spec`: the specification in the form of `listIndexes`. The caller
    /// sets the fields of the options.
    pub(crate) fn new(name: &str, spec: Document, kind: Kind) -> Index {
        let paths = spec
            .get_document("key")
            .map(|key| key.keys().map(|path| Path::new(path).parts).collect())
            .unwrap_or_default();
        Index {
            name: name.to_owned(),
            spec,
            kind,
            unique: false,
            sparse: false,
            hidden: false,
            prepare_unique: false,
            partial: None,
            collation: None,
            expire_after_seconds: None,
            paths,
            entries: BTreeMap::new(),
        }
    }

    pub(crate) fn key_pattern(&self) -> Document {
        self.spec.get_document("key").cloned().unwrap_or_default()
    }

    /// Returns the index keys of a document; none if the index omits the document.
    pub(crate) fn keys(&self, document: &Document) -> Result<BTreeSet<Key>> {
        if let Some(partial) = &self.partial
            && !partial.matches(document, &Env::default())?
        {
            return Ok(BTreeSet::new());
        }
        if self.kind == Kind::Listed {
            self.check_arrays(document)?;
            self.check_locations(document)?;
            return Ok(BTreeSet::new());
        }
        let keys = keys_of(document, &self.paths).map_err(|error| self.name_arrays(error, document))?;
        Ok(keys
            .into_iter()
            .filter(|key| !self.sparse || key.iter().any(Option::is_some))
            .map(|values| {
                let values = values.into_iter().map(|value| self.key_value(value));
                Key(values.collect())
            })
            .collect())
    }

    /// Fails if a field of a 2dsphere index has a value that is not a geometry.
    fn check_locations(&self, document: &Document) -> Result<()> {
        for (path, kind) in &self.key_pattern() {
            if kind.as_str() != Some("2dsphere") {
                continue;
            }
            walk(document, &Path::new(path).parts, None, &mut |value, _| {
                match value {
                    None | Some(Bson::Null | Bson::Undefined) => Ok(()),
                    Some(value @ Bson::Array(items)) if parse::legacy(value).is_none() => {
                        items.iter().try_for_each(|item| check_location(item, document))
                    }
                    Some(value) => check_location(value, document),
                }
                .map(|()| false)
            })?;
        }
        Ok(())
    }

    /// The value of a field as part of a key: null if the field is missing, and with the collation
    /// keys of strings.
    fn key_value(&self, value: Option<Bson>) -> Bson {
        let value = value.unwrap_or(Bson::Null);
        match &self.collation {
            Some(collation) => collation.fold(&value),
            None => value,
        }
    }

    /// Rejects arrays in hashed fields and in the fields before the text fields of a text index.
    fn check_arrays(&self, document: &Document) -> Result<()> {
        let pattern = self.key_pattern();
        for (path, kind) in &pattern {
            if kind.as_str() == Some("hashed")
                && let Some(array) = array_along(document, path)
            {
                return Err(Error::new(
                    16766,
                    format!(
                        "Error: hashed indexes do not currently support array values. Found array at path: {array}"
                    ),
                ));
            }
        }
        let mut before_text = pattern.keys().take_while(|path| *path != "_fts");
        if pattern.contains_key("_fts")
            && before_text.any(|path| matches!(crate::query::path::get(document, path), Some(Bson::Array(_))))
        {
            return Err(Error::new(
                16675,
                "cannot have a multi-key as a prefix to a text index",
            ));
        }
        Ok(())
    }

    /// Adds the paths of the array fields to the message, as MongoDB does.
    fn name_arrays(&self, error: Error, document: &Document) -> Error {
        let pattern = self.key_pattern();
        let arrays: Vec<String> = pattern
            .keys()
            .filter(|path| matches!(crate::query::path::get(document, path), Some(Bson::Array(_))))
            .map(|path| format!("[{path}]"))
            .collect();
        Error {
            message: format!("{} {}", error.message, arrays.join(" ")),
            ..error
        }
    }

    /// Returns error 11000 if another record has one of the keys. `own`: the record that is
    /// updated.
    pub(crate) fn check_unique(
        &self,
        keys: &BTreeSet<Key>,
        own: Option<RecordId>,
        document: &Document,
        namespace: &str,
    ) -> Result<()> {
        if !self.unique && !self.prepare_unique {
            return Ok(());
        }
        for key in keys {
            let taken = self
                .entries
                .get(key)
                .is_some_and(|ids| ids.iter().any(|id| Some(*id) != own));
            if taken {
                return Err(self.duplicate(key, document, namespace));
            }
        }
        Ok(())
    }

    /// The duplicate key error, with the values of the document instead of their collation keys.
    fn duplicate(&self, key: &Key, document: &Document, namespace: &str) -> Error {
        let pattern = self.key_pattern();
        let values = keys_of(document, &self.paths)
            .unwrap_or_default()
            .into_iter()
            .find(|values| {
                let values = values.iter().map(|value| self.key_value(value.clone()));
                Key(values.collect()) == *key
            })
            .map_or_else(
                || key.0.clone(),
                |values| {
                    values
                        .into_iter()
                        .map(|value| value.unwrap_or(Bson::Null))
                        .collect()
                },
            );
        let value: Document = pattern.keys().cloned().zip(values).collect();
        let collation = self.collation.as_ref().map_or_else(String::new, |c| {
            format!(" collation: {}", format::document(&c.to_document()))
        });
        Error::new(
            code::DUPLICATE_KEY,
            format!(
                "E11000 duplicate key error collection: {namespace} index: {}{collation} dup key: {}",
                self.name,
                format::document(&value)
            ),
        )
        .with("keyPattern", pattern)
        .with("keyValue", value)
    }

    /// Adds the keys of a record.
    pub(crate) fn add(&mut self, keys: BTreeSet<Key>, id: RecordId) {
        for key in keys {
            self.entries.entry(key).or_default().insert(id);
        }
    }

    /// Removes the keys of a record.
    pub(crate) fn remove(&mut self, keys: &BTreeSet<Key>, id: RecordId) {
        for key in keys {
            if let Some(ids) = self.entries.get_mut(key) {
                ids.remove(&id);
                if ids.is_empty() {
                    self.entries.remove(key);
                }
            }
        }
    }

    /// The records with exactly these values of the key pattern's fields.
    pub(crate) fn lookup(&self, key: Vec<Bson>) -> impl Iterator<Item = RecordId> + '_ {
        let key = Key(match &self.collation {
            Some(collation) => key.iter().map(|value| collation.fold(value)).collect(),
            None => key,
        });
        self.lookup_key(&key)
    }

    /// The records with this key.
    pub(crate) fn lookup_key(&self, key: &Key) -> impl Iterator<Item = RecordId> + use<'_> {
        self.entries.get(key).into_iter().flatten().copied()
    }

    /// The entries in ascending order of the values, regardless of the directions of the key
    /// pattern.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Key, &BTreeSet<RecordId>)> {
        self.entries.iter()
    }

    /// The records of each key that several records have: the violations that `collMod` returns if
    /// the index cannot be converted to a unique one.
    pub(crate) fn violations(&self) -> Vec<Vec<RecordId>> {
        self.entries
            .values()
            .filter(|ids| ids.len() > 1)
            .map(|ids| ids.iter().copied().collect())
            .collect()
    }

    /// The records in the order of the key pattern, each once.
    pub(crate) fn scan(&self) -> Vec<RecordId> {
        let directions: Vec<bool> = self
            .key_pattern()
            .values()
            .map(|direction| {
                crate::value::number::Number::from_bson(direction).is_none_or(|n| n.to_f64() >= 0.0)
            })
            .collect();
        let mut entries: Vec<_> = self.entries.iter().collect();
        if directions.iter().any(|ascending| !ascending) {
            entries.sort_by(|(a, _), (b, _)| {
                a.0.iter()
                    .zip(&b.0)
                    .zip(&directions)
                    .map(|((a, b), ascending)| {
                        let order = crate::value::compare::compare(a, b, None);
                        if *ascending { order } else { order.reverse() }
                    })
                    .find(|order| order.is_ne())
                    .unwrap_or(std::cmp::Ordering::Equal)
            });
        }
        let mut seen = BTreeSet::new();
        entries
            .into_iter()
            .flat_map(|(_, ids)| ids.iter().copied())
            .filter(|id| seen.insert(*id))
            .collect()
    }
}

/// The shortest prefix of a path at which the document has an array.
fn array_along<'p>(document: &Document, path: &'p str) -> Option<&'p str> {
    let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
    ends.map(|end| &path[..end])
        .find(|part| matches!(crate::query::path::get(document, part), Some(Bson::Array(_))))
}

fn check_location(value: &Bson, document: &Document) -> Result<()> {
    let reason = match value {
        Bson::Document(geometry) if geometry.contains_key("type") => {
            parse::geometry(geometry).err().map(|error| error.message)
        }
        value => match parse::stored(value) {
            Some(geometry) if !geometry.points.is_empty() => None,
            Some(_) => Some("longitude/latitude is out of bounds".to_owned()),
            None => Some("geo element must be an array or object".to_owned()),
        },
    };
    match reason {
        None => Ok(()),
        Some(reason) => Err(Error::new(
            16755,
            format!("Can't extract geo keys: {} {reason}", format::document(document)),
        )),
    }
}
