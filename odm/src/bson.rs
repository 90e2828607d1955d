//! The BSON vocabulary and codec of the driver, under one name for the whole crate.

pub use marula_driver::bson::*;
