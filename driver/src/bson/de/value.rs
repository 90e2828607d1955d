//! One value as it stands in its document: what readers ask for most is answered from the bytes,
//! the rest from the value taken apart.

use std::any::type_name;

use serde::de::{Deserializer, Visitor};

use super::access::Access;
use super::parsed::Parsed;
use super::parsed_value::ParsedValue;
use super::{Context, Mode};
use crate::bson::error::DecodeError;
use crate::bson::protocol;
use crate::bson::raw_value::RawValue;
use crate::bson::spec::ElementType;

type Result<T> = std::result::Result<T, DecodeError>;

/// A value about to be given to its reader.
#[derive(Clone, Copy)]
pub(super) struct Value<'de, 'c> {
    pub(super) context: &'c Context<'de, 'c>,
    pub(super) raw: RawValue<'de>,
    pub(super) mode: Mode,
}

impl<'de, 'c> Value<'de, 'c> {
    /// The value taken apart, for what is asked less often.
    pub(super) fn parse(self) -> Result<ParsedValue<'de, 'c>> {
        let parsed = Parsed::read(self.raw)?;
        Ok(ParsedValue {
            context: self.context,
            parsed,
            mode: self.mode,
        })
    }

    #[inline]
    fn access(self) -> Result<Access<'de, 'c>> {
        self.access_fields(&[])
    }

    #[inline]
    fn access_fields(self, expected: &'static [&'static str]) -> Result<Access<'de, 'c>> {
        Access::new(self.context, self.mode, self.raw.bytes(), expected)
    }
}

macro_rules! integers {
    ($($name:ident)*) => {
        $(
            #[inline]
            fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                match self.raw.kind() {
                    ElementType::Int32 => visitor.visit_i32(self.raw.i32()?),
                    ElementType::Int64 => visitor.visit_i64(self.raw.i64()?),
                    _ => self.parse()?.$name(visitor),
                }
            }
        )*
    };
}

macro_rules! parsed {
    ($($name:ident($($arg:ident: $ty:ty),*))*) => {
        $(
            fn $name<V: Visitor<'de>>(self, $($arg: $ty,)* visitor: V) -> Result<V::Value> {
                self.parse()?.$name($($arg,)* visitor)
            }
        )*
    };
}

impl<'de> Deserializer<'de> for Value<'de, '_> {
    type Error = DecodeError;

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
    }

    parsed! {
        deserialize_char()
        deserialize_f32()
        deserialize_byte_buf()
        deserialize_unit()
        deserialize_unit_struct(name: &'static str)
        deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
        deserialize_identifier()
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        self.mode.human_readable
    }

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.raw.kind() {
            ElementType::Double => visitor.visit_f64(self.raw.f64()?),
            ElementType::Int32 => visitor.visit_i32(self.raw.i32()?),
            ElementType::Int64 => visitor.visit_i64(self.raw.i64()?),
            ElementType::EmbeddedDocument => visitor.visit_map(self.access()?),
            ElementType::Array => visitor.visit_seq(self.access()?),
            ElementType::String if !self.mode.lossy => visitor.visit_borrowed_str(self.raw.str()?),
            _ => self.parse()?.deserialize_any(visitor),
        }
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.raw.kind() {
            ElementType::Boolean => visitor.visit_bool(self.raw.bool()?),
            _ => self.parse()?.deserialize_bool(visitor),
        }
    }

    #[inline]
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.raw.kind() {
            ElementType::Double => visitor.visit_f64(self.raw.f64()?),
            _ => self.parse()?.deserialize_f64(visitor),
        }
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.raw.kind() {
            ElementType::String if !self.mode.lossy => visitor.visit_borrowed_str(self.raw.str()?),
            _ => self.parse()?.deserialize_str(visitor),
        }
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.raw.kind() {
            ElementType::ObjectId if type_name::<V::Value>().starts_with("bson::oid::") => {
                visitor.visit_borrowed_bytes(self.raw.bytes())
            }
            _ => self.parse()?.deserialize_bytes(visitor),
        }
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.raw.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        if name == protocol::DOCUMENT_BYTES && self.raw.kind() == ElementType::EmbeddedDocument {
            visitor.visit_borrowed_bytes(self.raw.bytes())
        } else if name.starts_with('$') {
            self.parse()?.deserialize_newtype_struct(name, visitor)
        } else {
            visitor.visit_newtype_struct(self)
        }
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.raw.kind() {
            ElementType::Array => visitor.visit_seq(self.access()?),
            _ => self.parse()?.deserialize_seq(visitor),
        }
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.raw.kind() {
            ElementType::EmbeddedDocument => visitor.visit_map(self.access()?),
            _ => self.parse()?.deserialize_map(visitor),
        }
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.raw.kind() {
            ElementType::EmbeddedDocument => visitor.visit_map(self.access_fields(fields)?),
            _ => self.parse()?.deserialize_map(visitor),
        }
    }

    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }
}
