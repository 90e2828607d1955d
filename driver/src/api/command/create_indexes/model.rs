//! The index model ([Index Management], "Index" and "Common API Components").
//!
//! [Index Management]: https://github.com/mongodb/specifications/blob/master/source/index-management/index-management.md

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{
    bson::{Bson, Document, exact, to_document},
    types::{
        collation::Collation,
        stored_fields::{StoredFields, boolean, document, float, int32, text},
    },
};

/// An index: its key pattern and its options. Options without a setter are fields of
/// [`options`](Self::options).
///
/// ```
/// use marula_driver::{IndexModel, bson::doc};
/// let model = IndexModel::new(doc! { "email": 1 }).unique(true);
/// assert_eq!(model.index_name(), "email_1");
/// ```
///
/// A stored index may have options of other types, e.g. `sparse: 1`: a number is read as a Boolean,
/// and a number of any type without a fraction as an integer. An option that cannot be read, or that
/// has no field here, is in [`IndexOptions::other`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct IndexModel {
    /// The key pattern: field paths in order, each with `1`, `-1`, `"text"`, `"hashed"`,
    /// `"2dsphere"` or another index type.
    #[serde(rename = "key")]
    pub keys: Document,
    /// The options of the index.
    #[serde(flatten)]
    pub options: IndexOptions,
}

/// The options of an index; see [`IndexModel`]. `None` is not sent, and the server's default
/// applies.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct IndexOptions {
    /// The name. Default: generated from the keys, e.g. `a_1_b_-1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Reject a document if another document has the same key. Default: `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique: Option<bool>,
    /// Do not index documents without the fields of the key pattern. Default: `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sparse: Option<bool>,
    /// `expireAfterSeconds`: delete a document when the date in the indexed field is older than
    /// this (TTL index). Fractions of a second are not sent. Default: documents are not deleted.
    #[serde(
        rename = "expireAfterSeconds",
        skip_serializing_if = "Option::is_none",
        serialize_with = "write_seconds"
    )]
    pub expire_after: Option<Duration>,
    /// Index only the documents that match this filter. Default: all documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_filter_expression: Option<Document>,
    /// The collation of the index. Default: the collation of the collection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collation: Option<Collation>,
    /// Maintain the index, but do not use it for queries (MongoDB 4.4+). Default: `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<bool>,
    /// `v`: the version of the index format. Default: the server's, 2.
    #[serde(rename = "v", skip_serializing_if = "Option::is_none")]
    pub version: Option<i32>,
    /// Weights of the fields of a text index, from 1 to 99999, e.g. `doc! { "title": 10 }`.
    /// Default: 1 for each field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<Document>,
    /// The language of a text index. Default: `english`.
    #[serde(rename = "default_language", skip_serializing_if = "Option::is_none")]
    pub default_language: Option<String>,
    /// The name of the field that contains the language of a document, for a text index. Default:
    /// `language`.
    #[serde(rename = "language_override", skip_serializing_if = "Option::is_none")]
    pub language_override: Option<String>,
    /// `textIndexVersion`: the version of a text index. Default: the server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_index_version: Option<i32>,
    /// `2dsphereIndexVersion`: the version of a 2dsphere index. Default: the server's.
    #[serde(rename = "2dsphereIndexVersion", skip_serializing_if = "Option::is_none")]
    pub sphere_2d_index_version: Option<i32>,
    /// The precision of a 2d index in bits, 1 to 32. Default: 26.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits: Option<i32>,
    /// The lower bound of the coordinates of a 2d index. Default: -180.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// The upper bound of the coordinates of a 2d index. Default: 180.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// The fields that a wildcard index includes or excludes, e.g. `doc! { "secret": 0 }`. Only for
    /// the key pattern `{ "$**": 1 }`. Default: all fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wildcard_projection: Option<Document>,
    /// Whether the index is that of a clustered collection. Only for the key pattern `{ _id: 1 }`.
    /// Default: `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clustered: Option<bool>,
    /// Options of the storage engine. Default: the server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_engine: Option<Document>,
    /// Other options, which are sent as they are, after those of the other fields. `key` and `name`
    /// are an error: they are [`IndexModel::keys`] and [`name`](Self::name). Default: empty. In the
    /// indexes that the server lists: the options without a field here, such as `prepareUnique`, and
    /// those that have another type than their field. `ns` and `background`, which old servers list,
    /// are left out, because newer servers reject or ignore them.
    #[serde(skip)]
    pub other: Document,
}

#[expect(clippy::ref_option, reason = "serde calls it with a reference to the field")]
fn write_seconds<S: Serializer>(value: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    value
        .map(|v| i64::try_from(v.as_secs()).unwrap_or(i64::MAX))
        .serialize(serializer)
}

/// `expireAfterSeconds`, of which old servers have stored any number.
fn seconds(value: &Bson) -> Option<Duration> {
    Duration::try_from_secs_f64(float(value)?).ok()
}

fn collation(value: &Bson) -> Option<Collation> {
    Collation::from_document(document(value)?).ok()
}

impl<'de> Deserialize<'de> for IndexModel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut specification: Document = exact::deserialize(deserializer)?;
        let Some(Bson::Document(keys)) = specification.remove("key") else {
            let name = specification
                .get("name")
                .and_then(Bson::as_str)
                .unwrap_or_default();
            return Err(D::Error::custom(format!(
                "the index {name:?} has no document \"key\""
            )));
        };
        let options = IndexOptions::from_document(specification);
        Ok(Self { keys, options })
    }
}

