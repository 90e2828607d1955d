//! [`Collection::load`] and [`Collection::load_by`]: the documents of many keys, read by few queries.

use std::collections::HashMap;
use std::hash::Hash;
use std::marker::PhantomData;
use std::pin::Pin;
use std::time::Duration;

use crate::{
    ast::filter::{Node, Op},
    base::{
        bson::Bson,
        error::{Error, Result, ValueError},
        time_limit::TimeLimit,
    },
    document::decode::{lookup, value_at},
    driver::options::FindOptions,
    models::model::{Fields, Model},
    path::{AsPath, Read, check_path, field::Field},
    query::{
        handle::{
            Collection,
            action::{Session, forward_options},
        },
        read::find::Find,
        relation::{KeyOf, keys::Slots},
    },
    term::filter::Filter,
    values::{codec::DecodeOwned, value::IntoValue},
};

/// The distinct keys.
fn distinct(field: &str, keys: &mut dyn Iterator<Item = Result<Option<Bson>, ValueError>>) -> Result<Slots> {
    let mut distinct = Slots::default();
    for key in keys {
        if let Some(key) = key.map_err(|e| Error::encode(field, e))? {
            distinct.add(field, key, 0)?;
        }
    }
    Ok(distinct)
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
            keys: distinct("_id", &mut keys.into_iter().map(K::into_key)),
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
            keys: checked.and_then(|()| distinct(&field, &mut values)),
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
    keys: Result<Slots>,
    options: LoadOptions,
    session: Session<'a>,
}

/// Reads documents by the values of a field. Output: the documents by value. See
/// [`Collection::load_by`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct LoadBy<'a, D, V> {
    collection: &'a Collection<D>,
    keys: Result<Slots>,
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
            for keys in self.keys?.queries() {
                let find = found_in(
                    self.collection,
                    "_id",
                    keys.values(),
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
            for values in self.keys?.queries() {
                let find = found_in(
                    self.collection,
                    &self.field,
                    values.values(),
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
    keys: &[Bson],
    options: FindOptions,
    session: &'f mut Session<'_>,
) -> Find<'f, D> {
    let find = collection.find(|_| in_keys(field, keys)).with_options(options);
    match session.as_deref_mut() {
        Some(session) => find.session(session),
        None => find,
    }
}

/// The condition that a field has one of the keys.
pub(super) fn in_keys<D>(field: &str, keys: &[Bson]) -> Filter<D> {
    Filter::new(Ok(Node::leaf(field.to_owned(), Op::In(keys.to_vec()))))
}
