//! Marker traits: which operator is meaningful on which type of field.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};

use crate::bson::{Binary, Bson, DateTime, Decimal128, Document, ObjectId, Timestamp, Uuid as BsonUuid};
use crate::path::field::Opaque;
use crate::path::{Maybe, Read, Through, Write};

/// Paths that can be read: filters, sorts and indexes take them.
#[diagnostic::on_unimplemented(
    message = "a positional path is only valid in an update",
    label = "this path holds a positional segment",
    note = "in a filter use the array itself, `.any()` or `.elem_match(..)`"
)]
pub trait Readable {}
impl Readable for Read {}
impl Readable for Maybe {}
impl Readable for Through {}

/// Paths that can be updated.
#[diagnostic::on_unimplemented(
    message = "an update through an array must say which elements it changes",
    label = "this path goes through an array",
    note = "use `.positional()`, `.all_positional()`, `.filtered_positional(..)` or `.nth(index)` on the array"
)]
pub trait Writable {}
impl Writable for Read {}
impl Writable for Maybe {}
impl Writable for Write {}

/// Types with an order that the server and Rust agree on.
#[diagnostic::on_unimplemented(
    message = "`$gt`, `$gte`, `$lt`, `$lte`, `$min` and `$max` need an ordered field, found `{Self}`",
    label = "`{Self}` has no order in MongoDB",
    note = "for the elements of an array use `.any()` or `.elem_match(..)`"
)]
pub trait Ordered {}

/// Numbers.
#[diagnostic::on_unimplemented(
    message = "`$inc` and `$mul` need a numeric field, found `{Self}`",
    label = "`{Self}` is not a number"
)]
pub trait Numeric {}

/// Whole numbers.
#[diagnostic::on_unimplemented(
    message = "`$mod` and the bit operators need an integer field, found `{Self}`",
    label = "`{Self}` is not an integer"
)]
pub trait Integer {}

/// Strings.
#[diagnostic::on_unimplemented(
    message = "`$regex` needs a string field, found `{Self}`",
    label = "`{Self}` is not a string",
    note = "for the strings of an array use `.any()`"
)]
pub trait Text {}

/// Dates.
#[diagnostic::on_unimplemented(
    message = "`$currentDate` needs a date field, found `{Self}`",
    label = "`{Self}` is not a date"
)]
pub trait Date {}

/// GeoJSON values.
#[diagnostic::on_unimplemented(
    message = "geospatial operators and indexes need a GeoJSON field, found `{Self}`",
    label = "`{Self}` is not a GeoJSON value",
    note = "the types are in `marula::geo`; a field of your own type can be marked `#[document(opaque)]`"
)]
pub trait Geo {}

/// Types that can be a key of keyset pagination: ordered and always present.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a keyset key",
    label = "a nullable or unordered sort key loses rows between pages",
    note = "`$gt: null` matches nothing outside null: sort by a field that is always present"
)]
pub trait KeysetKey {}

/// Types that an ascending or descending index key can hold.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` cannot be an index key",
    label = "not indexable",
    note = "the keys of a map are data: index them with `wildcard(..)`"
)]
pub trait IndexKey {}

/// Types that a TTL index can expire by.
#[diagnostic::on_unimplemented(
    message = "a TTL index needs a date field, found `{Self}`",
    label = "documents never expire by a `{Self}`"
)]
pub trait TtlKey {}

/// Types that a text index can hold.
#[diagnostic::on_unimplemented(
    message = "a text index needs a field of strings, found `{Self}`",
    label = "`{Self}` is not text"
)]
pub trait TextKey {}

/// Types that a hashed index can hold.
#[diagnostic::on_unimplemented(
    message = "a hashed index cannot hold a field of type `{Self}`",
    label = "the server refuses arrays in a hashed index"
)]
pub trait HashedKey {}

/// Arrays.
#[diagnostic::on_unimplemented(
    message = "this operator needs an array field, found `{Self}`",
    label = "`{Self}` is not an array",
    note = "a newtype around an array is reached by dereferencing its path: `(*path)`"
)]
pub trait Array {
    /// The type of the elements.
    type Element;
}

