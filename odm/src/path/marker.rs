//! Marker traits that limit operators to the types of fields they apply to.
//!
//! Most are also implemented for an `Option` of such a type, for newtypes that derive
//! [`Embedded`](derive@crate::Embedded), for [`Bson`], and for [`Opaque`].

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use crate::{
    base::{
        bson::{Binary, Bson, DateTime, Decimal128, Document, ObjectId, Regex, Timestamp, Uuid as BsonUuid},
        tuples::each_tuple,
    },
    form::map_key::MapKey,
    path::{
        InVariant, Indexed, Maybe, Read, Through, Write,
        field::{DerivedDocument, Opaque},
    },
};

/// Modes of paths that can be read, by filters, sorts and indexes: all without a positional
/// segment that do not start at a variable.
#[diagnostic::on_unimplemented(
    message = "filters, sorts and indexes take paths of the document, found a path of mode `{Self}`",
    label = "this path contains a positional segment, or starts at a variable of an expression",
    note = "a positional path (`Write`) is only valid in an update; elsewhere use the array itself or `.any()`, in a filter also \
            `.elem_match(..)`",
    note = "a variable (`Variable`) is only valid in an expression: use `.match_expr(|..| eq(a, b))`"
)]
pub trait Readable {}
impl Readable for Read {}
impl Readable for Maybe {}
impl Readable for InVariant {}
impl Readable for Indexed {}
impl Readable for Through {}

/// Modes of paths that can be updated: all that select an element of each array that they go
/// through.
#[diagnostic::on_unimplemented(
    message = "an update inside an array must select the elements to change",
    label = "this path goes through an array without selecting elements",
    note = "use `.positional()`, `.all_positional()`, `.filtered_positional(..)` or `.nth(index)` on the array"
)]
pub trait Writable {}
impl Writable for Read {}
impl Writable for Maybe {}
impl Writable for InVariant {}
impl Writable for Indexed {}
impl Writable for Write {}

/// Modes of paths that have at most one value in a document, of the same type in all documents.
#[diagnostic::on_unimplemented(
    message = "a path of mode `{Self}` cannot be a keyset key",
    label = "this field has several values, or values of several types",
    note = "pages sorted by a field inside an array or an enum variant would skip documents: sort by a field outside of them"
)]
pub trait KeysetMode {
    /// Whether a document can have no value at the path.
    #[doc(hidden)]
    const IS_NULLABLE: bool;
}
impl KeysetMode for Read {
    const IS_NULLABLE: bool = false;
}
impl KeysetMode for Maybe {
    const IS_NULLABLE: bool = true;
}

/// Types of fields that can be compared by order: numbers, strings, dates, ObjectIds, timestamps
/// and UUIDs. Not `bool`, documents and arrays.
#[diagnostic::on_unimplemented(
    message = "`$gt`, `$gte`, `$lt`, `$lte`, `$min` and `$max` need an ordered field, found `{Self}`",
    label = "`{Self}` cannot be compared by order",
    note = "for the elements of an array, use `.any()` or `.elem_match(..)`"
)]
pub trait Ordered {}

/// Numeric types: integers, floating point numbers and [`Decimal128`].
#[diagnostic::on_unimplemented(
    message = "`$inc` and `$mul` need a numeric field, found `{Self}`",
    label = "`{Self}` is not a number"
)]
pub trait Numeric {}

/// Integer types: `i8` to `i64`, `u8` to `u64`, and `usize`.
#[diagnostic::on_unimplemented(
    message = "`$mod` and the bit operators need an integer field, found `{Self}`",
    label = "`{Self}` is not an integer"
)]
pub trait Integer {}

/// String types: `String` and `char`.
#[diagnostic::on_unimplemented(
    message = "`$regex` needs a string field, found `{Self}`",
    label = "`{Self}` is not a string",
    note = "for an array of strings, use `.any()`"
)]
pub trait Text {}

