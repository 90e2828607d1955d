//! Random tests of the driver's pure code: the parsers on damaged bytes, and the state machines on random histories.
//!
//! | module | |
//! |---|---|
//! | [`targets`] | fuzz targets: each gives any bytes to one parser and checks what must hold; `libfuzzer/` runs them under cargo-fuzz |
//! | [`simulation`] | the state machines of a client joined on a virtual clock, under random faults |

pub mod simulation;
pub mod targets;
