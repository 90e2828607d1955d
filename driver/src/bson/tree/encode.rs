//! Encodes documents from trees.

use serde::Serialize;

use crate::bson::{
    Bson, Document, IndexKey, append_element, capacity,
    element::{Counter, append_key},
    error::{EncodeError, kind_name},
    limits::{MAX_DEPTH, length},
    ser::{Encoder, ValueSerializer},
    spec::{BinarySubtype, ElementType},
};

type Result<T = ()> = std::result::Result<T, EncodeError>;

/// Appends `document` to `out`. After an error `out` is unchanged.
///
/// # Errors
/// If a key contains a zero byte, the document nests too deep or is too large.
pub fn append_document(document: &Document, out: &mut Vec<u8>) -> Result {
    undone_if_failed(out, |out| append_fields(document, out, MAX_DEPTH - 1))
}

/// Appends one element to a document that the caller has begun in `out`. After an error `out` is
/// unchanged.
///
/// # Errors
/// If the key contains a zero byte, the value nests too deep or is too large.
pub fn append_bson(key: &str, value: &Bson, out: &mut Vec<u8>) -> Result {
    undone_if_failed(out, |out| append_value(key, value, out, MAX_DEPTH - 1))
}

/// Appends a value without its key, and sets the byte of its type at this index of `out`. `depth`: how many levels may be
/// nested, the value included.
pub(in crate::bson) fn append_content(
    value: &Bson,
    type_index: usize,
    out: &mut Vec<u8>,
    depth: u8,
) -> Result {
    append_value(Written(type_index), value, out, depth)
}

fn undone_if_failed(out: &mut Vec<u8>, append: impl FnOnce(&mut Vec<u8>) -> Result) -> Result {
    let start = out.len();
    append(out).inspect_err(|_| out.truncate(start))
}

/// The key of an element in a document or an array.
trait Key: Copy {
    /// Appends type and key.
    fn append(self, kind: ElementType, out: &mut Vec<u8>) -> Result;

    /// Appends an element by way of serde.
    fn serialize(self, value: &impl Serialize, out: &mut Vec<u8>) -> Result;
}

impl Key for &str {
    /// Never inlined: it would be repeated for each type.
    #[inline(never)]
    fn append(self, kind: ElementType, out: &mut Vec<u8>) -> Result {
        if append_key(out, kind as u8, self) {
            Ok(())
        } else {
            Err(EncodeError::zero_in_key())
        }
    }

    fn serialize(self, value: &impl Serialize, out: &mut Vec<u8>) -> Result {
        append_element(self, value, out)
    }
}

impl Key for &Counter {
    #[inline]
    fn append(self, kind: ElementType, out: &mut Vec<u8>) -> Result {
        Counter::append(self, out, kind as u8);
        Ok(())
    }

    fn serialize(self, value: &impl Serialize, out: &mut Vec<u8>) -> Result {
        append_element(IndexKey::new(self.index()).as_str(), value, out)
    }
}

/// A key that is written already, with the index of the byte of its type.
#[derive(Clone, Copy)]
struct Written(usize);

impl Key for Written {
    fn append(self, kind: ElementType, out: &mut Vec<u8>) -> Result {
        match out.get_mut(self.0) {
            Some(slot) => *slot = kind as u8,
            None if kind == ElementType::EmbeddedDocument => {}
            None => {
                return Err(EncodeError::new(format!(
                    "expected a document, found {}",
                    kind_name(kind)
                )));
            }
        }
        Ok(())
    }

    fn serialize(self, value: &impl Serialize, out: &mut Vec<u8>) -> Result {
        let mut encoder = Encoder::new(out);
        encoder.type_index = self.0;
        value.serialize(ValueSerializer::new(&mut encoder))
    }
}

/// Appends a whole document. `depth`: number of levels that may be nested in it.
pub(in crate::bson) fn append_fields(document: &Document, out: &mut Vec<u8>, depth: u8) -> Result {
    let start = open(out);
    for (key, value) in document {
        if let Err(error) = append_value(key.as_str(), value, out, depth) {
            return Err(error.in_field(key));
        }
    }
    close(out, start)
}

fn append_items(values: &[Bson], out: &mut Vec<u8>, depth: u8) -> Result {
    let start = open(out);
    let mut counter = Counter::new();
    for value in values {
        if let Err(error) = append_value(&counter, value, out, depth) {
            return Err(error.at_index(counter.index()));
        }
        counter.advance();
    }
    close(out, start)
}