/// The time of a time series: a date.
#[diagnostic::on_unimplemented(
    message = "the time of a time series is a date field, found `{Self}`",
    label = "`{Self}` is not a date"
)]
pub trait SeriesTime {}

#[diagnostic::do_not_recommend]
impl<T: Date> SeriesTime for T {}

/// The id of a clustered collection whose documents expire: a date.
#[diagnostic::on_unimplemented(
    message = "the documents of a clustered collection expire by a date in `_id`, found `{Self}`",
    label = "`{Self}` is not a date",
    note = "remove `ttl` of `clustered`, and declare an index with `ttl` on a date field"
)]
pub trait ClusterTime {}

#[diagnostic::do_not_recommend]
impl<T: Date> ClusterTime for T {}

/// Date types: [`DateTime`].
#[diagnostic::on_unimplemented(
    message = "`$currentDate` needs a date field, found `{Self}`",
    label = "`{Self}` is not a date"
)]
pub trait Date {}

/// GeoJSON types: those in [`geo`](crate::geo), and [`Document`].
#[diagnostic::on_unimplemented(
    message = "geospatial operators and indexes need a GeoJSON field, found `{Self}`",
    label = "`{Self}` is not a GeoJSON value",
    note = "GeoJSON types are in `marula::geo`; mark a field of your own type with `#[document(opaque)]`"
)]
pub trait Geo {}

/// Types that can be a key of keyset pagination: stored as values of one BSON type that `$gt` and `$lt`
/// order: numbers, strings, `bool`, dates, ids, and enums of unit variants, which are ordered by their
/// stored names, and the `Option` of these. Not `f32` and `f64`, whose NaN `$gt` and `$lt` do not order.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a keyset key",
    label = "pages sorted by an unordered key would skip documents",
    note = "a keyset key is a number other than `f32` and `f64`, a string, a `bool`, a date, an id, an enum of unit variants, or an `Option` of \
            one of these"
)]
pub trait KeysetKey {
    /// Whether a value can be stored as null, or not at all.
    #[doc(hidden)]
    const IS_NULLABLE: bool = false;
}

impl<T: KeysetKey> KeysetKey for Option<T> {
    const IS_NULLABLE: bool = true;
}

/// Types of ascending and descending index keys: all but maps, regular expressions and the types in
/// [`geo`](crate::geo).
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` cannot be an index key",
    label = "this type cannot be indexed",
    note = "index the entries of a map with `wildcard(..)`, and a GeoJSON field with `geo(..)`"
)]
pub trait IndexKey {}

/// Types of the key of a TTL index: [`DateTime`], and a `Vec` of it.
#[diagnostic::on_unimplemented(
    message = "a TTL index needs a date field, found `{Self}`",
    label = "the server expires documents by dates only"
)]
pub trait TtlKey {}

/// Types of the keys of a text index: `String`, and a `Vec` of it.
#[diagnostic::on_unimplemented(
    message = "a text index needs a field of strings, found `{Self}`",
    label = "`{Self}` is not text"
)]
pub trait TextKey {}

/// Types of the key of a hashed index: as [`IndexKey`], but no arrays.
#[diagnostic::on_unimplemented(
    message = "a hashed index cannot contain a field of type `{Self}`",
    label = "the server rejects arrays in a hashed index"
)]
pub trait HashedKey {}

/// Types of the fields of a shard key: the types of [`HashedKey`], which contain no arrays.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` cannot be in a shard key",
    label = "MongoDB rejects documents with arrays in the shard key"
)]
pub trait ShardKeyValue {}

#[diagnostic::do_not_recommend]
impl<T: HashedKey> ShardKeyValue for T {}

/// Modes of the paths of a shard key: paths that do not go through an array.
#[diagnostic::on_unimplemented(
    message = "a path of mode `{Self}` cannot be in a shard key",
    label = "this path goes through an array",
    note = "MongoDB rejects documents with arrays in the shard key"
)]
pub trait ShardKeyMode {}
impl ShardKeyMode for Read {}
impl ShardKeyMode for Maybe {}
impl ShardKeyMode for InVariant {}

