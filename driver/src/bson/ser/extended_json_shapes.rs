//! BSON types outside of the serde data model, from the structs and newtypes that crate bson
//! serializes them as.
//!
//! A struct is named after its first key in [Extended
//! JSON](https://github.com/mongodb/specifications/blob/master/source/extended-json/extended-json.md),
//! such as `$oid`, and has the shape of the canonical form. This is the wire form of crate bson's
//! `Serialize` implementations.

use serde::ser::{Impossible, SerializeStruct};
use serde::{Serialize, Serializer};

use super::value::ValueSerializer;
use super::{Encoder, NO_ELEMENT};
use crate::bson::{
    Decimal128, capacity,
    error::EncodeError,
    limits::{MIN_DOCUMENT, length},
    spec::ElementType,
    text::{append_base64, from_hex},
};

type Result<T = ()> = std::result::Result<T, EncodeError>;

/// What bytes are written as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RawKind {
    Document,
    Array,
    Uuid,
    Bytes,
}

/// Writes the content of a newtype that contains bytes.
pub(super) struct RawSerializer<'a, 'o> {
    encoder: &'a mut Encoder<'o>,
    kind: RawKind,
}

impl<'a, 'o> RawSerializer<'a, 'o> {
    pub(super) fn new(encoder: &'a mut Encoder<'o>, kind: RawKind) -> Self {
        Self { encoder, kind }
    }
}

/// Writes a BSON type from its struct.
pub(in crate::bson) struct ShapeSerializer<'a, 'o> {
    encoder: &'a mut Encoder<'o>,
    state: State,
}

/// A BSON type with a struct of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape(ElementType);

impl Shape {
    #[inline(always)]
    pub(super) fn of_struct(name: &str) -> Option<Self> {
        Some(Self(match name {
            "$oid" => ElementType::ObjectId,
            "$date" => ElementType::DateTime,
            "$binary" => ElementType::Binary,
            "$timestamp" => ElementType::Timestamp,
            "$minKey" => ElementType::MinKey,
            "$maxKey" => ElementType::MaxKey,
            "$code" => ElementType::JavaScriptCode,
            "$codeWithScope" => ElementType::JavaScriptCodeWithScope,
            "$symbol" => ElementType::Symbol,
            "$undefined" => ElementType::Undefined,
            "$regularExpression" => ElementType::RegularExpression,
            "$dbPointer" => ElementType::DbPointer,
            "$numberDecimal" => ElementType::Decimal128,
            _ => return None,
        }))
    }

    #[inline]
    pub(super) fn kind(self) -> ElementType {
        self.0
    }

    /// Number of leaf values in the struct.
    #[inline]
    fn parts(self) -> u8 {
        match self.0 {
            ElementType::Binary
            | ElementType::Timestamp
            | ElementType::RegularExpression
            | ElementType::DbPointer
            | ElementType::JavaScriptCodeWithScope => 2,
            _ => 1,
        }
    }
}

struct State {
    shape: Shape,
    /// Index of the first byte of the value.
    start: usize,
    seen: u8,
    subtype: u8,
    time: u32,
    increment: u32,
}

impl<'a, 'o> ShapeSerializer<'a, 'o> {
    #[inline]
    pub(super) fn begin(encoder: &'a mut Encoder<'o>, shape: Shape) -> Self {
        let start = encoder.out.len();
        match shape.0 {
            ElementType::Binary => encoder.out.extend_from_slice(&[0; 5]),
            ElementType::JavaScriptCodeWithScope => encoder.out.extend_from_slice(&[0; 4]),
            _ => {}
        }
        let state = State {
            shape,
            start,
            seen: 0,
            subtype: 0,
            time: 0,
            increment: 0,
        };
        Self { encoder, state }
    }

    /// Never inlined: it would be repeated for the fields of all structs.
    #[inline(never)]
    pub(super) fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result {
        if key == "$scope" {
            self.state.seen += 1;
            self.encoder.type_index = NO_ELEMENT;
            // A scope takes two levels, as for its readers. After an error the caller restores the
            // depth.
            self.encoder.enter()?;
            value.serialize(ValueSerializer::new(self.encoder))?;
            self.encoder.depth -= 1;
            return Ok(());
        }
        value.serialize(Part {
            encoder: self.encoder,
            state: &mut self.state,
            key,
        })
    }

