//! BSON types outside of the serde data model, in the shapes that crate bson deserializes them
//! from.
//!
//! A value is a map whose key is that of [Extended
//! JSON](https://github.com/mongodb/specifications/blob/master/source/extended-json/extended-json.md),
//! such as `$oid`. A type that is not crate bson's reads the same map.

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::error::Discarded;
use super::key::KeyDeserializer;
use super::parsed::Parsed;
use super::parsed_value::ParsedValue;
use crate::bson::{
    Timestamp,
    error::DecodeError,
    spec::BinarySubtype,
    text::{Hex, to_base64},
};

type Result<T> = std::result::Result<T, DecodeError>;

/// Deserializes a value whose type is not in the serde data model.
pub(super) fn visit<'de, V: Visitor<'de>>(value: ParsedValue<'de, '_>, visitor: V) -> Result<V::Value> {
    let one = |key, part| Parts([Some((key, part)), None]);
    let parts = match value.parsed {
        Parsed::ObjectId(id) => one("$oid", Part::Oid(id)),
        Parsed::DateTime(millis) => one("$date", Part::Millis(millis)),
        Parsed::Timestamp(timestamp) => one("$timestamp", Part::Timestamp(timestamp)),
        Parsed::Binary { subtype, bytes } => one("$binary", Part::Binary(subtype, bytes)),
        Parsed::Regex { pattern, options } => one("$regularExpression", Part::Regex { pattern, options }),
        Parsed::DbPointer { namespace, id } => one("$dbPointer", Part::DbPointer { namespace, id }),
        Parsed::Code(code) => one("$code", Part::Text(value, code)),
        Parsed::Symbol(symbol) => one("$symbol", Part::Text(value, symbol)),
        Parsed::CodeWithScope { code, scope } => {
            // A reader of any type nests two maps for a scope: one of the keys, one of the document.
            let scope = ParsedValue {
                parsed: Parsed::Document(scope),
                mode: value.mode.of_any().inner(value.context)?,
                ..value
            };
            Parts([
                Some(("$code", Part::Text(value, code))),
                Some(("$scope", Part::Scope(scope))),
            ])
        }
        Parsed::Decimal128(bytes) => one("$numberDecimalBytes", Part::Decimal(bytes)),
        Parsed::Undefined => one("$undefined", Part::Bool(true)),
        Parsed::MaxKey => one("$maxKey", Part::Int(1)),
        Parsed::MinKey => one("$minKey", Part::Int(1)),
        _ => return Err(DecodeError::mismatch("another type", value.kind())),
    };
    visitor.visit_map(parts)
}

