//! Map keys and field names: strings, from which integers, booleans and variants are parsed.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, Visitor};
use serde::forward_to_deserialize_any;

use crate::bson::error::DecodeError;

type Result<T> = std::result::Result<T, DecodeError>;

/// The deserializer of a key. Human readable, as the serializer of keys is.
#[derive(Clone, Copy)]
pub(super) struct KeyDeserializer<'de> {
    key: &'de str,
}

impl<'de> KeyDeserializer<'de> {
    #[inline]
    pub(super) fn new(key: &'de str) -> Self {
        Self { key }
    }

    fn parse<T: std::str::FromStr>(self, expected: &dyn de::Expected) -> Result<T> {
        self.key
            .parse()
            .map_err(|_| DecodeError::new(format!("expected a key that is {expected}")))
    }
}

macro_rules! parsed {
    ($($name:ident => $visit:ident),*) => {
        $(
            fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                let value = self.parse(&visitor)?;
                visitor.$visit(value)
            }
        )*
    };
}

impl<'de> de::Deserializer<'de> for KeyDeserializer<'de> {
    type Error = DecodeError;

    parsed! {
        deserialize_bool => visit_bool,
        deserialize_i8 => visit_i8,
        deserialize_i16 => visit_i16,
        deserialize_i32 => visit_i32,
        deserialize_i64 => visit_i64,
        deserialize_i128 => visit_i128,
        deserialize_u8 => visit_u8,
        deserialize_u16 => visit_u16,
        deserialize_u32 => visit_u32,
        deserialize_u64 => visit_u64,
        deserialize_u128 => visit_u128
    }

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_borrowed_str(self.key)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_enum(BorrowedStrDeserializer::new(self.key))
    }

    forward_to_deserialize_any! {
        f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}
