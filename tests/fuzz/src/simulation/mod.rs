//! The driver's machines on a virtual clock: random histories from a seed, and what must hold in each.
//!
//! A run depends on its seed alone. A failing one names it; `SIMULATION_SEED=<seed> cargo test -p marula-fuzz-tests`
//! repeats it.

mod client;
mod ledger;
mod operation;
mod random;
mod servers;
mod world;

pub use ledger::Ledger;
pub use random::{Random, for_each_seed};
pub use world::{Summary, simulate};
