//! The chunks of a stored file, and the checks of those that are read ("File Download").

use std::ops::Range;

use super::number::raw_integer;
use crate::{
    bson::{RawBsonRef, RawDocument},
    error::ChunkFault,
};

/// The length and the chunk size of a file, which determine the size of each chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// In bytes.
    pub length: u64,
    /// In bytes, at least 1.
    pub chunk_size: u32,
}

impl Layout {
    /// The number of chunks.
    pub fn chunk_count(self) -> u64 {
        self.length.div_ceil(self.size())
    }

    /// The numbers of the chunks that contain these bytes.
    pub fn chunks_of(self, bytes: &Range<u64>) -> Range<u64> {
        let first = bytes.start / self.size();
        first..bytes.end.div_ceil(self.size()).max(first)
    }

    /// The positions of the bytes of a chunk in the file; empty after the end of the file.
    pub fn bytes_of(self, n: u64) -> Range<u64> {
        let end_of = |n: u64| n.saturating_mul(self.size()).min(self.length);
        end_of(n)..end_of(n.saturating_add(1))
    }

    fn size(self) -> u64 {
        u64::from(self.chunk_size.max(1))
    }
}

/// Checks that the chunks of a file arrive in order and have the required sizes.
#[derive(Debug)]
pub struct ChunkSequence {
    layout: Layout,
    /// The bytes to read.
    bytes: Range<u64>,
    next: u64,
    end: u64,
}

impl ChunkSequence {
    /// The chunks that contain these bytes of a file.
    pub fn new(layout: Layout, bytes: Range<u64>) -> Self {
        let Range { start, end } = layout.chunks_of(&bytes);
        Self {
            layout,
            bytes,
            next: start,
            end,
        }
    }

    /// Checks the next chunk. Returns the part of its data to read, which is empty for an empty
    /// chunk after the end of the file: older drivers stored such a chunk.
    ///
    /// # Errors
    /// The number of the chunk that is missing or invalid, and what is wrong with it.
    pub fn check(&mut self, chunk: &RawDocument) -> Result<Range<usize>, (u64, ChunkFault)> {
        let expected = self.next;
        let malformed = |field| (expected, ChunkFault::Malformed(field));
        let field = |name| chunk.get(name).ok().flatten();
        let n = field("n")
            .and_then(raw_integer)
            .and_then(|n| u64::try_from(n).ok())
            .ok_or_else(|| malformed("n"))?;
        let data = chunk_data(chunk).ok_or_else(|| malformed("data"))?;
        if expected >= self.end {
            return if data.is_empty() {
                Ok(0..0)
            } else {
                Err((n, ChunkFault::Extra))
            };
        }
        if n > expected {
            return Err((expected, ChunkFault::Missing));
        }
        if n < expected {
            return Err((n, ChunkFault::Duplicate));
        }
        let place = self.layout.bytes_of(n);
        let (required, found) = (place.end - place.start, data.len() as u64);
        if found != required {
            let fault = ChunkFault::WrongSize {
                expected: required,
                found,
            };
            return Err((n, fault));
        }
        self.next += 1;
        let within = |position: u64| {
            let position = position.clamp(place.start, place.end) - place.start;
            usize::try_from(position).unwrap_or(usize::MAX)
        };
        Ok(within(self.bytes.start)..within(self.bytes.end))
    }

    /// Checks that all chunks have been read.
    ///
    /// # Errors
    /// The number of the chunk that is missing.
    pub fn finish(&self) -> Result<(), (u64, ChunkFault)> {
        if self.next < self.end {
            Err((self.next, ChunkFault::Missing))
        } else {
            Ok(())
        }
    }
}

/// The bytes of a chunk.
pub(crate) fn chunk_data(chunk: &RawDocument) -> Option<&[u8]> {
    match chunk.get("data") {
        Ok(Some(RawBsonRef::Binary(data))) => Some(data.bytes),
        _ => None,
    }
}
