//! What both contestants of the specified benchmarks (DriverBench and the ODM benchmark) share, without any driver in it.
//!
//! | module | |
//! |---|---|
//! | [`task`] | every task, with the size it is scored by |
//! | [`composite`] | the averages of the driver suite |
//! | [`rule`] | how many iterations a task is measured for |
//! | [`statistics`] | percentiles and scores |
//! | [`data`] | the specifications' archives and what is in them |
//! | [`models`] | the structs of the ODM suite, as macros, so that each contestant adds its own derives |
//! | [`program`] | a contestant's program: it is told the phases of one task, one after the other, and times the measured one |
//! | [`share`] | work that is shared among as many tasks as there are cores |

pub mod composite;
pub mod data;
pub mod models;
pub mod program;
pub mod rule;
pub mod share;
pub mod statistics;
pub mod task;

pub use data::Data;
pub use program::{Assignment, Body, Doing, Failure, Missing, Phase, serve};
pub use task::Task;

/// The collection of the driver suite's tasks.
pub const COLLECTION: &str = "corpus";
