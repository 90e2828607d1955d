//! What is known of types, computed once in a process.

use std::any::TypeId;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

const LISTS: usize = 64;

/// Values by type. Each list grows at its end, and is read without a lock: typed calls read it.
pub(crate) struct TypeMap<V> {
    lists: [Link<V>; LISTS],
}

type Link<V> = OnceLock<Box<Entry<V>>>;

struct Entry<V> {
    id: TypeId,
    value: V,
    next: Link<V>,
}

impl<V> TypeMap<V> {
    pub(crate) const fn new() -> Self {
        TypeMap {
            lists: [const { OnceLock::new() }; LISTS],
        }
    }

    /// The value of a type. `make` must not read the map.
    #[inline]
    pub(crate) fn get_or_init(&self, id: TypeId, make: fn() -> V) -> &V {
        let mut link = &self.lists[list_of(id)];
        loop {
            let entry = link.get_or_init(|| Entry::new(id, make));
            if entry.id == id {
                return &entry.value;
            }
            link = &entry.next;
        }
    }
}

impl<V> Entry<V> {
    #[cold]
    fn new(id: TypeId, make: fn() -> V) -> Box<Self> {
        Box::new(Entry {
            id,
            value: make(),
            next: Link::new(),
        })
    }
}

fn list_of(id: TypeId) -> usize {
    let mut bits = Bits(0);
    id.hash(&mut bits);
    (bits.finish() % LISTS as u64) as usize
}

/// The bits that a value writes to its hasher: those of a `TypeId` are a hash.
struct Bits(u64);

impl Hasher for Bits {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 ^= value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types with distinct ids: more than there are lists, so that some share one.
    #[test]
    fn types_are_distributed_over_the_lists() {
        macro_rules! lists {
            ($($n:literal)*) => { [$(list_of(TypeId::of::<[u8; $n]>())),*] };
        }
        let mut lists =
            lists![1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32];
        assert!(lists.iter().all(|list| *list < LISTS));
        lists.sort_unstable();
        let distinct = lists.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(distinct > 8, "{lists:?}");
    }

    #[test]
    fn each_type_has_its_value() {
        static NAMES: TypeMap<&str> = TypeMap::new();
        macro_rules! names {
            ($($n:literal)*) => { [$(*NAMES.get_or_init(TypeId::of::<[u8; $n]>(), || stringify!($n))),*] };
        }
        for _ in 0..2 {
            assert_eq!(
                names![1 2 3 4 5 6 7 8 9 10 11 12],
                ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"]
            );
        }
    }
}