/// Arrays that `.contains(..)` looks into.
#[diagnostic::on_unimplemented(
    message = "`.contains(..)` needs an array field, found `{Self}`",
    label = "`{Self}` is not an array",
    note = "for a part of a string use `.contains_text(..)`, `.starts_with(..)` or `.regex(..)`",
    note = "a newtype around an array is reached by dereferencing its path: `(*path)`"
)]
pub trait Contains {
    /// The type of the elements.
    type Element;
}

/// Maps from strings to values.
#[diagnostic::on_unimplemented(
    message = "`.entry(..)` needs a map field, found `{Self}`",
    label = "`{Self}` is not a map with string keys"
)]
pub trait Map {
    /// The type of the values.
    type Value;
}

/// Fields that can be null.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` is never null",
    label = "only an `Option` can be set to null"
)]
pub trait Nullable {
    /// The type of the value when there is one.
    type Inner;
}

impl<T> Nullable for Option<T> {
    type Inner = T;
}

macro_rules! mark {
    ($($marker:ident: $($t:ty),* ;)*) => { $( $( impl $marker for $t {} )* )* };
}

mark! {
    Ordered: i8, i16, i32, i64, u8, u16, u32, u64, usize, f32, f64, Decimal128, String, char, ObjectId, DateTime, Timestamp,
        BsonUuid, uuid::Uuid, Bson;
    KeysetKey: i8, i16, i32, i64, u8, u16, u32, u64, usize, Decimal128, String, char, ObjectId, DateTime, Timestamp,
        BsonUuid, uuid::Uuid;
    Numeric: i8, i16, i32, i64, u8, u16, u32, u64, usize, f32, f64, Decimal128, Bson;
    Integer: i8, i16, i32, i64, u8, u16, u32, u64, usize, Bson;
    Text: String, char, Bson;
    Date: DateTime, Bson;
    Geo: Document, Bson;
    TtlKey: DateTime, Vec<DateTime>, Bson;
    TextKey: String, Vec<String>, Bson;
    IndexKey: i8, i16, i32, i64, u8, u16, u32, u64, usize, f32, f64, Decimal128, String, char, bool, ObjectId, DateTime,
        Timestamp, BsonUuid, uuid::Uuid, Binary, Document, Bson;
    HashedKey: i8, i16, i32, i64, u8, u16, u32, u64, usize, f32, f64, Decimal128, String, char, bool, ObjectId, DateTime,
        Timestamp, BsonUuid, uuid::Uuid, Binary, Document, Bson;
}

macro_rules! forward {
    ($($marker:ident)*) => { $(
        impl<T: $marker> $marker for Option<T> {}
    )* };
}
forward!(Ordered Numeric Integer Text Date Geo IndexKey TtlKey TextKey HashedKey);

macro_rules! opaque {
    ($($marker:ident)*) => { $( impl<T> $marker for Opaque<T> {} )* };
}
opaque!(Ordered Numeric Integer Text Date Geo IndexKey TtlKey TextKey HashedKey);

macro_rules! arrays {
    ($([$($generics:tt)*] $t:ty;)*) => { $(
        impl<T: IndexKey, $($generics)*> IndexKey for $t {}
        impl<T, $($generics)*> Array for $t { type Element = T; }
        impl<T, $($generics)*> Contains for $t { type Element = T; }
    )* };
}
arrays! {
    [] Vec<T>;
    [] VecDeque<T>;
    [] LinkedList<T>;
    [] BTreeSet<T>;
    [] Box<[T]>;
    [S] HashSet<T, S>;
    [const N: usize] [T; N];
}

impl<A: Array> Array for Option<A> {
    type Element = A::Element;
}

impl<A: Contains> Contains for Option<A> {
    type Element = A::Element;
}

impl<V, S> Map for HashMap<String, V, S> {
    type Value = V;
}
impl<V> Map for BTreeMap<String, V> {
    type Value = V;
}
impl<T: Map> Map for Option<T> {
    type Value = T::Value;
}
impl Map for Document {
    type Value = Bson;
}
