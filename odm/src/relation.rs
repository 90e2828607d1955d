//! Relations between collections: the documents that many keys refer to, loaded by one query.
//!
//! A field refers to a document of another collection by its id, as a plain id or as a [`Ref`].
//! [`Collection::load`] reads the documents that a list of keys refers to, and
//! [`Collection::load_by`] those that refer to a list of values. Both are methods of a collection:
//! no document loads another one, so that a loop does not send one query for each document.
//!
//! ```no_run
//! # use marula::{Collection, Document, Ref, prelude::*};
//! # #[derive(Document)]
//! # #[document(collection = "customers")]
//! # struct Customer { _id: i64, name: String }
//! # #[derive(Document)]
//! # #[document(collection = "orders")]
//! # struct Order { _id: i64, customer: Ref<Customer> }
//! # async fn run(orders: Collection<Order>, customers: Collection<Customer>) -> marula::Result<()> {
//! let recent = orders.find_all().limit(100).await?;
//! let buyers = customers.load(recent.iter().map(|o| &o.customer)).await?;
//! for order in &recent {
//!     let name = buyers.get(order.customer.id()).map_or("(deleted)", |c| &c.name);
//!     println!("{}: {name}", order._id);
//! }
//! # Ok(()) }
//! ```

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ast::filter::{Node, Op};
use crate::bson::{Bson, DecodeError, EncodeError, ObjectId, Uuid as BsonUuid, doc, to_vec};
use crate::codec::{Decode, DecodeOwned, Encode, Value, Writer};
use crate::collection::action::{Session, forward_options};
use crate::collection::decode::value_at;
use crate::collection::{Collection, Find, lookup};
use crate::driver::options::FindOptions;
use crate::error::{Error, Result, ValueError};
use crate::expr::{Expr, Fits, Operand, lit};
use crate::filter::{Filter, not_in_lists};
use crate::model::{Fields, Model};
use crate::path::field::Field;
use crate::path::marker::{HashedKey, IndexKey, ListItem};
use crate::path::{AsPath, Mode, Path, Read, check_path};
use crate::projection::{Present, Projection};
use crate::time_limit::TimeLimit;
use crate::value::IntoValue;

/// A reference to a document of `D`, stored as its id.
///
/// Nothing checks that the document exists. Filters and updates take a `Ref`; a plain id becomes
/// one by [`Ref::new`].
///
/// ```
/// # use marula::{Document, Ref, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "customers")]
/// # struct Customer { _id: i64, name: String }
/// #[derive(Document)]
/// #[document(collection = "orders", index(customer))]
/// struct Order {
///     _id: i64,
///     customer: Ref<Customer>,
/// }
/// let filter = Order::fields().customer().eq(Ref::new(7));
/// assert_eq!(filter.to_string(), r#"{"customer": {"$eq": 7}}"#);
/// ```
pub struct Ref<D: Model> {
    id: D::Id,
    model: PhantomData<fn() -> D>,
}

impl<D: Model> Ref<D> {
    /// A reference to the document with this id.
    ///
    /// ```
    /// # use marula::{Document, Ref};
    /// # #[derive(Document)]
    /// # #[document(collection = "customers")]
    /// # struct Customer { _id: i64 }
    /// let reference = Ref::<Customer>::new(7);
    /// assert_eq!(reference.id(), &7);
    /// ```
    pub fn new(id: D::Id) -> Self {
        Ref {
            id,
            model: PhantomData,
        }
    }

    /// A reference to a document.
    ///
    /// ```
    /// # use marula::{Document, Ref};
    /// # #[derive(Document)]
    /// # #[document(collection = "customers")]
    /// # struct Customer { _id: i64 }
    /// let reference = Ref::to(&Customer { _id: 7 });
    /// assert_eq!(reference.into_id(), 7);
    /// ```
    pub fn to(document: &D) -> Self
    where
        D::Id: Clone,
    {
        Ref::new(document.id().clone())
    }

    /// The id of the document.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let reference = Ref::<Customer>::new(7);
    /// assert_eq!(reference.id(), &7);
    /// ```
    #[must_use]
    pub fn id(&self) -> &D::Id {
        &self.id
    }

