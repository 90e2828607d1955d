//! Functions that the code of the derives calls for the types of fields.

use std::marker::PhantomData;

use ::serde::de::DeserializeOwned;
use ::serde::{Deserialize, Serialize};

use crate::{
    base::bson::{DecodeError, EncodeError, codec::Fields},
    path::field::Field,
    values::codec::{Decode, DecodeOwned, Encode, StoredAs, Value, Writer, serde},
};

/// The codec of a type with typed paths.
///
/// A type without typed paths is an error at its field already. It has the functions of [`NoForm`], so that the missing
/// [`Encode`] and [`Decode`] are not two further errors.
#[derive(Debug)]
pub struct Probe<T>(PhantomData<fn() -> T>);

// An inherent function is found before the one of a trait.
impl<T: Field> Probe<T> {
    /// [`Encode::encode`].
    ///
    /// # Errors
    /// The value has no stored form.
    #[inline(always)]
    pub fn encode(value: &T, out: &mut Writer<'_>) -> Result<(), EncodeError>
    where
        T: Encode,
    {
        value.encode(out)
    }

    /// [`Encode::encode_field`].
    ///
    /// # Errors
    /// The value has no stored form; the error has the name.
    #[inline(always)]
    pub fn encode_field(value: &T, name: &'static str, out: &mut Writer<'_>) -> Result<(), EncodeError>
    where
        T: Encode,
    {
        value.encode_field(name, out)
    }

    /// [`Decode::decode`].
    ///
    /// # Errors
    /// The stored value has another form.
    #[inline(always)]
    pub fn decode<'de>(value: &Value<'de>) -> Result<T, DecodeError>
    where
        T: Decode<'de>,
    {
        T::decode(value)
    }

    /// [`Decode::missing`].
    #[inline(always)]
    #[must_use]
    pub fn missing<'de>() -> Option<T>
    where
        T: Decode<'de>,
    {
        T::missing()
    }

    /// [`Decode::read_field`].
    ///
    /// # Errors
    /// The field is there twice, or its value has another form.
    #[inline(always)]
    pub fn read_field<'de>(field: &Fields<'de>, slot: &mut Option<T>) -> Result<bool, DecodeError>
    where
        T: Decode<'de>,
    {
        T::read_field(field, slot)
    }

    /// [`Decode::required`].
    ///
    /// # Errors
    /// There is no value.
    #[inline(always)]
    pub fn required<'de>(slot: Option<T>, name: &'static str) -> Result<T, DecodeError>
    where
        T: Decode<'de>,
    {
        T::required(slot, name)
    }
}

/// The codec of a `T` that is stored as an `S`.
#[derive(Debug)]
pub struct Stated<T, S>(PhantomData<fn() -> (T, S)>);

impl<T, S: StoredAs<T>> Stated<T, S> {
    /// Writes the value that is stored in place of the other.
    ///
    /// # Errors
    /// The value has no stored form.
    pub fn encode(value: &T, out: &mut Writer<'_>) -> Result<(), EncodeError>
    where
        S: Encode,
    {
        S::store(value)?.encode(out)
    }

    /// Reads the value that is stored in place of the other.
    ///
    /// # Errors
    /// The stored value has another form.
    pub fn decode<'de>(value: &Value<'de>) -> Result<T, DecodeError>
    where
        S: Decode<'de>,
    {
        S::decode(value)?.load()
    }

    /// The value of a field that is not there, if the type that is stored in its place has one.
    #[must_use]
    pub fn missing<'de>() -> Option<T>
    where
        S: Decode<'de>,
    {
        S::missing()?.load().ok()
    }
}

/// [`Stated`] for types that may have no conversion: it then has the functions of [`NoForm`].
#[derive(Debug)]
pub struct StatedProbe<T, S>(PhantomData<fn() -> (T, S)>);

impl<T, S: StoredAs<T> + Encode + DecodeOwned> StatedProbe<T, S> {
    /// [`Stated::encode`].
    ///
    /// # Errors
    /// The value has no stored form.
    pub fn encode(value: &T, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        Stated::<T, S>::encode(value, out)
    }

    /// [`Stated::decode`].
    ///
    /// # Errors
    /// The stored value has another form.
    pub fn decode(value: &Value<'_>) -> Result<T, DecodeError> {
        Stated::<T, S>::decode(value)
    }

    /// [`Stated::missing`].
    #[must_use]
    pub fn missing() -> Option<T> {
        Stated::<T, S>::missing()
    }
}

