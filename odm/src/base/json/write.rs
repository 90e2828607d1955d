//! A serializer that forwards everything to another one, and writes the types of crate bson as text.
//!
//! Crate bson serializes them as structs that are named after their key in Extended JSON, such as `$oid`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{
    Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};
use serde::{Serialize, Serializer};

use super::requested::bytes_are_binary;
use crate::base::bson::{self, BinarySubtype, Bson, DateTime};

/// The first and the last date of the years 0 to 9999, in milliseconds.
const FIRST_DATE: i64 = -62_167_219_200_000;
const LAST_DATE: i64 = 253_402_300_799_999;

/// A part of a value.
pub(super) struct Value<'a, T: ?Sized>(pub(super) &'a T);

impl<T: Serialize + ?Sized> Serialize for Value<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(PlainSerializer {
            to: serializer,
            bytes_are_binary: bytes_are_binary::<T>(),
        })
    }
}

struct PlainSerializer<S> {
    to: S,
    /// Whether bytes are those of a `Binary`, and not of another type, whose JSON does not change.
    bytes_are_binary: bool,
}

macro_rules! forward_scalars {
    ($($name:ident($type:ty))*) => { $(
        fn $name(self, value: $type) -> Result<S::Ok, S::Error> {
            self.to.$name(value)
        }
    )* };
}

macro_rules! forward_compounds {
    ($($name:ident($($arg:ident: $type:ty),*) -> $compound:ident;)*) => { $(
        fn $name(self, $($arg: $type),*) -> Result<Self::$compound, S::Error> {
            self.to.$name($($arg),*).map(Parts)
        }
    )* };
}

impl<S: Serializer> Serializer for PlainSerializer<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Parts<S::SerializeSeq>;
    type SerializeTuple = Parts<S::SerializeTuple>;
    type SerializeTupleStruct = Parts<S::SerializeTupleStruct>;
    type SerializeTupleVariant = Parts<S::SerializeTupleVariant>;
    type SerializeMap = Parts<S::SerializeMap>;
    type SerializeStruct = PlainStruct<S>;
    type SerializeStructVariant = Parts<S::SerializeStructVariant>;

    forward_scalars! {
        serialize_bool(bool)
        serialize_i8(i8)
        serialize_i16(i16)
        serialize_i32(i32)
        serialize_i64(i64)
        serialize_i128(i128)
        serialize_u8(u8)
        serialize_u16(u16)
        serialize_u32(u32)
        serialize_u64(u64)
        serialize_u128(u128)
        serialize_f32(f32)
        serialize_f64(f64)
        serialize_char(char)
        serialize_str(&str)
        serialize_unit_struct(&'static str)
    }

    forward_compounds! {
        serialize_seq(len: Option<usize>) -> SerializeSeq;
        serialize_tuple(len: usize) -> SerializeTuple;
        serialize_tuple_struct(name: &'static str, len: usize) -> SerializeTupleStruct;
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, len: usize)
            -> SerializeTupleVariant;
        serialize_map(len: Option<usize>) -> SerializeMap;
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, len: usize)
            -> SerializeStructVariant;
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<S::Ok, S::Error> {
        if self.bytes_are_binary {
            self.to.serialize_str(&STANDARD.encode(bytes))
        } else {
            self.to.serialize_bytes(bytes)
        }
    }

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.to.serialize_none()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.to.serialize_some(&Value(value))
    }

    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.to.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.to.serialize_unit_variant(name, index, variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.to.serialize_newtype_struct(name, &Value(value))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.to
            .serialize_newtype_variant(name, index, variant, &Value(value))
    }

    fn serialize_struct(self, name: &'static str, len: usize) -> Result<Self::SerializeStruct, S::Error> {
        if len == 1 && matches!(name, "$oid" | "$date" | "$numberDecimal" | "$binary") {
            Ok(PlainStruct::Named(self.to, name))
        } else if matches!(name, "$dbPointer" | "$codeWithScope") {
            self.to.serialize_struct(name, len).map(PlainStruct::Extended)
        } else {
            self.to.serialize_struct(name, len).map(PlainStruct::Fields)
        }
    }

    fn collect_str<T: std::fmt::Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.to.collect_str(value)
    }

    fn is_human_readable(&self) -> bool {
        self.to.is_human_readable()
    }
}

