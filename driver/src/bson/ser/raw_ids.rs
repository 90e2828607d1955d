//! Ids and dates whose bytes are known before they are serialized; see
//! [`raw_ids`](crate::bson::raw_ids).

use crate::bson::same_type;
use crate::bson::spec::ElementType;
use crate::bson::{DateTime, ObjectId};

/// Number of raw ids held without an allocation.
const INLINE: usize = 4;
/// Number of raw ids searched, counted from the one used last. More than one, since `Serialize` may
/// leave fields out.
const SEARCHED: usize = 4;
/// Length of the longer of the two types.
const MAX_LEN: usize = 12;
/// Length of a raw id on its way to the encoder: address, then bytes.
pub(in crate::bson) const RAW_ID_LEN: usize = 8 + MAX_LEN;

/// A value of which the bytes are known.
#[derive(Clone, Copy, Debug, Default)]
struct RawId {
    address: u64,
    bytes: [u8; MAX_LEN],
}

/// Raw ids in the order of the fields, in which they are also looked up.
#[derive(Debug, Default)]
pub(super) struct RawIds {
    first: [RawId; INLINE],
    more: Vec<RawId>,
    len: usize,
    next: usize,
}

/// The BSON type of `T`, if raw ids can be of type `T`.
#[inline(always)]
pub(super) fn kind_of<T: ?Sized>() -> Option<ElementType> {
    if same_type::is::<T, ObjectId>() {
        Some(ElementType::ObjectId)
    } else if same_type::is::<T, DateTime>() {
        Some(ElementType::DateTime)
    } else {
        None
    }
}

/// The address of a value.
#[inline]
pub(in crate::bson) fn address_of<T: ?Sized>(value: &T) -> u64 {
    std::ptr::from_ref(value).addr() as u64
}

impl RawIds {
    /// Adds a raw id. Bytes of another length than [`RAW_ID_LEN`] are ignored.
    #[inline]
    pub(super) fn add(&mut self, raw_id: &[u8]) {
        let Some((address, bytes)) = raw_id.split_first_chunk() else {
            return;
        };
        let Some(bytes) = bytes.first_chunk() else {
            return;
        };
        let raw_id = RawId {
            address: u64::from_le_bytes(*address),
            bytes: *bytes,
        };
        match self.first.get_mut(self.len) {
            Some(slot) => *slot = raw_id,
            None => self.more.push(raw_id),
        }
        self.len += 1;
    }

    /// The bytes of this value, if they are known.
    #[inline]
    pub(super) fn find<T: ?Sized>(&mut self, value: &T) -> Option<[u8; MAX_LEN]> {
        let address = address_of(value);
        for index in self.next..self.len.min(self.next + SEARCHED) {
            let raw_id = match self.first.get(index) {
                Some(raw_id) => raw_id,
                None => self.more.get(index - INLINE)?,
            };
            if raw_id.address == address {
                self.next = index + 1;
                return Some(raw_id.bytes);
            }
        }
        None
    }

    /// Removes all raw ids. Called when the value they belong to is written or has failed: its
    /// borrow ends then.
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
    use crate::bson::raw_ids::{self, RawIdVisitor};
    use crate::bson::ser::ValueSerializer;
    use crate::bson::{doc, markers, to_document, to_vec};

    /// Ids and dates. The first `unlisted` ids are not among the raw ids.
    #[derive(Clone, Serialize)]
    struct Owner {
        ids: Vec<Option<ObjectId>>,
        date: DateTime,
        #[serde(skip)]
        unlisted: usize,
    }

    impl Owner {
        fn new(ids: u8) -> Self {
            Owner {
                ids: (0..ids).map(|n| Some(ObjectId::from_bytes([n; 12]))).collect(),
                date: DateTime::from_millis(-77),
                unlisted: 0,
            }
        }
    }

    impl raw_ids::RawIds for Owner {
        fn raw_ids<'a, V: RawIdVisitor<'a>>(&'a self, visitor: &mut V) {
            let ids = self.ids.iter().skip(self.unlisted).flatten();
            ids.for_each(|id| visitor.object_id(id));
            visitor.date_time(&self.date);
        }
    }

