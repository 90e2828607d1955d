//! Models as they are passed to the driver.
//!
//! A model is written by its own `Serialize`. Crate bson serializes ObjectIds and DateTimes as
//! text, and the dates and decimals of other crates are text. The derives know the fields of these
//! types, so their bytes are sent to the encoder first; see [`raw_ids`]. What is read is converted
//! back by the type's [`Form`].

use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};

use crate::bson::raw_ids::{self, RawIdVisitor, RawIds};
use crate::bson::{Bson, RawDocument, from_bson_owned, from_raw, from_slice, to_bson};
use crate::error::ValueError;
use crate::form::Form;
use crate::form::decode::{self, Undecodable};
use crate::path::field::Field;

/// A model, or a part of it, that the driver writes.
#[derive(Debug)]
pub(crate) struct Stored<'a, D, T = D> {
    model: &'a D,
    part: &'a T,
}

impl<'a, D> Stored<'a, D> {
    /// A whole model.
    #[inline]
    pub(crate) fn new(model: &'a D) -> Self {
        Self::part(model, model)
    }
}

impl<'a, D, T> Stored<'a, D, T> {
    /// A value within a model.
    #[inline]
    pub(crate) fn part(model: &'a D, part: &'a T) -> Self {
        Stored { model, part }
    }
}

impl<D: Field, T> RawIds for Stored<'_, D, T> {
    #[inline]
    fn raw_ids<'a, V: RawIdVisitor<'a>>(&'a self, visitor: &mut V) {
        self.model.raw_ids(visitor);
    }
}

impl<D: Field, T: Serialize> Serialize for Stored<'_, D, T> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        raw_ids::serialize(self, self.part, serializer)
    }
}

/// A value whose parts are visited, and not the value as a whole.
struct Parts<'a, T>(&'a T);

impl<T: Field> RawIds for Parts<'_, T> {
    fn raw_ids<'a, V: RawIdVisitor<'a>>(&'a self, visitor: &mut V) {
        self.0.parts(visitor);
    }
}

impl<T: Field + Serialize> Serialize for Parts<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        raw_ids::serialize(self, self.0, serializer)
    }
}

/// The stored form of a value that is written by its `Serialize`, except for its parts.
pub fn stored_by_parts<T: Field + Serialize>(value: &T) -> Option<Result<Bson, ValueError>> {
    Some(to_bson(&Parts(value)).map_err(ValueError::from))
}

/// The stored form of a value.
pub fn stored_value<T: Field + Serialize>(value: &T) -> Result<Bson, ValueError> {
    to_bson(&Stored::new(value)).map_err(ValueError::from)
}

/// Decodes a document from its bytes.
#[inline]
pub(crate) fn decode_bytes<T: Field + DeserializeOwned>(bytes: &[u8]) -> Result<T, Undecodable> {
    match T::form() {
        Form::Plain => Ok(from_slice(bytes)?),
        form => decode_converted(form, bytes),
    }
}

/// Decodes a document. Always inlined: otherwise each found document is copied twice more.
#[inline(always)]
pub(crate) fn decode_raw<T: Field + DeserializeOwned>(raw: &RawDocument) -> Result<T, Undecodable> {
    match T::form() {
        Form::Plain => Ok(from_raw(raw)?),
        form => decode_converted(form, raw.as_bytes()),
    }
}

#[inline(never)]
fn decode_converted<T: DeserializeOwned>(form: Form, bytes: &[u8]) -> Result<T, Undecodable> {
    Ok(from_slice(&decode::converted(form, bytes)?)?)
}

/// Decodes a value.
pub(crate) fn decode_value<T: Field + DeserializeOwned + 'static>(value: &Bson) -> Result<T, Undecodable> {
    match T::form() {
        Form::Plain => Ok(from_bson_owned(value)?),
        form => Ok(from_bson_owned(&decode::converted_value(form, value)?)?),
    }
}
