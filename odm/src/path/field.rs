//! The types that a field can have, and the accessors of paths to them.
//!
//! | Rust type | stored as |
//! |---|---|
//! | `i8`, `i16`, `i32`, `u8`, `u16` | Int32 |
//! | `i64`, `u32`, `u64`, `usize` | Int64; a value above `i64::MAX` is an error |
//! | `f32`, `f64` | Double |
//! | `bool` | Boolean |
//! | `String`, `char` | String |
//! | [`ObjectId`], [`DateTime`], [`Decimal128`] | the BSON type of this name |
//! | `SystemTime`, dates of the features `chrono`, `time`, `jiff` | Date, see below |
//! | decimals of the features `rust_decimal`, `bigdecimal` | Decimal128, see below |
//! | [`Timestamp`], [`Binary`], [`Regex`] | the BSON type of this name |
//! | `uuid::Uuid`, [`bson::Uuid`](crate::bson::Uuid) | Binary, subtype 4 |
//! | `IpAddr`, `SocketAddr` and the types of one version in `std::net` | String: its `Display`, as in JSON |
//! | [`Bson`], [`Document`] | any value, any document |
//! | `serde_json::Value`, `serde_json::Map` with the feature `serde_json` | any value, any document that JSON has, see below |
//! | `Option<T>` | `T`, or Null; a missing field is read as `None`. An `Option<Option<T>>` is a compile error |
//! | `Vec<u8>`, `[u8; N]`, `Box<[u8]>`, `Rc<[u8]>`, `Arc<[u8]>` | Binary, subtype 0 |
//! | other `Vec`, `[T; N]`, `Box<[T]>`, `Rc<[T]>`, `Arc<[T]>`, and `VecDeque`, `LinkedList` | Array |
//! | `HashSet`, `BTreeSet` | Array |
//! | `HashMap<K, T>`, `BTreeMap<K, T>` | a document; `K` is `String` or another [`MapKey`] |
//! | tuples | Array, of exactly as many items |
//! | `()` | Null |
//! | `Box<T>`, `Rc<T>`, `Arc<T>`, `Cow<T>` | `T`; a model is `Send` and `Sync`, so it has no `Rc` |
//! | a struct with `#[derive(Embedded)]` | a document; a newtype as the type inside |
//! | an enum with `#[derive(Embedded)]` | by its [serde representation](derive@crate::Embedded) |
//! | the types in [`geo`](crate::geo) | a GeoJSON document |
//!
//! # Dates and decimals of other crates
//!
//! | type | feature | stored as |
//! |---|---|---|
//! | [`SystemTime`](std::time::SystemTime) | | Date; not before 1970 |
//! | `chrono::DateTime<Utc>` | `chrono` | Date |
//! | `time::OffsetDateTime` | `time` | Date; read with the offset of UTC |
//! | `jiff::Timestamp` | `jiff` | Date |
//! | `chrono::NaiveDate`, `time::Date`, `jiff::civil::Date` | that of the crate | Date: midnight in UTC |
//! | `rust_decimal::Decimal` | `rust_decimal` | Decimal128 |
//! | `bigdecimal::BigDecimal` | `bigdecimal` | Decimal128 |
//!
//! A BSON date has milliseconds: a more precise time is stored, and compared with by filters, as the
//! millisecond in which it is, so that `at().lt(t)` does not match a date in the millisecond of `t`. Any other value that the
//! other type cannot represent is an error that names the field, in both directions; nothing is rounded. A date that was stored
//! as text is an error, unless the field is stored as text by `#[document(as = String)]`. A decimal is also read from a whole
//! number.
//!
//! These types have the operators of [`DateTime`] and [`Decimal128`], and take and give their values. They have their stored form
//! at every place of a model: in an `Option`, an array, a map, also a flattened one, a newtype, an embedded type, a variant of an
//! enum. What the [driver's collection](crate::Collection::driver) and fields with `#[document(opaque)]` store is the form of the
//! type's `Serialize`.
//!
//! # JSON
//!
//! With the feature `serde_json`, a `serde_json::Value` is a field as a [`Bson`] is: Null, Boolean, String, Int64, Double, Array
//! or a document. An integer that is not an Int64 is an error; a fraction is the nearest Double, as
//! serde_json reads it by default. What JSON does not have, such as a date, an id or an infinite number, is
//! an error when it is read: declare a field that other programs write so as a [`Bson`]. `Some(Value::Null)` in an `Option` is
//! stored as null, which is read as `None`. A `serde_json::Map` with `#[serde(flatten)]` has the fields that the model does not name.
//!
//! # Bytes
//!
//! `Vec<u8>`, `[u8; N]` and `Box<[u8]>` are stored as Binary of subtype 0. Binary of other subtypes and arrays of numbers are read
//! too. `#[document(as = Vec<i32>)]` stores an array of numbers. Sets and queues of `u8` are arrays.
//!
//! A field of another type is marked `#[document(as = Type)]` or `#[document(opaque)]`; see
//! [`Document`](derive@crate::Document).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::rc::Rc;
use std::sync::Arc;