    /// The id of the document, by value.
    ///
    /// ```
    /// # use marula_guide::*;
    /// assert_eq!(Ref::to(&customer(7)).into_id(), 7);
    /// ```
    #[must_use]
    pub fn into_id(self) -> D::Id {
        self.id
    }
}

impl<D: Model<Id: Clone>> Clone for Ref<D> {
    fn clone(&self) -> Self {
        Ref::new(self.id.clone())
    }
}

impl<D: Model<Id: Copy>> Copy for Ref<D> {}

impl<D: Model<Id: fmt::Debug>> fmt::Debug for Ref<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ref").field(&self.id).finish()
    }
}

impl<D: Model<Id: PartialEq>> PartialEq for Ref<D> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl<D: Model<Id: Eq>> Eq for Ref<D> {}

impl<D: Model<Id: Hash>> Hash for Ref<D> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl<D: Model<Id: Serialize>> Serialize for Ref<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.id.serialize(serializer)
    }
}

impl<'de, D: Model<Id: Deserialize<'de>>> Deserialize<'de> for Ref<D> {
    fn deserialize<S: Deserializer<'de>>(deserializer: S) -> std::result::Result<Self, S::Error> {
        D::Id::deserialize(deserializer).map(Ref::new)
    }
}

impl<D: Model> Encode for Ref<D> {
    fn encode(&self, out: &mut Writer<'_>) -> std::result::Result<(), EncodeError> {
        D::encode_id(&self.id, out)
    }
}

impl<'de, D: Model> Decode<'de> for Ref<D> {
    fn decode(value: &Value<'de>) -> std::result::Result<Self, DecodeError> {
        D::decode_id(value).map(Ref::new)
    }
}

impl<D: Model> Field for Ref<D> {
    type Nav<R, M: Mode> = Path<R, Ref<D>, M>;
    fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
        path
    }
}

impl<D: Model> Projection<Ref<D>> for Ref<D> {}
impl<D: Model> Present for Ref<D> {}

impl<R, D: Model> Operand<R> for Ref<D> {
    type Value = Ref<D>;
    fn into_operand(self) -> Expr<R, Ref<D>> {
        lit(self)
    }
}

impl<D: Model> IndexKey for Ref<D> {}
impl<D: Model> ListItem for Ref<D> {}
impl<D: Model> HashedKey for Ref<D> {}

macro_rules! values {
    ($($target:ty, $value:ty;)*) => { $(
        impl<D: Model> IntoValue<$target> for $value {
            fn into_value(self) -> Result<Bson, ValueError> {
                D::stored_id(&self.id)
            }
        }
    )* };
}
values! {
    Ref<D>, Ref<D>;
    Ref<D>, &Ref<D>;
    Option<Ref<D>>, Ref<D>;
    Option<Ref<D>>, &Ref<D>;
}

/// A value that refers to a document of `D`: its id, a [`Ref`], or an `Option` of one, where `None`
/// refers to no document. Also for references to them, and for newtypes of ids that derive
/// [`Embedded`](derive@crate::Embedded).
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not refer to a `{D}`",
    label = "expected ids of `{D}`, or values of type `Ref<{D}>`",
    note = "for an id of your own type derive `Embedded` for a newtype, or use `Ref::<{D}>::new(id)`"
)]
pub trait KeyOf<D: Model> {
    /// The id as BSON.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// // Ids, references, `Option`s and borrows of these are keys.
    /// let found = customers.load([Some(Ref::new(1)), None]).await?;
    /// assert_eq!(found.len(), 1);
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// The id has no BSON form.
    fn into_key(self) -> Result<Option<Bson>, ValueError>;
}

/// Types of ids for which a `K` is a key: the same type.
#[diagnostic::on_unimplemented(
    message = "the ids of this model are of type `{Self}`, found keys of type `{K}`",
    label = "expected keys of type `{Self}`, or values of type `Ref<_>`"
)]
pub trait IdOf<K> {}
impl<K> IdOf<K> for K {}

