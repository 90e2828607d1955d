//! The common part of the clients of the specified benchmarks (DriverBench and the ODM benchmark).
//!
//! | module | |
//! |---|---|
//! | [`task`] | the tasks, with the sizes for their scores |
//! | [`composite`] | the averages of the driver suite |
//! | [`rule`] | number of iterations of a task |
//! | [`statistics`] | percentiles and scores |
//! | [`data`] | the archives of the specifications |
//! | [`models`] | the structs of the ODM suite, as macros, to which each client adds its derives |
//! | [`program`] | the main function of a client: runs the phases of a task |
//! | [`share`] | distributes work among one task for each core |

pub mod composite;
pub mod data;
pub mod models;
pub mod program;
pub mod rule;
pub mod share;
pub mod statistics;
pub mod task;

pub use data::Data;
pub use program::{Assignment, Body, Failure, Missing, Phase, PhaseFuture, serve};
pub use task::Task;

/// The collection of the tasks of the driver suite.
pub const COLLECTION: &str = "corpus";
