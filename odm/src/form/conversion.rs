//! The conversion of one value between its stored form and the form of its serde implementation.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bson::{Bson, to_bson};
use crate::error::ValueError;

/// A type that is stored in another form than that of its `Serialize`.
pub trait Converted: Serialize + DeserializeOwned {
    /// The stored form.
    ///
    /// # Errors
    /// The value is out of the range of the stored form.
    fn to_stored(&self) -> Result<Bson, ValueError>;

    /// The value of a stored one. `None` if it has another BSON type: such a value is read by the
    /// type's own `Deserialize`.
    ///
    /// # Errors
    /// The stored value is out of the range of the type.
    fn from_stored(stored: &Bson) -> Result<Option<Self>, ValueError>;
}

/// The function that converts one stored value to the form that the type's `Deserialize` reads.
#[derive(Clone, Copy, Debug)]
pub struct Conversion {
    pub(super) decode: fn(&Bson) -> Result<Option<Bson>, ValueError>,
}

impl Conversion {
    /// The conversion of a type.
    #[must_use]
    pub fn of<T: Converted>() -> Self {
        Conversion {
            decode: |stored| match T::from_stored(stored)? {
                Some(value) => Ok(Some(to_bson(&value)?)),
                None => Ok(None),
            },
        }
    }
}