/// Types of ids that are stored as a `K`: the same type, or an `Option` of it.
#[diagnostic::on_unimplemented(
    message = "the ids of this model are of type `{Self}`, which is not stored as a `{K}`",
    label = "a reference is compared with ids of type `{Self}`"
)]
pub trait IdStoredAs<K> {}
impl<K> IdStoredAs<K> for K {}
impl<K> IdStoredAs<K> for Option<K> {}

/// References are compared with ids of the type: in lookups and in expressions. In brackets: the parameters of the type, and its
/// conditions.
#[doc(hidden)]
#[macro_export]
macro_rules! __compared_with_references {
    ([$($params:tt)*] [$($clause:tt)*] $t:ty) => {
        $crate::__compared_with_references! { @joins [$($params)*] [$($clause)*] $t: $t }
        impl<__D: $crate::Model<Id: $crate::relation::IdOf<$t>>, $($params)*> $crate::expr::Fits<$t> for $crate::Ref<__D>
        where
            $($clause)*
        {
        }
        impl<__D: $crate::Model<Id: $crate::relation::IdStoredAs<$t>>, $($params)*> $crate::expr::Fits<$crate::Ref<__D>>
            for $t
        where
            $($clause)*
        {
        }
        impl<__D: $crate::Model<Id: $crate::relation::IdStoredAs<$t>>, $($params)*>
            $crate::expr::Fits<::core::option::Option<$crate::Ref<__D>>> for $t
        where
            $($clause)*
        {
        }
    };
    (@joins [$($params:tt)*] [$($clause:tt)*] $t:ty: $field:ty) => {
        impl<__D: $crate::Model<Id: $crate::relation::IdStoredAs<$t>>, $($params)*> $crate::aggregate::Joins<$field>
            for $crate::Ref<__D>
        where
            $($clause)*
        {
        }
        impl<__D: $crate::Model<Id: $crate::relation::IdStoredAs<$t>>, $($params)*> $crate::aggregate::Joins<$field>
            for ::core::option::Option<$crate::Ref<__D>>
        where
            $($clause)*
        {
        }
        impl<__D: $crate::Model<Id: $crate::relation::IdStoredAs<$t>>, $($params)*> $crate::aggregate::Joins<$field>
            for ::std::vec::Vec<$crate::Ref<__D>>
        where
            $($clause)*
        {
        }
        impl<__D: $crate::Model<Id: $crate::relation::IdStoredAs<$t>>, $($params)*> $crate::aggregate::Joins<$crate::Ref<__D>>
            for $field
        where
            $($clause)*
        {
        }
        impl<__D: $crate::Model<Id: $crate::relation::IdStoredAs<$t>>, $($params)*>
            $crate::aggregate::Joins<::core::option::Option<$crate::Ref<__D>>> for $field
        where
            $($clause)*
        {
        }
        impl<__D: $crate::Model<Id: $crate::relation::IdStoredAs<$t>>, $($params)*>
            $crate::aggregate::Joins<::std::vec::Vec<$crate::Ref<__D>>> for $field
        where
            $($clause)*
        {
        }
    };
}

macro_rules! ids {
    ($($t:ty)*) => { $(
        __compared_with_references! { [] [] $t }
        __compared_with_references! { @joins [] [] $t: Option<$t> }
        impl<D: Model<Id: IdStoredAs<$t>>> Fits<Option<$t>> for Ref<D> {}
        impl<D: Model<Id: IdStoredAs<$t>>> Fits<Option<$t>> for Option<Ref<D>> {}
        impl<D: Model<Id: IdOf<Option<$t>>>> Fits<Ref<D>> for Option<$t> {}
        impl<D: Model<Id: IdStoredAs<$t>>> Fits<Option<Ref<D>>> for Option<$t> {}
        impl<D: Model<Id: IdOf<$t>>> IntoValue<Ref<D>> for $t {
            fn into_value(self) -> Result<Bson, ValueError> {
                IntoValue::<$t>::into_value(self)
            }
        }
        impl<D: Model<Id: IdOf<$t>>> IntoValue<Option<Ref<D>>> for $t {
            fn into_value(self) -> Result<Bson, ValueError> {
                IntoValue::<$t>::into_value(self)
            }
        }
        impl<D: Model<Id: IdOf<$t>>> KeyOf<D> for $t {
            fn into_key(self) -> Result<Option<Bson>, ValueError> {
                IntoValue::<$t>::into_value(self).map(Some)
            }
        }
        impl<D: Model<Id: IdOf<$t>>> KeyOf<D> for &$t {
            fn into_key(self) -> Result<Option<Bson>, ValueError> {
                IntoValue::<$t>::into_value(self).map(Some)
            }
        }
    )* };
}
ids! { uuid::Uuid BsonUuid ObjectId i32 i64 u32 u64 String Bson }

