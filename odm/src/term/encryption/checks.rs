//! The checks of encrypted fields in code that the derives generate.

use std::cell::{Cell, LazyCell, OnceCell, RefCell};
use std::cmp::Reverse;
use std::marker::PhantomData;
use std::num::{Saturating, Wrapping};
use std::ops::Deref;
use std::rc;
use std::sync::{self, LazyLock, Mutex, OnceLock, RwLock};

use crate::{
    base::bson::Document,
    form::json_schema::SchemaOf,
    path::field::{Embedded, Field},
    term::encryption::{EncryptedField, EncryptedValue, EqualityValue, RangeValue, StringValue},
};

/// Implemented with the feature `encryption`.
#[cfg(not(feature = "encryption"))]
#[diagnostic::on_unimplemented(
    message = "`encrypted` needs the feature `encryption` of marula",
    label = "add `features = [\"encryption\"]` to the dependency `marula`"
)]
pub trait EncryptionFeature {}

/// Fails to compile, at the span of the attribute, without the feature.
#[cfg(not(feature = "encryption"))]
pub fn assert_encryption_feature<T: EncryptionFeature>() {}

/// Fails to compile, at the span of the attribute, without the feature.
#[cfg(feature = "encryption")]
pub fn assert_encryption_feature<T>() {}

/// Fails to compile, at the span of the field's type, if its values cannot be encrypted.
pub fn assert_unindexed<T: EncryptedField>() {}

/// Fails to compile, at the span of the field's type, if it cannot have queries for equality.
pub fn assert_equality<T: EncryptedField<Value: EqualityValue>>() {}

/// Fails to compile, at the span of the field's type, if it cannot have queries for ranges.
pub fn assert_range<T: EncryptedField<Value: RangeValue>>() {}

/// Fails to compile, at the span of the field's type, if it cannot have queries for parts of strings.
pub fn assert_string<T: EncryptedField<Value: StringValue>>() {}

/// Fails to compile, at the span of the field's type, if `None` would be stored as null.
pub fn assert_not_null<T: NotNull>() {}

/// Types of encrypted fields that are always stored.
#[diagnostic::on_unimplemented(
    message = "`None` would be stored as null, which cannot be encrypted",
    label = "an encrypted `Option` must not be stored if it is `None`",
    note = "add `#[document(skip_none)]` to the field"
)]
pub trait NotNull {}
impl<T: EncryptedValue> NotNull for T {}

/// Fails to compile, at the span of the field's type `U`, if it has the name of the type `T` and is another one.
pub fn assert_named<T, U: Named<T>>() {}

/// The type that the derives take a type for by its name: the same type.
#[diagnostic::on_unimplemented(
    message = "the type of an encrypted field has the name of `{T}`, and is `{Self}`",
    label = "the derive takes this type for `{T}`",
    note = "rename the type or the alias"
)]
pub trait Named<T> {}
impl<T> Named<T> for T {}

/// Whether the values of a field with queries for ranges have a fraction: as [`Elements`], a type that cannot have such
/// queries is an error elsewhere.
#[derive(Debug)]
pub struct Fraction<T>(PhantomData<fn() -> T>);

impl<T: EncryptedField<Value: RangeValue>> Fraction<T> {
    /// See [`RangeValue::HAS_FRACTION`].
    pub const IS_PRESENT: bool = <T::Value as RangeValue>::HAS_FRACTION;
    /// The opposite.
    pub const IS_ABSENT: bool = !Self::IS_PRESENT;
}

/// Used for types that cannot have queries for ranges.
pub trait UnknownFraction {
    /// `true`.
    const IS_PRESENT: bool = true;
    /// `true`.
    const IS_ABSENT: bool = true;
}

impl<T> UnknownFraction for Fraction<T> {}

/// Whether the elements of an array or a map of type `T` have encrypted fields: that of [`Field`], or that of
/// [`NoElements`] where it is not implemented, since an inherent constant is found before that of a trait.
#[derive(Debug)]
pub struct Elements<T>(PhantomData<fn() -> T>);

impl<T: Field> Elements<T> {
    /// See [`Field::ENCRYPTS_ELEMENTS`].
    pub const ENCRYPTED: bool = T::ENCRYPTS_ELEMENTS;
}

/// Used for types without typed paths.
pub trait NoElements {
    /// `false`.
    const ENCRYPTED: bool = false;
}

impl<T> NoElements for Elements<T> {}

/// Types whose values have the encrypted fields of a value in them: those with typed paths, and the pointers and cells of the
/// standard library, also inside of one another.
pub trait Held {
    /// Whether the value, or the elements of an array or a map, have encrypted fields of their own.
    const ENCRYPTED: bool;
    /// The schema.
    const SCHEMA: SchemaOf;
}

impl<T: Field> Held for T {
    const ENCRYPTED: bool = T::ENCRYPTS || T::ENCRYPTS_ELEMENTS;
    const SCHEMA: SchemaOf = T::json_schema;
}

macro_rules! held {
    ($($t:ty)*) => { $(
        impl<T: Held> Held for $t {
            const ENCRYPTED: bool = T::ENCRYPTED;
            const SCHEMA: SchemaOf = T::SCHEMA;
        }
    )* };
}