use crate::{
    base::{
        bson::{
            Binary, Bson, DateTime, Decimal128, Document, ObjectId, Regex, Timestamp, Uuid as BsonUuid, doc,
        },
        tuples::each_tuple,
    },
    form::{
        json_schema::{self, FieldTable, OuterTypes, SchemaType},
        map_key::MapKey,
        schema_version::SchemaVersion,
    },
    path::{AsPath, Mode, Path, Read, Wrapped},
};

/// The field accessors of `D`, as [`Model::fields`](crate::Model::fields) returns them.
pub type Fields<D, M = Read> = <D as Field>::Nav<D, M>;

/// A type of fields with typed paths. The [module](self) lists the implementations; for your own
/// types derive [`Embedded`](derive@crate::Embedded).
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no typed paths",
    label = "`{Self}` does not implement `marula::Field`",
    note = "for your own type, derive `marula::Embedded`",
    note = "for a date or a decimal of the crates chrono, time, jiff, rust_decimal and bigdecimal, enable the feature of this name \
            of marula; these are the times in UTC and the days: not `NaiveDateTime`, `NaiveTime` and `DateTime<Local>`, for which use \
            `DateTime<Utc>`",
    note = "for `i128`, `u128` and `Duration`, use `#[document(as = Type)]` with `I128`, `U128` or `Millis` of `marula::forms`",
    note = "for a type with `Display` and `FromStr`, such as a version or a URL, `#[document(as = marula::forms::DisplayText)]` stores its text",
    note = "for any other type, `#[document(opaque)]` stores what its `Serialize` implementation writes"
)]
pub trait Field: Sized {
    /// Whether the type has encrypted fields of its own.
    #[doc(hidden)]
    const ENCRYPTS: bool = false;
    /// Whether the elements of an array, or the values of a map, have encrypted fields of their own.
    #[doc(hidden)]
    const ENCRYPTS_ELEMENTS: bool = false;
    /// The BSON type of a `Vec`, a `Box<[T]>` or an array of the type.
    #[doc(hidden)]
    const LIST_TYPE: &'static str = "array";
    /// The fields of a struct.
    #[doc(hidden)]
    const FIELDS: &'static FieldTable = &FieldTable::NONE;
    /// The type that the accessor of such a field returns.
    type Nav<R, M: Mode>: AsPath<Root = R, Mode = M>;
    /// The accessors for the path of a field.
    fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M>;
    /// The stored names of the fields of a struct, which results of stages cannot replace; empty for other types.
    #[doc(hidden)]
    #[must_use]
    fn stored_names() -> &'static [&'static str] {
        Self::FIELDS.read
    }
    /// The `$jsonSchema` of a stored value; empty if it permits all values.
    #[doc(hidden)]
    #[must_use]
    fn json_schema(outer: &mut OuterTypes) -> Document {
        Self::FIELDS.json_schema(SchemaType::of::<Self>(), outer)
    }
    /// The version of the stored documents of a model.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    fn schema_version() -> Option<SchemaVersion> {
        None
    }
}

/// A type that is stored as a document. Implemented by `#[derive(Embedded)]` and
/// `#[derive(Document)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not stored as a document",
    label = "conditions on `{Self}` can only be joined with `&`",
    note = "the server has no `$or` and no `$nor` for array elements that are not documents: use `.is_in(..)`, `.ne(..)` or two \
            conditions"
)]
pub trait Embedded: Field {}

#[diagnostic::do_not_recommend]
impl<T: DerivedDocument> Embedded for T {}

/// The structs and enums with accessors of their own. The derives implement this trait, from which the traits of such
/// types follow, so that they generate less code.
#[doc(hidden)]
pub trait DerivedDocument: Field {}

/// The value type of a field with `#[document(opaque)]`, whose stored form only its `Serialize`
/// implementation defines.
///
/// Every operator of scalars is allowed on it. A value is given as a `&T`, which is sent in the form that its `Serialize`
/// writes, or as a [`Bson`] or a [`Document`] in the stored form, which nothing checks. If a function of `#[serde(with = "…")]` writes
/// the field, only the latter are values.
pub struct Opaque<T>(PhantomData<fn() -> T>);

