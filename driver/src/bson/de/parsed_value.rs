//! One parsed value: the answers of each BSON type to each serde request.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserializer, Expected, Visitor};

use super::access::Access;
use super::extended_json_shapes::Parts;
use super::parsed::Parsed;
use super::variant::Variant;
use super::{Context, Mode, extended_json_shapes};
use crate::bson::{
    Bson, ObjectId,
    error::{DecodeError, Found},
    markers,
    raw_value::{integral, utf8},
    same_type,
    spec::{BinarySubtype, ElementType},
};

type Result<T> = std::result::Result<T, DecodeError>;

/// The deserializer of a parsed value.
#[derive(Clone, Copy)]
pub(super) struct ParsedValue<'de, 'c> {
    pub(super) context: &'c Context<'de>,
    pub(super) parsed: Parsed<'de>,
    pub(super) mode: Mode,
}

impl<'de, 'c> ParsedValue<'de, 'c> {
    pub(super) fn new(context: &'c Context<'de>, parsed: Parsed<'de>) -> Self {
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

    /// Deserializes text. Replaces invalid UTF-8 if the reader requests it.
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

    /// The elements for a reader of any type.
    #[inline]
    fn access_of_any(mut self, document: &'de [u8]) -> Result<Access<'de, 'c>> {
        self.mode = self.mode.of_any();
        self.access(document)
    }

    /// Deserializes a number for a reader of integers.
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
        // Both types request bytes, as `Vec<u8>` does, but are stored as a BSON type of their own.
        let wants_object_id = same_type::is::<V::Value, ObjectId>();
        let wants_uuid = same_type::is::<V::Value, uuid::Uuid>();
        match self.parsed {
            Parsed::ObjectId(id) if wants_object_id => visitor.visit_bytes(&id),
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

    /// Deserializes documents and arrays as their bytes, for crate bson's raw types.
    fn raw<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.parsed {
            Parsed::Document(bytes) => visitor.visit_map(Parts::raw(markers::RAW_DOCUMENT, bytes)),
            Parsed::Array(bytes) => visitor.visit_map(Parts::raw(markers::RAW_ARRAY, bytes)),
            _ => self.plain(visitor),
        }
    }

    /// Deserializes the value as its own type.
    #[inline]
    fn plain<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.parsed {
            Parsed::Double(number) => visitor.visit_f64(number),
            Parsed::String(text) => self.text(text, visitor),
            Parsed::Document(document) => visitor.visit_map(self.access_of_any(document)?),
            Parsed::Array(array) => visitor.visit_seq(self.access_of_any(array)?),
            Parsed::Boolean(value) => visitor.visit_bool(value),
            Parsed::Null => visitor.visit_unit(),
            Parsed::Int32(number) => visitor.visit_i32(number),
            Parsed::Int64(number) => visitor.visit_i64(number),
            Parsed::Binary {
                subtype: BinarySubtype::Generic,
                bytes,
            } => visitor.visit_borrowed_bytes(bytes),
            _ => extended_json_shapes::visit(self, visitor),
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
                (markers::RAW_BSON, _)
                | (markers::RAW_DOCUMENT, Parsed::Document(_))
                | (markers::RAW_ARRAY, Parsed::Array(_)) => return self.raw(visitor),
                (markers::RAW_DOCUMENT, _) => return self.mismatch(&"a document"),
                (markers::RAW_ARRAY, _) => return self.mismatch(&"an array"),
                (markers::UUID, Parsed::Binary { subtype, bytes }) => {
                    require_uuid(subtype)?;
                    return visitor.visit_borrowed_bytes(bytes);
                }
                (markers::UUID, _) => return self.mismatch(&"a UUID, which is Binary subtype 4"),
                (markers::HUMAN_READABLE, _) => self.mode.human_readable = true,
                (markers::UTF8_LOSSY, _) => self.mode.lossy = true,
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
            Parsed::Document(document) if same_type::is::<V::Value, Bson>() => {
                visitor.visit_map(self.access_of_any(document)?)
            }
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
