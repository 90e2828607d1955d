//! Runs the specified benchmarks,
//! [DriverBench](https://github.com/mongodb/specifications/blob/master/source/benchmarking/benchmarking.md)
//! and the [ODM
//! benchmark](https://github.com/mongodb/specifications/blob/master/source/benchmarking/odm-benchmarking.md),
//! for this project and optionally for the official driver.
//!
//! ```sh
//! cargo run --release -p marula-bench --bin suites -- --official          # all tasks, as specified: takes hours
//! cargo run --release -p marula-bench --bin suites -- --official --quick  # at most 3 iterations or 1 s for each task
//! cargo run --release -p marula-bench --bin suites -- --official --seconds 5  # takes half an hour
//! cargo run --release -p marula-bench --bin suites -- --only odm_small    # tasks whose names contain the text
//! ```
//!
//! **Data.** The archives of the specifications are not part of this repository. `BENCH_DATA_DIR`
//! is the folder with the `.tgz` files (default: `../shared/bench-data`). They are unpacked into
//! `target/bench/data` when a task requires them (0.9 GB for the parallel tasks).
//!
//! **Clients.** Each client is a program that runs the phases of one task
//! (`marula_bench_shared::harness`): `src/bin/suite-marula`, and `official/src/suite` in a separate
//! workspace. Iterations alternate between the clients, so that other load on the machine affects
//! both. In the ODM suite marula uses models with typed filters and updates; the official client
//! uses serde structs in typed collections, with filters and updates as documents.
//!
//! **Server.** Each client of each task uses its own process of `marula-test-server`, an in-memory
//! standalone; with `MONGODB_URI` all clients use that deployment, with the databases `perftest_a`,
//! `perftest_b`. The in-memory server is slower than MongoDB in many operations. The table shows
//! the server's share of the CPU time: the higher it is, the less the ratio depends on the drivers.
//! Tasks that are too large for an in-memory server are reduced, which the table shows.
//!
//! **Scores** are megabytes per second by the median, as specified; higher is better. A composite
//! score excludes the tasks that one of the clients does not support, and shows their number.
//! Results are printed and written to `target/bench/suites.{md,json}`; the JSON contains all times
//! and percentiles.

pub mod client;
pub mod cpu;
pub mod measure;
pub mod options;
pub mod paths;
pub mod report;
pub mod server;

/// The error of a run.
pub type Failure = marula_bench_shared::harness::Failure;