impl<D: Model<Id: IdOf<String>>> KeyOf<D> for &str {
    fn into_key(self) -> Result<Option<Bson>, ValueError> {
        Ok(Some(Bson::from(self)))
    }
}

impl<D: Model> KeyOf<D> for Ref<D> {
    fn into_key(self) -> Result<Option<Bson>, ValueError> {
        KeyOf::<D>::into_key(&self)
    }
}

impl<D: Model> KeyOf<D> for &Ref<D> {
    fn into_key(self) -> Result<Option<Bson>, ValueError> {
        D::stored_id(&self.id).map(Some)
    }
}

impl<D: Model, K: KeyOf<D>> KeyOf<D> for Option<K> {
    fn into_key(self) -> Result<Option<Bson>, ValueError> {
        self.map_or(Ok(None), K::into_key)
    }
}

impl<'a, D: Model, K> KeyOf<D> for &'a Option<K>
where
    &'a K: KeyOf<D>,
{
    fn into_key(self) -> Result<Option<Bson>, ValueError> {
        self.as_ref().map_or(Ok(None), KeyOf::into_key)
    }
}

/// Maximum number of keys of one query. 10,000 UUIDs in an `$in` are about 0.3 MB, and strings of
/// 1,000 bytes are below the limit of 16 MiB for a command.
const KEYS: usize = 10_000;

/// The distinct keys, divided into queries. Null is left out.
fn divided(
    field: &str,
    keys: &mut dyn Iterator<Item = Result<Option<Bson>, ValueError>>,
) -> Result<Vec<Vec<Bson>>> {
    let mut seen = HashSet::new();
    let mut queries: Vec<Vec<Bson>> = Vec::new();
    for key in keys {
        let key = match key.map_err(|e| Error::encode(field, e))? {
            None | Some(Bson::Null) => continue,
            Some(key) => key,
        };
        // The bytes are equal only for keys of the same type.
        let bytes = to_vec(&doc! { "": key.clone() }).map_err(|e| Error::encode(field, e.into()))?;
        if !seen.insert(bytes) {
            continue;
        }
        match queries.last_mut() {
            Some(query) if query.len() < KEYS => query.push(key),
            _ => queries.push(vec![key]),
        }
    }
    match queries.iter().find_map(|keys| not_in_lists(keys)) {
        Some(reason) => Err(Error::filter(field, reason)),
        None => Ok(queries),
    }
}

impl<D: Model> Collection<D> {
    /// The documents that the keys refer to, by their ids. A key whose document does not exist is
    /// not in the map.
    ///
    /// Equal keys are sent once, and `None` is not sent. Up to 10,000 distinct keys are one query;
    /// more keys are several queries, one after the other, each with the options of the action. Its
    /// `timeout` is the limit of all of them.
    /// Without keys nothing is sent.
    ///
    /// ```no_run
    /// # use marula::{Collection, Document, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "customers")]
    /// # struct Customer { _id: i64, name: String }
    /// # async fn run(customers: Collection<Customer>) -> marula::Result<()> {
    /// let found = customers.load([1_i64, 2, 2]).await?;
    /// let first = found.get(&1).map(|customer| &customer.name);
    /// # drop(first); Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The [errors of the action](Collection#errors).
    pub fn load<K: KeyOf<D>>(&self, keys: impl IntoIterator<Item = K>) -> Load<'_, D>
    where
        D::Id: Eq + Hash + Clone,
    {
        Load {
            collection: self,
            queries: divided("_id", &mut keys.into_iter().map(K::into_key)),
            options: LoadOptions::default(),
            session: None,
        }
    }

