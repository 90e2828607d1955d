//! What the derives name in the code they emit. Not for use by hand: it changes with the derives.

pub use crate::bson::Bson;
use crate::bson::Document;
pub use crate::bson::hinted::Hints;
pub use crate::error::ValueError;
pub use crate::filter::{BsonType, Filter, FilterOps, variant};
pub use crate::id::{Auto, IdSource, Manual, ObjectIds, UuidV4, UuidV7};
pub use crate::index::IndexDeclaration;
pub use crate::model::Model;
pub use crate::path::field::{Embedded, Field, Opaque};
pub use crate::path::marker::{
    Date, Geo, HashedKey, IndexKey, Integer, KeysetKey, Numeric, Ordered, Readable, Text, TextKey, TtlKey,
};
pub use crate::path::{AsPath, Inner, Mode, Path, RawPath, Read, Wrapped};
pub use crate::value::{IntoValue, serialized};

/// Refuses, at the span of the field's type, an id source that does not fit the type of the id.
pub fn assert_id_source<S: IdSource<I>, I>() {}

/// A document of options.
pub fn options<const N: usize>(entries: [(&'static str, Bson); N]) -> Document {
    entries
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// A field that may have typed paths, and then hints, or not, which is an error at its place already.
#[derive(Debug)]
pub struct Probe<'a, T>(pub &'a T);

/// The hints of a field with typed paths.
pub trait Hinted {
    /// Names the ids and dates in the field.
    fn hint<H: Hints>(&self, hints: &mut H);
}

impl<T: Field> Hinted for Probe<'_, T> {
    #[inline]
    fn hint<H: Hints>(&self, hints: &mut H) {
        self.0.hint(hints);
    }
}

/// What a call on a reference to a [`Probe`] finds only where there is no [`Hinted`].
pub trait Unhinted {
    /// Names nothing.
    #[inline]
    fn hint<H: Hints>(&self, _hints: &mut H) {}
}

impl<T> Unhinted for &Probe<'_, T> {}
