//! Ids and dates whose bytes are told beforehand.
//!
//! Crate bson shows an ObjectId or a DateTime to serde as text, which costs more than all the rest of a small document. The
//! serializer meets such a value as a reference of a generic type, into which it cannot look. So who knows the type of a
//! document says before where in memory it holds ids and dates, and which; see [`hinted`](crate::bson::hinted). The document's
//! own `Serialize` is then run as always and decides what is written. A hint is taken only for a reference of the same type to
//! the same address: since the document is borrowed all the while, that is the very value of the hint.

use std::any::type_name;

use crate::bson::spec::ElementType;
use crate::bson::{DateTime, ObjectId};

/// So many hints need no allocation.
const INLINE: usize = 4;
/// So many hints may belong to fields that `Serialize` has left out.
const AHEAD: usize = 4;
/// The bytes of the longer one of the two types.
const WIDTH: usize = 12;
/// A hint as bytes: the address, the value.
pub(in crate::bson) const HINT: usize = 8 + WIDTH;

/// A value of which the bytes are known.
#[derive(Clone, Copy, Debug, Default)]
struct Hint {
    address: u64,
    bytes: [u8; WIDTH],
}

/// Hints in the order of the fields, which is the order that they are asked for in.
#[derive(Debug, Default)]
pub(super) struct Hints {
    first: [Hint; INLINE],
    more: Vec<Hint>,
    len: usize,
    next: usize,
}

/// The type that a hint can be for, if `T` is one.
#[inline(always)]
pub(super) fn kind_of<T: ?Sized>() -> Option<ElementType> {
    let name = type_name::<T>();
    if name == type_name::<ObjectId>() {
        Some(ElementType::ObjectId)
    } else if name == type_name::<DateTime>() {
        Some(ElementType::DateTime)
    } else {
        None
    }
}

/// Where a value is.
#[inline]
pub(in crate::bson) fn address_of<T: ?Sized>(value: &T) -> u64 {
    std::ptr::from_ref(value).addr() as u64
}

impl Hints {
    /// Adds a hint; bytes that are none say nothing.
    #[inline]
    pub(super) fn add(&mut self, hint: &[u8]) {
        let Some((address, bytes)) = hint.split_first_chunk() else {
            return;
        };
        let Some(bytes) = bytes.first_chunk() else {
            return;
        };
        let hint = Hint {
            address: u64::from_le_bytes(*address),
            bytes: *bytes,
        };
        match self.first.get_mut(self.len) {
            Some(slot) => *slot = hint,
            None => self.more.push(hint),
        }
        self.len += 1;
    }

    /// The bytes of this value, if there is a hint.
    #[inline]
    pub(super) fn find<T: ?Sized>(&mut self, value: &T) -> Option<[u8; WIDTH]> {
        let address = address_of(value);
        for index in self.next..self.len.min(self.next + AHEAD) {
            let hint = match self.first.get(index) {
                Some(hint) => hint,
                None => self.more.get(index - INLINE)?,
            };
            if hint.address == address {
                self.next = index + 1;
                return Some(hint.bytes);
            }
        }
        None
    }

    /// Forgets all hints: what they were about may be gone.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.more.clear();
        (self.len, self.next) = (0, 0);
    }
}
