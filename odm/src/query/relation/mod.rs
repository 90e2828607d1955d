//! Relations between collections: the documents that many keys refer to, loaded by one query.
//!
//! A field refers to a document of another collection by its id, as a plain id or as a [`Ref`].
//! [`Collection::load`](crate::Collection::load) reads the documents that a list of keys refers to, and
//! [`Collection::load_by`](crate::Collection::load_by) those that refer to a list of values. Both are methods of a collection:
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

mod keys;
mod load;
mod relations;
mod rows;
mod source;
mod with;

use std::collections::{BTreeSet, HashSet, LinkedList, VecDeque};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    base::{
        bson::{Bson, DecodeError, EncodeError, ObjectId, Uuid as BsonUuid, doc},
        error::{Result, ValueError},
    },
    models::{
        model::Model,
        projection::{Present, Projection},
    },
    path::{
        Mode, Path,
        field::Field,
        marker::{HashedKey, IndexKey, ListItem},
    },
    term::expr::{Expr, Fits, Operand, lit},
    values::{
        codec::{Decode, Encode, Value, Writer},
        search_field::SearchField,
        value::IntoValue,
    },
};

pub use crate::query::relation::{
    load::{Load, LoadBy, LoadOptions},
    relations::{Alone, And, Counted, FromOne, ToEach, ToMany, ToOne},
    source::Related,
    with::{FindWith, OneKey, WithMany},
};

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
impl<K, D: Model<Id: SearchField<K>>> SearchField<K> for Ref<D> {}

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

/// Types of fields that refer to documents of `D`: a [`Ref`], an id, and an `Option` or an array of these.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` does not refer to documents of `{D}`",
    label = "expected a `Ref<{D}>` or an id of `{D}`",
    note = "if the field has ids of `{D}` in another form, state the type by `retype` of the path"
)]
pub trait RefersTo<D> {}
impl<D: Model> RefersTo<D> for Ref<D> {}
impl<D, T: RefersTo<D>> RefersTo<D> for Option<T> {}

macro_rules! lists {
    ($([$($generics:tt)*] $list:ty;)*) => { $(
        impl<D, T: RefersTo<D>, $($generics)*> RefersTo<D> for $list {}
    )* };
}
lists! {
    [] Vec<T>;
    [] VecDeque<T>;
    [] LinkedList<T>;
    [] BTreeSet<T>;
    [] Box<[T]>;
    [S] HashSet<T, S>;
    [const N: usize] [T; N];
}

/// References are compared with ids of the type: in lookups and in expressions. In brackets: the parameters of the type, and its
/// conditions.
#[doc(hidden)]
#[macro_export]
macro_rules! __compared_with_references {
    ([$($params:tt)*] [$($clause:tt)*] $t:ty) => {
        $crate::__compared_with_references! { @joins [$($params)*] [$($clause)*] $t: $t }
        impl<__D: $crate::Model<Id: $crate::relation::IdStoredAs<$t>>, $($params)*> $crate::relation::RefersTo<__D> for $t
        where
            $($clause)*
        {
        }
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