/// A struct. Whether it is a type of crate bson is known at its first field.
enum PlainStruct<S: Serializer> {
    /// The struct has the name of a type of crate bson, and no field yet.
    Named(S, &'static str),
    Text(S, String),
    Fields(S::SerializeStruct),
    /// A type of crate bson that keeps its Extended JSON, with all types in it.
    Extended(S::SerializeStruct),
    /// An error was returned.
    Failed,
}

impl<S: Serializer> PlainStruct<S> {
    fn begin(serializer: S, name: &'static str) -> Result<S::SerializeStruct, S::Error> {
        serializer.serialize_struct(name, 1)
    }
}

impl<S: Serializer> SerializeStruct for PlainStruct<S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), S::Error> {
        match self {
            PlainStruct::Fields(fields) => return fields.serialize_field(key, &Value(value)),
            PlainStruct::Extended(fields) => return fields.serialize_field(key, value),
            _ => {}
        }
        match std::mem::replace(self, PlainStruct::Failed) {
            PlainStruct::Named(serializer, name) => {
                let shape = Shape { name, key, value };
                *self = match shape.text().map_err(S::Error::custom)? {
                    Some(text) => PlainStruct::Text(serializer, text),
                    None => {
                        let mut fields = Self::begin(serializer, name)?;
                        fields.serialize_field(key, &Value(value))?;
                        PlainStruct::Fields(fields)
                    }
                };
                Ok(())
            }
            _ => Err(S::Error::custom("a struct has more fields than it declared")),
        }
    }

    fn skip_field(&mut self, key: &'static str) -> Result<(), S::Error> {
        match self {
            PlainStruct::Fields(fields) | PlainStruct::Extended(fields) => fields.skip_field(key),
            _ => Ok(()),
        }
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        match self {
            PlainStruct::Text(serializer, text) => serializer.serialize_str(&text),
            PlainStruct::Fields(fields) | PlainStruct::Extended(fields) => fields.end(),
            PlainStruct::Named(serializer, name) => Self::begin(serializer, name)?.end(),
            PlainStruct::Failed => Err(S::Error::custom("a field of the struct was not written")),
        }
    }
}

/// A struct with one field that could be a type of crate bson.
struct Shape<'a, T: ?Sized> {
    name: &'static str,
    key: &'static str,
    value: &'a T,
}

impl<T: Serialize + ?Sized> Serialize for Shape<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct(self.name, 1)?;
        fields.serialize_field(self.key, self.value)?;
        fields.end()
    }
}

impl<T: Serialize + ?Sized> Shape<'_, T> {
    /// The text of the type, or `None` if it has none, or if the struct is another type with such a name.
    fn text(&self) -> Result<Option<String>, &'static str> {
        if self.name != self.key {
            return Ok(None);
        }
        // The driver reads the struct as crate bson's own serializer does.
        match bson::to_bson(self) {
            Ok(Bson::ObjectId(id)) => Ok(Some(id.to_hex())),
            Ok(Bson::DateTime(date)) => rfc_3339(date).map(Some),
            Ok(Bson::Decimal128(decimal)) => Ok(Some(decimal.to_string())),
            Ok(Bson::Binary(binary)) if binary.subtype == BinarySubtype::Generic => {
                Ok(Some(STANDARD.encode(&binary.bytes)))
            }
            Ok(Bson::Binary(binary)) => Ok(binary.to_uuid().ok().map(|uuid| uuid.to_string())),
            _ => Ok(None),
        }
    }
}

/// RFC 3339 in UTC, with three digits of milliseconds, so that texts have one length and sort as dates.
fn rfc_3339(date: DateTime) -> Result<String, &'static str> {
    const OUT_OF_RANGE: &str = "a date outside of the years 0 to 9999 has no RFC 3339 form";
    let millis = date.timestamp_millis();
    // Crate bson writes a later date as the last one of the year 9999.
    if !(FIRST_DATE..=LAST_DATE).contains(&millis) {
        return Err(OUT_OF_RANGE);
    }
    let fraction = millis.rem_euclid(1000);
    // The text of whole seconds has no fraction.
    let seconds = DateTime::from_millis(millis - fraction).try_to_rfc3339_string();
    let seconds = seconds.map_err(|_| OUT_OF_RANGE)?;
    let seconds = seconds.strip_suffix('Z').ok_or(OUT_OF_RANGE)?;
    Ok(format!("{seconds}.{fraction:03}Z"))
}

/// The parts of a value with several.
struct Parts<C>(C);

macro_rules! forward_elements {
    ($($trait:ident::$name:ident)*) => { $(
        impl<C: $trait> $trait for Parts<C> {
            type Ok = C::Ok;
            type Error = C::Error;

            fn $name<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), C::Error> {
                self.0.$name(&Value(value))
            }

            fn end(self) -> Result<C::Ok, C::Error> {
                self.0.end()
            }
        }
    )* };
}

forward_elements! {
    SerializeSeq::serialize_element
    SerializeTuple::serialize_element
    SerializeTupleStruct::serialize_field
    SerializeTupleVariant::serialize_field
}

impl<C: SerializeMap> SerializeMap for Parts<C> {
    type Ok = C::Ok;
    type Error = C::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), C::Error> {
        self.0.serialize_key(&Value(key))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), C::Error> {
        self.0.serialize_value(&Value(value))
    }

    fn serialize_entry<K: Serialize + ?Sized, V: Serialize + ?Sized>(
        &mut self,
        key: &K,
        value: &V,
    ) -> Result<(), C::Error> {
        self.0.serialize_entry(&Value(key), &Value(value))
    }

    fn end(self) -> Result<C::Ok, C::Error> {
        self.0.end()
    }
}

impl<C: SerializeStructVariant> SerializeStructVariant for Parts<C> {
    type Ok = C::Ok;
    type Error = C::Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), C::Error> {
        self.0.serialize_field(key, &Value(value))
    }

    fn skip_field(&mut self, key: &'static str) -> Result<(), C::Error> {
        self.0.skip_field(key)
    }

    fn end(self) -> Result<C::Ok, C::Error> {
        self.0.end()
    }
}
