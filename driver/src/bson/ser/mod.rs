//! The serializer: any serde type, appended to a buffer as BSON without a tree in between.

mod compound;
mod hints;
mod key;
mod value;
mod vocabulary;

use std::cell::Cell;

use serde::Serialize;

use super::element::{Counter, append_fixed};
use super::error::{EncodeError, kind_name};
use super::limits::{MAX_DEPTH, length};
use super::roomy;
use super::spec::ElementType;

pub(super) use hints::{HINT, address_of};
pub(super) use value::ValueSerializer;

/// Appends `value` as one document to `out`; after an error `out` is as it was.
///
/// # Errors
/// When the value is no document, or holds something BSON cannot state.
#[inline]
pub fn append<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = out.len();
    let result = value.serialize(ValueSerializer::new(&mut Encoder::new(out)));
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// Appends one element, `type key value`, to a document that the caller has begun in `out`.
///
/// After an error `out` is as it was.
///
/// # Errors
/// When the key holds a zero byte, or the value something BSON cannot state.
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

/// The output and what holds for all of it.
pub(super) struct Encoder<'o> {
    pub(super) out: &'o mut Vec<u8>,
    /// Where the type of the value that comes next is to be written; [`ALONE`] for a document that is in no field.
    ///
    /// Keys are written before their values' types are known, because they are known where they are literals, and the code
    /// that writes a value is shared by all fields.
    slot: usize,
    depth: u8,
    /// Set inside crate bson's `HumanReadable` wrapper.
    human_readable: bool,
    /// Whether the value has asked for the format's readability. `uuid::Uuid` does and then writes
    /// 16 bytes, which tells it from other bytes.
    asked: Cell<bool>,
    hints: hints::Hints,
}

/// No place in any buffer.
const ALONE: usize = usize::MAX;

/// Stands in the place of a type that is not known yet.
const UNKNOWN: u8 = 0;

/// A state of the output to go back to.
#[derive(Clone, Copy)]
struct Mark {
    len: usize,
    depth: u8,
}

impl Encoder<'_> {
    #[inline]
    fn new(out: &mut Vec<u8>) -> Encoder<'_> {
        Encoder {
            out,
            slot: ALONE,
            depth: 0,
            human_readable: false,
            asked: Cell::new(false),
            hints: hints::Hints::default(),
        }
    }

    /// Writes the key of the value that comes next.
    #[inline(always)]
    fn key(&mut self, key: &str) -> Result<(), EncodeError> {
        if key.as_bytes().contains(&0) {
            return Err(zero_in_key());
        }
        self.slot = self.out.len();
        append_fixed(self.out, UNKNOWN, key, []);
        Ok(())
    }

    /// Writes the key of an array's element.
    #[inline]
    fn index(&mut self, index: &Counter) {
        self.slot = self.out.len();
        index.append(self.out, UNKNOWN);
    }

    /// Writes a value: by a hint where there is one, else as its `Serialize` says.
    #[inline]
    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        if let Some(kind) = hints::kind_of::<T>()
            && let Some(bytes) = self.hints.find(value)
        {
            self.kind(kind)?;
            let len = if kind == ElementType::ObjectId { 12 } else { 8 };
            self.out.extend_from_slice(bytes.get(..len).unwrap_or_default());
            return Ok(());
        }
        value.serialize(ValueSerializer::new(self))
    }

    /// Writes the type of the value whose key is written.
    #[inline]
    fn kind(&mut self, kind: ElementType) -> Result<(), EncodeError> {
        match self.out.get_mut(self.slot) {
            Some(slot) => *slot = kind as u8,
            None if kind == ElementType::EmbeddedDocument => {}
            None => return Err(not_a_document(kind)),
        }
        Ok(())
    }

    /// Begins a document or array; the position is for [`Encoder::end`].
    #[inline]
    fn begin(&mut self, kind: ElementType) -> Result<usize, EncodeError> {
        self.kind(kind)?;
        if self.depth >= MAX_DEPTH {
            return Err(too_deep());
        }
        self.depth += 1;
        Ok(self.open())
    }

    /// Leaves room for a length.
    #[inline]
    fn open(&mut self) -> usize {
        let start = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        start
    }

    /// Ends the document begun at `start`.
    #[inline]
    fn end(&mut self, start: usize) -> Result<(), EncodeError> {
        self.out.push(0);
        self.depth -= 1;
        self.patch(start, self.out.len() - start)
    }

    /// Writes a length into the room left at `start`.
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
    fn string(&mut self, text: &str) -> Result<(), EncodeError> {
        let len = length(text.len() + 1)?;
        self.out.extend_from_slice(&len.to_le_bytes());
        roomy::append(self.out, text.as_bytes());
        self.out.push(0);
        Ok(())
    }

    /// Writes a zero-terminated string.
    fn cstring(&mut self, text: &str) -> Result<(), EncodeError> {
        if text.as_bytes().contains(&0) {
            return Err(EncodeError::new("a regular expression cannot hold a zero byte"));
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

    /// Takes a failed element back, so that a caller that ignores the error leaves no torso.
    #[cold]
    fn undo(&mut self, mark: Mark) {
        self.out.truncate(mark.len);
        self.depth = mark.depth;
    }

    /// Takes a failed field back and names it.
    #[cold]
    #[inline(never)]
    fn fail_in_field(&mut self, mark: Mark, key: &str, error: EncodeError) -> EncodeError {
        self.undo(mark);
        error.in_field(key)
    }
}

#[cold]
fn too_deep() -> EncodeError {
    EncodeError::new(format!("documents nest deeper than {MAX_DEPTH} levels"))
}

#[cold]
fn zero_in_key() -> EncodeError {
    EncodeError::new("the key holds a zero byte")
}

#[cold]
fn not_a_document(kind: ElementType) -> EncodeError {
    EncodeError::new(format!("expected a document, found {}", kind_name(kind)))
}