/// The type in the [`Opaque`] of a field whose form a function of `#[serde(with = "…")]` defines, so that its operators take no `&T`.
pub struct ByFunction<T>(PhantomData<fn() -> T>);

macro_rules! plain {
    ($([$($generics:tt)*] $t:ty: $schema:expr;)*) => { $(
        impl<$($generics)*> Field for $t {
            type Nav<R, M: Mode> = Path<R, $t, M>;
            #[inline]
            fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Path<R, $t, M> {
                path
            }
            fn json_schema(_outer: &mut OuterTypes) -> Document {
                $schema
            }
        }
    )* };
}

plain! {
    [] i8: json_schema::integers(i8::MIN.into(), i8::MAX.into());
    [] i16: json_schema::integers(i16::MIN.into(), i16::MAX.into());
    [] i32: json_schema::integers(i32::MIN.into(), i32::MAX.into());
    [] i64: json_schema::integers(i64::MIN, i64::MAX);
    [] u16: json_schema::integers(0, u16::MAX.into());
    [] u32: json_schema::integers(0, u32::MAX.into());
    [] u64: json_schema::integers(0, i64::MAX);
    [] usize: json_schema::integers(0, i64::MAX);
    [] f32: json_schema::types(&["double", "int", "long"]);
    [] f64: json_schema::types(&["double", "int", "long"]);
    [] bool: json_schema::types(&["bool"]);
    [] char: doc! { "bsonType": "string", "minLength": 1, "maxLength": 1 };
    [] String: json_schema::types(&["string"]);
    [] ObjectId: json_schema::types(&["objectId"]);
    [] DateTime: json_schema::types(&["date"]);
    [] Decimal128: json_schema::types(&["decimal"]);
    [] Timestamp: json_schema::types(&["timestamp"]);
    [] Binary: json_schema::types(&["binData"]);
    [] Regex: json_schema::types(&["regex"]);
    [] BsonUuid: json_schema::types(&["binData"]);
    [] uuid::Uuid: json_schema::types(&["binData"]);
    [] IpAddr: json_schema::types(&["string"]);
    [] Ipv4Addr: json_schema::types(&["string"]);
    [] Ipv6Addr: json_schema::types(&["string"]);
    [] SocketAddr: json_schema::types(&["string"]);
    [] SocketAddrV4: json_schema::types(&["string"]);
    [] SocketAddrV6: json_schema::types(&["string"]);
    [] Bson: Document::new();
    [] Document: json_schema::types(&["object"]);
    [] (): json_schema::types(&["null"]);
    [T] Opaque<T>: Document::new();
}

impl Field for u8 {
    const LIST_TYPE: &'static str = "binData";
    type Nav<R, M: Mode> = Path<R, u8, M>;
    #[inline]
    fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Path<R, u8, M> {
        path
    }
    fn json_schema(_outer: &mut OuterTypes) -> Document {
        json_schema::integers(0, u8::MAX.into())
    }
}

/// The type of the values at the path of a `T`: without pointers, which are not stored.
type ValueOf<T, R, M> = <<T as Field>::Nav<R, M> as AsPath>::Value;

macro_rules! maps {
    ($([$($generics:tt)*] $t:ty => $of:ty;)*) => { $(
        impl<K: MapKey, V: Field, $($generics)*> Field for $t {
            const ENCRYPTS_ELEMENTS: bool = V::ENCRYPTS || V::ENCRYPTS_ELEMENTS;
            type Nav<R, M: Mode> = Path<R, $of, M>;
            #[inline]
            fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
                path.into_type()
            }
            fn json_schema(outer: &mut OuterTypes) -> Document {
                json_schema::map(V::json_schema(outer))
            }
        }
    )* };
}

maps! {
    [S] HashMap<K, V, S> => HashMap<K, ValueOf<V, R, M::Optional>, S>;
    [] BTreeMap<K, V> => BTreeMap<K, ValueOf<V, R, M::Optional>>;
}

fn array<T: Field>(outer: &mut OuterTypes, length: Option<usize>) -> Document {
    json_schema::array(T::json_schema(outer), length)
}

/// The schema of a list that is Binary if it is one of bytes.
fn list<T: Field>(outer: &mut OuterTypes, length: Option<usize>) -> Document {
    match T::LIST_TYPE {
        "array" => array::<T>(outer, length),
        // Arrays are still read.
        other => json_schema::types(&[other, "array"]),
    }
}

