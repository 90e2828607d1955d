//! Runs the specified benchmarks: DriverBench (Performance Benchmarking) and the ODM benchmark, for this project and, in the same
//! run, for the official driver.
//!
//! ```sh
//! cargo run --release -p marula-bench --bin suites -- --official          # all of it, as specified: hours
//! cargo run --release -p marula-bench --bin suites -- --official --quick  # a look: at most 3 iterations or a second each
//! cargo run --release -p marula-bench --bin suites -- --official --seconds 5  # in half an hour
//! cargo run --release -p marula-bench --bin suites -- --only odm_small    # tasks whose names contain the text
//! ```
//!
//! **Data.** The archives of the specifications are not part of this repository: `BENCH_DATA_DIR` names the folder that holds the
//! `.tgz` files, else `../shared/bench-data` beside the checkout. They are unpacked into `target/bench/data` when a task needs
//! them (0.9 GB for the parallel ones).
//!
//! **Contestants.** Each is a program of its own that does the phases of one task as it is told (`marula_bench_shared::harness`); what
//! they have in common is shared, the bodies of the tasks are each contestant's own: `src/bin/suite-marula`, and
//! `official/src/suite` in its own workspace. Iterations take turns, A B A B, so that what else happens on the machine hits both.
//! In the ODM suite we use models with typed filters and updates; the official crate has no such layer, so its side is plain
//! serde structs in typed collections, with filters and updates written as documents.
//!
//! **Server.** Each contestant of each task gets its own process of `marula-test-server`, a standalone in memory; or all of them use
//! the deployment that `MONGODB_URI` names, in databases `perftest_a`, `perftest_b`. The server in memory is slower than a real
//! one in much of what it does. The table says how much of all CPU time was the server's: where that is most of it, the ratio
//! says little about the drivers. Tasks too large for a server in memory are reduced and say so.
//!
//! **Scores** are megabytes a second by the median, as specified, more is better. A composite leaves out the tasks that one of the
//! contestants has no means for, for all of them, and says how many. Results are printed, and written as
//! `target/bench/suites.{md,json}`; the JSON has every time and all percentiles.

pub mod contestant;
pub mod cpu;
pub mod options;
pub mod places;
pub mod race;
pub mod report;
pub mod server;

/// Why a run can't go on.
pub type Failure = marula_bench_shared::harness::Failure;