fn append_value(key: impl Key, value: &Bson, out: &mut Vec<u8>, depth: u8) -> Result {
    match value {
        Bson::Double(value) => fixed(key, ElementType::Double, value.to_le_bytes(), out),
        Bson::String(value) => text(key, ElementType::String, value, out),
        Bson::Array(values) => {
            key.append(ElementType::Array, out)?;
            append_items(values, out, enter(depth)?)
        }
        Bson::Document(document) => {
            key.append(ElementType::EmbeddedDocument, out)?;
            append_fields(document, out, enter(depth)?)
        }
        Bson::Boolean(value) => fixed(key, ElementType::Boolean, [u8::from(*value)], out),
        Bson::Null => key.append(ElementType::Null, out),
        Bson::RegularExpression(regex) => {
            key.append(ElementType::RegularExpression, out)?;
            cstring(regex.pattern.as_str(), out);
            cstring(regex.options.as_str(), out);
            Ok(())
        }
        Bson::JavaScriptCode(code) => text(key, ElementType::JavaScriptCode, code, out),
        Bson::JavaScriptCodeWithScope(code) => {
            key.append(ElementType::JavaScriptCodeWithScope, out)?;
            let start = open(out);
            string(&code.code, out)?;
            append_fields(&code.scope, out, enter(depth)?)?;
            patch(out, start)
        }
        Bson::Int32(value) => fixed(key, ElementType::Int32, value.to_le_bytes(), out),
        Bson::Int64(value) => fixed(key, ElementType::Int64, value.to_le_bytes(), out),
        Bson::Timestamp(value) => {
            let both = u64::from(value.time) << 32 | u64::from(value.increment);
            fixed(key, ElementType::Timestamp, both.to_le_bytes(), out)
        }
        Bson::Binary(binary) => {
            key.append(ElementType::Binary, out)?;
            let len = binary.bytes.len();
            if binary.subtype == BinarySubtype::BinaryOld {
                out.extend_from_slice(&length(len + 4)?.to_le_bytes());
                out.push(binary.subtype.into());
                out.extend_from_slice(&length(len)?.to_le_bytes());
            } else {
                out.extend_from_slice(&length(len)?.to_le_bytes());
                out.push(binary.subtype.into());
            }
            capacity::append(out, &binary.bytes);
            Ok(())
        }
        Bson::ObjectId(id) => fixed(key, ElementType::ObjectId, id.bytes(), out),
        Bson::DateTime(time) => {
            let millis = time.timestamp_millis();
            fixed(key, ElementType::DateTime, millis.to_le_bytes(), out)
        }
        Bson::Symbol(symbol) => text(key, ElementType::Symbol, symbol, out),
        Bson::Decimal128(value) => fixed(key, ElementType::Decimal128, value.bytes(), out),
        Bson::Undefined => key.append(ElementType::Undefined, out),
        Bson::MaxKey => key.append(ElementType::MaxKey, out),
        Bson::MinKey => key.append(ElementType::MinKey, out),
        // Crate bson has no accessors of its parts, but serializes it.
        Bson::DbPointer(pointer) => key.serialize(pointer, out),
    }
}

/// An element with a value of a fixed size.
#[inline]
fn fixed<const N: usize>(key: impl Key, kind: ElementType, bytes: [u8; N], out: &mut Vec<u8>) -> Result {
    key.append(kind, out)?;
    out.extend_from_slice(&bytes);
    Ok(())
}

/// An element of one of the types encoded as a String.
#[inline]
fn text(key: impl Key, kind: ElementType, text: &str, out: &mut Vec<u8>) -> Result {
    key.append(kind, out)?;
    string(text, out)
}

#[inline]
fn string(text: &str, out: &mut Vec<u8>) -> Result {
    let len = length(text.len() + 1)?;
    out.extend_from_slice(&len.to_le_bytes());
    capacity::append(out, text.as_bytes());
    out.push(0);
    Ok(())
}

/// Zero-terminated text, which the type has checked for zero bytes.
fn cstring(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// Reserves four bytes for a length.
#[inline]
fn open(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    start
}

/// Ends the document or array begun at `start`.
#[inline]
fn close(out: &mut Vec<u8>, start: usize) -> Result {
    out.push(0);
    patch(out, start)
}

/// Writes the length of the bytes since `start` into the four bytes reserved there.
#[inline]
fn patch(out: &mut [u8], start: usize) -> Result {
    let len = length(out.len() - start)?;
    if let Some(slot) = out.get_mut(start..).and_then(<[u8]>::first_chunk_mut) {
        *slot = len.to_le_bytes();
    }
    Ok(())
}

#[inline]
fn enter(depth: u8) -> Result<u8> {
    match depth.checked_sub(1) {
        Some(inner) => Ok(inner),
        None => Err(EncodeError::too_deep()),
    }
}