    /// Never inlined, as [`field`](Self::field).
    #[inline(never)]
    pub(super) fn finish(self) -> Result {
        let Self { encoder, state } = self;
        if state.seen != state.shape.parts() {
            return Err(malformed_shape(state.shape));
        }
        let len = encoder.out.len() - state.start;
        match state.shape.0 {
            ElementType::Timestamp => {
                encoder.out.extend_from_slice(&state.increment.to_le_bytes());
                encoder.out.extend_from_slice(&state.time.to_le_bytes());
            }
            ElementType::JavaScriptCodeWithScope => encoder.patch(state.start, len)?,
            ElementType::Binary => {
                let mut data = len - 5;
                if state.subtype == OLD_BINARY {
                    // Subtype 2 repeats the length inside the data.
                    let at = state.start + 5;
                    encoder.out.splice(at..at, length(data)?.to_le_bytes());
                    data += 4;
                }
                encoder.patch(state.start, data)?;
                if let Some(slot) = encoder.out.get_mut(state.start + 4) {
                    *slot = state.subtype;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

const OLD_BINARY: u8 = 2;

#[cold]
fn malformed_shape(shape: Shape) -> EncodeError {
    let name = crate::bson::error::kind_name(shape.0);
    EncodeError::new(format!(
        "the {name} does not have the form that crate bson serializes"
    ))
}

/// One value inside the struct. Fields of nested structs are parts with their own keys.
struct Part<'p, 'o> {
    encoder: &'p mut Encoder<'o>,
    state: &'p mut State,
    key: &'static str,
}

impl Part<'_, '_> {
    fn fail<T>(&self) -> Result<T> {
        Err(malformed_shape(self.state.shape))
    }

    fn int(self, value: i64) -> Result {
        match self.key {
            "t" | "i" => {
                let Ok(value) = u32::try_from(value) else {
                    return self.fail();
                };
                let slot = if self.key == "t" {
                    &mut self.state.time
                } else {
                    &mut self.state.increment
                };
                *slot = value;
            }
            "subType" => {
                let Ok(value) = u8::try_from(value) else {
                    return self.fail();
                };
                self.state.subtype = value;
            }
            "$minKey" | "$maxKey" => {}
            "$date" => self.encoder.out.extend_from_slice(&value.to_le_bytes()),
            _ => return self.fail(),
        }
        self.state.seen += 1;
        Ok(())
    }

    fn text(self, text: &str) -> Result {
        let out = &mut *self.encoder.out;
        match self.key {
            "$oid" => match from_hex::<12>(text) {
                Some(bytes) => out.extend_from_slice(&bytes),
                None => return self.fail(),
            },
            "$numberLong" => match text.parse::<i64>() {
                Ok(value) => out.extend_from_slice(&value.to_le_bytes()),
                Err(_) => return self.fail(),
            },
            "$numberDecimal" => match text.parse::<Decimal128>() {
                Ok(value) => out.extend_from_slice(&value.bytes()),
                Err(_) => return self.fail(),
            },
            "base64" => match append_base64(text, out) {
                Some(()) => {}
                None => return self.fail(),
            },
            "subType" => match from_hex::<1>(text) {
                Some([subtype]) => self.state.subtype = subtype,
                None => return self.fail(),
            },
            "pattern" | "options" => self.encoder.cstring(text)?,
            "$code" | "$symbol" | "$ref" => self.encoder.string(text)?,
            _ => return self.fail(),
        }
        self.state.seen += 1;
        Ok(())
    }

    fn data(self, bytes: &[u8]) -> Result {
        match self.key {
            "bytes" => {}
            "$numberDecimalBytes" if bytes.len() == 16 => {}
            _ => return self.fail(),
        }
        capacity::append(self.encoder.out, bytes);
        self.state.seen += 1;
        Ok(())
    }
}

impl SerializeStruct for Part<'_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result {
        value.serialize(Part {
            encoder: self.encoder,
            state: self.state,
            key,
        })
    }

    fn end(self) -> Result {
        Ok(())
    }
}

/// Implements `Serializer` for a type that supports few types of the serde data model; the others
/// fail.
macro_rules! partial_serializer {
    ($(refuse $name:ident($($arg:ty),*) -> $out:ty;)*) => {
        $(
            fn $name(self, $(_: $arg),*) -> Result<$out> {
                self.fail()
            }
        )*
    };
    (compound) => {
        type Ok = ();
        type Error = EncodeError;
        type SerializeSeq = Impossible<(), EncodeError>;
        type SerializeTuple = Impossible<(), EncodeError>;
        type SerializeTupleStruct = Impossible<(), EncodeError>;
        type SerializeTupleVariant = Impossible<(), EncodeError>;
        type SerializeMap = Impossible<(), EncodeError>;
        type SerializeStructVariant = Impossible<(), EncodeError>;

        partial_serializer! {
            refuse serialize_f32(f32) -> ();
            refuse serialize_f64(f64) -> ();
            refuse serialize_char(char) -> ();
            refuse serialize_none() -> ();
            refuse serialize_unit() -> ();
            refuse serialize_unit_struct(&'static str) -> ();
            refuse serialize_unit_variant(&'static str, u32, &'static str) -> ();
            refuse serialize_seq(Option<usize>) -> Self::SerializeSeq;
            refuse serialize_tuple(usize) -> Self::SerializeTuple;
            refuse serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
            refuse serialize_tuple_variant(&'static str, u32, &'static str, usize)
                -> Self::SerializeTupleVariant;
            refuse serialize_map(Option<usize>) -> Self::SerializeMap;
            refuse serialize_struct_variant(&'static str, u32, &'static str, usize)
                -> Self::SerializeStructVariant;
        }

        fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result {
            value.serialize(self)
        }

        fn serialize_newtype_struct<T: Serialize + ?Sized>(
            self,
            _name: &'static str,
            value: &T,
        ) -> Result {
            value.serialize(self)
        }

        fn serialize_newtype_variant<T: Serialize + ?Sized>(
            self,
            _name: &'static str,
            _index: u32,
            _variant: &'static str,
            _value: &T,
        ) -> Result {
            self.fail()
        }
    };
}

impl Serializer for Part<'_, '_> {
    type SerializeStruct = Self;

    partial_serializer!(compound);

    fn is_human_readable(&self) -> bool {
        self.encoder.human_readable
    }

    fn serialize_bool(self, _value: bool) -> Result {
        if self.key != "$undefined" {
            return self.fail();
        }
        self.state.seen += 1;
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result {
        self.int(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result {
        self.int(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result {
        self.int(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result {
        self.int(value)
    }

    fn serialize_u8(self, value: u8) -> Result {
        self.int(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result {
        self.int(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result {
        self.int(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result {
        match i64::try_from(value) {
            Ok(value) => self.int(value),
            Err(_) => self.fail(),
        }
    }

    fn serialize_str(self, value: &str) -> Result {
        self.text(value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result {
        self.data(value)
    }

    fn serialize_struct(self, _name: &'static str, _len: usize) -> Result<Self> {
        Ok(self)
    }
}

impl RawSerializer<'_, '_> {
    fn fail<T>(&self) -> Result<T> {
        Err(EncodeError::new(
            "the raw value does not have the form that crate bson serializes",
        ))
    }
}

impl Serializer for RawSerializer<'_, '_> {
    type SerializeStruct = Impossible<(), EncodeError>;

    partial_serializer!(compound);

    partial_serializer! {
        refuse serialize_bool(bool) -> ();
        refuse serialize_i8(i8) -> ();
        refuse serialize_i16(i16) -> ();
        refuse serialize_i32(i32) -> ();
        refuse serialize_i64(i64) -> ();
        refuse serialize_u8(u8) -> ();
        refuse serialize_u16(u16) -> ();
        refuse serialize_u32(u32) -> ();
        refuse serialize_u64(u64) -> ();
        refuse serialize_str(&str) -> ();
        refuse serialize_struct(&'static str, usize) -> Self::SerializeStruct;
    }

    /// These types serialize as bytes in formats that are not human readable.
    fn is_human_readable(&self) -> bool {
        false
    }

    #[inline]
    fn serialize_bytes(self, value: &[u8]) -> Result {
        let (kind, subtype) = match self.kind {
            RawKind::Document => (ElementType::EmbeddedDocument, None),
            RawKind::Array => (ElementType::Array, None),
            RawKind::Uuid => (ElementType::Binary, Some(4)),
            RawKind::Bytes => (ElementType::Binary, Some(0)),
        };
        self.encoder.kind(kind)?;
        match subtype {
            Some(subtype) => {
                let len = length(value.len())?;
                self.encoder.out.extend_from_slice(&len.to_le_bytes());
                self.encoder.out.push(subtype);
            }
            None => {
                let stated = value.first_chunk().map(|len| i32::from_le_bytes(*len));
                if value.len() < MIN_DOCUMENT || stated != Some(length(value.len())?) {
                    return self.fail();
                }
            }
        }
        capacity::append(self.encoder.out, value);
        Ok(())
    }
}
