//! Runs the MongoDB specifications' JSON tests against the driver.

pub mod case;
pub mod unified;
