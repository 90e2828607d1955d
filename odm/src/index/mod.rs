//! Declared indexes: what `#[document(index(…))]` says, and how it reads as a server's specification.

use crate::bson::{Bson, Document, doc};
use crate::error::Error;
use crate::filter::Filter;
use crate::path::AsPath;
use crate::path::marker::{Geo, HashedKey, IndexKey, Readable, TextKey, TtlKey};

pub(crate) mod normal;

/// What a key of an index is.
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
    /// The prefixes of the path, itself among them, that are arrays.
    arrays: Vec<String>,
}

/// An index that a model declares.
///
/// The derive makes these from `index(…)` attributes; they can also be built by hand from typed paths.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct IndexDeclaration {
    keys: Vec<Key>,
    options: Document,
    name: Option<String>,
    was: Option<String>,
    error: Option<Error>,
}

impl IndexDeclaration {
    /// A declaration without keys yet.
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
    pub fn ascending<A: AsPath<Mode: Readable, Value: IndexKey>>(self, path: &A) -> Self {
        self.key(path, Kind::Ascending)
    }

    /// Adds a descending key.
    pub fn descending<A: AsPath<Mode: Readable, Value: IndexKey>>(self, path: &A) -> Self {
        self.key(path, Kind::Descending)
    }

    /// Adds a text key; its weight is 1 if none is given.
    pub fn text<A: AsPath<Mode: Readable, Value: TextKey>>(self, path: &A, weight: Option<i32>) -> Self {
        self.key(path, Kind::Text { weight })
    }

    /// Adds a `2dsphere` key.
    pub fn geo<A: AsPath<Mode: Readable, Value: Geo>>(self, path: &A) -> Self {
        self.key(path, Kind::Sphere)
    }

    /// Adds a hashed key.
    pub fn hashed<A: AsPath<Mode: Readable, Value: HashedKey>>(self, path: &A) -> Self {
        self.key(path, Kind::Hashed)
    }

    /// Adds a wildcard key: everything below the path, the whole document for the root's path.
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

    /// Adds an ascending key whose documents expire so many seconds after the date in it.
    pub fn expiring<A: AsPath<Mode: Readable, Value: TtlKey>>(self, path: &A, seconds: u32) -> Self {
        self.key(path, Kind::Ascending)
            .option("expireAfterSeconds", i64::from(seconds))
    }

    /// The name. Default: keys and directions, as in `status_1_total_-1`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The name that the index had before: an index of that name and the same specification is taken for this one.
    pub fn was(mut self, name: impl Into<String>) -> Self {
        self.was = Some(name.into());
        self
    }

    /// No two documents have the same key.
    pub fn unique(self) -> Self {
        self.option("unique", true)
    }

    /// Documents without the key are left out.
    pub fn sparse(self) -> Self {
        self.option("sparse", true)
    }

    /// The planner does not use the index.
    pub fn hidden(self) -> Self {
        self.option("hidden", true)
    }

    /// The rules for comparing strings, as a collation document.
    pub fn collation(self, collation: Document) -> Self {
        self.option("collation", collation)
    }

    /// Only documents that match are in the index.
    ///
    /// Servers take no `$elemMatch` here, so [`plan`](crate::schema::Schema::plan) refuses the index with
    /// [`SchemaError::InvalidIndex`](crate::SchemaError::InvalidIndex) where the filter has one. A condition on the fields of
    /// an enum variant inside an array is such a condition.
    pub fn partial<R>(mut self, filter: Filter<R>) -> Self {
        let checked = filter.into_document().and_then(|filter| {
            check_partial(&filter)?;
            Ok(filter)
        });
        match checked {
            Ok(filter) => self.option("partialFilterExpression", filter),
            Err(e) => {
                self.error = Some(e);
                self
            }
        }
    }

    /// The language of a text index. Default: `english`.
    pub fn default_language(self, language: impl Into<String>) -> Self {
        self.option("default_language", language.into())
    }

    /// The field of a document that names its language in a text index. Default: `language`.
    pub fn language_override(self, field: impl Into<String>) -> Self {
        self.option("language_override", field.into())
    }

    /// Any other option as it is, unchecked.
    pub fn raw_option(self, name: &str, value: impl Into<Bson>) -> Self {
        self.option(name, value)
    }

    /// The name, given or made from the keys as the server's tools make it.
    #[must_use]
    pub fn index_name(&self) -> String {
        self.name
            .clone()
            .unwrap_or_else(|| default_name(&self.key_document()))
    }

    /// Whether the name was given, and not made from the keys.
    pub(crate) fn is_named(&self) -> bool {
        self.name.is_some()
    }

    pub(crate) fn former_name(&self) -> Option<&str> {
        self.was.as_deref()
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

    /// The reason why no server accepts the declaration, where the compiler could not see it.
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
                return Err(format!("`{}` is a key twice", key.path));
            }
        }
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
                "`{}` and `{}` are both arrays: one index cannot hold two",
                pair[0], pair[1]
            )),
            _ => Ok(()),
        }
    }
}

/// Refuses an `$elemMatch` in the filter of a partial index.
fn check_partial(filter: &Document) -> crate::Result<()> {
    for (key, value) in filter {
        match value {
            Bson::Array(parts) if key.starts_with('$') => {
                parts
                    .iter()
                    .filter_map(Bson::as_document)
                    .try_for_each(check_partial)?;
            }
            Bson::Document(operators) if operators.contains_key("$elemMatch") => {
                return Err(Error::filter(
                    key,
                    "the filter of a partial index cannot have `$elemMatch`, which a condition on one element of an array \
                     needs, such as one on an enum variant; use a condition on fields outside of arrays",
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// `{a: 1, b: -1}` as `a_1_b_-1`.
pub(crate) fn default_name(keys: &Document) -> String {
    let parts: Vec<String> = keys
        .iter()
        .map(|(key, value)| match value {
            Bson::String(s) => format!("{key}_{s}"),
            Bson::Double(v) => format!("{key}_{v}"),
            Bson::Int32(v) => format!("{key}_{v}"),
            Bson::Int64(v) => format!("{key}_{v}"),
            other => format!("{key}_{}", crate::json::relaxed(other)),
        })
        .collect();
    parts.join("_")
}
