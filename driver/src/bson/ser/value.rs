//! One value: what each serde type becomes in BSON.

use std::fmt::{self, Write};

use serde::{Serialize, Serializer};

use super::Encoder;
use super::compound::{
    ArraySerializer, ArrayVariant, DocumentSerializer, DocumentVariant, MapSerializer, StructSerializer,
};
use super::extended_json_shapes::{RawKind, RawSerializer, Shape, ShapeSerializer};
use crate::bson::{error::EncodeError, markers, spec::ElementType};

type Result<T = ()> = std::result::Result<T, EncodeError>;

/// Writes one value, and its type before its key.
pub(in crate::bson) struct ValueSerializer<'a, 'o> {
    encoder: &'a mut Encoder<'o>,
}

impl<'a, 'o> ValueSerializer<'a, 'o> {
    #[inline]
    pub(in crate::bson) fn new(encoder: &'a mut Encoder<'o>) -> Self {
        encoder.asked.set(false);
        Self { encoder }
    }

    #[inline]
    fn fixed<const N: usize>(self, kind: ElementType, bytes: [u8; N]) -> Result {
        self.encoder.kind(kind)?;
        self.encoder.out.extend_from_slice(&bytes);
        Ok(())
    }

    #[inline]
    fn document(self) -> Result<DocumentSerializer<'a, 'o>> {
        DocumentSerializer::begin(self.encoder)
    }

    #[inline]
    fn array(self) -> Result<ArraySerializer<'a, 'o>> {
        ArraySerializer::begin(self.encoder)
    }

    fn raw<T: Serialize + ?Sized>(self, kind: RawKind, value: &T) -> Result {
        value.serialize(RawSerializer::new(self.encoder, kind))
    }
}

impl<'a, 'o> Serializer for ValueSerializer<'a, 'o> {
    type Ok = ();
    type Error = EncodeError;
    type SerializeSeq = ArraySerializer<'a, 'o>;
    type SerializeTuple = ArraySerializer<'a, 'o>;
    type SerializeTupleStruct = ArraySerializer<'a, 'o>;
    type SerializeTupleVariant = ArrayVariant<'a, 'o>;
    type SerializeMap = MapSerializer<'a, 'o>;
    type SerializeStruct = StructSerializer<'a, 'o>;
    type SerializeStructVariant = DocumentVariant<'a, 'o>;

    #[inline]
    fn is_human_readable(&self) -> bool {
        self.encoder.asked.set(true);
        self.encoder.human_readable
    }

    #[inline]
    fn serialize_bool(self, value: bool) -> Result {
        self.fixed(ElementType::Boolean, [u8::from(value)])
    }

    #[inline]
    fn serialize_i8(self, value: i8) -> Result {
        self.serialize_i32(value.into())
    }

    #[inline]
    fn serialize_i16(self, value: i16) -> Result {
        self.serialize_i32(value.into())
    }

    #[inline]
    fn serialize_i32(self, value: i32) -> Result {
        self.fixed(ElementType::Int32, value.to_le_bytes())
    }

    #[inline]
    fn serialize_i64(self, value: i64) -> Result {
        self.fixed(ElementType::Int64, value.to_le_bytes())
    }

    #[inline]
    fn serialize_i128(self, value: i128) -> Result {
        self.serialize_i64(value.try_into().map_err(|_| out_of_range())?)
    }

    #[inline]
    fn serialize_u8(self, value: u8) -> Result {
        self.serialize_i32(value.into())
    }

    #[inline]
    fn serialize_u16(self, value: u16) -> Result {
        self.serialize_i32(value.into())
    }

    #[inline]
    fn serialize_u32(self, value: u32) -> Result {
        self.serialize_i64(value.into())
    }

    #[inline]
    fn serialize_u64(self, value: u64) -> Result {
        self.serialize_i64(value.try_into().map_err(|_| out_of_range())?)
    }

