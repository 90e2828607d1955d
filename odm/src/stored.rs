//! Models on their way to the driver: what is written is what their `Serialize` says, with a shorter way for ids and dates.
//!
//! Crate bson shows ObjectIds and DateTimes to serde as text. The derives know which fields hold them, so a model can hint at
//! their bytes; [`hinted`] says how that stays true whatever `Serialize` does.

use serde::{Serialize, Serializer};

use crate::bson::hinted::{self, Hinting, Hints};
use crate::path::field::Field;

/// A model, or a part of it, to be written by the driver.
#[derive(Debug)]
pub(crate) struct Stored<'a, D, T = D> {
    model: &'a D,
    part: &'a T,
}

impl<'a, D> Stored<'a, D> {
    /// All of a model.
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

impl<D: Field, T> Hinting for Stored<'_, D, T> {
    #[inline]
    fn hint<H: Hints>(&self, hints: &mut H) {
        self.model.hint(hints);
    }
}

impl<D: Field, T: Serialize> Serialize for Stored<'_, D, T> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        hinted::serialize(self, self.part, serializer)
    }
}
