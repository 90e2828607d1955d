//! Measures the driver beside others: the official crate `mongodb`, libmongoc, and a floor of prepared bytes on tokio's sockets.
//!
//! All of them do the same operations ([`contract`](marula_bench_shared::contract)) against the same server ([`canned`]), whose replies are
//! made before, so that only the clients are measured. Each client is a program of its own:
//!
//! | contestant | program |
//! |---|---|
//! | blocking | `src/bin/client-blocking.rs`, the floor of all clients: prepared bytes on blocking sockets, a thread for each task |
//! | floor | `src/bin/client-floor.rs`, the floor of clients on tokio |
//! | marula | `src/bin/client-marula.rs` |
//! | odm | `src/bin/client-odm.rs`, for the tasks that have a typed call; its counts are compared with the driver's |
//! | official | `official/`, a workspace of its own, so that nothing of the product builds another driver |
//! | libmongoc | `libmongoc/client.c`, when `pkg-config` finds the library |
//!
//! ```sh
//! cargo run --release -p marula-bench -- compare   # rounds A B C D A B C D …; table, JSON and chart in target/bench
//! cargo run --release -p marula-bench -- check     # counts against ceilings.toml
//! cargo run --release -p marula-bench -- profile   # where the instructions go
//! cargo run --release -p marula-bench -- cost      # crates, build time, size of the program
//! ```
//!
//! Times depend on the machine and on who else uses it: compare within one run, by the medians, and look at the ranges. Counts
//! of instructions and allocations hardly do. All programs are built with the settings of `cargo build --release`.

pub mod canned;
pub mod encode;
pub mod floor;
pub mod rig;
pub mod suites;
