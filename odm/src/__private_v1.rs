//! What the derives name in the code they emit. Not for use by hand: it changes with the derives.

use std::marker::PhantomData;

use serde::Serialize;

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

/// A source of ids that may make ids of a type or not.
#[derive(Debug, Default)]
pub struct IdProbe<S, I>(PhantomData<fn() -> (S, I)>);

impl<S, I> IdProbe<S, I> {
    /// The question.
    #[must_use]
    pub fn new() -> Self {
        IdProbe(PhantomData)
    }
}

/// A source that makes ids of the type.
pub trait MakesIds {
    /// A new id as it is stored.
    fn generate(&self) -> Option<Result<Bson, ValueError>>;
}

impl<S: IdSource<I>, I: Serialize> MakesIds for IdProbe<S, I> {
    fn generate(&self) -> Option<Result<Bson, ValueError>> {
        Some(serialized(&S::new_id()))
    }
}

/// What a call on a reference to an [`IdProbe`] finds only where there is no [`MakesIds`].
pub trait MakesNoIds {
    /// No id.
    fn generate(&self) -> Option<Result<Bson, ValueError>> {
        None
    }
}

impl<S, I> MakesNoIds for &IdProbe<S, I> {}

/// An id that can be missing.
pub trait Optional {
    /// Whether it is.
    fn is_none(&self) -> bool;
}

impl<T> Optional for Probe<'_, Option<T>> {
    #[inline]
    fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

/// What a call on a reference to a [`Probe`] finds only where there is no [`Optional`].
pub trait Always {
    /// Never.
    #[inline]
    fn is_none(&self) -> bool {
        false
    }
}

impl<T> Always for &Probe<'_, T> {}