/// Types whose lists are stored as arrays: all types of fields but `u8`, of which `Vec`, `Box<[u8]>` and `[u8; N]` are stored as
/// Binary.
#[diagnostic::on_unimplemented(
    message = "a list of `{Self}` is not stored as an array",
    label = "this operator needs an array",
    note = "bytes are stored as Binary; to store them as an array of numbers, use `#[document(as = Vec<i32>)]`"
)]
pub trait ListItem {}

/// Array types: `Vec`, `VecDeque`, `LinkedList`, `HashSet`, `BTreeSet`, `Box<[T]>`, `[T; N]`.
#[diagnostic::on_unimplemented(
    message = "this operator needs an array field, found `{Self}`",
    label = "`{Self}` is not an array",
    note = "for a newtype of an array, dereference the path: `(*path)`"
)]
pub trait Array {
    /// The type of the elements.
    type Element;
    /// [`AnyLength`] or [`FixedLength`].
    type Length;
}

/// The length of an array that operators can change: that of all but `[T; N]`.
#[diagnostic::on_unimplemented(
    message = "this operator changes the length of an array, and that of the field is fixed",
    label = "a document with another number of elements could not be read",
    note = "set elements by `.nth(index)` or `.all_positional()`, or the whole array"
)]
pub trait Growable {}

/// The length of an array of any length.
#[derive(Debug)]
pub struct AnyLength(());

impl Growable for AnyLength {}

/// The length of an array `[T; N]`.
#[derive(Debug)]
pub struct FixedLength(());

/// Array types that `.contains(..)` accepts.
#[diagnostic::on_unimplemented(
    message = "`.contains(..)` needs an array field, found `{Self}`",
    label = "`{Self}` is not an array",
    note = "to search for a substring, use `.contains_text(..)`, `.starts_with(..)` or `.regex(..)`",
    note = "for a newtype of an array, dereference the path: `(*path)`"
)]
pub trait Contains {
    /// The type of the elements.
    type Element;
}

/// Maps: `HashMap`, `BTreeMap`, and [`Document`].
#[diagnostic::on_unimplemented(
    message = "`.entry(..)` needs a map field, found `{Self}`",
    label = "`{Self}` is not a map"
)]
pub trait Map {
    /// The type of the keys.
    type Key: MapKey;
    /// The type of the values.
    type Value;
}

/// Types of fields that can be null: `Option`.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` is never null",
    label = "only an `Option` can be set to null"
)]
pub trait Nullable {
    /// The type of the value that is not null.
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
    KeysetKey: i8, i16, i32, i64, u8, u16, u32, u64, usize, bool, Decimal128, String, char, ObjectId, DateTime, Timestamp,
        BsonUuid, uuid::Uuid;
    Numeric: i8, i16, i32, i64, u8, u16, u32, u64, usize, f32, f64, Decimal128, Bson;
    Integer: i8, i16, i32, i64, u8, u16, u32, u64, usize, Bson;
    Text: String, char, Bson;
    Date: DateTime, Bson;
    Geo: Document, Bson;
    TtlKey: DateTime, Vec<DateTime>, Bson;
    TextKey: String, Vec<String>, Bson;
    ListItem: i8, i16, i32, i64, u16, u32, u64, usize, f32, f64, bool, String, char, Decimal128, ObjectId, DateTime, Timestamp,
        Binary, Regex, BsonUuid, uuid::Uuid, Document, Bson,
        IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6;
    IndexKey: i8, i16, i32, i64, u8, u16, u32, u64, usize, f32, f64, Decimal128, String, char, bool, ObjectId, DateTime,
        Timestamp, BsonUuid, uuid::Uuid, Binary, Document, Bson,
        IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6;
    HashedKey: i8, i16, i32, i64, u8, u16, u32, u64, usize, f32, f64, Decimal128, String, char, bool, ObjectId, DateTime,
        Timestamp, BsonUuid, uuid::Uuid, Binary, Document, Bson, Vec<u8>, Box<[u8]>,
        IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6;
}

