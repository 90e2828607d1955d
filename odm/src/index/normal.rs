//! One form for index specifications, so that what is declared can be compared with what a server lists.

use std::collections::BTreeMap;

use crate::bson::{Bson, Document};

/// An index without its name, in the form that all equal specifications share.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NormalIndex {
    /// The keys in order, the fields of a text index sorted in its place.
    pub(crate) keys: Vec<(String, Bson)>,
    /// The options that differ from their defaults, but for the collation.
    pub(crate) options: BTreeMap<String, Bson>,
    pub(crate) collation: Option<Document>,
}

/// Options that servers add or that no longer mean anything.
const IGNORED: [&str; 7] = [
    "v",
    "ns",
    "background",
    "key",
    "name",
    "textIndexVersion",
    "2dsphereIndexVersion",
];

/// The option of the storage engine's own options.
const STORAGE_ENGINE: &str = "storageEngine";

/// Normalises a specification, declared or listed.
pub(crate) fn normalise(specification: &Document) -> NormalIndex {
    let empty = Document::new();
    let keys = specification.get_document("key").unwrap_or(&empty);
    let mut options = BTreeMap::new();
    let mut collation = None;
    for (name, value) in specification {
        match (name.as_str(), value) {
            (n, _) if IGNORED.contains(&n) => {}
            ("unique" | "sparse" | "hidden" | "prepareUnique", value) => {
                if truth(value) {
                    options.insert(name.clone(), Bson::Boolean(true));
                }
            }
            ("weights", _) => {}
            ("default_language", Bson::String(s)) if s == "english" => {}
            ("language_override", Bson::String(s)) if s == "language" => {}
            ("collation", Bson::Document(c)) => collation = normal_collation(c),
            ("wildcardProjection", Bson::Document(p)) => {
                let flags = p.iter().map(|(k, v)| (k.clone(), Bson::Boolean(truth(v))));
                options.insert(name.clone(), Bson::Document(flags.collect()));
            }
            ("bits", value) if number(value) == Bson::Int64(26) => {}
            ("min", value) if number(value) == Bson::Int64(-180) => {}
            ("max", value) if number(value) == Bson::Int64(180) => {}
            (_, value) => {
                options.insert(name.clone(), number(value));
            }
        }
    }
    let weights = text_weights(keys, specification.get_document("weights").unwrap_or(&empty));
    if !weights.is_empty() {
        options.insert("weights".to_owned(), Bson::Document(weights));
    }
    NormalIndex {
        keys: normal_keys(keys),
        options,
        collation,
    }
}

/// A text index is listed as `{_fts: "text", _ftsx: 1}` where it is declared by its fields.
fn normal_keys(keys: &Document) -> Vec<(String, Bson)> {
    let mut normal = Vec::new();
    let mut text = false;
    for (key, value) in keys {
        let is_text = value.as_str() == Some("text");
        if key == "_ftsx" || (is_text && text) {
            continue;
        }
        if is_text {
            text = true;
            normal.push(("_fts".to_owned(), value.clone()));
        } else {
            normal.push((key.clone(), number(value)));
        }
    }
    normal
}

/// The weights of all text fields, by name; 1 where none is given.
fn text_weights(keys: &Document, given: &Document) -> Document {
    let mut weights = BTreeMap::new();
    for (key, value) in keys {
        if value.as_str() == Some("text") && key != "_fts" {
            weights.insert(key.clone(), Bson::Int64(1));
        }
    }
    if keys.values().any(|v| v.as_str() == Some("text")) {
        weights.extend(given.iter().map(|(k, v)| (k.clone(), number(v))));
    }
    weights.into_iter().collect()
}

/// The defaults of a collation that do not depend on its locale.
const COLLATION_DEFAULTS: [(&str, Bson); 4] = [
    ("strength", Bson::Int64(3)),
    ("caseLevel", Bson::Boolean(false)),
    ("numericOrdering", Bson::Boolean(false)),
    ("backwards", Bson::Boolean(false)),
];

fn normal_collation(collation: &Document) -> Option<Document> {
    if collation.get_str("locale").is_ok_and(|l| l == "simple") {
        return None;
    }
    let mut normal: BTreeMap<String, Bson> = COLLATION_DEFAULTS
        .into_iter()
        .map(|(k, v)| (k.to_owned(), v))
        .collect();
    normal.extend(
        collation
            .iter()
            .filter(|(k, _)| *k != "version")
            .map(|(k, v)| (k.clone(), number(v))),
    );
    Some(normal.into_iter().collect())
}

fn truth(value: &Bson) -> bool {
    match number(value) {
        Bson::Boolean(b) => b,
        Bson::Int64(v) => v != 0,
        Bson::Double(v) => v != 0.0,
        Bson::Null | Bson::Undefined => false,
        _ => true,
    }
}

