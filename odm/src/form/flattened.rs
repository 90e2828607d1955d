//! The keys of flattened maps, which serde writes as fields of the outer document.

use std::collections::{BTreeMap, HashMap};

use crate::bson::Document;

/// A map that serde can flatten.
pub trait FlattenedMap {
    /// The first key that is one of these names.
    fn key_in(&self, names: &[&str]) -> Option<&str>;
}

fn first<'a>(keys: impl IntoIterator<Item = &'a (impl AsRef<str> + 'a)>, names: &[&str]) -> Option<&'a str> {
    keys.into_iter()
        .map(AsRef::as_ref)
        .find(|key| names.contains(key))
}

impl<K: AsRef<str>, V, S> FlattenedMap for HashMap<K, V, S> {
    fn key_in(&self, names: &[&str]) -> Option<&str> {
        first(self.keys(), names)
    }
}

impl<K: AsRef<str>, V> FlattenedMap for BTreeMap<K, V> {
    fn key_in(&self, names: &[&str]) -> Option<&str> {
        first(self.keys(), names)
    }
}

impl FlattenedMap for Document {
    fn key_in(&self, names: &[&str]) -> Option<&str> {
        first(self.keys(), names)
    }
}

impl<T: FlattenedMap> FlattenedMap for Option<T> {
    fn key_in(&self, names: &[&str]) -> Option<&str> {
        self.as_ref()?.key_in(names)
    }
}

impl<T: FlattenedMap + ?Sized> FlattenedMap for Box<T> {
    fn key_in(&self, names: &[&str]) -> Option<&str> {
        (**self).key_in(names)
    }
}
