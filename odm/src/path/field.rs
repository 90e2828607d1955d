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
//! | [`Timestamp`], [`Binary`], [`Regex`] | the BSON type of this name |
//! | `uuid::Uuid`, [`bson::Uuid`](crate::bson::Uuid) | Binary, subtype 4 |
//! | [`Bson`], [`Document`] | any value, any document |
//! | `Option<T>` | `T`, or Null; a missing field is read as `None` |
//! | `Vec`, `[T; N]`, `Box<[T]>`, `VecDeque`, `LinkedList` | Array |
//! | `HashSet`, `BTreeSet` | Array |
//! | `HashMap<String, T>`, `BTreeMap<String, T>` | a document |
//! | `Box<T>`, `Cow<T>` | `T` |
//! | a struct with `#[derive(Embedded)]` | a document; a newtype as the type inside |
//! | an enum with `#[derive(Embedded)]` | by its [serde representation](derive@crate::Embedded) |
//! | the types in [`geo`](crate::geo) | a GeoJSON document |
//!
//! A field of another type is marked `#[document(as = Type)]` or `#[document(opaque)]`; see
//! [`Document`](derive@crate::Document).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::marker::PhantomData;

use crate::bson::raw_ids::RawIdVisitor;
use crate::bson::{
    Binary, Bson, DateTime, Decimal128, Document, ObjectId, Regex, Timestamp, Uuid as BsonUuid, doc,
};
use crate::json_schema::{self, OuterTypes};
use crate::path::{AsPath, Mode, Path, Wrapped};

/// A type of fields with typed paths. The [module](self) lists the implementations; for your own
/// types derive [`Embedded`](derive@crate::Embedded).
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no typed paths",
    label = "`{Self}` does not implement `marula::Field`",
    note = "for your own type, derive `marula::Embedded`",
    note = "for a date or a decimal of another crate, store it as BSON with `#[serde(with = \"..\")]`, and name the stored type \
            with `#[document(as = marula::bson::DateTime)]` or `as = marula::bson::Decimal128`",
    note = "for any other type, `#[document(opaque)]` stores what its `Serialize` implementation writes, which is text for most \
            dates"
)]
pub trait Field: Sized {
    /// The type that the accessor of such a field returns.
    type Nav<R, M: Mode>: AsPath<Root = R, Mode = M>;
    /// The accessors for the path of a field.
    fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M>;
    /// The stored names of the fields of a struct, for [`names::check`](crate::path::names::check);
    /// empty for other types.
    #[must_use]
    fn stored_names() -> &'static [&'static str] {
        &[]
    }
    /// The `$jsonSchema` of a stored value; empty if it permits all values.
    #[doc(hidden)]
    #[must_use]
    fn json_schema(_outer: &mut OuterTypes) -> Document {
        Document::new()
    }
    /// Visits the ObjectIds and DateTimes in a value, which are then stored from their bytes and
    /// not by way of their text.
    #[doc(hidden)]
    #[inline]
    fn raw_ids<'a, V: RawIdVisitor<'a>>(&'a self, _visitor: &mut V) {}
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

/// The value type of a field with `#[document(opaque)]`, whose stored form only its `Serialize`
/// implementation defines.
///
/// Every operator of scalars is allowed on it. Values are given as [`Bson`], in the form in which
/// the field is stored; nothing checks that they have this form.
pub struct Opaque<T>(PhantomData<fn() -> T>);

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

macro_rules! raw_ids {
    ($($t:ty: $visit:ident, $type:literal;)*) => { $(
        impl Field for $t {
            type Nav<R, M: Mode> = Path<R, $t, M>;
            #[inline]
            fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Path<R, $t, M> {
                path
            }
            #[inline]
            fn raw_ids<'a, V: RawIdVisitor<'a>>(&'a self, visitor: &mut V) {
                visitor.$visit(self);
            }
            fn json_schema(_outer: &mut OuterTypes) -> Document {
                json_schema::types(&[$type])
            }
        }
    )* };
}

raw_ids! {
    ObjectId: object_id, "objectId";
    DateTime: date_time, "date";
}

plain! {
    [] i8: json_schema::integers(i8::MIN.into(), i8::MAX.into());
    [] i16: json_schema::integers(i16::MIN.into(), i16::MAX.into());
    [] i32: json_schema::integers(i32::MIN.into(), i32::MAX.into());
    [] i64: json_schema::integers(i64::MIN, i64::MAX);
    [] u8: json_schema::integers(0, u8::MAX.into());
    [] u16: json_schema::integers(0, u16::MAX.into());
    [] u32: json_schema::integers(0, u32::MAX.into());
    [] u64: json_schema::integers(0, i64::MAX);
    [] usize: json_schema::integers(0, i64::MAX);
    [] f32: json_schema::types(&["double", "int", "long"]);
    [] f64: json_schema::types(&["double", "int", "long"]);
    [] bool: json_schema::types(&["bool"]);
    [] char: doc! { "bsonType": "string", "minLength": 1, "maxLength": 1 };
    [] String: json_schema::types(&["string"]);
    [] Decimal128: json_schema::types(&["decimal"]);
    [] Timestamp: json_schema::types(&["timestamp"]);
    [] Binary: json_schema::types(&["binData"]);
    [] Regex: json_schema::types(&["regex"]);
    [] BsonUuid: json_schema::types(&["binData"]);
    [] uuid::Uuid: json_schema::types(&["binData"]);
    [] Bson: Document::new();
    [] Document: json_schema::types(&["object"]);
    [T] Opaque<T>: Document::new();
    [V, S] HashMap<String, V, S>: json_schema::types(&["object"]);
    [V] BTreeMap<String, V>: json_schema::types(&["object"]);
}

macro_rules! arrays {
    ($([$($generics:tt)*] $t:ty: $length:expr;)*) => { $(
        impl<T: Field, $($generics)*> Field for $t {
            type Nav<R, M: Mode> = Wrapped<$t, T::Nav<R, M::Element>, M>;
            #[inline]
            fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
                Wrapped::array(T::nav(path.into_element()))
            }
            #[inline]
            fn raw_ids<'a, V: RawIdVisitor<'a>>(&'a self, visitor: &mut V) {
                self.iter().for_each(|element| element.raw_ids(visitor));
            }
            fn json_schema(outer: &mut OuterTypes) -> Document {
                json_schema::array(T::json_schema(outer), $length)
            }
        }
    )* };
}

