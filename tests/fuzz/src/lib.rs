//! Randomised tests of the driver: fuzz targets for its parsers, and simulations of its state
//! machines.
//!
//! | module | |
//! |---|---|
//! | [`targets`] | fuzz targets, one for each parser, which check its invariants; `libfuzzer/` runs them under cargo-fuzz |
//! | [`simulation`] | the state machines of a client on a virtual clock, with random faults |

pub mod simulation;
pub mod targets;