macro_rules! forward {
    ($($marker:ident)*) => { $(
        impl<T: $marker> $marker for Option<T> {}
    )* };
}
forward!(Ordered Numeric Integer Text Date Geo IndexKey TtlKey TextKey HashedKey);

macro_rules! derived {
    ($($marker:ident)*) => { $(
        #[diagnostic::do_not_recommend]
        impl<T: DerivedDocument> $marker for T {}
    )* };
}
derived!(IndexKey HashedKey ListItem);

macro_rules! opaque {
    ($($marker:ident)*) => { $( impl<T> $marker for Opaque<T> {} )* };
}
opaque!(Ordered Numeric Integer Text Date Geo IndexKey TtlKey TextKey HashedKey ListItem);

impl<const N: usize> HashedKey for [u8; N] {}

macro_rules! arrays {
    ($([$($generics:tt)*] $t:ty $(where $bound:ident)?: $length:ident;)*) => { $(
        impl<T: IndexKey, $($generics)*> IndexKey for $t {}
        impl<T $(: $bound)?, $($generics)*> Array for $t {
            type Element = T;
            type Length = $length;
        }
        impl<T $(: $bound)?, $($generics)*> Contains for $t { type Element = T; }
        impl<T, $($generics)*> ListItem for $t {}
    )* };
}
arrays! {
    [] Vec<T> where ListItem: AnyLength;
    [] VecDeque<T>: AnyLength;
    [] LinkedList<T>: AnyLength;
    [] BTreeSet<T>: AnyLength;
    [] Box<[T]> where ListItem: AnyLength;
    [S] HashSet<T, S>: AnyLength;
    [const N: usize] [T; N] where ListItem: FixedLength;
}

impl<T> ListItem for Option<T> {}
impl<K, V, S> ListItem for HashMap<K, V, S> {}
impl<K, V> ListItem for BTreeMap<K, V> {}

macro_rules! tuples {
    ($($len:literal: $($t:ident $at:tt),*;)*) => { $( impl<$($t),*> ListItem for ($($t,)*) {} )* };
}
impl ListItem for () {}
each_tuple!(tuples);

/// The types that [`entry`](crate::PathOps::entry) takes as a key of type `K`: a `K`, a reference to one, and text if `K` is text.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key of a map with keys of type `{K}`",
    label = "expected a `{K}`"
)]
pub trait EntryKey<K> {
    /// The text of the key.
    fn text(&self) -> Cow<'_, str>;
}

impl<K: MapKey> EntryKey<K> for K {
    fn text(&self) -> Cow<'_, str> {
        self.key()
    }
}

impl<K: MapKey> EntryKey<K> for &K {
    fn text(&self) -> Cow<'_, str> {
        self.key()
    }
}

macro_rules! texts {
    ($($key:ty: $($t:ty)*;)*) => { $($(
        impl EntryKey<$key> for $t {
            fn text(&self) -> Cow<'_, str> {
                Cow::Borrowed(self)
            }
        }
    )*)* };
}
texts! {
    String: &str &&str Cow<'_, str> &Cow<'_, str> &Box<str> &std::rc::Rc<str> &std::sync::Arc<str>;
    Box<str>: &str;
    std::rc::Rc<str>: &str;
    std::sync::Arc<str>: &str;
}

impl<A: Array> Array for Option<A> {
    type Element = A::Element;
    type Length = A::Length;
}

impl<A: Contains> Contains for Option<A> {
    type Element = A::Element;
}

impl<K: MapKey, V, S> Map for HashMap<K, V, S> {
    type Key = K;
    type Value = V;
}
impl<K: MapKey, V> Map for BTreeMap<K, V> {
    type Key = K;
    type Value = V;
}
impl<T: Map> Map for Option<T> {
    type Key = T::Key;
    type Value = T::Value;
}
impl Map for Document {
    type Key = String;
    type Value = Bson;
}
