//! The BSON types and the codec, re-exported from [`driver::bson`](crate::driver::bson).

pub use marula_driver::bson::*;
