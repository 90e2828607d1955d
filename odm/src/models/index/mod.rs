//! Declared indexes: the builder behind `#[document(index(…))]`, and the specification for
//! `createIndexes`.

use crate::{
    ast::filter::Node,
    base::{
        bson::{Bson, Document, doc},
        error::Error,
    },
    path::{
        AsPath,
        marker::{Geo, HashedKey, IndexKey, Readable, TextKey, TtlKey},
    },
    term::filter::Filter,
};

mod choice;
pub(crate) mod normal;
mod planner;
mod search;
mod search_mapping;
mod vector_search;

pub use crate::values::search_field;
pub(crate) use choice::QueryOptions;
pub use choice::{IndexBranch, IndexChoice, IndexUse};
pub use search::{SearchIndex, SearchIndexDeclaration, SearchIndexKind};
pub use search_mapping::SearchMapping;
pub use vector_search::{Quantization, Similarity, VectorSearchIndex};

/// The kind of an index key.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Ascending,
    Descending,
    Text { weight: Option<i32> },
    Sphere,
    Hashed,
    Wildcard,
}

#[derive(Clone, Debug)]
struct Key {
    path: String,
    kind: Kind,
    /// The prefixes of the path that are arrays, including the path itself.
    arrays: Vec<String>,
}

/// An index that a model declares.
///
/// The derive creates these from `index(…)` attributes; they can also be built from typed paths.
/// [`Schema::plan`](crate::schema::Schema::plan) checks them and returns
/// [`SchemaError::InvalidIndex`](crate::SchemaError::InvalidIndex) for an invalid one.
///
/// ```
/// # use marula::{Document, prelude::*, index::IndexDeclaration};
/// # #[derive(Document)]
/// # #[document(collection = "people")]
/// # struct Person { _id: i64, name: String, age: i32 }
/// let p = Person::fields();
/// let index = IndexDeclaration::new().ascending(&p.name()).descending(&p.age()).unique();
/// assert_eq!(index.index_name(), "name_1_age_-1");
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct IndexDeclaration {
    keys: Vec<Key>,
    options: Document,
    /// The conditions of `partialFilterExpression`.
    partial: Option<Node>,
    name: Option<String>,
    renamed_from: Option<String>,
    error: Option<Error>,
}

impl IndexDeclaration {
    /// A declaration without keys and options. At least one key must be added.
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let o = Order::fields();
    /// let index = IndexDeclaration::new().ascending(&o.total());
    /// assert_eq!(index.specification(), doc! { "key": { "total": 1 }, "name": "total_1" });
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    fn key<A: AsPath>(mut self, path: &A, kind: Kind) -> Self {
        let raw = path.raw();
        let arrays = raw.array_prefixes().map(str::to_owned).collect();
        self.keys.push(Key {
            path: raw.dotted().to_owned(),
            kind,
            arrays,
        });
        self
    }

    fn option(mut self, name: &str, value: impl Into<Bson>) -> Self {
        self.options.insert(name, value.into());
        self
    }

    /// Adds an ascending key.
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let o = Order::fields();
    /// let index = IndexDeclaration::new().ascending(&o.customer()).ascending(&o.total());
    /// assert_eq!(
    ///     index.specification(),
    ///     doc! { "key": { "customer": 1, "total": 1 }, "name": "customer_1_total_1" }
    /// );
    /// ```
    pub fn ascending<A: AsPath<Mode: Readable, Value: IndexKey>>(self, path: &A) -> Self {
        self.key(path, Kind::Ascending)
    }

    /// Adds a descending key.
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let o = Order::fields();
    /// let index = IndexDeclaration::new().descending(&o.created_at());
    /// assert_eq!(
    ///     index.specification(),
    ///     doc! { "key": { "created_at": -1 }, "name": "created_at_-1" }
    /// );
    /// ```
    pub fn descending<A: AsPath<Mode: Readable, Value: IndexKey>>(self, path: &A) -> Self {
        self.key(path, Kind::Descending)
    }