    #[inline]
    fn serialize_u128(self, value: u128) -> Result {
        self.serialize_i64(value.try_into().map_err(|_| out_of_range())?)
    }

    #[inline]
    fn serialize_f32(self, value: f32) -> Result {
        self.serialize_f64(value.into())
    }

    #[inline]
    fn serialize_f64(self, value: f64) -> Result {
        self.fixed(ElementType::Double, value.to_le_bytes())
    }

    #[inline]
    fn serialize_char(self, value: char) -> Result {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result {
        self.encoder.kind(ElementType::String)?;
        self.encoder.string(value)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result {
        self.encoder.kind(ElementType::String)?;
        let start = self.encoder.open();
        write!(Text(self.encoder.out), "{value}")
            .map_err(|_| EncodeError::new("the value's text form failed"))?;
        self.encoder.out.push(0);
        self.encoder.patch(start, self.encoder.out.len() - start - 4)
    }

    #[inline]
    fn serialize_bytes(self, value: &[u8]) -> Result {
        let kind = if self.encoder.asked.get() && value.len() == 16 {
            RawKind::Uuid
        } else {
            RawKind::Bytes
        };
        RawSerializer::new(self.encoder, kind).serialize_bytes(value)
    }

    #[inline]
    fn serialize_none(self) -> Result {
        self.fixed(ElementType::Null, [])
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result {
        self.encoder.value(value)
    }

    #[inline]
    fn serialize_unit(self) -> Result {
        self.serialize_none()
    }

    #[inline]
    fn serialize_unit_struct(self, _name: &'static str) -> Result {
        self.serialize_none()
    }

    #[inline]
    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> Result {
        self.serialize_str(variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result {
        if name.starts_with('$') {
            match name {
                markers::RAW_DOCUMENT => return self.raw(RawKind::Document, value),
                markers::RAW_ARRAY => return self.raw(RawKind::Array, value),
                markers::UUID => return self.raw(RawKind::Uuid, value),
                markers::HUMAN_READABLE => {
                    let before = std::mem::replace(&mut self.encoder.human_readable, true);
                    let result = value.serialize(ValueSerializer::new(self.encoder));
                    self.encoder.human_readable = before;
                    return result;
                }
                _ => {}
            }
        }
        self.encoder.value(value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result {
        let mut document = self.document()?;
        document.field(variant, value)?;
        document.finish()
    }

    #[inline]
    fn serialize_seq(self, _len: Option<usize>) -> Result<Self::SerializeSeq> {
        self.array()
    }

    #[inline]
    fn serialize_tuple(self, _len: usize) -> Result<Self::SerializeTuple> {
        self.array()
    }

    #[inline]
    fn serialize_tuple_struct(self, _name: &'static str, _len: usize) -> Result<Self::SerializeTupleStruct> {
        self.array()
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeTupleVariant> {
        ArrayVariant::begin(self.encoder, variant)
    }

    #[inline]
    fn serialize_map(self, len: Option<usize>) -> Result<Self::SerializeMap> {
        Ok(MapSerializer::new(self.document()?, len))
    }

    /// Always inlined: the name is a literal, so the comparisons are made at compile time.
    #[inline(always)]
    fn serialize_struct(self, name: &'static str, _len: usize) -> Result<Self::SerializeStruct> {
        if name.as_bytes().first() == Some(&b'$')
            && let Some(shape) = Shape::of_struct(name)
        {
            self.encoder.kind(shape.kind())?;
            return Ok(StructSerializer::Shape(ShapeSerializer::begin(
                self.encoder,
                shape,
            )));
        }
        self.document().map(StructSerializer::Document)
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeStructVariant> {
        DocumentVariant::begin(self.encoder, variant)
    }
}

/// Formats text into the output.
pub(super) struct Text<'a>(pub(super) &'a mut Vec<u8>);

impl Write for Text<'_> {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

#[cold]
fn out_of_range() -> EncodeError {
    EncodeError::new("the integer is outside the range of an Int64")
}