/// The value with all numbers in it that are whole as Int64.
fn number(value: &Bson) -> Bson {
    /// The least power of two above every `i64`.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    match value {
        Bson::Int32(v) => Bson::Int64((*v).into()),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole and in range, as the guard says"
        )]
        Bson::Double(v) if v.fract() == 0.0 && (-LIMIT..LIMIT).contains(v) => Bson::Int64(*v as i64),
        Bson::Array(values) => Bson::Array(values.iter().map(number).collect()),
        Bson::Document(d) => Bson::Document(d.iter().map(|(k, v)| (k.clone(), number(v))).collect()),
        other => other.clone(),
    }
}

impl NormalIndex {
    /// Whether two collations are one. A server lists options that depend on the locale (`caseFirst`, `alternate`,
    /// `maxVariable`, `normalization`) even where the declaration leaves them open, so those count only if both have them.
    fn same_collation(&self, other: &NormalIndex) -> bool {
        match (&self.collation, &other.collation) {
            (None, None) => true,
            (Some(a), Some(b)) => a.iter().all(|(k, v)| b.get(k).is_none_or(|w| w == v)),
            _ => false,
        }
    }

    /// Whether a server would take the two for one index whatever their other options: same keys, collation and filter.
    pub(crate) fn same_signature(&self, other: &NormalIndex) -> bool {
        const FILTER: &str = "partialFilterExpression";
        self.keys == other.keys
            && self.same_collation(other)
            && self.options.get(FILTER) == other.options.get(FILTER)
    }

    /// The names of what differs from a listed specification; none for equal ones.
    ///
    /// The storage engine's options count only where this one, the declared one, has them: servers list options of their own
    /// there for every index.
    pub(crate) fn differences(&self, other: &NormalIndex) -> Vec<String> {
        let mut names = Vec::new();
        if self.keys != other.keys {
            names.push("key".to_owned());
        }
        let mut options: Vec<&String> = self.options.keys().chain(other.options.keys()).collect();
        options.sort_unstable();
        options.dedup();
        names.extend(
            options
                .into_iter()
                .filter(|o| *o != STORAGE_ENGINE || self.options.contains_key(STORAGE_ENGINE))
                .filter(|o| self.options.get(*o) != other.options.get(*o))
                .cloned(),
        );
        if !self.same_collation(other) {
            names.push("collation".to_owned());
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::doc;

    fn same(declared: &Document, listed: &Document) -> bool {
        normalise(declared).differences(&normalise(listed)).is_empty()
    }

    #[test]
    fn what_a_server_adds_makes_no_difference() {
        assert!(same(
            &doc! { "key": { "a": 1_i32, "b": -1_i32 }, "name": "x" },
            &doc! { "v": 2, "key": { "a": 1.0, "b": -1_i64 }, "name": "y", "ns": "d.c", "background": true, "sparse": false },
        ));
        assert!(!same(
            &doc! { "key": { "a": 1, "b": 1 } },
            &doc! { "key": { "b": 1, "a": 1 } }
        ));
    }

    #[test]
    fn options_of_the_storage_engine_count_where_they_are_declared() {
        let keys = doc! { "a": 1 };
        let listed = doc! { "key": keys.clone(), "storageEngine": { "enableOrderedIndex": true } };
        assert!(same(&doc! { "key": keys.clone() }, &listed));
        assert!(same(&listed, &listed));
        let declared =
            doc! { "key": keys.clone(), "storageEngine": { "wiredTiger": { "configString": "x" } } };
        assert!(!same(&declared, &listed));
        assert!(!same(&declared, &doc! { "key": keys }));
    }

    #[test]
    fn text_indexes_compare_by_weights() {
        let listed = doc! {
            "v": 2, "key": { "_fts": "text", "_ftsx": 1, "at": 1 }, "weights": { "body": 1, "title": 10 },
            "default_language": "english", "language_override": "language", "textIndexVersion": 3,
        };
        assert!(same(
            &doc! { "key": { "title": "text", "body": "text", "at": 1 }, "weights": { "title": 10.0 } },
            &listed
        ));
        assert!(!same(
            &doc! { "key": { "title": "text", "body": "text", "at": 1 } },
            &listed
        ));
        assert!(!same(
            &doc! { "key": { "title": "text", "at": 1 }, "weights": { "title": 10 } },
            &listed
        ));
    }

    #[test]
    fn collations_compare_expanded() {
        let listed = doc! { "key": { "a": 1 }, "collation": {
            "locale": "en", "caseLevel": false, "caseFirst": "off", "strength": 3, "numericOrdering": false,
            "alternate": "non-ignorable", "maxVariable": "punct", "normalization": false, "backwards": false,
            "version": "57.1",
        } };
        assert!(same(
            &doc! { "key": { "a": 1 }, "collation": { "locale": "en" } },
            &listed
        ));
        assert!(!same(
            &doc! { "key": { "a": 1 }, "collation": { "locale": "en", "strength": 2 } },
            &listed
        ));
        assert!(!same(&doc! { "key": { "a": 1 } }, &listed));
        assert!(same(
            &doc! { "key": { "a": 1 }, "collation": { "locale": "simple" } },
            &doc! { "key": { "a": 1 } }
        ));
    }
}
