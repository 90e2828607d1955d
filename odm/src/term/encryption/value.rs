//! The types of encrypted fields ([Client Side Encryption], "encryptedFields": `bsonType`).
//!
//! [Client Side Encryption]:
//! https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/client-side-encryption.md

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use crate::{
    base::bson::{Binary, DateTime, Decimal128, Document, ObjectId, Regex, Timestamp, Uuid as BsonUuid},
    path::field::Field,
};

/// Types of values that can be encrypted: all values of the type have one BSON type, which is not null. The
/// [module](crate::encryption#types) lists them.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` cannot be encrypted",
    label = "the values of an encrypted field have one BSON type, which is not null"
)]
pub trait EncryptedValue {
    /// The name of the BSON type, such as `string`.
    const BSON_TYPE: &'static str;
}

/// Types of encrypted fields: those of [`EncryptedValue`], and `Option`s of them.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` cannot be encrypted",
    label = "the values of an encrypted field have one BSON type, which is not null",
    note = "`marula::encryption` lists the types; state the stored type of a field with a conversion by `#[document(as = Type)]`"
)]
pub trait EncryptedField {
    /// The type of the values.
    type Value: EncryptedValue;
}

#[diagnostic::do_not_recommend]
impl<T: EncryptedValue> EncryptedField for T {
    type Value = T;
}

#[diagnostic::do_not_recommend]
impl<T: EncryptedValue> EncryptedField for Option<T> {
    type Value = T;
}

/// Types of fields with queries for equality.
#[diagnostic::on_unimplemented(
    message = "an encrypted field of type `{Self}` cannot have queries for equality",
    label = "the server supports equality of integers, strings, dates, ids, `bool` and binary data",
    note = "numbers with a fraction can have queries for ranges: `encrypted(range(min = .., max = .., precision = ..))`"
)]
pub trait EqualityValue: EncryptedValue {}

/// Types of fields with queries for ranges.
#[diagnostic::on_unimplemented(
    message = "an encrypted field of type `{Self}` cannot have queries for ranges",
    label = "the server supports ranges of numbers and dates"
)]
pub trait RangeValue: EncryptedValue {
    /// Whether the values have a fraction, of which `precision` digits are compared.
    const HAS_FRACTION: bool;
}

/// Types of fields with queries for parts of strings.
#[diagnostic::on_unimplemented(
    message = "an encrypted field of type `{Self}` cannot have queries for parts of strings",
    label = "`{Self}` is not a string"
)]
pub trait StringValue: EncryptedValue {}

macro_rules! values {
    ($($name:literal: $($t:ty)*;)*) => { $($(
        impl EncryptedValue for $t {
            const BSON_TYPE: &'static str = $name;
        }
    )*)* };
}

// The widths are those of the codec: one for each Rust type.
values! {
    "int": i8 i16 i32 u8 u16;
    "long": i64 u32 u64 usize;
    "double": f32 f64;
    "decimal": Decimal128;
    "bool": bool;
    "string": String char IpAddr Ipv4Addr Ipv6Addr SocketAddr SocketAddrV4 SocketAddrV6;
    "objectId": ObjectId;
    "date": DateTime;
    "timestamp": Timestamp;
    "binData": Binary BsonUuid uuid::Uuid;
    "regex": Regex;
    "object": Document;
}

macro_rules! containers {
    ($([$($generics:tt)*] $t:ty: $name:expr;)*) => { $(
        impl<$($generics)*> EncryptedValue for $t {
            const BSON_TYPE: &'static str = $name;
        }
    )* };
}

containers! {
    [T: Field] Vec<T>: T::LIST_TYPE;
    [T] VecDeque<T>: "array";
    [T] LinkedList<T>: "array";
    [T] BTreeSet<T>: "array";
    [T: Field] Box<[T]>: T::LIST_TYPE;
    [T, S] HashSet<T, S>: "array";
    [T: Field, const N: usize] [T; N]: T::LIST_TYPE;
    [K, V, S] HashMap<K, V, S>: "object";
    [K, V] BTreeMap<K, V>: "object";
}

impl EqualityValue for Vec<u8> {}
impl EqualityValue for Box<[u8]> {}
impl<const N: usize> EqualityValue for [u8; N] {}

macro_rules! equality {
    ($($t:ty)*) => { $( impl EqualityValue for $t {} )* };
}

equality! {
    i8 i16 i32 i64 u8 u16 u32 u64 usize bool String char ObjectId DateTime Timestamp Binary BsonUuid uuid::Uuid Regex
    IpAddr Ipv4Addr Ipv6Addr SocketAddr SocketAddrV4 SocketAddrV6
}

macro_rules! ranges {
    ($has_fraction:literal: $($t:ty)*) => { $(
        impl RangeValue for $t {
            const HAS_FRACTION: bool = $has_fraction;
        }
    )* };
}

ranges! { false: i8 i16 i32 i64 u8 u16 u32 u64 usize DateTime }
ranges! { true: f32 f64 Decimal128 }

impl StringValue for String {}
