//! The serializer: any serde type, appended to a buffer as BSON without a tree in between.

mod compound;
mod key;
mod value;
mod vocabulary;

use serde::Serialize;

use super::element::{Counter, append_fixed};
use super::error::{EncodeError, kind_name};
use super::limits::{MAX_DEPTH, length};
use super::spec::ElementType;

pub(super) use value::ValueSerializer;

/// Appends `value` as one document to `out`; after an error `out` is as it was.
///
/// # Errors
/// When the value is no document, or holds something BSON cannot state.
#[inline]
pub fn append<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    append_with(value, Key::Document, out)
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
    append_with(value, Key::Name(key), out).map_err(|error| error.in_field(key))
}

fn append_with<T: Serialize + ?Sized>(value: &T, key: Key<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = out.len();
    let mut encoder = Encoder {
        out,
        depth: 0,
        human_readable: false,
    };
    let result = value.serialize(ValueSerializer::new(&mut encoder, key));
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// The output and what holds for all of it.
pub(super) struct Encoder<'o> {
    pub(super) out: &'o mut Vec<u8>,
    depth: u8,
    /// Set inside crate bson's `HumanReadable` wrapper.
    human_readable: bool,
}

/// What precedes a value: its type is written first, so the key waits for the value.
#[derive(Clone, Copy)]
pub(super) enum Key<'k> {
    /// No element at all but a document standing alone.
    Document,
    Name(&'k str),
    Index(&'k Counter),
    /// Type byte and key are written already, the type byte at this position is to be set.
    Written(usize),
}

/// A state of the output to go back to.
#[derive(Clone, Copy)]
struct Mark {
    len: usize,
    depth: u8,
}

impl Encoder<'_> {
    /// Writes an element whose value is of a fixed size, or begins with a part that is.
    #[inline(always)]
    fn fixed<const N: usize>(
        &mut self,
        key: Key<'_>,
        kind: ElementType,
        value: [u8; N],
    ) -> Result<(), EncodeError> {
        if let Key::Name(name) = key {
            if name.as_bytes().contains(&0) {
                return Err(zero_in_key());
            }
            append_fixed(self.out, kind, name, value);
            return Ok(());
        }
        self.element(key, kind)?;
        self.out.extend_from_slice(&value);
        Ok(())
    }

    /// Writes type and key of an element.
    #[inline]
    fn element(&mut self, key: Key<'_>, kind: ElementType) -> Result<(), EncodeError> {
        match key {
            Key::Name(_) => return self.fixed(key, kind, []),
            Key::Index(counter) => counter.append(self.out, kind),
            Key::Written(at) => {
                if let Some(slot) = self.out.get_mut(at) {
                    *slot = kind as u8;
                }
            }
            Key::Document => {
                if kind != ElementType::EmbeddedDocument {
                    return Err(not_a_document(kind));
                }
            }
        }
        Ok(())
    }

    /// Begins a document or array with the element that it is the value of; the position is for [`Encoder::end`].
    #[inline(always)]
    fn begin(&mut self, key: Key<'_>, kind: ElementType) -> Result<usize, EncodeError> {
        if self.depth >= MAX_DEPTH {
            return Err(too_deep());
        }
        self.fixed(key, kind, [0; 4])?;
        self.depth += 1;
        Ok(self.out.len() - 4)
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

    /// Writes an element that holds text.
    #[inline(always)]
    fn string_element(&mut self, key: Key<'_>, kind: ElementType, text: &str) -> Result<(), EncodeError> {
        let len = length(text.len() + 1)?;
        self.fixed(key, kind, len.to_le_bytes())?;
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(0);
        Ok(())
    }

    /// Writes a string with its length and terminator.
    #[inline]
    fn string(&mut self, text: &str) -> Result<(), EncodeError> {
        let len = length(text.len() + 1)?;
        self.out.reserve(text.len() + 5);
        self.out.extend_from_slice(&len.to_le_bytes());
        self.out.extend_from_slice(text.as_bytes());
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
