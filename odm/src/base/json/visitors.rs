//! The visitors: of values whose parts can be types of crate bson, and of these types.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use super::read::{Access, PlainDeserializer};
use super::requested::Requested;
use crate::base::bson::{BinarySubtype, Bson, DateTime, Decimal128, ObjectId};

/// Forwards a value to the visitor of the type that is read, with its parts as plain JSON.
pub(super) struct Parts<V> {
    pub(super) visitor: V,
    /// The type of the content of an `Option`.
    pub(super) content: Option<Requested>,
}

impl<V> Parts<V> {
    pub(super) fn new(visitor: V) -> Self {
        let content = None;
        Self { visitor, content }
    }
}

macro_rules! forward {
    ($($name:ident($type:ty))*) => { $(
        fn $name<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.visitor.$name(value)
        }
    )* };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Parts<V> {
    type Value = V::Value;

    forward! {
        visit_bool(bool)
        visit_i8(i8)
        visit_i16(i16)
        visit_i32(i32)
        visit_i64(i64)
        visit_i128(i128)
        visit_u8(u8)
        visit_u16(u16)
        visit_u32(u32)
        visit_u64(u64)
        visit_u128(u128)
        visit_f32(f32)
        visit_f64(f64)
        visit_char(char)
        visit_str(&str)
        visit_borrowed_str(&'de str)
        visit_string(String)
        visit_bytes(&[u8])
        visit_borrowed_bytes(&'de [u8])
        visit_byte_buf(Vec<u8>)
    }

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.visitor
            .visit_some(PlainDeserializer::new(deserializer, self.content))
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.visitor
            .visit_newtype_struct(PlainDeserializer::new(deserializer, None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_seq(Access(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(Access(entries))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_enum(Access(variant))
    }
}

/// Reads the text of a type of crate bson, and passes the value to crate bson's visitor in the form that it
/// takes for this type. Its errors do not contain the value.
pub(super) struct FromText<V> {
    pub(super) requested: Requested,
    pub(super) visitor: V,
}

impl<'de, V: Visitor<'de>> FromText<V> {
    /// Passes Extended JSON with one key.
    fn extended<E: Error>(
        self,
        key: &'static str,
        value: impl IntoDeserializer<'de, E>,
    ) -> Result<V::Value, E> {
        self.visitor
            .visit_map(MapDeserializer::new(std::iter::once((key, value))))
    }

    fn date<E: Error>(self, date: DateTime) -> Result<V::Value, E> {
        self.extended("$date", date.timestamp_millis())
    }

    fn number<E: Error>(self, number: impl fmt::Display, kind: &'static str) -> Result<V::Value, E> {
        match self.requested {
            Requested::Decimal128 => self.extended("$numberDecimal", number.to_string()),
            _ => self.other_type(kind),
        }
    }

    #[cold]
    fn other_type<E: Error>(self, found: &'static str) -> Result<V::Value, E> {
        Err(E::invalid_type(Unexpected::Other(found), &self))
    }

    #[cold]
    fn other_text<E: Error>(self) -> Result<V::Value, E> {
        Err(E::invalid_value(Unexpected::Other("text"), &self))
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for FromText<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.requested {
            Requested::ObjectId => "an ObjectId of 24 hexadecimal digits",
            Requested::DateTime => "a date in the form of RFC 3339",
            Requested::Decimal128 => "a decimal number of at most 34 digits, as text or as a number",
            Requested::Uuid => "a UUID",
            Requested::Binary => "binary data in base64, or a UUID with hyphens",
        })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        match self.requested {
            Requested::ObjectId => match ObjectId::parse_str(text) {
                Ok(_) => self.visitor.visit_str(text),
                Err(_) => self.other_text(),
            },
            Requested::DateTime => match DateTime::parse_rfc3339_str(text) {
                Ok(date) => self.date(date),
                Err(_) => self.other_text(),
            },
            Requested::Decimal128 => match text.parse::<Decimal128>() {
                Ok(_) => self.extended("$numberDecimal", text.to_owned()),
                Err(_) => self.other_text(),
            },
            Requested::Uuid => match uuid::Uuid::try_parse(text) {
                Ok(_) => self.visitor.visit_str(text),
                Err(_) => self.other_text(),
            },
            Requested::Binary => match (uuid::Uuid::try_parse(text), STANDARD.decode(text)) {
                // Base64 has no hyphens. Without them, the text is base64.
                (Ok(_), Err(_)) => self.extended("$uuid", text.to_owned()),
                (_, Ok(bytes)) => self.visitor.visit_byte_buf(bytes),
                (Err(_), Err(_)) => self.other_text(),
            },
        }
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<V::Value, E> {
        self.other_type("a boolean")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.number(value, "a number")
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<V::Value, E> {
        self.number(value, "a number")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.number(value, "a number")
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<V::Value, E> {
        self.number(value, "a number")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        // The shortest text that is this double, with an exponent if it is large.
        self.number(format_args!("{value:?}"), "a number")
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.other_type("null")
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.other_type("null")
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<V::Value, E> {
        match self.requested {
            Requested::DateTime | Requested::Decimal128 => self.other_type("bytes"),
            _ => self.visitor.visit_bytes(bytes),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<V::Value, A::Error> {
        self.other_type("an array")
    }

    /// Reads Extended JSON.
    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        match (
            self.requested,
            Bson::deserialize(MapAccessDeserializer::new(entries))?,
        ) {
            (Requested::ObjectId, Bson::ObjectId(id)) => self.visitor.visit_str(&id.to_hex()),
            (Requested::DateTime, Bson::DateTime(date)) => self.date(date),
            (Requested::Decimal128, Bson::Decimal128(decimal)) => {
                self.extended("$numberDecimal", decimal.to_string())
            }
            (Requested::Uuid, Bson::Binary(binary)) => match uuid::Uuid::from_slice(&binary.bytes) {
                Ok(uuid) if matches!(binary.subtype, BinarySubtype::Uuid | BinarySubtype::Generic) => {
                    self.visitor.visit_str(&uuid.to_string())
                }
                _ => self.other_type("binary data of another subtype or length"),
            },
            (Requested::Binary, Bson::Binary(binary)) => {
                let subtype = format!("{:02x}", u8::from(binary.subtype));
                let body = [("base64", STANDARD.encode(&binary.bytes)), ("subType", subtype)];
                self.extended("$binary", MapDeserializer::new(body.into_iter()))
            }
            _ => self.other_type("an object that is not its Extended JSON"),
        }
    }
}
