//! Code that the benchmark programs share, including those of the official driver. It does not
//! depend on a driver.
//!
//! | module | |
//! |---|---|
//! | [`contract`] | the client programs of the comparison: arguments, documents, tasks, measuring |
//! | [`harness`] | the clients of the specified benchmarks: tasks, data, models, phases, percentiles, scores |

pub mod contract;
pub mod harness;