arrays! {
    [] Vec<T>: None;
    [] VecDeque<T>: None;
    [] LinkedList<T>: None;
    [] BTreeSet<T>: None;
    [] Box<[T]>: None;
    [S] HashSet<T, S>: None;
    [const N: usize] [T; N]: Some(N);
}

impl<T: Field> Field for Option<T> {
    type Nav<R, M: Mode> = Wrapped<Option<T>, T::Nav<R, M::Optional>, M>;
    #[inline]
    fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
        Wrapped::new(T::nav(path.into_optional()))
    }
    #[inline]
    fn raw_ids<'a, V: RawIdVisitor<'a>>(&'a self, visitor: &mut V) {
        if let Some(value) = self {
            value.raw_ids(visitor);
        }
    }
    fn json_schema(outer: &mut OuterTypes) -> Document {
        json_schema::nullable(T::json_schema(outer))
    }
}

/// A `Box<T>` is stored as `T`.
impl<T: Field> Field for Box<T> {
    type Nav<R, M: Mode> = T::Nav<R, M>;
    #[inline]
    fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
        T::nav(path.into_type())
    }
    #[inline]
    fn raw_ids<'a, V: RawIdVisitor<'a>>(&'a self, visitor: &mut V) {
        (**self).raw_ids(visitor);
    }
    fn json_schema(outer: &mut OuterTypes) -> Document {
        T::json_schema(outer)
    }
}

/// A `Cow` is stored as its owned type.
impl<T: ToOwned<Owned: Field> + ?Sized> Field for Cow<'_, T> {
    type Nav<R, M: Mode> = <T::Owned as Field>::Nav<R, M>;
    #[inline]
    fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
        <T::Owned as Field>::nav(path.into_type())
    }
    fn json_schema(outer: &mut OuterTypes) -> Document {
        <T::Owned as Field>::json_schema(outer)
    }
}
