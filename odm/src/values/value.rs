//! Values of filters and updates: which Rust value may be compared with, or stored in, which field.

use std::borrow::{Borrow, Cow};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::rc::Rc;
use std::sync::Arc;

use crate::{
    base::{
        bson::{
            Binary, Bson, DateTime, Decimal128, Document, ObjectId, Regex, Timestamp, Uuid as BsonUuid,
            spec::BinarySubtype,
        },
        error::ValueError,
        tuples::each_tuple,
    },
    path::field::{Field, Opaque},
    values::codec::{self, Encode, MapKey},
};

/// A value for a field of type `T`, in the stored form of the field.
///
/// For a field of a type `T` with typed paths the operators accept `T` and `&T`, and further:
///
/// | type of the field | accepted values |
/// |---|---|
/// | `String` | `&str`, `Cow<str>`, `Box<str>` |
/// | `f64` | integers of at most 32 bits |
/// | `bson::Decimal128` | integers of at most 64 bits |
/// | `bson::DateTime`, `bson::Decimal128` | the dates and decimals of other crates, and vice versa |
/// | `uuid::Uuid`, `bson::Uuid` | each for the other |
/// | `Option<T>` | values for `T`, and an `Option` of them |
/// | arrays | arrays of values for their elements; for `Vec<T>` also `[V; N]` and `&[V]` |
/// | maps | maps of values for their values |
/// | `Bson` | everything that converts into `Bson` |
/// | `Box<T>`, `Rc<T>`, `Arc<T>` | values for `T` |
/// | [`Opaque<T>`](Opaque) | `&T`, in the form that its `Serialize` writes; `Bson` and `Document`, which nothing checks |
///
/// Other integer types are not converted: an `i32` is not a value for an `i64` field, except for a
/// literal, whose type the compiler infers.
#[diagnostic::on_unimplemented(
    message = "a value of type `{Self}` cannot be used for a field of type `{T}`",
    label = "expected a value convertible to `{T}`",
    note = "an element of an array field is compared by `.contains(value)` or `.any().eq(value)`; `None` is a value for an `Option` only"
)]
pub trait IntoValue<T> {
    /// The value as BSON.
    ///
    /// ```
    /// # use marula_guide::*;
    /// fn total(value: impl IntoValue<i64>) -> Filter<Order> {
    ///     Order::fields().total().eq(value)
    /// }
    /// assert_eq!(total(5).to_string(), total(&5).to_string());
    /// ```
    ///
    /// # Errors
    /// The value has no BSON form, such as a `u64` above `i64::MAX`.
    fn into_value(self) -> Result<Bson, ValueError>;

    /// The values of a list as BSON: an array, or Binary for bytes.
    #[doc(hidden)]
    fn into_list(values: impl Iterator<Item = Self>) -> Result<Bson, ValueError>
    where
        Self: Sized,
    {
        array(values)
    }
}

/// Whether the server reads the value as operators or modifiers where an operator also accepts those.
pub(crate) fn has_operator_names(value: &Bson) -> bool {
    matches!(value, Bson::Document(document) if document.keys().any(|name| name.starts_with('$')))
}

/// Pointers as values of the type behind them.
macro_rules! pointers {
    ($t:ty: $($pointer:ty),*) => { $(
        impl IntoValue<$t> for $pointer {
            fn into_value(self) -> Result<Bson, ValueError> {
                let value: &$t = &self;
                IntoValue::<$t>::into_value(value)
            }
        }
    )* };
}

macro_rules! scalars {
    ($($t:ty: |$v:ident| $bson:expr;)*) => { $(
        impl IntoValue<$t> for $t {
            #[inline]
            fn into_value(self) -> Result<Bson, ValueError> {
                let $v = self;
                $bson
            }
        }
        impl IntoValue<$t> for &$t {
            fn into_value(self) -> Result<Bson, ValueError> {
                IntoValue::<$t>::into_value(self.clone())
            }
        }
        impl IntoValue<Option<$t>> for $t {
            fn into_value(self) -> Result<Bson, ValueError> {
                IntoValue::<$t>::into_value(self)
            }
        }
        impl IntoValue<Option<$t>> for &$t {
            fn into_value(self) -> Result<Bson, ValueError> {
                IntoValue::<$t>::into_value(self.clone())
            }
        }
        impl IntoValue<$t> for Box<$t> {
            fn into_value(self) -> Result<Bson, ValueError> {
                IntoValue::<$t>::into_value(*self)
            }
        }
        pointers! { $t: &Box<$t>, Rc<$t>, &Rc<$t>, Arc<$t>, &Arc<$t> }
    )* };
}