impl<'de> Deserialize<'de> for IndexOptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        exact::deserialize(deserializer).map(Self::from_document)
    }
}

impl IndexOptions {
    /// Reads the options of a stored index.
    fn from_document(specification: Document) -> Self {
        let mut fields = StoredFields::new(specification);
        Self {
            name: fields.take("name", text),
            unique: fields.take("unique", boolean),
            sparse: fields.take("sparse", boolean),
            expire_after: fields.take("expireAfterSeconds", seconds),
            partial_filter_expression: fields.take("partialFilterExpression", document),
            collation: fields.take("collation", collation),
            hidden: fields.take("hidden", boolean),
            version: fields.take("v", int32),
            weights: fields.take("weights", document),
            default_language: fields.take("default_language", text),
            language_override: fields.take("language_override", text),
            text_index_version: fields.take("textIndexVersion", int32),
            sphere_2d_index_version: fields.take("2dsphereIndexVersion", int32),
            bits: fields.take("bits", int32),
            min: fields.take("min", float),
            max: fields.take("max", float),
            wildcard_projection: fields.take("wildcardProjection", document),
            clustered: fields.take("clustered", boolean),
            storage_engine: fields.take("storageEngine", document),
            other: fields.others(&["key", "ns", "background"]),
        }
    }
}

impl IndexModel {
    /// An index with this key pattern and default options.
    #[must_use]
    pub fn new(keys: Document) -> Self {
        Self {
            keys,
            options: IndexOptions::default(),
        }
    }

    /// Adds an option to [`IndexOptions::other`].
    ///
    /// ```
    /// use marula_driver::{IndexModel, bson::doc};
    /// let model = IndexModel::new(doc! { "email": 1 }).other("prepareUnique", true);
    /// assert_eq!(model.options.other, doc! { "prepareUnique": true });
    /// ```
    #[must_use]
    pub fn other(mut self, name: &str, value: impl Into<Bson>) -> Self {
        self.options.other.insert(name, value.into());
        self
    }

    /// The specification as `createIndexes` has it, with a name.
    pub(super) fn specification(&self) -> crate::Result<Document> {
        if let Some(field) = ["key", "name"]
            .into_iter()
            .find(|field| self.options.other.contains_key(field))
        {
            return Err(crate::Error::invalid_argument(format!(
                "`{field}` is not one of the other options of an index: use `IndexModel::{}`",
                if field == "key" { "keys" } else { "name" }
            )));
        }
        let mut specification = to_document(self)?;
        specification.insert("name", self.index_name());
        specification.extend(self.options.other.clone());
        Ok(specification)
    }

    /// The name in the options, or the name generated from the keys: `a_1_b_-1`.
    #[must_use]
    pub fn index_name(&self) -> String {
        if let Some(name) = &self.options.name {
            return name.clone();
        }
        let parts: Vec<String> = self
            .keys
            .iter()
            .map(|(field, kind)| match kind {
                Bson::String(kind) => format!("{field}_{kind}"),
                Bson::Double(direction) => format!("{field}_{}", *direction as i64),
                other => format!("{field}_{other}"),
            })
            .collect();
        parts.join("_")
    }
}

macro_rules! index_setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        impl IndexModel {
            $($(#[$doc])* #[must_use] pub fn $name(mut self, value: impl Into<$type>) -> Self {
                self.options.$name = Some(value.into());
                self
            })*
        }
    };
}

index_setters! {
    /// Sets [`IndexOptions::name`].
    name: String;
    /// Sets [`IndexOptions::unique`].
    unique: bool;
    /// Sets [`IndexOptions::sparse`].
    sparse: bool;
    /// Sets [`IndexOptions::expire_after`].
    expire_after: Duration;
    /// Sets [`IndexOptions::partial_filter_expression`].
    partial_filter_expression: Document;
    /// Sets [`IndexOptions::collation`].
    collation: Collation;
    /// Sets [`IndexOptions::hidden`].
    hidden: bool;
    /// Sets [`IndexOptions::weights`].
    weights: Document;
    /// Sets [`IndexOptions::default_language`].
    default_language: String;
    /// Sets [`IndexOptions::language_override`].
    language_override: String;
    /// Sets [`IndexOptions::wildcard_projection`].
    wildcard_projection: Document;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::doc;

    #[test]
    fn other_options_are_sent_as_they_are() {
        let model = IndexModel::new(doc! { "a": 1 })
            .sparse(true)
            .other("new", doc! { "b": 1.5 });
        assert_eq!(
            model.specification().unwrap(),
            doc! { "key": { "a": 1 }, "sparse": true, "name": "a_1", "new": { "b": 1.5 } }
        );
    }

    #[test]
    fn the_key_and_the_name_are_set_by_other_methods() {
        for (field, method) in [("key", "keys"), ("name", "name")] {
            let model = IndexModel::new(doc! { "a": 1 }).other(field, "x");
            let error = model.specification().unwrap_err().to_string();
            assert!(error.contains(&format!("use `IndexModel::{method}`")), "{error}");
        }
    }

    #[test]
    fn names_are_generated_from_the_keys() {
        let name = |keys| IndexModel::new(keys).index_name();
        assert_eq!(name(doc! { "a": 1, "b.c": -1 }), "a_1_b.c_-1");
        assert_eq!(name(doc! { "t": "text" }), "t_text");
        assert_eq!(name(doc! { "d": 1.0 }), "d_1");
        assert_eq!(IndexModel::new(doc! { "a": 1 }).name("mine").index_name(), "mine");
    }
}
