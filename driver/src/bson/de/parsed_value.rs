//! One value taken apart: how each serde request is answered by each BSON type.

use std::any::type_name;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserializer, Expected, Visitor};

use super::access::Access;
use super::parsed::Parsed;
use super::variant::Variant;
use super::{Context, Mode, vocabulary};
use crate::bson::error::{DecodeError, Found};
use crate::bson::protocol;
use crate::bson::raw_value::{integral, utf8};
use crate::bson::spec::{BinarySubtype, ElementType};

type Result<T> = std::result::Result<T, DecodeError>;

/// A value about to be given to its reader.
#[derive(Clone, Copy)]
pub(super) struct ParsedValue<'de, 'c> {
    pub(super) context: &'c Context<'de, 'c>,
    pub(super) parsed: Parsed<'de>,
    pub(super) mode: Mode,
}

impl<'de, 'c> ParsedValue<'de, 'c> {
    pub(super) fn new(context: &'c Context<'de, 'c>, parsed: Parsed<'de>) -> Self {
        Self {
            context,
            parsed,
            mode: Mode::TOP,
        }
    }

    #[cold]
    fn mismatch<T>(&self, expected: &dyn Expected) -> Result<T> {
        let message = format!("expected {expected}");
        Err(DecodeError::found(
            message.into(),
            Found::Element(self.parsed.kind()),
        ))
    }

    /// Gives text, repaired if that is wished and needed.
    #[inline]
    pub(super) fn text<V: Visitor<'de>>(self, text: &'de [u8], visitor: V) -> Result<V::Value> {
        match utf8(text) {
            Ok(text) => visitor.visit_borrowed_str(text),
            Err(_) if self.mode.lossy => visitor.visit_string(String::from_utf8_lossy(text).into_owned()),
            Err(error) => Err(error),
        }
    }

    #[inline]
    fn access(self, document: &'de [u8]) -> Result<Access<'de, 'c>> {
        Access::new(self.context, self.mode, document, &[])
    }

    /// Gives a number to a reader of integers.
    #[inline]
    fn integer<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.parsed {
            Parsed::Int32(number) => visitor.visit_i32(number),
            Parsed::Int64(number) => visitor.visit_i64(number),
            Parsed::Double(number) => match integral(number) {
                Some(number) => visitor.visit_i64(number),
                None => Err(DecodeError::new(format!(
                    "expected {}, found a Double with a fraction or out of range",
                    &visitor as &dyn Expected
                ))),
            },
            _ => self.mismatch(&visitor),
        }
    }

    #[inline]
    fn float<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.parsed {
            Parsed::Double(number) => visitor.visit_f64(number),
            Parsed::Int32(number) => visitor.visit_i32(number),
            Parsed::Int64(number) => visitor.visit_i64(number),
            _ => self.mismatch(&visitor),
        }
    }

    fn bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let reader = type_name::<V::Value>();
        let wants_uuid = reader.starts_with("uuid::");
        let wants_object_id = reader.starts_with("bson::oid::");
        match self.parsed {
            Parsed::ObjectId(id) if wants_object_id => visitor.visit_bytes(&id),
            Parsed::Binary { .. } if wants_object_id => self.mismatch(&"an ObjectId"),
            _ if wants_object_id => self.mismatch(&"an ObjectId"),
            Parsed::Binary { subtype, bytes } => {
                if wants_uuid {
                    require_uuid(subtype)?;
                }
                visitor.visit_borrowed_bytes(bytes)
            }
            _ if wants_uuid => self.mismatch(&"a UUID, which is Binary subtype 4"),
            Parsed::Array(array) => visitor.visit_seq(self.access(array)?),
            _ => self.mismatch(&visitor),
        }
    }

    /// Gives documents and arrays as their bytes, the way crate bson's raw types take them.
    fn raw<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.parsed {
            Parsed::Document(bytes) => {
                visitor.visit_map(vocabulary::Parts::raw(protocol::RAW_DOCUMENT, bytes))
            }
            Parsed::Array(bytes) => visitor.visit_map(vocabulary::Parts::raw(protocol::RAW_ARRAY, bytes)),
            _ => self.plain(visitor),
        }
    }

    /// Gives what the value is, whoever asks.
    #[inline]
    fn plain<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.parsed {
            Parsed::Double(number) => visitor.visit_f64(number),
            Parsed::String(text) => self.text(text, visitor),
            Parsed::Document(document) => visitor.visit_map(self.access(document)?),
            Parsed::Array(array) => visitor.visit_seq(self.access(array)?),
            Parsed::Boolean(value) => visitor.visit_bool(value),
            Parsed::Null => visitor.visit_unit(),
            Parsed::Int32(number) => visitor.visit_i32(number),
            Parsed::Int64(number) => visitor.visit_i64(number),
            Parsed::Binary {
                subtype: BinarySubtype::Generic,
                bytes,
            } => visitor.visit_borrowed_bytes(bytes),
            _ => vocabulary::visit(self, visitor),
        }
    }

    fn tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value> {
        let Parsed::Array(array) = self.parsed else {
            return self.mismatch(&visitor);
        };
        let mut access = self.access(array)?;
        let value = visitor.visit_seq(&mut access)?;
        if access.is_finished() {
            Ok(value)
        } else {
            Err(DecodeError::new(format!("expected {len} elements, found more")))
        }
    }
}

