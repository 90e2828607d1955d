//! Benchmarks of the driver and the ODM, compared with the official crate `mongodb`, libmongoc, and
//! two lower bounds.
//!
//! All clients run the same operations ([`contract`](marula_bench_shared::contract)) against the
//! same server ([`canned`]), which returns precomputed replies, so that only the clients are
//! measured. Each client is a separate program:
//!
//! | client | program |
//! |---|---|
//! | blocking | `src/bin/client-blocking.rs`, lower bound of all clients: precomputed requests on blocking sockets, one thread for each task |
//! | floor | `src/bin/client-floor.rs`, lower bound of clients on tokio: precomputed requests on tokio's sockets |
//! | marula | `src/bin/client-marula.rs` |
//! | odm | `src/bin/client-odm.rs`, for tasks that the ODM supports; its counts are compared with the driver's |
//! | official | `official/`, a separate workspace, so that the main workspace does not depend on the crate `mongodb` |
//! | libmongoc | `libmongoc/client.c`, if `pkg-config` finds the library |
//!
//! ```sh
//! cargo run --release -p marula-bench -- compare   # all clients in alternating rounds; table, JSON and chart in target/bench
//! cargo run --release -p marula-bench -- check     # counts, compared with ceilings.toml
//! cargo run --release -p marula-bench -- profile   # instructions by function
//! cargo run --release -p marula-bench -- cost      # dependencies, build time, binary size
//! cargo run --release -p marula-bench -- compile   # time of cargo check for many models and queries
//! ```
//!
//! Times depend on the machine and its load: compare medians of the same run, and check the ranges.
//! Counts of instructions and allocations are nearly independent of both. All programs are built
//! with the release profile.

pub mod canned;
pub mod encode;
pub mod floor;
pub mod rig;
pub mod suites;
