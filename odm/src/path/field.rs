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
//! millisecond in which it is, so that `at().lt(t)` does not match a date in the millisecond of `t`. Any other value that the other type cannot represent is an error that names the field, in both
//! directions; nothing is rounded. A stored value of another BSON type is read by the type's own
//! `Deserialize`, such as a date that was stored as text. JSON and other formats have the form of the
//! type's own `Serialize`.
//!
//! These types have the operators of [`DateTime`] and [`Decimal128`], and take and give their values.
//! They are converted at every place of a model: in an `Option`, an array, a map, a newtype, an
//! embedded type, a variant of an enum. Not converted is a value inside of a type with
//! `#[serde(into = "…")]` or of a type without the derives, and what the
//! [driver's collection](crate::Collection::driver) writes. The values of a flattened map cannot be
//! converted: writing one is an error.
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
use crate::error::ValueError;
use crate::form::Form;
use crate::json_schema::{self, FieldTable, OuterTypes, SchemaType};
use crate::path::{AsPath, Mode, Path, Wrapped};
use crate::schema_version::SchemaVersion;

/// A type of fields with typed paths. The [module](self) lists the implementations; for your own
/// types derive [`Embedded`](derive@crate::Embedded).
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no typed paths",
    label = "`{Self}` does not implement `marula::Field`",
    note = "for your own type, derive `marula::Embedded`",
    note = "for a date or a decimal of the crates chrono, time, jiff, rust_decimal and bigdecimal, enable the feature of this name \
            of marula; these are the times in UTC and the days: not `NaiveDateTime`, `NaiveTime` and `DateTime<Local>`, for which use \
            `DateTime<Utc>`",
    note = "for `i128`, `u128` and `Duration`, use a type of `marula::codec`: `#[serde(with = \"marula::codec::i128\")]` and \
            `#[document(as = marula::codec::I128)]`",
    note = "for any other type, `#[document(opaque)]` stores what its `Serialize` implementation writes"
)]
pub trait Field: Sized {
    /// Whether the type has encrypted fields of its own.
    #[doc(hidden)]
    const ENCRYPTS: bool = false;
    /// Whether the elements of an array, or the values of a map, have encrypted fields of their own.
    #[doc(hidden)]
    const ENCRYPTS_ELEMENTS: bool = false;
    /// Whether the type is or contains a date or a decimal of another crate, which is stored in another form than that of its
    /// `Serialize`. `false` for types with a derive.
    #[doc(hidden)]
    const CONVERTS: bool = false;
    /// The fields of a struct.
    #[doc(hidden)]
    const FIELDS: &'static FieldTable = &FieldTable::NONE;
    /// The type that the accessor of such a field returns.
    type Nav<R, M: Mode>: AsPath<Root = R, Mode = M>;
    /// The accessors for the path of a field.
    fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M>;
    /// The stored names of the fields of a struct, for [`names::check`](crate::path::names::check);
    /// empty for other types.
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
    /// Visits the parts of a value that are then stored from their bytes and not by their
    /// `Serialize`: ObjectIds, DateTimes, dates and decimals of other crates.
    #[doc(hidden)]
    #[inline]
    fn raw_ids<'a, V: RawIdVisitor<'a>>(&'a self, _visitor: &mut V) {}
    /// Where the parts of a stored value are that are converted before they are read.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    fn form() -> Form {
        Form::Plain
    }
    /// Whether [`stored`](Field::stored) returns the stored form of each value: for dates and decimals
    /// of other crates, and for types whose `Serialize` calls that of such a value without the encoder
    /// in between.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    fn is_whole() -> bool {
        false
    }
    /// The stored form of a value of a type that [is whole](Field::is_whole).
    #[doc(hidden)]
    #[inline]
    fn stored(&self) -> Option<Result<Bson, ValueError>> {
        None
    }
    /// The version of the stored documents of a model.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    fn schema_version() -> Option<SchemaVersion> {
        None
    }
    /// Visits the parts of a value that is not sent as a whole.
    #[doc(hidden)]
    #[inline]
    fn parts<'a, V: RawIdVisitor<'a>>(&'a self, _visitor: &mut V) {}
}

/// The form of a struct by its table of fields.
pub fn of_fields<T: Field>() -> Form {
    Form::Fields(T::FIELDS.forms)
}

/// The form of a type whose parts are the elements of arrays or the values of maps.
type Whole = Option<Result<Bson, ValueError>>;

/// Visits a value as a whole.
#[inline]
fn visit_whole<'a, T: Field, V: RawIdVisitor<'a>>(value: &'a T, visitor: &mut V) {
    if let Some(stored) = value.stored() {
        visitor.stored(value, stored.map_err(ValueError::into_encode_error));
    }
}

fn whole_array<'a, T: Field + 'a>(elements: impl Iterator<Item = &'a T>) -> Whole {
    T::is_whole().then(|| {
        elements
            .filter_map(T::stored)
            .collect::<Result<_, _>>()
            .map(Bson::Array)
    })
}

fn whole_map<'a, T: Field + 'a>(entries: impl Iterator<Item = (&'a String, &'a T)>) -> Whole {
    T::is_whole().then(|| {
        let stored = entries.filter_map(|(key, value)| Some((key.clone(), value.stored()?)));
        let document = stored
            .map(|(key, value)| Ok((key, value?)))
            .collect::<Result<Document, _>>();
        document.map(Bson::Document)
    })
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
}