    /// The documents whose field has one of the values, by the value of the field: the other
    /// direction of a relation. A value that no document has is not in the map.
    ///
    /// The field must be present in all documents: behind an `Option` or in an array use
    /// [`find`](Collection::find) with `is_in`. For the number of queries see
    /// [`load`](Collection::load). The documents of one value are in no particular order.
    ///
    /// ```no_run
    /// # use marula::{Collection, Document, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, customer: i64 }
    /// # async fn run(orders: Collection<Order>) -> marula::Result<()> {
    /// let by_customer = orders.load_by(|o| o.customer(), [1_i64, 2]).await?;
    /// let count = by_customer.get(&1).map_or(0, Vec::len);
    /// # drop(count); Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidFilter`] for a flattened field; otherwise the
    /// [errors of the action](Collection#errors).
    pub fn load_by<A, V>(
        &self,
        field: impl FnOnce(Fields<D>) -> A,
        values: impl IntoIterator<Item = V>,
    ) -> LoadBy<'_, D, A::Value>
    where
        A: AsPath<Root = D, Mode = Read, Value: Field + Eq + Hash + DecodeOwned + Send + 'static>,
        V: IntoValue<A::Value>,
    {
        let path = field(D::fields()).raw().clone();
        let field = path.dotted().to_owned();
        let checked = check_path(&path).map_err(|reason| Error::filter(field.replace('\0', ""), reason));
        let mut values = values.into_iter().map(|value| value.into_value().map(Some));
        LoadBy {
            collection: self,
            queries: checked.and_then(|()| divided(&field, &mut values)),
            field,
            value: PhantomData,
            options: LoadOptions::default(),
            session: None,
        }
    }
}