/// One width per Rust type, as in the codec: `i32` and smaller types are Int32, larger ones Int64.
fn int64(v: impl TryInto<i64>) -> Result<Bson, ValueError> {
    match v.try_into() {
        Ok(v) => Ok(Bson::Int64(v)),
        Err(_) => Err(ValueError::new("an integer above i64::MAX has no BSON form")),
    }
}

scalars! {
    i8: |v| Ok(Bson::Int32(v.into()));
    i16: |v| Ok(Bson::Int32(v.into()));
    i32: |v| Ok(Bson::Int32(v));
    i64: |v| Ok(Bson::Int64(v));
    u16: |v| Ok(Bson::Int32(v.into()));
    u32: |v| Ok(Bson::Int64(v.into()));
    u64: |v| int64(v);
    usize: |v| int64(v);
    f32: |v| Ok(Bson::Double(v.into()));
    f64: |v| Ok(Bson::Double(v));
    bool: |v| Ok(Bson::Boolean(v));
    char: |v| Ok(Bson::String(v.into()));
    IpAddr: |v| Ok(Bson::String(v.to_string()));
    Ipv4Addr: |v| Ok(Bson::String(v.to_string()));
    Ipv6Addr: |v| Ok(Bson::String(v.to_string()));
    SocketAddr: |v| Ok(Bson::String(v.to_string()));
    SocketAddrV4: |v| Ok(Bson::String(v.to_string()));
    SocketAddrV6: |v| Ok(Bson::String(v.to_string()));
    String: |v| Ok(Bson::String(v));
    ObjectId: |v| Ok(Bson::ObjectId(v));
    DateTime: |v| Ok(Bson::DateTime(v));
    Decimal128: |v| Ok(Bson::Decimal128(v));
    Timestamp: |v| Ok(Bson::Timestamp(v));
    Binary: |v| Ok(Bson::Binary(v));
    Regex: |v| Ok(Bson::RegularExpression(v));
    Document: |v| Ok(Bson::Document(v));
    BsonUuid: |v| Ok(Bson::Binary(Binary { subtype: BinarySubtype::Uuid, bytes: v.bytes().to_vec() }));
    uuid::Uuid: |v| Ok(Bson::Binary(Binary { subtype: BinarySubtype::Uuid, bytes: v.as_bytes().to_vec() }));
}

macro_rules! bytes {
    ($($value:ty)*) => { $(
        impl IntoValue<u8> for $value {
            fn into_value(self) -> Result<Bson, ValueError> {
                Ok(Bson::Int32(i32::from(self.to_owned())))
            }
            fn into_list(values: impl Iterator<Item = Self>) -> Result<Bson, ValueError> {
                Ok(Bson::Binary(Binary { subtype: BinarySubtype::Generic, bytes: values.map(|v| v.to_owned()).collect() }))
            }
        }
        impl IntoValue<Option<u8>> for $value {
            fn into_value(self) -> Result<Bson, ValueError> {
                IntoValue::<u8>::into_value(self)
            }
        }
    )* };
}
bytes! { u8 &u8 }

macro_rules! uuids {
    ($($value:ty => $field:ty;)*) => { $(
        /// Both types are stored as Binary subtype 4.
        impl IntoValue<$field> for $value {
            fn into_value(self) -> Result<Bson, ValueError> {
                IntoValue::<$value>::into_value(self)
            }
        }
        impl IntoValue<$field> for &$value {
            fn into_value(self) -> Result<Bson, ValueError> {
                IntoValue::<$value>::into_value(*self)
            }
        }
        impl IntoValue<Option<$field>> for $value {
            fn into_value(self) -> Result<Bson, ValueError> {
                IntoValue::<$value>::into_value(self)
            }
        }
        impl IntoValue<Option<$field>> for &$value {
            fn into_value(self) -> Result<Bson, ValueError> {
                IntoValue::<$value>::into_value(*self)
            }
        }
    )* };
}
uuids! {
    uuid::Uuid => BsonUuid;
    BsonUuid => uuid::Uuid;
}

