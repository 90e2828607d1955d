//! The buffer that replies are read into: one system call reads header and body together when both
//! are there.

use std::{
    io,
    ops::Range,
    sync::Arc,
    task::{Context, Poll},
};

use super::{interruption::Interruption, stream::Stream};
use crate::proto::wire::{Compression, HEADER_LENGTH, ReplyBuffer, WireError};

/// Enough for most replies, so that they need one read.
const INITIAL: usize = 4 << 10;
/// A message may announce more than this, but memory is taken only as its bytes arrive.
const TRUSTED: usize = 1 << 20;
/// A buffer that grew beyond this is given back once its message has been used.
const KEPT: usize = 256 << 10;

/// Bytes read from a stream: first the current message, then what arrived after it.
#[derive(Default)]
pub(super) struct ReadBuffer {
    bytes: Vec<u8>,
    message: usize,
    /// The current message is a compressed frame: what it holds is the first bytes of `unpacked`.
    is_packed: bool,
    /// Zeroed once and then written over, so that its length only grows.
    unpacked: Vec<u8>,
    unpacked_length: usize,
    /// Allows the pool to interrupt the use of the connection. Stored here so that the futures that
    /// read do not contain it.
    interruption: Option<Arc<Interruption>>,
}

impl ReadBuffer {
    pub(super) fn interruption(&self) -> Option<&Interruption> {
        self.interruption.as_deref()
    }

    pub(super) fn share_interruption(&mut self) -> Arc<Interruption> {
        Arc::clone(self.interruption.get_or_insert_default())
    }

    /// Drops the current message; what arrived after it becomes the start of the next.
    pub(super) fn discard_message(&mut self) {
        if self.message == 0 {
            return;
        }
        if self.has_surplus() {
            drop(self.bytes.drain(..self.message));
        } else {
            self.bytes.clear();
        }
        self.message = 0;
        if self.bytes.is_empty() && self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
        if self.is_packed {
            self.is_packed = false;
            if self.unpacked.len() > KEPT {
                self.unpacked = Vec::new();
            }
        }
    }

    /// Reads once. `wanted` is the number of bytes of the message that is being read, as far as known.
    #[inline]
    pub(super) fn poll_more(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut Stream,
        wanted: usize,
    ) -> Poll<io::Result<usize>> {
        self.reserve(wanted);
        stream.poll_read(cx, &mut self.bytes, self.interruption.as_deref())
    }

    fn reserve(&mut self, wanted: usize) {
        let (filled, capacity) = (self.bytes.len(), self.bytes.capacity());
        if filled < capacity && (wanted <= capacity || filled < capacity / 2) {
            return;
        }
        let affordable = (filled * 2).max(TRUSTED);
        let target = wanted.min(affordable).max(INITIAL);
        // One byte more than requested: a read that does not fill the buffer has emptied the
        // socket, so no second read is needed.
        self.bytes.reserve_exact(target.saturating_sub(filled) + 1);
    }

    /// The header of the message, once it has arrived.
    pub(super) fn header(&self) -> Option<&[u8; HEADER_LENGTH]> {
        self.bytes.first_chunk()
    }

    /// Declares the first `length` bytes to be the current message.
    pub(super) fn set_message(&mut self, length: usize) {
        self.message = length;
    }

    /// Replaces the current message, which is a compressed frame, by what it holds.
    pub(super) fn unpack(&mut self, compression: &mut Compression, limit: usize) -> Result<(), WireError> {
        let frame = self.bytes.get(..self.message).unwrap_or_default();
        self.unpacked_length = compression.unpack(frame, limit, &mut self.unpacked)?;
        self.is_packed = true;
        Ok(())
    }

    /// The number of bytes that have arrived, those of the current message included.
    pub(super) fn arrived(&self) -> usize {
        self.bytes.len()
    }

    /// Whether more has arrived than the current message.
    pub(super) fn has_surplus(&self) -> bool {
        self.bytes.len() > self.message
    }

    /// The current message.
    pub(super) fn message(&self) -> &[u8] {
        let message = if self.is_packed {
            self.unpacked.get(..self.unpacked_length)
        } else {
            self.bytes.get(..self.message)
        };
        message.unwrap_or_default()
    }

    /// Moves the message out when it fills most of the buffer, else copies it out and keeps the
    /// buffer.
    pub(super) fn take(&mut self, body: Range<usize>) -> ReplyBuffer {
        if self.is_packed && self.unpacked_length * 2 > self.unpacked.len() {
            let mut bytes = std::mem::take(&mut self.unpacked);
            bytes.truncate(self.unpacked_length);
            self.unpacked_length = 0;
            return ReplyBuffer::new(bytes, body);
        }
        if !self.is_packed && !self.has_surplus() && self.message * 2 > self.bytes.capacity() {
            self.message = 0;
            return ReplyBuffer::new(std::mem::take(&mut self.bytes), body);
        }
        let bytes = self.message().get(body).unwrap_or_default().to_vec();
        let body = 0..bytes.len();
        ReplyBuffer::new(bytes, body)
    }
}
