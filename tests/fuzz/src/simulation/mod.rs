//! Simulates the driver's state machines on a virtual clock with random events, and checks their
//! invariants.
//!
//! A run depends only on its seed, which is printed if the run fails.
//! `SIMULATION_SEED=<seed> cargo test -p marula-fuzz-tests` repeats it.

mod client;
mod ledger;
mod operation;
mod random;
mod servers;
mod world;

pub use ledger::Ledger;
pub use random::{Random, for_each_seed};
pub use world::{Summary, simulate};