/// The codec of a type that serde writes and reads.
#[derive(Debug)]
pub struct BySerde<T>(PhantomData<fn() -> T>);

impl<T> BySerde<T> {
    /// Writes the value by its `Serialize`.
    ///
    /// # Errors
    /// The value cannot be represented as BSON.
    pub fn encode(value: &T, out: &mut Writer<'_>) -> Result<(), EncodeError>
    where
        T: Serialize,
    {
        serde::write(out, value)
    }

    /// Reads the value by its `Deserialize`.
    ///
    /// # Errors
    /// The stored value has another form.
    pub fn decode<'de>(value: &Value<'de>) -> Result<T, DecodeError>
    where
        T: Deserialize<'de>,
    {
        serde::read(value)
    }

    /// The value of a field that is not there, if its `Deserialize` has one.
    #[must_use]
    pub fn missing<'de>() -> Option<T>
    where
        T: Deserialize<'de>,
    {
        serde::missing()
    }
}

/// [`BySerde`] for a type that may not have the traits: it then has the functions of [`NoForm`].
#[derive(Debug)]
pub struct SerdeProbe<T>(PhantomData<fn() -> T>);

impl<T: Serialize> SerdeProbe<T> {
    /// [`BySerde::encode`].
    ///
    /// # Errors
    /// The value cannot be represented as BSON.
    pub fn encode(value: &T, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        serde::write(out, value)
    }
}

impl<T: DeserializeOwned> SerdeProbe<T> {
    /// [`BySerde::decode`].
    ///
    /// # Errors
    /// The stored value has another form.
    pub fn decode(value: &Value<'_>) -> Result<T, DecodeError> {
        serde::read(value)
    }

    /// [`BySerde::missing`].
    #[must_use]
    pub fn missing() -> Option<T> {
        serde::missing()
    }
}

/// The types of fields with `#[document(opaque)]` that are written.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no form that serde writes",
    label = "`opaque` needs `Serialize` of `{Self}`",
    note = "derive or implement it, or store the field as another type by `#[document(as = Type)]`"
)]
pub trait WrittenBySerde {}

#[diagnostic::do_not_recommend]
impl<T: Serialize> WrittenBySerde for T {}

/// The types of fields with `#[document(opaque)]` that are read.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no form that serde reads",
    label = "`opaque` needs `Deserialize` of `{Self}`",
    note = "derive or implement it, or store the field as another type by `#[document(as = Type)]`"
)]
pub trait ReadBySerde {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned> ReadBySerde for T {}

/// Fails to compile, at the span of the type of an opaque field, if serde does not write it.
pub fn assert_written_by_serde<T: WrittenBySerde>() {}

/// Fails to compile, at the span of the type of an opaque field, if serde does not read it.
pub fn assert_read_by_serde<T: ReadBySerde>() {}

/// Fails to compile, at the span of the type in `as`, if the field's type is not stored as it.
pub fn assert_stored_as<T, S: StoredAs<T>>() {}

/// Used for a type without typed paths, which is a compile error at its field, and for a conversion that does not exist.
pub trait NoForm<T> {
    /// Writes nothing.
    ///
    /// # Errors
    /// None.
    fn encode(_value: &T, _out: &mut Writer<'_>) -> Result<(), EncodeError> {
        Ok(())
    }

    /// Writes nothing.
    ///
    /// # Errors
    /// None.
    fn encode_field(_value: &T, _name: &'static str, _out: &mut Writer<'_>) -> Result<(), EncodeError> {
        Ok(())
    }

    /// Reads nothing.
    ///
    /// # Errors
    /// Always.
    fn decode(_value: &Value<'_>) -> Result<T, DecodeError> {
        Err(DecodeError::new("the type has no stored form"))
    }

    /// There is no such value.
    #[must_use]
    fn missing() -> Option<T> {
        None
    }

    /// Reads nothing.
    ///
    /// # Errors
    /// Always.
    fn read_field(_field: &Fields<'_>, _slot: &mut Option<T>) -> Result<bool, DecodeError> {
        Err(DecodeError::new("the type has no stored form"))
    }

    /// There is no such value.
    ///
    /// # Errors
    /// Always.
    fn required(_slot: Option<T>, _name: &'static str) -> Result<T, DecodeError> {
        Err(DecodeError::new("the type has no stored form"))
    }
}

impl<T> NoForm<T> for Probe<T> {}
impl<T> NoForm<T> for SerdeProbe<T> {}
impl<T, S> NoForm<T> for StatedProbe<T, S> {}
