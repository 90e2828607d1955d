//! What a write changes in the struct that was passed to it.

use crate::bson::Bson;

/// The values that a write has stored instead of those of the struct.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The generated id of a document whose id was `None`.
    pub id: Option<Bson>,
}
