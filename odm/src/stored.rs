//! Models as they are passed to the driver.
//!
//! A model is written by its own `Serialize`. Crate bson serializes ObjectIds and DateTimes as
//! text. The derives know the fields of these types, so their bytes are sent to the encoder first;
//! see [`raw_ids`].

use serde::{Serialize, Serializer};

use crate::bson::raw_ids::{self, RawIdVisitor, RawIds};
use crate::path::field::Field;

/// A model, or a part of it, that the driver writes.
#[derive(Debug)]
pub(crate) struct Stored<'a, D, T = D> {
    model: &'a D,
    part: &'a T,
}

impl<'a, D> Stored<'a, D> {
    /// A whole model.
    #[inline]
    pub(crate) fn new(model: &'a D) -> Self {
        Self::part(model, model)
    }
}

impl<'a, D, T> Stored<'a, D, T> {
    /// A value within a model.
    #[inline]
    pub(crate) fn part(model: &'a D, part: &'a T) -> Self {
        Stored { model, part }
    }
}

impl<D: Field, T> RawIds for Stored<'_, D, T> {
    #[inline]
    fn raw_ids<'a, V: RawIdVisitor<'a>>(&'a self, visitor: &mut V) {
        self.model.raw_ids(visitor);
    }
}

impl<D: Field, T: Serialize> Serialize for Stored<'_, D, T> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        raw_ids::serialize(self, self.part, serializer)
    }
}
