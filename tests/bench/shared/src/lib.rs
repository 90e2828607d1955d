//! What the programs of the benchmarks share, without any driver in it: the official driver's programs use it too.
//!
//! | module | |
//! |---|---|
//! | [`contract`] | the client programs of the comparison: arguments, documents, tasks, measuring |
//! | [`harness`] | the contestants of the specified benchmarks: tasks, data, models, phases, percentiles, scores |

pub mod contract;
pub mod harness;