macro_rules! widened {
    ($($t:ty)*) => { $(
        /// Every value of the type is exact as a Double.
        impl IntoValue<f64> for $t {
            fn into_value(self) -> Result<Bson, ValueError> {
                Ok(Bson::Double(self.into()))
            }
        }
        impl IntoValue<Option<f64>> for $t {
            fn into_value(self) -> Result<Bson, ValueError> {
                Ok(Bson::Double(self.into()))
            }
        }
    )* };
}
// Not `i32` for `i64`: with two integer types the literal `5_000_000_000` would be inferred as
// `i32`.
widened! { i8 i16 i32 u8 u16 u32 }

/// Integers as values of a type of decimals.
macro_rules! integers_as_decimals {
    ($field:ty) => {
        $crate::values::value::integers_as_decimals!($field: i8 i16 i32 i64 u8 u16 u32 u64);
    };
    ($field:ty: $($t:ty)*) => { $(
        /// Every value of the type is exact as a Decimal128.
        impl $crate::values::value::IntoValue<$field> for $t {
            fn into_value(self) -> Result<$crate::base::bson::Bson, $crate::base::error::ValueError> {
                $crate::values::value::decimal(self)
            }
        }
        impl $crate::values::value::IntoValue<Option<$field>> for $t {
            fn into_value(self) -> Result<$crate::base::bson::Bson, $crate::base::error::ValueError> {
                $crate::values::value::decimal(self)
            }
        }
    )* };
}
pub(crate) use integers_as_decimals;
integers_as_decimals!(Decimal128);

/// An integer as a Decimal128.
pub(crate) fn decimal(integer: impl std::fmt::Display) -> Result<Bson, ValueError> {
    let parsed = integer.to_string().parse::<Decimal128>();
    parsed
        .map(Bson::Decimal128)
        .map_err(|_| ValueError::new("the integer has more digits than a Decimal128"))
}