macro_rules! arrays {
    ($([$($generics:tt)*] $t:ty => $of:ty: $length:expr, $schema:ident;)*) => { $(
        impl<T: Field, $($generics)*> Field for $t {
            const ENCRYPTS_ELEMENTS: bool = T::ENCRYPTS || T::ENCRYPTS_ELEMENTS;
            type Nav<R, M: Mode> = Wrapped<$of, T::Nav<R, M::Element>, M>;
            #[inline]
            fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
                Wrapped::array(T::nav(path.into_element()))
            }
            fn json_schema(outer: &mut OuterTypes) -> Document {
                $schema::<T>(outer, $length)
            }
        }
    )* };
}

arrays! {
    [] Vec<T> => Vec<ValueOf<T, R, M::Element>>: None, list;
    [] VecDeque<T> => VecDeque<ValueOf<T, R, M::Element>>: None, array;
    [] LinkedList<T> => LinkedList<ValueOf<T, R, M::Element>>: None, array;
    [] BTreeSet<T> => BTreeSet<ValueOf<T, R, M::Element>>: None, array;
    [] Box<[T]> => Box<[ValueOf<T, R, M::Element>]>: None, list;
    [S] HashSet<T, S> => HashSet<ValueOf<T, R, M::Element>, S>: None, array;
    [const N: usize] [T; N] => [ValueOf<T, R, M::Element>; N]: Some(N), list;
}

impl<T: Field> Field for Option<T> {
    const ENCRYPTS: bool = T::ENCRYPTS;
    const ENCRYPTS_ELEMENTS: bool = T::ENCRYPTS_ELEMENTS;
    type Nav<R, M: Mode> = Wrapped<Option<ValueOf<T, R, M::Optional>>, T::Nav<R, M::Optional>, M>;
    #[inline]
    fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
        Wrapped::new(T::nav(path.into_optional()))
    }
    fn json_schema(outer: &mut OuterTypes) -> Document {
        json_schema::nullable(T::json_schema(outer))
    }
}

macro_rules! pointers {
    ($($t:ident)*) => { $(
        /// Stored as `T`, and has its paths and values.
        impl<T: Field> Field for $t<T> {
            const ENCRYPTS: bool = T::ENCRYPTS;
            const ENCRYPTS_ELEMENTS: bool = T::ENCRYPTS_ELEMENTS;
            type Nav<R, M: Mode> = T::Nav<R, M>;
            #[inline]
            fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
                T::nav(path.into_type())
            }
            fn json_schema(outer: &mut OuterTypes) -> Document {
                T::json_schema(outer)
            }
        }
        /// A text, with the values of a `String`.
        impl Field for $t<str> {
            type Nav<R, M: Mode> = Path<R, String, M>;
            #[inline]
            fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
                path.into_type()
            }
            fn json_schema(outer: &mut OuterTypes) -> Document {
                String::json_schema(outer)
            }
        }
    )* };
}
pointers! { Box Rc Arc }

macro_rules! shared_lists {
    ($($t:ident)*) => { $(
        /// A list, with the paths and the values of a `Vec`.
        impl<T: Field> Field for $t<[T]> {
            const ENCRYPTS_ELEMENTS: bool = Vec::<T>::ENCRYPTS_ELEMENTS;
            type Nav<R, M: Mode> = <Vec<T> as Field>::Nav<R, M>;
            #[inline]
            fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
                <Vec<T> as Field>::nav(path.into_type::<Vec<T>>())
            }
            fn json_schema(outer: &mut OuterTypes) -> Document {
                Vec::<T>::json_schema(outer)
            }
        }
    )* };
}
shared_lists! { Rc Arc }

macro_rules! tuples {
    ($($len:literal: $($t:ident $at:tt),*;)*) => { $(
        /// Without paths to the items.
        impl<$($t: Field),*> Field for ($($t,)*) {
            const ENCRYPTS_ELEMENTS: bool = false $(|| $t::ENCRYPTS || $t::ENCRYPTS_ELEMENTS)*;
            type Nav<R, M: Mode> = Path<R, Self, M>;
            #[inline]
            fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
                path
            }
            fn json_schema(outer: &mut OuterTypes) -> Document {
                json_schema::tuple(&[$(&$t::json_schema),*], outer)
            }
        }
    )* };
}
each_tuple!(tuples);

/// A `Cow` is stored as its owned type.
impl<T: ToOwned<Owned: Field> + ?Sized> Field for Cow<'_, T> {
    const ENCRYPTS: bool = <T::Owned as Field>::ENCRYPTS;
    const ENCRYPTS_ELEMENTS: bool = <T::Owned as Field>::ENCRYPTS_ELEMENTS;
    type Nav<R, M: Mode> = <T::Owned as Field>::Nav<R, M>;
    #[inline]
    fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
        <T::Owned as Field>::nav(path.into_type())
    }
    fn json_schema(outer: &mut OuterTypes) -> Document {
        <T::Owned as Field>::json_schema(outer)
    }
}
