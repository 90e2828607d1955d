//! One index: its specification, its entries, and the uniqueness that it enforces.

use super::RecordId;
use super::key::{Key, keys_of};
use crate::error::{Error, Result, code};
use crate::query::path::{Part, Path};
use crate::query::{Env, Filter};
use crate::value::collation::Collation;
use crate::value::format;
use bson::{Bson, Document, doc};
use std::collections::{BTreeMap, BTreeSet};

/// What an index can do for this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Ascending and descending keys: entries are kept and uniqueness is enforced.
    Ordered,
    /// Text, hashed, geo and wildcard indexes: accepted and listed, without entries.
    Listed,
}

/// An index.
#[derive(Debug, Clone)]
pub(crate) struct Index {
    pub(crate) name: String,
    /// The specification as `listIndexes` gives it.
    pub(crate) spec: Document,
    pub(crate) kind: Kind,
    pub(crate) unique: bool,
    pub(crate) sparse: bool,
    pub(crate) hidden: bool,
    pub(crate) prepare_unique: bool,
    pub(crate) partial: Option<Filter>,
    pub(crate) collation: Option<Collation>,
    pub(crate) expire_after_seconds: Option<i64>,
    paths: Vec<Vec<Part>>,
    entries: BTreeMap<Key, BTreeSet<RecordId>>,
}

impl Index {
    /// The index on `_id` that every collection has.
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

    /// An index by its listed specification; the options are fields to set.
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

    /// The key pattern.
    pub(crate) fn key_pattern(&self) -> Document {
        self.spec.get_document("key").cloned().unwrap_or_default()
    }

    /// The keys under which this index files a document; none if it leaves the document out.
    pub(crate) fn keys(&self, document: &Document) -> Result<BTreeSet<Key>> {
        if let Some(partial) = &self.partial
            && !partial.matches(document, &Env::default())?
        {
            return Ok(BTreeSet::new());
        }
        if self.kind == Kind::Listed {
            self.check_arrays(document)?;
            return Ok(BTreeSet::new());
        }
        let keys = keys_of(document, &self.paths).map_err(|error| self.name_arrays(error, document))?;
        Ok(keys
            .into_iter()
            .filter(|key| !self.sparse || key.iter().any(Option::is_some))
            .map(|key| {
                Key(key
                    .into_iter()
                    .map(|value| {
                        let value = value.unwrap_or(Bson::Null);
                        self.collation
                            .as_ref()
                            .map_or_else(|| value.clone(), |c| c.fold(&value))
                    })
                    .collect())
            })
            .collect())
    }

    /// Hashed fields, and those before the text fields of a text index, may not be arrays.
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
        let before_text = pattern.keys().take_while(|path| *path != "_fts");
        if pattern.contains_key("_fts")
            && before_text
                .into_iter()
                .any(|path| matches!(crate::query::path::get(document, path), Some(Bson::Array(_))))
        {
            return Err(Error::new(
                16675,
                "cannot have a multi-key as a prefix to a text index",
            ));
        }
        Ok(())
    }

    /// The server names the arrays in this error.
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

    /// Fails with 11000 if another record already has one of the keys.
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

    /// The error of a duplicate key, with the values as they are in the document.
    fn duplicate(&self, key: &Key, document: &Document, namespace: &str) -> Error {
        let pattern = self.key_pattern();
        let plain = keys_of(document, &self.paths).unwrap_or_default();
        let values = plain
            .into_iter()
            .find(|plain| {
                let folded = plain.iter().map(|value| {
                    let value = value.clone().unwrap_or(Bson::Null);
                    self.collation
                        .as_ref()
                        .map_or_else(|| value.clone(), |c| c.fold(&value))
                });
                Key(folded.collect()) == *key
            })
            .map_or_else(
                || key.0.clone(),
                |plain| {
                    plain
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

    /// Files a record.
    pub(crate) fn add(&mut self, keys: BTreeSet<Key>, id: RecordId) {
        for key in keys {
            self.entries.entry(key).or_default().insert(id);
        }
    }

    /// Takes a record out.
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

    /// The records filed under exactly this key.
    pub(crate) fn lookup(&self, key: Vec<Bson>) -> impl Iterator<Item = RecordId> + '_ {
        let key = Key(match &self.collation {
            Some(collation) => key.iter().map(|value| collation.fold(value)).collect(),
            None => key,
        });
        self.lookup_key(&key)
    }

    /// The records filed under a key of this index.
    pub(crate) fn lookup_key(&self, key: &Key) -> impl Iterator<Item = RecordId> + use<'_> {
        self.entries.get(key).into_iter().flatten().copied()
    }

    /// Every key with its records, ascending by the values (not by the pattern's directions).
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Key, &BTreeSet<RecordId>)> {
        self.entries.iter()
    }

    /// The first key that several records share, as (ids) for `collMod` to unique.
    pub(crate) fn violations(&self) -> Vec<Vec<RecordId>> {
        self.entries
            .values()
            .filter(|ids| ids.len() > 1)
            .map(|ids| ids.iter().copied().collect())
            .collect()
    }

    /// Record ids in the order of the key pattern, each once.
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

/// The part of a path at which a document has an array.
fn array_along<'p>(document: &Document, path: &'p str) -> Option<&'p str> {
    let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
    ends.map(|end| &path[..end])
        .find(|part| matches!(crate::query::path::get(document, part), Some(Bson::Array(_))))
}
