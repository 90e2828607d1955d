//! Declared shard keys: the builder behind `#[document(shard_key(…))]`.

use std::fmt;

use crate::{
    base::{
        bson::{Bson, Document},
        relaxed_json::relaxed,
    },
    path::{
        AsPath,
        marker::{ShardKeyMode, ShardKeyValue},
    },
};

/// The shard key that a model declares: the fields by which a sharded cluster distributes the documents
/// of the collection.
///
/// The derive makes it from `#[document(shard_key(country, hashed(user)))]`. On a deployment that is not a
/// sharded cluster it has no effect but additional conditions in filters. See
/// [the guide](crate::guide::schema#shard-keys).
///
/// ```
/// # use marula_guide::*;
/// use marula::schema::ShardKey;
/// let o = Order::fields();
/// let key = ShardKey::new().field(&o.customer()).hashed(&o.id());
/// assert_eq!(key.document(), doc! { "customer": 1, "_id": "hashed" });
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct ShardKey {
    /// The paths, and whether the field is hashed.
    fields: Vec<(String, bool)>,
    is_unique: bool,
}

impl ShardKey {
    /// A shard key without fields. At least one field must be added.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::ShardKey;
    /// assert!(ShardKey::new().document().is_empty());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field whose values are divided into ranges.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::ShardKey;
    /// let key = ShardKey::new().field(&Order::fields().customer());
    /// assert_eq!(key.to_string(), r#"{"customer": 1}"#);
    /// ```
    pub fn field<A: AsPath<Mode: ShardKeyMode, Value: ShardKeyValue>>(self, path: &A) -> Self {
        self.with(path, false)
    }

    /// Adds a field whose hashed values are divided into ranges. A shard key can have one; beside other
    /// fields: MongoDB 4.4+.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::ShardKey;
    /// let key = ShardKey::new().hashed(&Order::fields().customer());
    /// assert_eq!(key.to_string(), r#"{"customer": "hashed"}"#);
    /// ```
    pub fn hashed<A: AsPath<Mode: ShardKeyMode, Value: ShardKeyValue>>(self, path: &A) -> Self {
        self.with(path, true)
    }

    fn with<A: AsPath>(mut self, path: &A, is_hashed: bool) -> Self {
        self.fields.push((path.raw().dotted().to_owned(), is_hashed));
        self
    }

    /// Two documents cannot have the same shard key. Not with a hashed field. Default: they can.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::ShardKey;
    /// assert!(ShardKey::new().field(&Order::fields().customer()).unique().is_unique());
    /// ```
    pub fn unique(mut self) -> Self {
        self.is_unique = true;
        self
    }

    /// Whether two documents cannot have the same shard key.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::ShardKey;
    /// assert!(!ShardKey::new().field(&Order::fields().customer()).is_unique());
    /// ```
    #[must_use]
    pub fn is_unique(&self) -> bool {
        self.is_unique
    }

    /// The stored paths of the fields, in order.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::ShardKey;
    /// let key = ShardKey::new().field(&Order::fields().customer());
    /// assert_eq!(key.paths().collect::<Vec<_>>(), ["customer"]);
    /// ```
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(path, _)| path.as_str())
    }

    /// The shard key in the form of the command `shardCollection`.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::ShardKey;
    /// let key = ShardKey::new().field(&Order::fields().customer());
    /// assert_eq!(key.document(), doc! { "customer": 1 });
    /// ```
    #[must_use]
    pub fn document(&self) -> Document {
        let fields = self.fields.iter().map(|(path, is_hashed)| {
            let kind = if *is_hashed {
                Bson::from("hashed")
            } else {
                Bson::Int32(1)
            };
            (path.clone(), kind)
        });
        fields.collect()
    }
}

/// The form of the command `shardCollection`.
impl fmt::Display for ShardKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        relaxed(&self.document()).fmt(f)
    }
}