/// The value of one key.
#[derive(Clone, Copy)]
enum Part<'de, 'c> {
    Oid([u8; 12]),
    /// An ObjectId in a shape of its own.
    WrappedOid([u8; 12]),
    Millis(i64),
    Timestamp(Timestamp),
    Binary(BinarySubtype, &'de [u8]),
    Regex {
        pattern: &'de str,
        options: &'de str,
    },
    DbPointer {
        namespace: &'de str,
        id: [u8; 12],
    },
    Decimal([u8; 16]),
    Text(ParsedValue<'de, 'c>, &'de [u8]),
    Scope(ParsedValue<'de, 'c>),
    Bool(bool),
    Int(i64),
    Str(&'de str),
    Bytes(&'de [u8]),
    /// Deserialized as base64 text.
    Base64(&'de [u8]),
    /// Deserialized as hexadecimal text.
    Hex(u8),
}

/// One or two keys: a map, or a sequence for structs that list their fields in this order.
pub(super) struct Parts<'de, 'c>([Option<(&'static str, Part<'de, 'c>)>; 2]);

impl<'de> Parts<'de, '_> {
    /// A document or array as bytes, with the name of its newtype as key.
    pub(super) fn raw(name: &'static str, bytes: &'de [u8]) -> Self {
        Self([Some((name, Part::Bytes(bytes))), None])
    }
}

impl<'de> MapAccess<'de> for Parts<'de, '_> {
    type Error = DecodeError;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        match self.0.first() {
            Some(Some((key, _))) => seed.deserialize(KeyDeserializer::new(key)).map(Some),
            _ => Ok(None),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        let [first, second] = std::mem::take(&mut self.0);
        self.0 = [second, None];
        match first {
            // Crate bson tries three forms of a date in turn. The errors of the first two cost
            // nothing if they carry nothing.
            Some((_, Part::Millis(millis))) => seed
                .deserialize(Millis(millis))
                .map_err(|Discarded| DecodeError::new("expected another type, found DateTime")),
            Some((_, part)) => seed.deserialize(part),
            None => Err(DecodeError::new("a map's value is requested before its key")),
        }
    }
}

impl<'de> SeqAccess<'de> for Parts<'de, '_> {
    type Error = DecodeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let [first, second] = std::mem::take(&mut self.0);
        self.0 = [second, None];
        first.map(|(_, part)| seed.deserialize(part)).transpose()
    }
}

impl<'de, 'c> Part<'de, 'c> {
    /// The fields of a part that is a struct. `requested` are the fields of the reader.
    fn fields(self, requested: &[&str]) -> Option<Parts<'de, 'c>> {
        Some(Parts(match self {
            Self::Timestamp(timestamp) => [
                Some(("t", Self::Int(timestamp.time.into()))),
                Some(("i", Self::Int(timestamp.increment.into()))),
            ],
            Self::Binary(subtype, bytes) if requested.contains(&"bytes") => [
                Some(("bytes", Self::Bytes(bytes))),
                Some(("subType", Self::Int(u8::from(subtype).into()))),
            ],
            Self::Binary(subtype, bytes) => [
                Some(("base64", Self::Base64(bytes))),
                Some(("subType", Self::Hex(subtype.into()))),
            ],
            Self::Regex { pattern, options } => [
                Some(("pattern", Self::Str(pattern))),
                Some(("options", Self::Str(options))),
            ],
            Self::DbPointer { namespace, id } => [
                Some(("$ref", Self::Str(namespace))),
                Some(("$id", Self::WrappedOid(id))),
            ],
            Self::WrappedOid(id) => [Some(("$oid", Self::Oid(id))), None],
            _ => return None,
        }))
    }

    /// Deserializes the part as its own type.
    fn plain<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self {
            Self::Oid(id) => visitor.visit_str(Hex::<24>::new(&id).as_str()),
            Self::Millis(number) | Self::Int(number) => visitor.visit_i64(number),
            Self::Decimal(bytes) => visitor.visit_bytes(&bytes),
            Self::Text(value, text) => value.text(text, visitor),
            Self::Scope(value) => value.deserialize_any(visitor),
            Self::Bool(value) => visitor.visit_bool(value),
            Self::Str(text) => visitor.visit_borrowed_str(text),
            Self::Bytes(bytes) => visitor.visit_borrowed_bytes(bytes),
            Self::Base64(bytes) => visitor.visit_string(to_base64(bytes)),
            Self::Hex(byte) => visitor.visit_str(Hex::<2>::new(&[byte]).as_str()),
            Self::Timestamp(_)
            | Self::Binary(..)
            | Self::Regex { .. }
            | Self::DbPointer { .. }
            | Self::WrappedOid(_) => match self.fields(&[]) {
                Some(fields) => visitor.visit_map(fields),
                None => Err(DecodeError::new("the value has no fields")),
            },
        }
    }

    fn bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self {
            Self::Oid(id) | Self::WrappedOid(id) => visitor.visit_bytes(&id),
            _ => self.plain(visitor),
        }
    }
}

macro_rules! forward {
    ($($to:ident: $($name:ident)*;)*) => {
        $($(
            fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                self.$to(visitor)
            }
        )*)*
    };
}

impl<'de> Deserializer<'de> for Part<'de, '_> {
    type Error = DecodeError;

    forward! {
        plain: deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32
            deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
            deserialize_f32 deserialize_f64 deserialize_char deserialize_str deserialize_string
            deserialize_unit deserialize_seq deserialize_identifier;
        bytes: deserialize_bytes deserialize_byte_buf;
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value> {
        self.plain(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        match self {
            Self::Scope(value) => value.deserialize_newtype_struct(name, visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value> {
        self.plain(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.plain(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self {
            Self::Scope(value) => value.deserialize_map(visitor),
            _ => self.plain(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.fields(fields) {
            // Crate bson's structs list their fields in this order.
            Some(parts) => visitor.visit_seq(parts),
            None => self.deserialize_map(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.plain(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }
}

/// The milliseconds of a date.
struct Millis(i64);

impl<'de> Deserializer<'de> for Millis {
    type Error = Discarded;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Discarded> {
        visitor.visit_i64(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Discarded> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> std::result::Result<V::Value, Discarded> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}
