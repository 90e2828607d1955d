//! Normalizes index specifications, so that declared ones can be compared with those that a server
//! lists.

use std::collections::BTreeMap;

use crate::base::bson::{Bson, Document};

/// An index specification without its name. Equal specifications have equal normal forms.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NormalIndex {
    /// The keys in order. The fields of a text index are one key, `_fts`.
    pub(crate) keys: Vec<(String, Bson)>,
    /// The options that differ from their defaults, except the collation.
    pub(crate) options: BTreeMap<String, Bson>,
    pub(crate) collation: NormalCollation,
}

/// The collation of an index.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NormalCollation {
    /// None is declared: the index has the default collation of the collection.
    Inherited,
    /// Strings are compared by their bytes.
    Simple,
    /// As [`normal_collation`] returns it.
    Other(Document),
    /// The default collation of a collection whose options cannot be read. It is equal to each
    /// collation that a server lists.
    Unknown,
}

/// Options that servers add, and options without effect.
const IGNORED: [&str; 7] = [
    "v",
    "ns",
    "background",
    "key",
    "name",
    "textIndexVersion",
    "2dsphereIndexVersion",
];

/// The option that contains options of the storage engine.
const STORAGE_ENGINE: &str = "storageEngine";

/// Normalizes a specification that a server lists. It contains the collation, also an inherited
/// one, unless that is `simple`.
pub(crate) fn normalize_listed(specification: &Document) -> NormalIndex {
    let mut normal = normalize(specification);
    if normal.collation == NormalCollation::Inherited {
        normal.collation = NormalCollation::Simple;
    }
    normal
}

/// Whether the server permits no other collation than `simple` for an index with these keys.
pub(crate) fn has_simple_collation(specification: &Document) -> bool {
    let keys = specification.get_document("key");
    keys.is_ok_and(|keys| {
        keys.values()
            .any(|kind| matches!(kind.as_str(), Some("text" | "2d" | "geoHaystack")))
    })
}

/// Normalizes a declared specification.
pub(crate) fn normalize(specification: &Document) -> NormalIndex {
    let empty = Document::new();
    let keys = specification.get_document("key").unwrap_or(&empty);
    let mut options = BTreeMap::new();
    let mut collation = NormalCollation::Inherited;
    for (name, value) in specification {
        match (name.as_str(), value) {
            (n, _) if IGNORED.contains(&n) => {}
            ("unique" | "sparse" | "hidden" | "prepareUnique", value) => {
                if is_truthy(value) {
                    options.insert(name.clone(), Bson::Boolean(true));
                }
            }
            ("weights", _) => {}
            ("default_language", Bson::String(s)) if s == "english" => {}
            ("language_override", Bson::String(s)) if s == "language" => {}
            ("collation", Bson::Document(c)) => {
                collation = normal_collation(c).map_or(NormalCollation::Simple, NormalCollation::Other);
            }
            ("wildcardProjection", Bson::Document(p)) => {
                let flags = p.iter().map(|(k, v)| (k.clone(), Bson::Boolean(is_truthy(v))));
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

/// The keys in the form in which the server lists them: the fields of a text index as `_fts`,
/// without `_ftsx`.
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

/// The weights of all text fields, by name. Default: 1.
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

pub(crate) fn normal_collation(collation: &Document) -> Option<Document> {
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

/// Whether two collations are equal, as [`normal_collation`] returns them. A server lists options
/// that depend on the locale, which are not declared.
fn same_collation(declared: Option<&Document>, listed: Option<&Document>) -> bool {
    match (declared, listed) {
        (None, None) => true,
        (Some(declared), Some(listed)) => declared
            .iter()
            .all(|(name, value)| listed.get(name).is_none_or(|other| other == value)),
        _ => false,
    }
}

impl NormalCollation {
    fn is_same(&self, other: &NormalCollation) -> bool {
        match (self, other) {
            (NormalCollation::Unknown, _) | (_, NormalCollation::Unknown) => true,
            (NormalCollation::Other(one), NormalCollation::Other(other)) => {
                same_collation(Some(one), Some(other))
            }
            (one, other) => one == other,
        }
    }
}

/// Whether a declared collation is the one that the server lists.
pub(crate) fn is_listed_collation(declared: &Document, listed: &Document) -> bool {
    let (declared, listed) = (normal_collation(declared), normal_collation(listed));
    same_collation(declared.as_ref(), listed.as_ref())
}

/// Whether the server takes the value of an option for `true`.
pub(crate) fn is_truthy(value: &Bson) -> bool {
    match number(value) {
        Bson::Boolean(b) => b,
        Bson::Int64(v) => v != 0,
        Bson::Double(v) => v != 0.0,
        Bson::Null | Bson::Undefined => false,
        _ => true,
    }
}

/// The value with all integral numbers, at any depth, as Int64.
pub(crate) fn number(value: &Bson) -> Bson {
    /// 2^63, the least power of two that is greater than every `i64`.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    match value {
        Bson::Int32(v) => Bson::Int64((*v).into()),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the guard checks that the value is integral and in range"
        )]
        Bson::Double(v) if v.fract() == 0.0 && (-LIMIT..LIMIT).contains(v) => Bson::Int64(*v as i64),
        Bson::Array(values) => Bson::Array(values.iter().map(number).collect()),
        Bson::Document(d) => Bson::Document(d.iter().map(|(k, v)| (k.clone(), number(v))).collect()),
        other => other.clone(),
    }
}

impl NormalIndex {
    /// Whether it is a text index, of which a collection can have one.
    pub(crate) fn is_text(&self) -> bool {
        self.keys.iter().any(|(_, kind)| kind.as_str() == Some("text"))
    }

    /// Whether the keys and the collation are equal. A server before MongoDB 5.0 considers such two
    /// the same index.
    pub(crate) fn same_keys(&self, other: &NormalIndex) -> bool {
        self.keys == other.keys && self.collation.is_same(&other.collation)
    }

    /// Whether a server since MongoDB 5.0 considers the two the same index, apart from their other
    /// options: equal keys, collation and partial filter.
    pub(crate) fn same_signature(&self, other: &NormalIndex) -> bool {
        const FILTER: &str = "partialFilterExpression";
        self.same_keys(other) && self.options.get(FILTER) == other.options.get(FILTER)
    }

    /// The names of the options that differ from a listed specification; empty if the two are
    /// equal.
    ///
    /// `storageEngine` is compared only if `self`, the declared specification, has it: servers add
    /// storage engine options to every index.
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
        if !self.collation.is_same(&other.collation) {
            names.push("collation".to_owned());
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bson::doc;

    fn same(declared: &Document, listed: &Document) -> bool {
        let (mut declared, listed) = (normalize(declared), normalize_listed(listed));
        if declared.collation == NormalCollation::Inherited {
            declared.collation = NormalCollation::Simple;
        }
        declared.differences(&listed).is_empty()
    }

    #[test]
    fn options_that_servers_add_are_ignored() {
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
    fn storage_engine_options_are_compared_if_declared() {
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
    fn text_indexes_are_compared_by_weights() {
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
    fn collations_are_compared_with_their_defaults() {
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
