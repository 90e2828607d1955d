//! The values of fields: their codec, and the values that operators take.

pub mod codec;
pub mod geo;
pub(crate) mod record;
pub mod search_field;
pub mod value;