    /// Adds a text key, with a weight from 1 to 99,999. Default: 1. A collection can have one text
    /// index.
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let index = IndexDeclaration::new().text(&Order::fields().note(), Some(10));
    /// assert_eq!(index.specification().get_document("weights")?, &doc! { "note": 10 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn text<A: AsPath<Mode: Readable, Value: TextKey>>(self, path: &A, weight: Option<i32>) -> Self {
        self.key(path, Kind::Text { weight })
    }

    /// Adds a `2dsphere` key.
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let index = IndexDeclaration::new().geo(&Store::fields().place());
    /// assert_eq!(index.index_name(), "place_2dsphere");
    /// ```
    pub fn geo<A: AsPath<Mode: Readable, Value: Geo>>(self, path: &A) -> Self {
        self.key(path, Kind::Sphere)
    }

    /// Adds a hashed key. An index can have one, and cannot be unique then. With further keys:
    /// MongoDB 4.4+.
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let o = Order::fields();
    /// let index = IndexDeclaration::new().hashed(&o.customer());
    /// assert_eq!(
    ///     index.specification(),
    ///     doc! { "key": { "customer": "hashed" }, "name": "customer_hashed" }
    /// );
    /// ```
    pub fn hashed<A: AsPath<Mode: Readable, Value: HashedKey>>(self, path: &A) -> Self {
        self.key(path, Kind::Hashed)
    }

    /// Adds a wildcard key for all fields below the path, or for the whole document if the path is
    /// [the root](crate::Path::root). With further keys: MongoDB 7.0+.
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let index = IndexDeclaration::new().wildcard(&Path::<Order, Order>::root());
    /// assert_eq!(index.index_name(), "$**_1");
    /// ```
    pub fn wildcard<A: AsPath<Mode: Readable>>(self, path: &A) -> Self {
        let mut next = self.key(path, Kind::Wildcard);
        if let Some(key) = next.keys.last_mut() {
            key.path = if key.path.is_empty() {
                "$**".to_owned()
            } else {
                format!("{}.$**", key.path)
            };
        }
        next
    }

    /// Adds an ascending key of a TTL index: documents expire `seconds` after the date in the field
    /// (`expireAfterSeconds`, at most 2,147,483,647). It must be the only key. The server deletes
    /// expired documents about once a minute.
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let o = Order::fields();
    /// let index = IndexDeclaration::new().expiring(&o.created_at(), 3600);
    /// assert_eq!(
    ///     index.specification(),
    ///     doc! { "key": { "created_at": 1 }, "name": "created_at_1", "expireAfterSeconds": 3600_i64 }
    /// );
    /// ```
    pub fn expiring<A: AsPath<Mode: Readable, Value: TtlKey>>(self, path: &A, seconds: u32) -> Self {
        self.key(path, Kind::Ascending)
            .option("expireAfterSeconds", i64::from(seconds))
    }

    /// The name of the index. Default: derived from keys and directions, such as
    /// `status_1_total_-1`.
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let o = Order::fields();
    /// let index = IndexDeclaration::new().ascending(&o.total()).name("by_total");
    /// assert_eq!(index.specification(), doc! { "key": { "total": 1 }, "name": "by_total" });
    /// ```
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The previous name of the index: an existing index with this name and an equal specification
    /// is kept under its name. Otherwise an index with the same specification and a name other than
    /// the explicit one is a conflict.
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let index = IndexDeclaration::new().ascending(&Order::fields().total()).renamed_from("by_total");
    /// assert_eq!(index.index_name(), "total_1");
    /// ```
    pub fn renamed_from(mut self, name: impl Into<String>) -> Self {
        self.renamed_from = Some(name.into());
        self
    }

    /// Rejects documents with the key of another document (`unique`): writes of such documents fail
    /// with [`Error::Duplicate`].
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let o = Order::fields();
    /// let index = IndexDeclaration::new().ascending(&o.customer()).unique();
    /// assert_eq!(
    ///     index.specification(),
    ///     doc! { "key": { "customer": 1 }, "name": "customer_1", "unique": true }
    /// );
    /// ```
    pub fn unique(self) -> Self {
        self.option("unique", true)
    }

    /// Does not index documents without any of the keys (`sparse`). Cannot be combined with
    /// [`partial`](Self::partial).
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let o = Order::fields();
    /// let index = IndexDeclaration::new().ascending(&o.note()).sparse();
    /// assert_eq!(
    ///     index.specification(),
    ///     doc! { "key": { "note": 1 }, "name": "note_1", "sparse": true }
    /// );
    /// ```
    pub fn sparse(self) -> Self {
        self.option("sparse", true)
    }

    /// Hides the index from the query planner (`hidden`, MongoDB 4.4+).
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let o = Order::fields();
    /// let index = IndexDeclaration::new().ascending(&o.total()).hidden();
    /// assert_eq!(
    ///     index.specification(),
    ///     doc! { "key": { "total": 1 }, "name": "total_1", "hidden": true }
    /// );
    /// ```
    pub fn hidden(self) -> Self {
        self.option("hidden", true)
    }

    /// The collation for comparing strings, such as `doc! { "locale": "en", "strength": 2 }`. A
    /// query uses the index for strings only if it specifies the same collation. Default: the
    /// collation of the collection; for a text index, which can have no other one, `{locale:
    /// "simple"}`.
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let collation = doc! { "locale": "en", "strength": 2 };
    /// let index = IndexDeclaration::new().ascending(&Order::fields().note()).collation(collation.clone());
    /// assert_eq!(index.specification().get_document("collation")?, &collation);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn collation(self, collation: Document) -> Self {
        self.option("collation", collation)
    }

    /// Indexes only documents that match the filter (`partialFilterExpression`).
    ///
    /// Servers do not support `$elemMatch` here: [`plan`](crate::schema::Schema::plan) fails with
    /// [`SchemaError::InvalidIndex`](crate::SchemaError::InvalidIndex) if the filter contains one.
    /// Conditions on the fields of an enum variant inside an array are sent as `$elemMatch`.
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let o = Order::fields();
    /// let index = IndexDeclaration::new().ascending(&o.total()).partial(o.status().eq(Status::Open));
    /// assert_eq!(
    ///     index.specification().get_document("partialFilterExpression")?,
    ///     &doc! { "status": { "$eq": "open" } }
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn partial<R>(mut self, filter: Filter<R>) -> Self {
        let checked = filter.into_node().and_then(|filter| {
            check_partial(&filter)?;
            Ok(filter)
        });
        match checked {
            Ok(filter) => {
                let document = filter.to_document();
                self.partial = Some(filter);
                self.option("partialFilterExpression", document)
            }
            Err(e) => {
                self.error.get_or_insert(e);
                self
            }
        }
    }

    /// The index of a model of one kind: a unique index and a TTL index are of its documents only.
    pub(crate) fn of_kind(self, field: &str, value: &str) -> Self {
        const PARTIAL: &str = "partialFilterExpression";
        if !self.options.contains_key("unique") && !self.options.contains_key("expireAfterSeconds") {
            return self;
        }
        let kind = doc! { field: { "$eq": value } };
        let filter = match self.options.get_document(PARTIAL) {
            Ok(given) => doc! { "$and": [given.clone(), kind] },
            Err(_) => kind,
        };
        self.option(PARTIAL, filter)
    }

    /// The language of a text index. Default: `english`.
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let index = IndexDeclaration::new().text(&Order::fields().note(), None).default_language("german");
    /// assert_eq!(index.specification().get_str("default_language")?, "german");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn default_language(self, language: impl Into<String>) -> Self {
        self.option("default_language", language.into())
    }

    /// The field of a document that overrides the language of a text index. Default: `language`.
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let index = IndexDeclaration::new().text(&Order::fields().note(), None).language_override("lang");
    /// assert_eq!(index.specification().get_str("language_override")?, "lang");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn language_override(self, field: impl Into<String>) -> Self {
        self.option("language_override", field.into())
    }

    /// Any other option of `createIndexes`, such as `wildcardProjection`, sent unchecked. Replaces
    /// an option of this name. `key` and `name` are set by other methods:
    /// [`plan`](crate::schema::Schema::plan) fails with
    /// [`SchemaError::InvalidIndex`](crate::SchemaError::InvalidIndex).
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let index = IndexDeclaration::new().ascending(&Order::fields().total()).raw_option("unique", true);
    /// assert!(index.specification().get_bool("unique")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn raw_option(mut self, name: &str, value: impl Into<Bson>) -> Self {
        let method = match name {
            "key" => "the methods for keys, such as `ascending`",
            "name" => "`IndexDeclaration::name`",
            _ => return self.option(name, value),
        };
        let reason = format!("`{name}` cannot be set by `raw_option`: use {method}");
        self.error.get_or_insert_with(|| Error::argument(reason));
        self
    }

    /// The name of the index: the explicit one, or the one derived from the keys, as the MongoDB
    /// drivers do.
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let names: Vec<String> = Order::indexes().iter().map(|index| index.index_name()).collect();
    /// assert_eq!(names, ["customer_1_created_at_-1"]);
    /// ```
    #[must_use]
    pub fn index_name(&self) -> String {
        self.name
            .clone()
            .unwrap_or_else(|| default_name(&self.key_document()))
    }

    /// Whether the name is explicit, not derived from the keys.
    pub(crate) fn is_named(&self) -> bool {
        self.name.is_some()
    }

    pub(crate) fn previous_name(&self) -> Option<&str> {
        self.renamed_from.as_deref()
    }

    fn key_document(&self) -> Document {
        let mut keys = Document::new();
        for key in &self.keys {
            let value = match key.kind {
                Kind::Ascending | Kind::Wildcard => Bson::Int32(1),
                Kind::Descending => Bson::Int32(-1),
                Kind::Text { .. } => "text".into(),
                Kind::Sphere => "2dsphere".into(),
                Kind::Hashed => "hashed".into(),
            };
            keys.insert(&key.path, value);
        }
        keys
    }

    /// The specification as `createIndexes` takes it.
    ///
    /// ```
    /// # use marula_guide::*; use marula::index::IndexDeclaration;
    /// let o = Order::fields();
    /// let index = IndexDeclaration::new().ascending(&o.customer()).descending(&o.total());
    /// let key = doc! { "customer": 1, "total": -1 };
    /// assert_eq!(index.specification(), doc! { "key": key, "name": "customer_1_total_-1" });
    /// ```
    #[must_use]
    pub fn specification(&self) -> Document {
        let mut specification = doc! { "key": self.key_document(), "name": self.index_name() };
        specification.extend(self.options.clone());
        let mut weights = Document::new();
        for key in &self.keys {
            if let Kind::Text { weight: Some(weight) } = key.kind {
                weights.insert(&key.path, weight);
            }
        }
        if !weights.is_empty() {
            specification.insert("weights", weights);
        }
        specification
    }

    /// Whether no two documents have the same values at the paths, compared by the collation of the
    /// collection.
    pub(crate) fn makes_unique(&self, is_path: impl Fn(&str) -> bool) -> bool {
        let is_set = |option: &str| self.options.get(option).is_some_and(normal::is_truthy);
        is_set("unique")
            && !is_set("sparse")
            && !self.options.contains_key("partialFilterExpression")
            && !self.options.contains_key("collation")
            && self
                .keys
                .iter()
                .all(|key| key.arrays.is_empty() && is_path(&key.path))
    }

    /// Checks the declaration as the server would. The error is the reason.
    pub(crate) fn check(&self) -> Result<(), String> {
        if let Some(e) = &self.error {
            return Err(e.to_string());
        }
        if self.keys.is_empty() {
            return Err("the index has no keys".to_owned());
        }
        for (i, key) in self.keys.iter().enumerate() {
            if key.path.is_empty() {
                return Err("a whole document cannot be an index key".to_owned());
            }
            if self.keys.iter().take(i).any(|k| k.path == key.path) {
                return Err(format!("`{}` occurs twice in the keys", key.path));
            }
        }
        self.check_expiration()?;
        self.check_wildcard()?;
        let mut arrays: Vec<&str> = self
            .keys
            .iter()
            .flat_map(|k| k.arrays.iter().map(String::as_str))
            .collect();
        arrays.sort_unstable();
        arrays.dedup();
        let nested = |outer: &str, inner: &str| {
            inner
                .strip_prefix(outer)
                .is_some_and(|rest| rest.starts_with('.'))
        };
        match arrays.windows(2).find(|pair| !nested(pair[0], pair[1])) {
            Some(pair) if self.keys.len() > 1 => Err(format!(
                "`{}` and `{}` are both arrays: a compound index can contain at most one array",
                pair[0], pair[1]
            )),
            _ => Ok(()),
        }
    }
}