macro_rules! maps {
    ($([$($generics:tt)*] $t:ty;)*) => { $(
        impl<V: Field, $($generics)*> Field for $t {
            const ENCRYPTS_ELEMENTS: bool = V::ENCRYPTS || V::ENCRYPTS_ELEMENTS;
            const CONVERTS: bool = V::CONVERTS;
            type Nav<R, M: Mode> = Path<R, $t, M>;
            #[inline]
            fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Path<R, $t, M> {
                path
            }
            #[inline]
            fn raw_ids<'a, I: RawIdVisitor<'a>>(&'a self, visitor: &mut I) {
                if V::is_whole() {
                    visit_whole(self, visitor);
                } else {
                    self.values().for_each(|value| value.raw_ids(visitor));
                }
            }
            fn is_whole() -> bool {
                V::is_whole()
            }
            fn stored(&self) -> Whole {
                whole_map(self.iter())
            }
            fn form() -> Form {
                Form::Entries(V::form)
            }
            fn json_schema(outer: &mut OuterTypes) -> Document {
                json_schema::map(V::json_schema(outer))
            }
        }
    )* };
}

maps! {
    [S] HashMap<String, V, S>;
    [] BTreeMap<String, V>;
}

macro_rules! arrays {
    ($([$($generics:tt)*] $t:ty: $length:expr;)*) => { $(
        impl<T: Field, $($generics)*> Field for $t {
            const ENCRYPTS_ELEMENTS: bool = T::ENCRYPTS || T::ENCRYPTS_ELEMENTS;
            const CONVERTS: bool = T::CONVERTS;
            type Nav<R, M: Mode> = Wrapped<$t, T::Nav<R, M::Element>, M>;
            #[inline]
            fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
                Wrapped::array(T::nav(path.into_element()))
            }
            #[inline]
            fn raw_ids<'a, V: RawIdVisitor<'a>>(&'a self, visitor: &mut V) {
                if T::is_whole() {
                    visit_whole(self, visitor);
                } else {
                    self.iter().for_each(|element| element.raw_ids(visitor));
                }
            }
            fn is_whole() -> bool {
                T::is_whole()
            }
            fn stored(&self) -> Whole {
                whole_array(self.iter())
            }
            fn form() -> Form {
                Form::Elements(T::form)
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
    const ENCRYPTS: bool = T::ENCRYPTS;
    const ENCRYPTS_ELEMENTS: bool = T::ENCRYPTS_ELEMENTS;
    const CONVERTS: bool = T::CONVERTS;
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
    #[inline]
    fn is_whole() -> bool {
        T::is_whole()
    }
    fn stored(&self) -> Whole {
        match self {
            Some(value) => value.stored(),
            None => T::is_whole().then_some(Ok(Bson::Null)),
        }
    }
    #[inline]
    fn form() -> Form {
        T::form()
    }
    fn json_schema(outer: &mut OuterTypes) -> Document {
        json_schema::nullable(T::json_schema(outer))
    }
}

/// A `Box<T>` is stored as `T`.
impl<T: Field> Field for Box<T> {
    const ENCRYPTS: bool = T::ENCRYPTS;
    const ENCRYPTS_ELEMENTS: bool = T::ENCRYPTS_ELEMENTS;
    const CONVERTS: bool = T::CONVERTS;
    type Nav<R, M: Mode> = T::Nav<R, M>;
    #[inline]
    fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
        T::nav(path.into_type())
    }
    #[inline]
    fn raw_ids<'a, V: RawIdVisitor<'a>>(&'a self, visitor: &mut V) {
        if T::is_whole() {
            visit_whole(self, visitor);
        } else {
            (**self).raw_ids(visitor);
        }
    }
    #[inline]
    fn is_whole() -> bool {
        T::is_whole()
    }
    #[inline]
    fn form() -> Form {
        T::form()
    }
    #[inline]
    fn stored(&self) -> Option<Result<Bson, ValueError>> {
        (**self).stored()
    }
    fn json_schema(outer: &mut OuterTypes) -> Document {
        T::json_schema(outer)
    }
}

/// A `Cow` is stored as its owned type.
impl<T: ToOwned<Owned: Field> + ?Sized> Field for Cow<'_, T> {
    const ENCRYPTS: bool = <T::Owned as Field>::ENCRYPTS;
    const ENCRYPTS_ELEMENTS: bool = <T::Owned as Field>::ENCRYPTS_ELEMENTS;
    const CONVERTS: bool = <T::Owned as Field>::CONVERTS;
    type Nav<R, M: Mode> = <T::Owned as Field>::Nav<R, M>;
    #[inline]
    fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
        <T::Owned as Field>::nav(path.into_type())
    }
    fn raw_ids<'a, V: RawIdVisitor<'a>>(&'a self, visitor: &mut V) {
        // A borrowed value is not of the owned type, so its stored form is not known.
        if !matches!(<T::Owned as Field>::form(), Form::Plain) {
            let message = "a `Cow` of a type that is stored in another form than that of its `Serialize`; use the owned type";
            visitor.stored(self, Err(ValueError::new(message).into_encode_error()));
        }
    }
    #[inline]
    fn form() -> Form {
        <T::Owned as Field>::form()
    }
    fn json_schema(outer: &mut OuterTypes) -> Document {
        <T::Owned as Field>::json_schema(outer)
    }
}
