//! The checks of encrypted fields in code that the derives generate.

use std::marker::PhantomData;

use crate::encryption::{EncryptedField, EncryptedValue, EqualityValue, RangeValue, StringValue};
use crate::path::field::Field;

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
    note = "add `#[serde(skip_serializing_if = \"Option::is_none\")]` to the field"
)]
pub trait NotNull {}
impl<T: EncryptedValue> NotNull for T {}

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