#[inline]
fn require_uuid(subtype: BinarySubtype) -> Result<()> {
    if subtype == BinarySubtype::Uuid {
        Ok(())
    } else {
        Err(not_uuid(subtype))
    }
}

#[cold]
pub(super) fn not_uuid(subtype: BinarySubtype) -> DecodeError {
    let legacy = if subtype == BinarySubtype::UuidOld {
        ", a legacy UUID"
    } else {
        ""
    };
    let number = u8::from(subtype);
    DecodeError::new(format!(
        "expected a UUID, which is Binary subtype 4, found Binary subtype {number}{legacy}"
    ))
}

macro_rules! forward {
    ($($to:ident: $($name:ident)*;)*) => {
        $($(
            #[inline]
            fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                self.$to(visitor)
            }
        )*)*
    };
}

impl<'de> Deserializer<'de> for ParsedValue<'de, '_> {
    type Error = DecodeError;

    forward! {
        plain: deserialize_any deserialize_identifier;
        integer: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
            deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128;
        float: deserialize_f32 deserialize_f64;
        bytes: deserialize_bytes deserialize_byte_buf;
        deserialize_str: deserialize_char deserialize_string;
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        self.mode.human_readable
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.parsed {
            Parsed::Boolean(value) => visitor.visit_bool(value),
            _ => self.mismatch(&visitor),
        }
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.parsed {
            Parsed::String(text) => self.text(text, visitor),
            _ => self.mismatch(&visitor),
        }
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.parsed {
            Parsed::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.parsed {
            Parsed::Null => visitor.visit_unit(),
            _ => self.mismatch(&visitor),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value> {
        self.deserialize_unit(visitor)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        mut self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        if name.starts_with('$') {
            match (name, self.parsed) {
                (protocol::RAW_BSON, _)
                | (protocol::RAW_DOCUMENT, Parsed::Document(_))
                | (protocol::RAW_ARRAY, Parsed::Array(_)) => return self.raw(visitor),
                (protocol::RAW_DOCUMENT, _) => return self.mismatch(&"a document"),
                (protocol::RAW_ARRAY, _) => return self.mismatch(&"an array"),
                (protocol::UUID, Parsed::Binary { subtype, bytes }) => {
                    require_uuid(subtype)?;
                    return visitor.visit_borrowed_bytes(bytes);
                }
                (protocol::UUID, _) => return self.mismatch(&"a UUID, which is Binary subtype 4"),
                (protocol::HUMAN_READABLE, _) => self.mode.human_readable = true,
                (protocol::UTF8_LOSSY, _) => self.mode.lossy = true,
                _ => {}
            }
        }
        visitor.visit_newtype_struct(self)
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.parsed {
            Parsed::Array(array) => visitor.visit_seq(self.access(array)?),
            _ => self.mismatch(&visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value> {
        self.tuple(len, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.tuple(len, visitor)
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.parsed {
            Parsed::Document(document) => visitor.visit_map(self.access(document)?),
            _ => self.mismatch(&visitor),
        }
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.parsed {
            Parsed::String(name) => visitor.visit_enum(BorrowedStrDeserializer::new(utf8(name)?)),
            Parsed::Document(document) => visitor.visit_enum(Variant::new(self.access(document)?)?),
            _ => self.mismatch(&visitor),
        }
    }

    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }
}

impl ParsedValue<'_, '_> {
    /// The value's BSON type.
    pub(super) fn kind(&self) -> ElementType {
        self.parsed.kind()
    }
}
