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

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "a failed index is a failed test")]
mod tests {
    use serde::ser::{SerializeMap, SerializeStruct};
    use serde::{Serialize, Serializer};

    use super::*;
    use crate::bson::hinted::{self, Hinting};
    use crate::bson::{doc, protocol, to_document, to_vec};

    /// Ids and dates, with hints at all that are not left out.
    #[derive(Clone, Serialize)]
    struct Owner {
        ids: Vec<Option<ObjectId>>,
        date: DateTime,
        #[serde(skip)]
        unhinted: usize,
    }

    impl Owner {
        fn new(ids: u8) -> Self {
            Owner {
                ids: (0..ids).map(|n| Some(ObjectId::from_bytes([n; 12]))).collect(),
                date: DateTime::from_millis(-77),
                unhinted: 0,
            }
        }
    }

    impl Hinting for Owner {
        fn hint<H: hinted::Hints>(&self, hints: &mut H) {
            let ids = self.ids.iter().skip(self.unhinted).flatten();
            ids.for_each(|id| hints.object_id(id));
            hints.date_time(&self.date);
        }
    }

    struct Hinted<'a, T>(&'a Owner, T);

    impl<T: Serialize> Serialize for Hinted<'_, T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            hinted::serialize(self.0, &self.1, serializer)
        }
    }

    #[test]
    fn what_is_written_is_the_same_with_and_without_hints() {
        for ids in 0..20 {
            for unhinted in [0, 1, 7, 20] {
                let mut owner = Owner::new(ids);
                owner.unhinted = unhinted;
                let hinted = to_vec(&Hinted(&owner, &owner)).unwrap();
                assert_eq!(hinted, to_vec(&owner).unwrap(), "{ids} {unhinted}");
            }
        }
    }

    #[test]
    fn values_elsewhere_are_not_taken_for_those_of_the_hints() {
        let (owner, mut other) = (Owner::new(6), Owner::new(6));
        other.ids.reverse();
        other.date = DateTime::from_millis(1);
        let written = to_vec(&Hinted(&owner, &other)).unwrap();
        assert_eq!(written, to_vec(&other).unwrap());
    }

    #[test]
    fn fields_may_be_left_out_swapped_and_written_twice() {
        struct Swapped<'a>(&'a Owner);

        impl Serialize for Swapped<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Owner { ids, date, .. } = self.0;
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("date", date)?;
                map.serialize_entry("again", date)?;
                map.serialize_entry("last", &ids[8])?;
                map.serialize_entry("first", &ids[0])?;
                map.serialize_entry("first_by_reference", &ids[0].as_ref())?;
                map.serialize_entry("made_up", &ObjectId::from_bytes([0xee; 12]))?;
                map.end()
            }
        }
        let owner = Owner::new(9);
        let written = to_vec(&Hinted(&owner, Swapped(&owner))).unwrap();
        assert_eq!(written, to_vec(&Swapped(&owner)).unwrap());
    }

    /// Written as bytes, not as an array.
    struct Bytes([u8; HINT]);

    impl Serialize for Bytes {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(&self.0)
        }
    }

    #[derive(Serialize)]
    struct Honest {
        a: ObjectId,
        b: DateTime,
    }

    /// Hints at other bytes than the id has, which a document never does.
    struct Lie(Honest);

    impl Serialize for Lie {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut hint = Bytes([0xab; HINT]);
            hint.0[..8].copy_from_slice(&address_of(&self.0.a).to_le_bytes());
            let mut fields = serializer.serialize_struct(protocol::HINTED, 2)?;
            fields.serialize_field(protocol::HINT, &hint)?;
            fields.serialize_field(protocol::HINTED_VALUE, &self.0)?;
            fields.end()
        }
    }

    #[test]
    fn a_hint_is_what_is_written() {
        let lie = Lie(Honest {
            a: ObjectId::from_bytes([1; 12]),
            b: DateTime::from_millis(1),
        });
        let written = doc! { "a": ObjectId::from_bytes([0xab; 12]), "b": DateTime::from_millis(1) };
        assert_eq!(to_document(&lie).unwrap(), written);
    }

    #[test]
    fn hints_end_with_the_value_that_they_are_about() {
        let owner = Owner::new(3);
        let mut hints = Hints::default();
        for id in owner.ids.iter().flatten() {
            let mut hint = [0; HINT];
            hint[..8].copy_from_slice(&address_of(id).to_le_bytes());
            hint[8..].copy_from_slice(&id.bytes());
            hints.add(&hint);
        }
        hints.add(b"short");
        let second = owner.ids[1].as_ref().unwrap();
        assert_eq!(hints.find(second), Some(second.bytes()));
        assert_eq!(hints.find(second), None, "each is taken once");
        hints.clear();
        assert_eq!(hints.find(owner.ids[2].as_ref().unwrap()), None);
    }
}
