//! One value in its encoded form. The common requests are answered from the bytes, the others from
//! the parsed value.

use serde::de::{Deserializer, Visitor};

use super::access::Access;
use super::parsed::Parsed;
use super::parsed_value::ParsedValue;
use super::stored_parts::StoredParts;
use super::{Context, Mode};
use crate::bson::{
    Bson, ObjectId, error::DecodeError, markers, raw_value::RawValue, same_type, spec::ElementType,
};

type Result<T> = std::result::Result<T, DecodeError>;

/// A value in its encoded form.
pub(super) struct Element<'de, 'c> {
    pub(super) context: &'c Context<'de>,
    pub(super) raw: RawValue<'de>,
    pub(super) mode: Mode,
}

/// The deserializer of an element's value.
///
/// A reference, so that it is passed in a register to code that is not inlined.
#[derive(Clone, Copy)]
pub(super) struct Value<'e, 'de, 'c>(pub(super) &'e Element<'de, 'c>);

impl<'de, 'c> Value<'_, 'de, 'c> {
    /// The parsed value, for less common requests.
    fn parse(self) -> Result<ParsedValue<'de, 'c>> {
        Ok(ParsedValue {
            context: self.0.context,
            parsed: Parsed::read(self.0.raw)?,
            mode: self.0.mode,
        })
    }

    /// Answers a request from the parsed value. Not inlined, to keep the common path short.
    #[cold]
    #[inline(never)]
    fn parsed<T>(self, answer: impl FnOnce(ParsedValue<'de, 'c>) -> Result<T>) -> Result<T> {
        answer(self.parse()?)
    }

    /// Records that the value is passed to a reader that accepts any type.
    #[inline]
    fn pass_on(self, to_bson: bool) {
        self.0.context.pass_on(self.0.raw.bytes(), to_bson);
    }

    /// Deserializes the stored form of the value, for the types of [`exact`](crate::bson::exact).
    #[inline(never)]
    fn stored<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        let Element { context, raw, mode } = self.0;
        if name == markers::STORED_DOCUMENT && raw.kind() != ElementType::EmbeddedDocument {
            return Err(DecodeError::mismatch("a document", raw.kind()));
        }
        if mode.lossy {
            return visitor.visit_newtype_struct(self);
        }
        visitor
            .visit_seq(StoredParts::new(*raw, mode.depth))
            .map_err(|error| error.rebase(context.offset_of(raw.bytes())))
    }

    #[inline]
    fn access(self) -> Result<Access<'de, 'c>> {
        self.access_fields(&[])
    }

    /// The elements for a reader of any type.
    #[inline]
    fn access_of_any(self) -> Result<Access<'de, 'c>> {
        Access::new(self.0.context, self.0.mode.of_any(), self.0.raw.bytes(), &[])
    }

    #[inline]
    fn access_fields(self, expected: &'static [&'static str]) -> Result<Access<'de, 'c>> {
        Access::new(self.0.context, self.0.mode, self.0.raw.bytes(), expected)
    }
}

macro_rules! integers {
    ($($name:ident)*) => {
        $(
            #[inline]
            fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                match self.0.raw.kind() {
                    ElementType::Int32 => visitor.visit_i32(self.0.raw.i32()?),
                    ElementType::Int64 => visitor.visit_i64(self.0.raw.i64()?),
                    _ => self.parsed(|value| value.$name(visitor)),
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

impl<'de> Deserializer<'de> for Value<'_, 'de, '_> {
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
        self.0.mode.human_readable
    }

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.pass_on(same_type::is::<V::Value, Bson>());
        match self.0.raw.kind() {
            ElementType::Double => visitor.visit_f64(self.0.raw.f64()?),
            ElementType::Int32 => visitor.visit_i32(self.0.raw.i32()?),
            ElementType::Int64 => visitor.visit_i64(self.0.raw.i64()?),
            ElementType::EmbeddedDocument => visitor.visit_map(self.access_of_any()?),
            ElementType::Array => visitor.visit_seq(self.access_of_any()?),
            ElementType::String if !self.0.mode.lossy => visitor.visit_borrowed_str(self.0.raw.str()?),
            _ => self.parse()?.deserialize_any(visitor),
        }
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.raw.kind() {
            ElementType::Boolean => visitor.visit_bool(self.0.raw.bool()?),
            _ => self.parsed(|value| value.deserialize_bool(visitor)),
        }
    }

    #[inline]
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.raw.kind() {
            ElementType::Double => visitor.visit_f64(self.0.raw.f64()?),
            _ => self.parsed(|value| value.deserialize_f64(visitor)),
        }
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.raw.kind() {
            ElementType::String if !self.0.mode.lossy => visitor.visit_borrowed_str(self.0.raw.str()?),
            _ => self.parsed(|value| value.deserialize_str(visitor)),
        }
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.raw.kind() {
            ElementType::ObjectId if same_type::is::<V::Value, ObjectId>() => {
                visitor.visit_borrowed_bytes(self.0.raw.bytes())
            }
            _ => self.parsed(|value| value.deserialize_bytes(visitor)),
        }
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.0.raw.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        if name == markers::DOCUMENT_BYTES && self.0.raw.kind() == ElementType::EmbeddedDocument {
            let Element { context, raw, .. } = self.0;
            visitor
                .visit_borrowed_bytes(raw.bytes())
                .map_err(|error: DecodeError| error.rebase(context.offset_of(raw.bytes())))
        } else if name.starts_with('$') {
            if matches!(name, markers::STORED_VALUE | markers::STORED_DOCUMENT) {
                return self.stored(name, visitor);
            }
            self.pass_on(true);
            self.parsed(|value| value.deserialize_newtype_struct(name, visitor))
        } else {
            visitor.visit_newtype_struct(self)
        }
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.raw.kind() {
            ElementType::Array => visitor.visit_seq(self.access()?),
            _ => self.parsed(|value| value.deserialize_seq(visitor)),
        }
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let is_bson = same_type::is::<V::Value, Bson>();
        if is_bson {
            self.pass_on(true);
        }
        match self.0.raw.kind() {
            ElementType::EmbeddedDocument if is_bson => visitor.visit_map(self.access_of_any()?),
            ElementType::EmbeddedDocument => visitor.visit_map(self.access()?),
            _ => self.parsed(|value| value.deserialize_map(visitor)),
        }
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.0.raw.kind() {
            ElementType::EmbeddedDocument => visitor.visit_map(self.access_fields(fields)?),
            _ => self.parsed(|value| value.deserialize_map(visitor)),
        }
    }

    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }
}