    struct WithRawIds<'a, T>(&'a Owner, T);

    impl<T: Serialize> Serialize for WithRawIds<'_, T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            raw_ids::serialize(self.0, &self.1, serializer)
        }
    }

    #[test]
    fn the_same_bytes_are_written_with_and_without_raw_ids() {
        for ids in 0..20 {
            for unlisted in [0, 1, 7, 20] {
                let mut owner = Owner::new(ids);
                owner.unlisted = unlisted;
                let written = to_vec(&WithRawIds(&owner, &owner)).unwrap();
                assert_eq!(written, to_vec(&owner).unwrap(), "{ids} {unlisted}");
            }
        }
    }

    #[test]
    fn values_at_other_addresses_are_serialized() {
        let (owner, mut other) = (Owner::new(6), Owner::new(6));
        other.ids.reverse();
        other.date = DateTime::from_millis(1);
        let written = to_vec(&WithRawIds(&owner, &other)).unwrap();
        assert_eq!(written, to_vec(&other).unwrap());
    }

    #[test]
    fn fields_may_be_missing_reordered_and_repeated() {
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
        let written = to_vec(&WithRawIds(&owner, Swapped(&owner))).unwrap();
        assert_eq!(written, to_vec(&Swapped(&owner)).unwrap());
    }

    /// Written as bytes, not as an array.
    struct Bytes([u8; RAW_ID_LEN]);

    impl Serialize for Bytes {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(&self.0)
        }
    }

    #[derive(Serialize)]
    struct Pair {
        a: ObjectId,
        b: DateTime,
    }

    /// Sends other bytes than those of its id, which [`raw_ids::serialize`] never does.
    struct Forged(Pair);

    impl Serialize for Forged {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut raw_id = Bytes([0xab; RAW_ID_LEN]);
            raw_id.0[..8].copy_from_slice(&address_of(&self.0.a).to_le_bytes());
            let mut fields = serializer.serialize_struct(markers::RAW_IDS, 2)?;
            fields.serialize_field(markers::RAW_ID, &raw_id)?;
            fields.serialize_field(markers::VALUE, &self.0)?;
            fields.end()
        }
    }

    #[test]
    fn the_bytes_sent_are_written() {
        let forged = Forged(Pair {
            a: ObjectId::from_bytes([1; 12]),
            b: DateTime::from_millis(1),
        });
        let written = doc! { "a": ObjectId::from_bytes([0xab; 12]), "b": DateTime::from_millis(1) };
        assert_eq!(to_document(&forged).unwrap(), written);
    }

    /// Cannot be serialized.
    struct Failing;

    impl Serialize for Failing {
        fn serialize<S: Serializer>(&self, _serializer: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("fails"))
        }
    }

    #[test]
    fn raw_ids_of_a_failed_value_are_not_used() {
        let owner = Owner::new(2);
        let mut out = Vec::new();
        let mut encoder = crate::bson::ser::Encoder::new(&mut out);
        let failed = WithRawIds(&owner, Failing).serialize(ValueSerializer::new(&mut encoder));
        assert!(failed.is_err());
        assert_eq!(encoder.raw_ids.find(owner.ids[0].as_ref().unwrap()), None);
    }

    #[test]
    fn each_raw_id_is_used_once_and_until_cleared() {
        let owner = Owner::new(3);
        let mut raw_ids = RawIds::default();
        for id in owner.ids.iter().flatten() {
            let mut raw_id = [0; RAW_ID_LEN];
            raw_id[..8].copy_from_slice(&address_of(id).to_le_bytes());
            raw_id[8..].copy_from_slice(&id.bytes());
            raw_ids.add(&raw_id);
        }
        raw_ids.add(b"short");
        let second = owner.ids[1].as_ref().unwrap();
        assert_eq!(raw_ids.find(second), Some(second.bytes()));
        assert_eq!(raw_ids.find(second), None, "each is used once");
        raw_ids.clear();
        assert_eq!(raw_ids.find(owner.ids[2].as_ref().unwrap()), None);
    }
}