held! {
    sync::Weak<T> rc::Weak<T>
    Cell<T> RefCell<T> OnceCell<T> LazyCell<T> Mutex<T> RwLock<T> OnceLock<T> LazyLock<T>
    Reverse<T> Wrapping<T> Saturating<T>
}

/// The encrypted fields of a type whose stored form is not known. They are those of `Held`, or none where it is not
/// implemented ([`NoContents`]): an inherent constant is found before that of a trait.
#[derive(Debug)]
pub struct Contents<T: ?Sized>(PhantomData<T>);

impl<T: Held> Contents<T> {
    /// See `Held::ENCRYPTED`.
    pub const ENCRYPTED: bool = T::ENCRYPTED;
    /// The schema.
    pub const SCHEMA: SchemaOf = T::SCHEMA;
}

/// What is known of a type that `as` states beside its [`Contents`]; in the same way.
#[derive(Debug)]
pub struct Scalar<T: ?Sized>(PhantomData<T>);

impl<T: EncryptedField> Scalar<T> {
    /// Whether its values have no documents in them.
    pub const IS_ONE: bool = !matches!(T::Value::BSON_TYPE.as_bytes(), b"object" | b"array");
}

impl<T: Embedded> Scalar<T> {
    /// Whether its values can be documents with encrypted fields that are not its own, but those of a newtype's content, of a
    /// flattened type or of a field's type.
    pub const CAN_CONTAIN: bool = !T::FIELDS.is_present || T::FIELDS.has_documents;
    /// Whether the fields of its values are known: `true`.
    pub const IS_DESCRIBED: bool = true;
}

/// Used for other types.
pub trait NotScalar {
    /// `false`.
    const IS_ONE: bool = false;
    /// `false`.
    const CAN_CONTAIN: bool = false;
    /// `false`.
    const IS_DESCRIBED: bool = false;
}

impl<T: ?Sized> NotScalar for Scalar<T> {}

/// As [`Contents`], of the values in an array or a map without typed paths, of any crate. The derives find these values by
/// the arguments of the type; an alias of it, such as `type ByFloor = BTreeMap<i32, Address>`, shows none.
#[derive(Debug)]
pub struct Inside<T: ?Sized>(PhantomData<T>);

impl<T: IntoIterator<Item: Held>> Inside<T> {
    /// As [`Contents::ENCRYPTED`].
    pub const ENCRYPTED: bool = T::Item::ENCRYPTED;
    /// As [`Contents::SCHEMA`].
    pub const SCHEMA: SchemaOf = T::Item::SCHEMA;
}

/// The encrypted fields of the value behind a pointer, found like those of [`Contents`].
#[derive(Debug)]
pub struct Pointee<T: ?Sized>(PhantomData<T>);

impl<T: Deref<Target: Held>> Pointee<T> {
    /// Whether there are any.
    pub const ENCRYPTED: bool = T::Target::ENCRYPTED;
    /// The schema of the values.
    pub const SCHEMA: SchemaOf = T::Target::SCHEMA;
}

/// The encrypted fields of the values behind the pointers in an array.
#[derive(Debug)]
pub struct PointeesInside<T: ?Sized>(PhantomData<T>);

impl<P: Deref<Target: Held>, T: IntoIterator<Item = P>> PointeesInside<T> {
    /// Whether there are any.
    pub const ENCRYPTED: bool = P::Target::ENCRYPTED;
    /// The schema of the values.
    pub const SCHEMA: SchemaOf = P::Target::SCHEMA;
}

/// The encrypted fields of the values behind the pointers in a map.
#[derive(Debug)]
pub struct PointeesOfEntries<T: ?Sized>(PhantomData<T>);

impl<K, P: Deref<Target: Held>, T: IntoIterator<Item = (K, P)>> PointeesOfEntries<T> {
    /// Whether there are any.
    pub const ENCRYPTED: bool = P::Target::ENCRYPTED;
    /// The schema of the values.
    pub const SCHEMA: SchemaOf = P::Target::SCHEMA;
}

/// The encrypted fields of the values of a map, whatever its keys are.
#[derive(Debug)]
pub struct Entries<T: ?Sized>(PhantomData<T>);

impl<K, V: Held, T: IntoIterator<Item = (K, V)>> Entries<T> {
    /// Whether there are any.
    pub const ENCRYPTED: bool = V::ENCRYPTED;
    /// The schema of the values.
    pub const SCHEMA: SchemaOf = V::SCHEMA;
}

/// Used for types without typed paths.
pub trait NoContents {
    /// `false`.
    const ENCRYPTED: bool = false;
    /// A schema that permits all values.
    const SCHEMA: SchemaOf = |_| Document::new();
}

impl<T: ?Sized> NoContents for Contents<T> {}
impl<T: ?Sized> NoContents for Inside<T> {}
impl<T: ?Sized> NoContents for Pointee<T> {}
impl<T: ?Sized> NoContents for PointeesInside<T> {}
impl<T: ?Sized> NoContents for PointeesOfEntries<T> {}
impl<T: ?Sized> NoContents for Entries<T> {}