macro_rules! strings {
    ($([$($generics:tt)*] $t:ty;)*) => { $(
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> IntoValue<String> for $t {
            fn into_value(self) -> Result<Bson, ValueError> {
                Ok(Bson::String(self.into()))
            }
        }
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> IntoValue<Option<String>> for $t {
            fn into_value(self) -> Result<Bson, ValueError> {
                Ok(Bson::String(self.into()))
            }
        }
    )* };
}
strings! { [] &str; ['a] Cow<'a, str>; [] Box<str>; }

macro_rules! texts {
    ($($t:ty)*) => { $(
        #[diagnostic::do_not_recommend]
        impl IntoValue<String> for $t {
            fn into_value(self) -> Result<Bson, ValueError> {
                let text: &str = &self;
                Ok(Bson::String(text.to_owned()))
            }
        }
        #[diagnostic::do_not_recommend]
        impl IntoValue<Option<String>> for $t {
            fn into_value(self) -> Result<Bson, ValueError> {
                IntoValue::<String>::into_value(self)
            }
        }
    )* };
}
texts! { &Box<str> Rc<str> &Rc<str> Arc<str> &Arc<str> &Cow<'_, str> }

impl<T: Into<Bson>> IntoValue<Bson> for T {
    fn into_value(self) -> Result<Bson, ValueError> {
        Ok(self.into())
    }
}

impl<T> IntoValue<Opaque<T>> for Bson {
    fn into_value(self) -> Result<Bson, ValueError> {
        Ok(self)
    }
}

impl<T> IntoValue<Opaque<T>> for Document {
    fn into_value(self) -> Result<Bson, ValueError> {
        Ok(Bson::Document(self))
    }
}

/// The value in its stored form: what its `Serialize` writes.
impl<T: serde::Serialize> IntoValue<Opaque<T>> for &T {
    fn into_value(self) -> Result<Bson, ValueError> {
        codec::serialized(self)
    }
}

impl<T, V: IntoValue<T>> IntoValue<Option<T>> for Option<V> {
    fn into_value(self) -> Result<Bson, ValueError> {
        self.map_or(Ok(Bson::Null), IntoValue::into_value)
    }
}

impl<'a, T, V> IntoValue<Option<T>> for &'a Option<V>
where
    &'a V: IntoValue<T>,
{
    fn into_value(self) -> Result<Bson, ValueError> {
        self.as_ref().map_or(Ok(Bson::Null), IntoValue::into_value)
    }
}

pub(crate) fn array<T, V: IntoValue<T>>(values: impl IntoIterator<Item = V>) -> Result<Bson, ValueError> {
    each_value(values).map(Bson::Array)
}

pub(crate) fn each_value<T, V: IntoValue<T>>(
    values: impl IntoIterator<Item = V>,
) -> Result<Vec<Bson>, ValueError> {
    values.into_iter().map(IntoValue::into_value).collect()
}

macro_rules! arrays {
    ($([$($generics:tt)*] $field:ty, $t:ty: $list:ident;)*) => { $(
        impl<T, V: IntoValue<T>, $($generics)*> IntoValue<$field> for $t {
            fn into_value(self) -> Result<Bson, ValueError> {
                $list(self)
            }
        }
        impl<'a, T, V, $($generics)*> IntoValue<$field> for &'a $t
        where
            &'a V: IntoValue<T>,
        {
            fn into_value(self) -> Result<Bson, ValueError> {
                $list(self)
            }
        }
    )* };
}

/// A list, which is Binary if it is one of bytes.
fn list<T, V: IntoValue<T>>(values: impl IntoIterator<Item = V>) -> Result<Bson, ValueError> {
    V::into_list(values.into_iter())
}

arrays! {
    [] Vec<T>, Vec<V>: list;
    [const N: usize] Vec<T>, [V; N]: list;
    [] VecDeque<T>, VecDeque<V>: array;
    [] LinkedList<T>, LinkedList<V>: array;
    [] BTreeSet<T>, BTreeSet<V>: array;
    [S] HashSet<T, S>, HashSet<V, S>: array;
    [const N: usize] [T; N], [V; N]: list;
}

impl<'a, T, V> IntoValue<Vec<T>> for &'a [V]
where
    &'a V: IntoValue<T>,
{
    fn into_value(self) -> Result<Bson, ValueError> {
        list(self)
    }
}

impl<T, V: IntoValue<T>> IntoValue<Box<[T]>> for Box<[V]> {
    fn into_value(self) -> Result<Bson, ValueError> {
        list(self.into_vec())
    }
}

impl<T, V: IntoValue<T>> IntoValue<Box<[T]>> for Vec<V> {
    fn into_value(self) -> Result<Bson, ValueError> {
        list(self)
    }
}

impl<'a, T, V> IntoValue<Box<[T]>> for &'a Box<[V]>
where
    &'a V: IntoValue<T>,
{
    fn into_value(self) -> Result<Bson, ValueError> {
        list(self)
    }
}

impl<'a, T, V> IntoValue<Box<[T]>> for &'a [V]
where
    &'a V: IntoValue<T>,
{
    fn into_value(self) -> Result<Bson, ValueError> {
        list(self)
    }
}

fn map<K: MapKey, T, V: IntoValue<T>>(
    entries: impl IntoIterator<Item = (impl Borrow<K>, V)>,
) -> Result<Bson, ValueError> {
    let mut document = Document::new();
    for (key, value) in entries {
        let key = key.borrow().key();
        if key.contains('\0') {
            return Err(ValueError::new("a map key contains a NUL character"));
        }
        document.insert(key, value.into_value()?);
    }
    Ok(Bson::Document(document))
}

macro_rules! maps {
    ($([$($generics:tt)*] $field:ty, $t:ty;)*) => { $(
        impl<K: MapKey, T, V: IntoValue<T>, $($generics)*> IntoValue<$field> for $t {
            fn into_value(self) -> Result<Bson, ValueError> {
                map::<K, T, V>(self)
            }
        }
        impl<'a, K: MapKey, T, V, $($generics)*> IntoValue<$field> for &'a $t
        where
            &'a V: IntoValue<T>,
        {
            fn into_value(self) -> Result<Bson, ValueError> {
                map::<K, T, &'a V>(self)
            }
        }
    )* };
}

maps! {
    [] BTreeMap<K, T>, BTreeMap<K, V>;
    [S] HashMap<K, T, S>, HashMap<K, V, S>;
}

macro_rules! optional {
    ($([$($generics:tt)*] $field:ty, $t:ty: [$($bounds:tt)*];)*) => { $(
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> IntoValue<Option<$field>> for $t
        where
            $($bounds)*
        {
            fn into_value(self) -> Result<Bson, ValueError> {
                IntoValue::<$field>::into_value(self)
            }
        }
    )* };
}

// The value of an `Option` of a list or of a map.
optional! {
    [T, V] Vec<T>, Vec<V>: [V: IntoValue<T>];
    ['a, T, V] Vec<T>, &'a Vec<V>: [&'a V: IntoValue<T>];
    [T, V, const N: usize] Vec<T>, [V; N]: [V: IntoValue<T>];
    ['a, T, V, const N: usize] Vec<T>, &'a [V; N]: [&'a V: IntoValue<T>];
    ['a, T, V] Vec<T>, &'a [V]: [&'a V: IntoValue<T>];
    [T, V, const N: usize] [T; N], [V; N]: [V: IntoValue<T>];
    ['a, T, V, const N: usize] [T; N], &'a [V; N]: [&'a V: IntoValue<T>];
    [T, V] Box<[T]>, Vec<V>: [V: IntoValue<T>];
    ['a, T, V] Box<[T]>, &'a [V]: [&'a V: IntoValue<T>];
    [T, V] VecDeque<T>, VecDeque<V>: [V: IntoValue<T>];
    ['a, T, V] VecDeque<T>, &'a VecDeque<V>: [&'a V: IntoValue<T>];
    [T, V] LinkedList<T>, LinkedList<V>: [V: IntoValue<T>];
    ['a, T, V] LinkedList<T>, &'a LinkedList<V>: [&'a V: IntoValue<T>];
    [T, V] BTreeSet<T>, BTreeSet<V>: [V: IntoValue<T>];
    ['a, T, V] BTreeSet<T>, &'a BTreeSet<V>: [&'a V: IntoValue<T>];
    [T, V, S] HashSet<T, S>, HashSet<V, S>: [V: IntoValue<T>];
    ['a, T, V, S] HashSet<T, S>, &'a HashSet<V, S>: [&'a V: IntoValue<T>];
    [K, T, V] BTreeMap<K, T>, BTreeMap<K, V>: [K: MapKey, V: IntoValue<T>];
    ['a, K, T, V] BTreeMap<K, T>, &'a BTreeMap<K, V>: [K: MapKey, &'a V: IntoValue<T>];
    [K, T, V, S] HashMap<K, T, S>, HashMap<K, V, S>: [K: MapKey, V: IntoValue<T>];
    ['a, K, T, V, S] HashMap<K, T, S>, &'a HashMap<K, V, S>: [K: MapKey, &'a V: IntoValue<T>];
}

/// The types of fields whose values the derives encode: all that are not models.
#[doc(hidden)]
pub trait DerivedValue: Field + Encode {}

macro_rules! derived {
    ($($field:ty, $t:ty: |$value:ident| $reference:expr;)*) => { $(
        #[diagnostic::do_not_recommend]
        impl<T: DerivedValue> IntoValue<$field> for $t {
            fn into_value(self) -> Result<Bson, ValueError> {
                let $value = self;
                codec::to_bson($reference)
            }
        }
    )* };
}

derived! {
    T, T: |value| &value;
    T, &T: |value| value;
    T, Box<T>: |value| &*value;
    T, &Box<T>: |value| &**value;
    T, Rc<T>: |value| &*value;
    T, &Rc<T>: |value| &**value;
    T, Arc<T>: |value| &*value;
    T, &Arc<T>: |value| &**value;
    Option<T>, T: |value| &value;
    Option<T>, &T: |value| value;
    Option<T>, Box<T>: |value| &*value;
    Option<T>, &Box<T>: |value| &**value;
    Option<T>, Rc<T>: |value| &*value;
    Option<T>, &Rc<T>: |value| &**value;
    Option<T>, Arc<T>: |value| &*value;
    Option<T>, &Arc<T>: |value| &**value;
}

macro_rules! tuples {
    ($($len:literal: $($t:ident $at:tt),*;)*) => { $( impl<$($t: Field + Encode),*> DerivedValue for ($($t,)*) {} )* };
}
each_tuple!(tuples);
impl DerivedValue for () {}