/// Setters of the options of all queries, from the list that the driver declares them in.
macro_rules! load_options {
    ({} $($(#[$doc:meta])* $([$mark:ident])? $name:ident: $kind:ident $($type:path)? $(= $wire:literal $(since $since:ident)?)? $([needs $needs:tt])?;)*) => {
        $(load_options! { @setter [$($mark)?] $(#[$doc])* $name: $kind $($type)? })*
    };
    (@setter [driver] $($rest:tt)*) => {};
    (@setter [] $(#[$doc:meta])* timeout: $kind:ident $type:path) => {
        /// `timeoutMS`: the time limit of the action, with all of its queries. It replaces all
        /// other time limits. Zero means no limit. Default: that of the collection or database, for
        /// each query.
        pub fn timeout(mut self, value: $type) -> Self {
            self.timeout = Some(value);
            self
        }
    };
    (@setter [] $(#[$doc:meta])* $name:ident: $kind:ident $($type:path)?) => {
        $(#[$doc])*
        pub fn $name(mut self, value: crate::driver::__option_argument!($kind $($type)?)) -> Self {
            self.find = self.find.$name(value).__require_versions();
            self
        }
    };
}

/// The options of [`Load`] and [`LoadBy`]: those of queries that change neither which documents are
/// found nor which of their fields.
///
/// ```
/// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
/// use marula::relation::LoadOptions;
/// let options = LoadOptions::default().timeout(std::time::Duration::from_secs(5)).comment("report");
/// assert_eq!(customers.load([1, 2]).with_options(options).await?.len(), 2);
/// # Ok(()) });
/// ```
#[must_use = "options have no effect until they are passed to an action"]
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    find: FindOptions,
    /// The time limit of all queries.
    timeout: Option<Duration>,
}

impl LoadOptions {
    crate::driver::__query_options! { load_options {} }

    /// The options state their versions already.
    fn __require_versions(self) -> Self {
        self
    }

    /// The options of the next query.
    fn of_query(&self, limit: &TimeLimit) -> FindOptions {
        limit.of(self.find.clone(), FindOptions::timeout)
    }
}

/// Reads documents by their ids. Output: the documents by id. See [`Collection::load`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct Load<'a, D> {
    collection: &'a Collection<D>,
    queries: Result<Vec<Vec<Bson>>>,
    options: LoadOptions,
    session: Session<'a>,
}

/// Reads documents by the values of a field. Output: the documents by value. See
/// [`Collection::load_by`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct LoadBy<'a, D, V> {
    collection: &'a Collection<D>,
    queries: Result<Vec<Vec<Bson>>>,
    field: String,
    value: PhantomData<fn() -> V>,
    options: LoadOptions,
    session: Session<'a>,
}

/// The future of [`Load`] and [`LoadBy`].
type Loading<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

impl<'a, D: Model> Load<'a, D> {
    crate::driver::__query_options! { forward_options { options: LoadOptions } }
}

impl<'a, D: Model, V> LoadBy<'a, D, V> {
    crate::driver::__query_options! { forward_options { options: LoadOptions } }
}

impl<'a, D: Model<Id: Eq + Hash + Clone>> IntoFuture for Load<'a, D> {
    type Output = Result<HashMap<D::Id, D>>;
    type IntoFuture = Loading<'a, HashMap<D::Id, D>>;

    fn into_future(mut self) -> Self::IntoFuture {
        Box::pin(async move {
            let limit = TimeLimit::begin(self.options.timeout);
            let mut all = HashMap::new();
            for keys in self.queries? {
                let find = found_in(
                    self.collection,
                    "_id",
                    keys,
                    self.options.of_query(&limit),
                    &mut self.session,
                );
                let mut found = find.stream().await?;
                while let Some(document) = found.try_next().await? {
                    all.insert(document.id().clone(), document);
                }
            }
            Ok(all)
        })
    }
}

impl<'a, D: Model, V> IntoFuture for LoadBy<'a, D, V>
where
    V: Field + Eq + Hash + DecodeOwned + Send + 'static,
{
    type Output = Result<HashMap<V, Vec<D>>>;
    type IntoFuture = Loading<'a, HashMap<V, Vec<D>>>;

    fn into_future(mut self) -> Self::IntoFuture {
        Box::pin(async move {
            let limit = TimeLimit::begin(self.options.timeout);
            let mut all: HashMap<V, Vec<D>> = HashMap::new();
            for values in self.queries? {
                let find = found_in(
                    self.collection,
                    &self.field,
                    values,
                    self.options.of_query(&limit),
                    &mut self.session,
                );
                let mut found = find.stream().await?;
                while let Some((document, raw)) = found.try_next_with_raw().await? {
                    // A document without the field does not match the filter.
                    let value = lookup(raw, &self.field).unwrap_or(Bson::Null);
                    let namespace = self.collection.namespace();
                    let value = value_at(namespace, lookup(raw, "_id"), &self.field, &value)?;
                    all.entry(value).or_default().push(document);
                }
            }
            Ok(all)
        })
    }
}

/// The query of the documents whose field has one of the keys.
fn found_in<'f, D: Model>(
    collection: &'f Collection<D>,
    field: &str,
    keys: Vec<Bson>,
    options: FindOptions,
    session: &'f mut Session<'_>,
) -> Find<'f, D> {
    let find = collection.find(|_| in_keys(field, keys)).with_options(options);
    match session.as_deref_mut() {
        Some(session) => find.session(session),
        None => find,
    }
}

fn in_keys<D>(field: &str, keys: Vec<Bson>) -> Filter<D> {
    Filter::new(Ok(Node::leaf(field.to_owned(), Op::In(keys))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_distinct_and_divided() {
        let keys = (0..25_000_i64).map(|n| Ok(Some(Bson::Int64(n % 20_001))));
        let queries = divided("_id", &mut keys.chain([Ok(None), Ok(Some(Bson::Null))])).unwrap();
        assert_eq!(
            queries.iter().map(Vec::len).collect::<Vec<_>>(),
            [10_000, 10_000, 1]
        );
        assert!(divided("_id", &mut std::iter::empty()).unwrap().is_empty());
    }
}
