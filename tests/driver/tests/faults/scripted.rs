//! Many tasks use one client while its connections fail according to a script, with over a thousand
//! faults: no operation hangs or panics, every error has an expected kind, every acknowledged write
//! is stored exactly once, and the client works afterwards.
//!
//! `cargo test --test faults scripted -- --nocapture` prints the faults of each target. The number
//! in `MARULA_FAULT_SEED` is added to the seeds, which changes the order of the faults.

mod bank;
mod change_streams;
mod cursor_log;
mod cuts;
mod endings;
mod kinds;
mod numbers;
mod script;
mod server_faults;
mod session_log;
mod stage;
mod table;
mod transactions;
mod transfers;
mod work;

use std::{pin::pin, time::Duration};

use marula_driver_tests::Topology;

use crate::ledger::{self, Ledger};
use kinds::{Load, Mode};
use script::Script;
use stage::Stage;

/// The time limit, which is reached only if a test fails.
const TIME_LIMIT: Duration = Duration::from_secs(240);
const TASKS: i32 = 64;
/// Larger than the number of operations that a burst of faults can block.
const POOL: usize = 20;
/// The streaming connection and the RTT connection of a monitor.
const OF_MONITOR: usize = 2;
/// A bound for the number of times that the pools are cleared after the last fault.
const MAX_CLEARS: usize = 10;
/// The timeouts for connections to a server that does not answer, and for commands without a reply.
const TIMEOUTS: &str =
    "connectTimeoutMS=1000&socketTimeoutMS=1000&waitQueueTimeoutMS=10000&heartbeatFrequencyMS=500";
/// A user with SCRAM-SHA-1 only. The handshake speculates on SCRAM-SHA-256, so every message of the
/// authentication is sent.
const USER: &str = "older:secret@";

async fn run(kind: Topology, mode: Mode, seed: u64, script: &Script) {
    let stage = Stage::start(kind).await;
    ledger::prepare(&stage.direct, TASKS).await;
    let connected = stage.connect(mode, |_| {});
    let _shown = script.print_on_panic();
    script.begin(&stage.deployment.proxies);
    let client = &connected.client;
    let started = (0..TASKS).map(|task| tokio::spawn(work::work(client.clone(), task, seed, script.clone())));
    let mut ledgers: Vec<Ledger> = Vec::new();
    for task in started.collect::<Vec<_>>() {
        ledgers.push(task.await.expect("no panic"));
    }
    println!("all tasks have ended");
    stage.end_faults();
    ledger::compare(&stage.direct, &ledgers).await;
    stage.wait_for_recovery(&connected, script).await;
    let counts = stage.end(connected).await;
    println!(
        "{kind:?}, {mode:?}, seed {seed}: {}\n{counts:?}\n{}",
        ledger::sum(&ledgers),
        script.table()
    );
    script.assert_every_kind_occurred();
}

fn other_seeds() -> u64 {
    let variable = std::env::var("MARULA_FAULT_SEED").ok();
    variable.map_or(0, |text| text.parse().expect("a number"))
}

/// The number of faults in the runs below.
#[test]
fn the_runs_perform_at_least_a_thousand_faults() {
    let (stream, poll) = (
        Script::new(0, Mode::Stream, Load::Operations).left(),
        Script::new(0, Mode::Poll, Load::Operations).left(),
    );
    assert!(4 * stream + 2 * poll >= 1000, "{stream} and {poll}");
}

async fn run_in_time(kind: Topology, mode: Mode, seed: u64) {
    let seed = seed + other_seeds();
    let script = Script::new(seed, mode, Load::Operations);
    let mut run = pin!(run(kind, mode, seed, &script));
    // The outline is that of the running test: dropping the deployment would change it.
    if tokio::time::timeout(TIME_LIMIT, &mut run).await.is_err() {
        panic!(
            "{kind:?}, {mode:?}, seed {seed} does not end\n{}",
            script.outline()
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_streaming_standalone_recovers_from_faults() {
    run_in_time(Topology::Standalone, Mode::Stream, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_polled_standalone_recovers_from_faults() {
    run_in_time(Topology::Standalone, Mode::Poll, 2).await;
}

#[tokio::test]
async fn a_streaming_standalone_recovers_from_faults_on_one_thread() {
    run_in_time(Topology::Standalone, Mode::Stream, 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_streaming_replica_set_recovers_from_faults() {
    run_in_time(Topology::ReplicaSet, Mode::Stream, 4).await;
}

#[tokio::test]
async fn a_streaming_replica_set_recovers_from_faults_on_one_thread() {
    run_in_time(Topology::ReplicaSet, Mode::Stream, 5).await;
}

#[tokio::test]
async fn a_polled_replica_set_recovers_from_faults_on_one_thread() {
    run_in_time(Topology::ReplicaSet, Mode::Poll, 6).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_streaming_sharded_cluster_recovers_from_faults() {
    run_in_time(Topology::Sharded, Mode::Stream, 7).await;
}

#[tokio::test]
async fn a_polled_sharded_cluster_recovers_from_faults_on_one_thread() {
    run_in_time(Topology::Sharded, Mode::Poll, 8).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_load_balanced_cluster_recovers_from_faults() {
    run_in_time(Topology::LoadBalanced, Mode::Unmonitored, 9).await;
}

#[tokio::test]
async fn a_load_balanced_cluster_recovers_from_faults_on_one_thread() {
    run_in_time(Topology::LoadBalanced, Mode::Unmonitored, 10).await;
}
