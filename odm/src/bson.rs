//! Re-exports the BSON types and the codec of the driver.

pub use marula_driver::bson::*;
