//! Which fields a search index can hold, by the type of their mapping.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};

use crate::{
    base::bson::{Binary, Bson, DateTime, Document, ObjectId as BsonObjectId, Uuid as BsonUuid},
    path::field::{Embedded, Opaque},
    values::geo::{Geometry, LineString, MultiLineString, MultiPoint, MultiPolygon, Point, Polygon},
};

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind {}
    )* };
}

kinds! {
    /// Strings: the types `string`, `autocomplete` and `token`.
    Strings;
    /// Integers and floating point numbers: the type `number`.
    Numbers;
    /// Dates: the type `date`.
    Dates;
    /// Booleans: the type `boolean`.
    Booleans;
    /// ObjectIds: the type `objectId`.
    ObjectIds;
    /// UUIDs: the type `uuid`.
    Uuids;
    /// GeoJSON values: the type `geo`.
    Shapes;
    /// Values that a search compares by order: numbers, dates, strings and ObjectIds.
    Ranges;
    /// Vectors of numbers: the type `vector` of a vector search index.
    Vectors;
    /// Fields by which a vector search is filtered: the type `filter` of a vector search index.
    Filters;
}

/// Types of fields that a search index can hold as `K`: the BSON type, an `Option` of it, and
/// arrays.
#[diagnostic::on_unimplemented(
    message = "a search index cannot hold a field of type `{Self}` as `{K}`",
    label = "the stored values of this field do not have the type of the mapping",
    note = "strings have the mappings `string`, `autocomplete` and `token`; other types have the mapping of their name; a vector is a \
            `Vec<f32>`, a `Vec<f64>` or a `Binary`"
)]
pub trait SearchField<K> {
    /// The number of elements of an array type with a fixed length.
    #[doc(hidden)]
    const LENGTH: Option<usize> = None;
}

/// Types of fields that are stored as documents, for the mappings `document` and
/// `embeddedDocuments`.
#[diagnostic::on_unimplemented(
    message = "the mapping of a document needs a field that is stored as a document, found `{Self}`",
    label = "`{Self}` is not stored as a document"
)]
pub trait SearchDocument {}

macro_rules! hold {
    ($($kind:ident: $($t:ty),* ;)*) => { $( $( impl SearchField<$kind> for $t {} )* )* };
}

hold! {
    Strings: String, char, Bson;
    Numbers: i8, i16, i32, i64, u8, u16, u32, u64, usize, f32, f64, Bson;
    Dates: DateTime, Bson;
    Booleans: bool, Bson;
    ObjectIds: BsonObjectId, Bson;
    Uuids: uuid::Uuid, BsonUuid, Bson;
    Shapes: Document, Bson, Geometry, Point, LineString, Polygon, MultiPoint, MultiLineString, MultiPolygon;
    Ranges: i8, i16, i32, i64, u8, u16, u32, u64, usize, f32, f64, DateTime, String, char, BsonObjectId, Bson;
    Vectors: Binary, Bson;
    Filters: String, char, i8, i16, i32, i64, u8, u16, u32, u64, usize, f32, f64, DateTime, bool, BsonObjectId, uuid::Uuid, BsonUuid,
        Bson;
}

macro_rules! vectors {
    ($($n:ty)*) => { $(
        impl SearchField<Vectors> for Vec<$n> {}
        impl SearchField<Vectors> for Box<[$n]> {}
        impl<const N: usize> SearchField<Vectors> for [$n; N] {
            const LENGTH: Option<usize> = Some(N);
        }
    )* };
}
vectors!(f32 f64);

impl<K, T> SearchField<K> for Opaque<T> {}
impl<K, T: SearchField<K>> SearchField<K> for Option<T> {
    const LENGTH: Option<usize> = T::LENGTH;
}
impl<K, T: SearchField<K>> SearchField<K> for Box<T> {
    const LENGTH: Option<usize> = T::LENGTH;
}

/// Kinds of which the elements of arrays are held one by one: all but vectors.
#[doc(hidden)]
pub trait ByElement {}

macro_rules! by_element {
    ($($kind:ident)*) => { $( impl ByElement for $kind {} )* };
}
by_element!(Strings Numbers Dates Booleans ObjectIds Uuids Shapes Ranges Filters);

impl<K: ByElement, T: SearchField<K>> SearchField<K> for Vec<T> {}
impl<K: ByElement, T: SearchField<K>> SearchField<K> for VecDeque<T> {}
impl<K: ByElement, T: SearchField<K>> SearchField<K> for LinkedList<T> {}
impl<K: ByElement, T: SearchField<K>> SearchField<K> for BTreeSet<T> {}
impl<K: ByElement, T: SearchField<K>, S> SearchField<K> for HashSet<T, S> {}
impl<K: ByElement, T: SearchField<K>> SearchField<K> for Box<[T]> {}
impl<K: ByElement, T: SearchField<K>, const N: usize> SearchField<K> for [T; N] {}

impl<T: Embedded> SearchDocument for T {}
impl<T: SearchDocument> SearchDocument for Option<T> {}
impl<T: SearchDocument> SearchDocument for Vec<T> {}
impl<T: SearchDocument> SearchDocument for VecDeque<T> {}
impl<K, T> SearchDocument for BTreeMap<K, T> {}
impl<K, T, S> SearchDocument for HashMap<K, T, S> {}
impl<T> SearchDocument for Opaque<T> {}
impl SearchDocument for Document {}
impl SearchDocument for Bson {}
