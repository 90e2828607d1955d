//! The serializer: appends any serde type to a buffer as BSON, without an intermediate tree.
//!
//! The output format is specified at <https://bsonspec.org/spec.html>.

mod compound;
mod extended_json_shapes;
mod key;
mod value;

use std::cell::Cell;

use serde::Serialize;

use super::element::{Counter, append_literal_key, append_text};
use super::error::{EncodeError, kind_name};
use super::limits::{MAX_DEPTH_OF_ANY, length};
use super::spec::ElementType;

pub(super) use value::ValueSerializer;

/// Appends `value` as one document to `out`. After an error `out` is unchanged.
///
/// # Errors
/// If the value is not a document, or contains a value that BSON cannot represent.
#[inline]
pub fn append<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = out.len();
    let result = value.serialize(ValueSerializer::new(&mut Encoder::new(out)));
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// Appends one element (type, key, value) to a document that the caller has begun in `out`. After
/// an error `out` is unchanged.
///
/// # Errors
/// If the key contains a zero byte, or the value one that BSON cannot represent.
#[inline]
pub fn append_element<T: Serialize + ?Sized>(
    key: &str,
    value: &T,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let start = out.len();
    let mut encoder = Encoder::new(out);
    let result = match encoder.key(key) {
        Ok(()) => encoder.value(value),
        Err(error) => Err(error),
    };
    result.map_err(|error| {
        out.truncate(start);
        error.in_field(key)
    })
}

/// The output and the state shared by all serializers of one encoding.
pub(super) struct Encoder<'o> {
    pub(super) out: &'o mut Vec<u8>,
    /// Index of the type byte of the next value; [`NO_ELEMENT`] for a document outside of an
    /// element.
    ///
    /// A key is written before the type of its value is known: the key is a literal where the field
    /// is written, whereas the code that writes values is shared by all fields.
    pub(super) type_index: usize,
    pub(super) depth: u8,
    /// Set inside crate bson's `HumanReadable` wrapper.
    human_readable: bool,
    /// Whether the current value has called `is_human_readable`. If it then writes 16 bytes, it has
    /// a text form and a form of 16 bytes, as `uuid::Uuid` has, and is written as a UUID.
    asked: Cell<bool>,
}

/// The type index of a document outside of an element.
const NO_ELEMENT: usize = usize::MAX;

/// Written in place of a type byte that is not known yet.
pub(super) const UNKNOWN: u8 = 0;

/// State of the output that [`Encoder::undo`] restores.
#[derive(Clone, Copy)]
struct Mark {
    len: usize,
    depth: u8,
}

impl Encoder<'_> {
    #[inline]
    pub(super) fn new(out: &mut Vec<u8>) -> Encoder<'_> {
        Encoder {
            out,
            type_index: NO_ELEMENT,
            depth: 0,
            human_readable: false,
            asked: Cell::new(false),
        }
    }

    /// Writes the key of the next value.
    #[inline(always)]
    fn key(&mut self, key: &str) -> Result<(), EncodeError> {
        if key.as_bytes().contains(&0) {
            return Err(EncodeError::zero_in_key());
        }
        self.type_index = self.out.len();
        append_literal_key(self.out, UNKNOWN, key);
        Ok(())
    }

    /// Writes the key of an array element.
    #[inline]
    pub(super) fn index(&mut self, index: &Counter) {
        self.type_index = self.out.len();
        index.append(self.out, UNKNOWN);
    }

    /// Writes a value.
    #[inline]
    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        value.serialize(ValueSerializer::new(self))
    }

    /// Writes the type of the value whose key is written.
    #[inline]
    pub(super) fn kind(&mut self, kind: ElementType) -> Result<(), EncodeError> {
        match self.out.get_mut(self.type_index) {
            Some(slot) => *slot = kind as u8,
            None if kind == ElementType::EmbeddedDocument => {}
            None => return Err(not_a_document(kind)),
        }
        Ok(())
    }

    /// Begins a document or array. Returns its start, for [`Encoder::end`].
    #[inline]
    fn begin(&mut self, kind: ElementType) -> Result<usize, EncodeError> {
        self.kind(kind)?;
        self.enter()?;
        Ok(self.open())
    }

    /// Enters one level. What is written can be read again by a reader of any type.
    #[inline]
    pub(super) fn enter(&mut self) -> Result<(), EncodeError> {
        if self.depth >= MAX_DEPTH_OF_ANY {
            return Err(too_deep());
        }
        self.depth += 1;
        Ok(())
    }

    /// Reserves four bytes for a length.
    #[inline]
    pub(super) fn open(&mut self) -> usize {
        let start = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        start
    }

    /// Ends the document begun at `start`.
    #[inline]
    pub(super) fn end(&mut self, start: usize) -> Result<(), EncodeError> {
        self.out.push(0);
        self.depth -= 1;
        self.patch(start, self.out.len() - start)
    }

    /// Writes a length into the four bytes reserved at `start`.
    #[inline]
    fn patch(&mut self, start: usize, len: usize) -> Result<(), EncodeError> {
        let len = length(len)?;
        if let Some(slot) = self.out.get_mut(start..).and_then(<[u8]>::first_chunk_mut) {
            *slot = len.to_le_bytes();
        }
        Ok(())
    }

    /// Writes a string with its length and terminator.
    #[inline]
    pub(super) fn string(&mut self, text: &str) -> Result<(), EncodeError> {
        let len = length(text.len() + 1)?;
        self.out.extend_from_slice(&len.to_le_bytes());
        append_text(self.out, text);
        Ok(())
    }

    /// Writes a zero-terminated string.
    fn cstring(&mut self, text: &str) -> Result<(), EncodeError> {
        if text.as_bytes().contains(&0) {
            return Err(EncodeError::new(
                "a regular expression cannot contain a zero byte",
            ));
        }
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(0);
        Ok(())
    }

    #[inline]
    fn mark(&self) -> Mark {
        Mark {
            len: self.out.len(),
            depth: self.depth,
        }
    }

    /// Removes a failed element, so that a caller that ignores the error does not leave a part of
    /// it.
    #[cold]
    fn undo(&mut self, mark: Mark) {
        self.out.truncate(mark.len);
        self.depth = mark.depth;
    }

    /// Removes a failed field and adds its name to the error.
    #[cold]
    #[inline(never)]
    fn fail_in_field(&mut self, mark: Mark, key: &str, error: EncodeError) -> EncodeError {
        self.undo(mark);
        error.in_field(key)
    }
}

#[cold]
fn too_deep() -> EncodeError {
    EncodeError::new(format!(
        "documents nest deeper than {MAX_DEPTH_OF_ANY} levels, the limit of MongoDB for stored documents"
    ))
}

#[cold]
fn not_a_document(kind: ElementType) -> EncodeError {
    EncodeError::new(format!("expected a document, found {}", kind_name(kind)))
}
