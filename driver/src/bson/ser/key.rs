//! Map keys: strings, and types with a canonical text form.

use std::fmt::{self, Write};

use serde::ser::{Impossible, SerializeStruct};
use serde::{Serialize, Serializer};

use super::UNKNOWN;
use super::value::Text;
use crate::bson::{element::append_key, error::EncodeError, text::IndexKey};

type Result<T = ()> = std::result::Result<T, EncodeError>;

/// Writes a key, preceded by a placeholder for the type of the next value.
///
/// Human readable, so that UUIDs and IP addresses serialize as text.
pub(super) struct KeySerializer<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> KeySerializer<'a> {
    #[inline]
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    fn formatted(self, value: &(impl fmt::Display + ?Sized)) -> Result {
        self.out.push(UNKNOWN);
        let start = self.out.len();
        write!(Text(self.out), "{value}").map_err(|_| EncodeError::new("the key's text form failed"))?;
        if self.out.get(start..).unwrap_or_default().contains(&0) {
            return Err(EncodeError::zero_in_key());
        }
        self.out.push(0);
        Ok(())
    }

    fn refuse<T>(self, what: &'static str) -> Result<T> {
        Err(EncodeError::new(format!(
            "a map key must be a string, found {what}"
        )))
    }
}

macro_rules! integer {
    ($($name:ident: $ty:ty),*) => {
        $(
            fn $name(self, value: $ty) -> Result {
                self.formatted(&value)
            }
        )*
    };
}

impl<'a> Serializer for KeySerializer<'a> {
    type Ok = ();
    type Error = EncodeError;
    type SerializeSeq = Impossible<(), EncodeError>;
    type SerializeTuple = Impossible<(), EncodeError>;
    type SerializeTupleStruct = Impossible<(), EncodeError>;
    type SerializeTupleVariant = Impossible<(), EncodeError>;
    type SerializeMap = Impossible<(), EncodeError>;
    type SerializeStruct = ObjectIdKey<'a>;
    type SerializeStructVariant = Impossible<(), EncodeError>;

    integer! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_i128: i128, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32,
        serialize_u128: u128
    }

    fn is_human_readable(&self) -> bool {
        true
    }

    fn serialize_u64(self, value: u64) -> Result {
        match usize::try_from(value) {
            Ok(value) => self.serialize_str(IndexKey::new(value).as_str()),
            Err(_) => self.formatted(&value),
        }
    }

    fn serialize_bool(self, value: bool) -> Result {
        self.serialize_str(if value { "true" } else { "false" })
    }

    fn serialize_f32(self, _value: f32) -> Result {
        self.refuse("a float")
    }

    fn serialize_f64(self, _value: f64) -> Result {
        self.refuse("a float")
    }

    fn serialize_char(self, value: char) -> Result {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result {
        if append_key(self.out, UNKNOWN, value) {
            Ok(())
        } else {
            Err(EncodeError::zero_in_key())
        }
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result {
        self.formatted(value)
    }

    fn serialize_bytes(self, _value: &[u8]) -> Result {
        self.refuse("bytes")
    }

    fn serialize_none(self) -> Result {
        self.refuse("null")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result {
        self.refuse("null")
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result {
        self.refuse("null")
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _value: &T,
    ) -> Result {
        self.refuse("a variant with data")
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Self::SerializeSeq> {
        self.refuse("a sequence")
    }

    fn serialize_tuple(self, _len: usize) -> Result<Self::SerializeTuple> {
        self.refuse("a tuple")
    }

    fn serialize_tuple_struct(self, _name: &'static str, _len: usize) -> Result<Self::SerializeTupleStruct> {
        self.refuse("a tuple")
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeTupleVariant> {
        self.refuse("a variant with data")
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Self::SerializeMap> {
        self.refuse("a map")
    }

    fn serialize_struct(self, name: &'static str, len: usize) -> Result<Self::SerializeStruct> {
        if name == "$oid" && len == 1 {
            Ok(ObjectIdKey { out: self.out })
        } else {
            self.refuse("a struct")
        }
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeStructVariant> {
        self.refuse("a variant with data")
    }
}

/// An ObjectId as key: the hexadecimal text of its only field.
pub(super) struct ObjectIdKey<'a> {
    out: &'a mut Vec<u8>,
}

impl SerializeStruct for ObjectIdKey<'_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, _key: &'static str, value: &T) -> Result {
        value.serialize(KeySerializer::new(self.out))
    }

    fn end(self) -> Result {
        Ok(())
    }
}
