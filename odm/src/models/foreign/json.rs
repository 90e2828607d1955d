//! `serde_json::Value` and `serde_json::Map`: any value that JSON has.

use serde_json::{Map, Value as Json};

use crate::{
    base::{
        bson::{
            Bson, DecodeError, Document, ElementType, EncodeError,
            codec::{Elements, Fields, Names},
        },
        error::ValueError,
    },
    form::json_schema::{self, OuterTypes},
    models::projection::{Present, Projection},
    path::{
        Mode, Path,
        field::Field,
        marker::{self, HashedKey, IndexKey, Integer, ListItem, Numeric, Ordered, Text},
    },
    term::{
        encryption::EncryptedValue,
        expr::{Expr, Operand, lit},
    },
    values::{
        codec::{self, Decode, DecodeFields, Encode, EncodeFields, Value, Writer, read, write},
        value::IntoValue,
    },
};

impl Encode for Json {
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        match self {
            Json::Null => ().encode(out),
            Json::Bool(value) => value.encode(out),
            Json::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(integer), _) => integer.encode(out),
                // An error, as for each `u64` that is not an Int64.
                (None, Some(integer)) => integer.encode(out),
                // With arbitrary precision, `as_f64` rounds integers.
                (None, None) => match number.as_f64() {
                    Some(double) if number.is_f64() => double.encode(out),
                    _ => Err(EncodeError::new(format!(
                        "the number {number} is out of the range of Int64 and Double"
                    ))),
                },
            },
            Json::String(text) => text.encode(out),
            Json::Array(items) => items.encode(out),
            Json::Object(object) => object.encode(out),
        }
    }
}

impl<'de> Decode<'de> for Json {
    fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
        match value.kind() {
            ElementType::Null => Ok(Json::Null),
            ElementType::Boolean => bool::decode(value).map(Json::Bool),
            ElementType::Int32 | ElementType::Int64 => i64::decode(value).map(Json::from),
            ElementType::Double => {
                let double = f64::decode(value)?;
                let number = serde_json::Number::from_f64(double);
                number
                    .map(Json::Number)
                    .ok_or_else(|| DecodeError::new(format!("JSON has no number {double}")))
            }
            ElementType::String => String::decode(value).map(Json::String),
            ElementType::Array => read::list(value).map(Json::Array),
            ElementType::EmbeddedDocument => Map::decode(value).map(Json::Object),
            _ => Err(value.mismatch("a value that JSON has")),
        }
    }
}

impl Encode for Map<String, Json> {
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        write::fields(out, &Names::NONE, |out| self.encode_fields(out))
    }
}

impl<'de> Decode<'de> for Map<String, Json> {
    fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
        read::document::<Self>(value)
    }
}

/// Flattened: the keys that are not those of fields.
impl EncodeFields for Map<String, Json> {
    const NAMES: Names = Names::MAP;

    fn encode_fields(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        write::entries(self, out)
    }
}

impl<'de> DecodeFields<'de> for Map<String, Json> {
    type Out = Self;
    type Partial = Self;
    const KEYS: &'static [&'static str] = &[];
    const IS_MAP: bool = true;

    fn begin(_elements: Elements<'de>) -> Result<Self, DecodeError> {
        Ok(Map::new())
    }

    fn take(map: &mut Self, _index: usize, field: &Fields<'de>) -> Result<bool, DecodeError> {
        let value = Json::decode(field.value()).map_err(|error| field.locate(error))?;
        match map.insert(field.key().to_owned(), value) {
            None => Ok(true),
            Some(_) => Err(field.duplicate()),
        }
    }

    fn finish(map: Self) -> Result<Self, DecodeError> {
        Ok(map)
    }
}

macro_rules! fields {
    ($($t:ty: $schema:expr;)*) => { $(
        impl Field for $t {
            type Nav<R, M: Mode> = Path<R, $t, M>;
            fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
                path
            }
            fn json_schema(_outer: &mut OuterTypes) -> Document {
                $schema
            }
        }
        impl<R> Operand<R> for $t {
            type Value = $t;
            fn into_operand(self) -> Expr<R, $t> {
                lit(self)
            }
        }
        /// The fields of an object.
        impl marker::Map for $t {
            type Key = String;
            type Value = Json;
        }
        impl Projection<$t> for $t {}
        impl Present for $t {}
        impl IndexKey for $t {}
        impl HashedKey for $t {}
        impl ListItem for $t {}
    )* };
}
fields! {
    Json: Document::new();
    Map<String, Json>: json_schema::types(&["object"]);
}
impl Ordered for Json {}
impl Numeric for Json {}
impl Integer for Json {}
impl Text for Json {}
impl EncryptedValue for Map<String, Json> {
    const BSON_TYPE: &'static str = "object";
}

/// Values that are compared with fields, and written to them.
macro_rules! values {
    ($($value:ty => $field:ty;)*) => { $(
        #[diagnostic::do_not_recommend]
        impl IntoValue<$field> for $value {
            fn into_value(self) -> Result<Bson, ValueError> {
                codec::to_bson(&self)
            }
        }
        #[diagnostic::do_not_recommend]
        impl IntoValue<Option<$field>> for $value {
            fn into_value(self) -> Result<Bson, ValueError> {
                codec::to_bson(&self)
            }
        }
    )* };
}
values! {
    Json => Json;
    &Json => Json;
    Map<String, Json> => Json;
    &Map<String, Json> => Json;
    bool => Json;
    i64 => Json;
    f64 => Json;
    &str => Json;
    String => Json;
    &String => Json;
    Map<String, Json> => Map<String, Json>;
    &Map<String, Json> => Map<String, Json>;
}

/// Integers are stored as those of a `Json` are: as Int64.
macro_rules! integers {
    ($($t:ty)*) => { $(
        #[diagnostic::do_not_recommend]
        impl IntoValue<Json> for $t {
            fn into_value(self) -> Result<Bson, ValueError> {
                codec::to_bson(&i64::from(self))
            }
        }
        #[diagnostic::do_not_recommend]
        impl IntoValue<Option<Json>> for $t {
            fn into_value(self) -> Result<Bson, ValueError> {
                codec::to_bson(&i64::from(self))
            }
        }
    )* };
}
integers! { i32 u32 }