impl IndexDeclaration {
    /// Checks `expireAfterSeconds`.
    fn check_expiration(&self) -> Result<(), String> {
        const MOST: i64 = i32::MAX as i64;
        let seconds = self.options.get("expireAfterSeconds").map(normal::number);
        match seconds.as_ref().and_then(Bson::as_i64) {
            Some(seconds) if !(0..=MOST).contains(&seconds) => Err(format!(
                "documents must expire after 0 to {MOST} seconds, found {seconds}"
            )),
            _ => Ok(()),
        }
    }

    /// Checks the rules of wildcard keys that all server versions have in common.
    fn check_wildcard(&self) -> Result<(), String> {
        let wildcards = || self.keys.iter().filter(|key| matches!(key.kind, Kind::Wildcard));
        let Some(wildcard) = wildcards().next() else {
            return Ok(());
        };
        if wildcards().count() > 1 {
            return Err("an index can contain one wildcard key".to_owned());
        }
        for option in ["unique", "sparse", "expireAfterSeconds"] {
            let value = self.options.get(option);
            if value.is_some_and(|value| *value != Bson::Boolean(false)) {
                return Err(format!("a wildcard index cannot have the option `{option}`"));
            }
        }
        let others = || self.keys.iter().filter(|key| !matches!(key.kind, Kind::Wildcard));
        let Some(root) = wildcard.path.strip_suffix(".$**") else {
            let is_refused = others().count() > 0 && !self.options.contains_key("wildcardProjection");
            return if is_refused {
                Err(
                    "a wildcard key of the whole document beside other keys needs the option `wildcardProjection` without these \
                     keys (MongoDB 7.0+): add it with `raw_option`, or use a wildcard key below a field"
                        .to_owned(),
                )
            } else {
                Ok(())
            };
        };
        let is_below = |path: &str| {
            path.strip_prefix(root)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        match others().find(|key| is_below(&key.path)) {
            Some(key) => Err(format!(
                "the key `{}` is one of the fields of the wildcard key `{}`",
                key.path, wildcard.path
            )),
            None => Ok(()),
        }
    }
}

/// Rejects `$elemMatch` in the filter of a partial index, which the server does not support, and conditions on encrypted fields.
fn check_partial(filter: &Node) -> crate::Result<()> {
    if let Some(path) = filter.encrypted(&[]) {
        return Err(Error::filter(
            path,
            "the field is encrypted, and the server cannot compare it in the filter of a partial index",
        ));
    }
    match filter.path_of_elem_match() {
        None => Ok(()),
        Some(path) => Err(Error::filter(
            path,
            "the filter of a partial index must not contain `$elemMatch`, which is needed for a condition on an array \
             element or on an enum variant inside an array; use a condition on fields outside of arrays",
        )),
    }
}

/// The default name of an index: `a_1_b_-1` for `{a: 1, b: -1}`.
pub(crate) fn default_name(keys: &Document) -> String {
    let parts: Vec<String> = keys
        .iter()
        .map(|(key, value)| match value {
            Bson::String(s) => format!("{key}_{s}"),
            Bson::Double(v) => format!("{key}_{v}"),
            Bson::Int32(v) => format!("{key}_{v}"),
            Bson::Int64(v) => format!("{key}_{v}"),
            other => format!("{key}_{}", crate::base::relaxed_json::relaxed(other)),
        })
        .collect();
    parts.join("_")
}
