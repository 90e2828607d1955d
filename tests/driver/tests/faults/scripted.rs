//! Many tasks use one client while its connections fail according to a script, with over a thousand
//! faults: no operation hangs or panics, every error has an expected kind, every acknowledged write
//! is stored exactly once, and the client works afterwards.
//!
//! `cargo test --test faults scripted -- --nocapture` prints the faults of each target. The number
//! in `MARULA_FAULT_SEED` is added to the seeds, which changes the order of the faults.

mod cuts;
mod endings;
mod kinds;
mod script;
mod table;
mod work;

use std::{pin::pin, time::Duration};

use marula_driver::{Client, bson::doc, options::ClientOptions};
use marula_driver_tests::{Counts, PoolTally, Proxied, Topology, proxy::Action, tasks};
use marula_test_server::TestServer;
use tokio::{sync::watch, task::JoinSet};

use crate::ledger::{self, Ledger};
use kinds::Mode;
use script::Script;

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
    "connectTimeoutMS=2000&socketTimeoutMS=2000&waitQueueTimeoutMS=10000&heartbeatFrequencyMS=500";
/// A user with SCRAM-SHA-1 only. The handshake speculates on SCRAM-SHA-256, so every message of the
/// authentication is sent.
const USER: &str = "older:secret@";

async fn deploy(kind: Topology) -> Proxied {
    // The minimum iteration count that clients accept, to save time.
    let builder = TestServer::builder()
        .parameter("scramIterationCount", 4096)
        .auth("owner", "secret");
    let deployment = match kind {
        // Both routers, so that retries use the other router.
        Topology::Sharded => Proxied::sharded(builder, 2).await,
        _ => Proxied::start(kind, builder).await,
    };
    let owner = Client::connect(deployment.direct_uri()).await.expect("a client");
    let create =
        doc! { "createUser": "older", "pwd": "secret", "roles": ["root"], "mechanisms": ["SCRAM-SHA-1"] };
    owner.database("admin").run_command(create).await.expect("a user");
    owner.shutdown().await;
    deployment
}

/// Connects a client through the proxies, and counts its connections.
fn connect(deployment: &Proxied, mode: Mode) -> (Client, PoolTally) {
    let options = format!(
        "maxPoolSize={POOL}&serverMonitoringMode={}&{TIMEOUTS}",
        mode.as_str()
    );
    let mut options = ClientOptions::parse(&deployment.uri(USER, options)).expect("a connection string");
    let tally = PoolTally::default();
    tally.listen(&mut options);
    let client = Client::with_options(options).expect("a client");
    (client, tally)
}

async fn run(kind: Topology, mode: Mode, seed: u64, script: &Script) {
    let deployment = deploy(kind).await;
    let direct = Client::connect(deployment.direct_uri()).await.expect("a client");
    ledger::prepare(&direct, TASKS).await;
    let tasks = tasks::alive();
    let (client, tally) = connect(&deployment, mode);
    let _shown = script.print_on_panic();
    script.begin(&deployment.proxies);
    let started = (0..TASKS).map(|task| tokio::spawn(work::work(client.clone(), task, seed, script.clone())));
    let mut ledgers: Vec<Ledger> = Vec::new();
    for task in started.collect::<Vec<_>>() {
        ledgers.push(task.await.expect("no panic"));
    }
    println!("all tasks have ended");
    for proxy in &deployment.proxies {
        proxy.pass_everything();
        proxy.end_waits();
    }
    ledger::compare(&direct, &ledgers).await;
    // The client may not have observed the last faults yet.
    while let Err(error) = work::ping(&client).await {
        work::check(&error);
    }
    script.recovered_from_all();
    expect_whole_pool(&client, &deployment).await;
    println!("the pool is complete: {:?}", tally.counts());
    // Cursors may still be killed in the background.
    tally.wait_until(Counts::is_at_rest).await;
    client.shutdown().await;
    drop(client);
    println!("the client is shut down: {:?}", tally.counts());
    deployment.wait_for_at_most_open(0).await;
    println!("all connections are closed");
    tasks::wait_for_at_most(tasks).await;
    tally.assert_nothing_left();
    let counts = tally.counts();
    assert!(counts.max_pending <= 2 && counts.max_open <= POOL, "{counts:?}");
    println!(
        "{kind:?}, {mode:?}, seed {seed}: {}\n{counts:?}\n{}",
        ledger::sum(&ledgers),
        script.table()
    );
    script.assert_every_kind_occurred();
}

/// Checks that no connection has leaked: as many operations as the pool of the primary has
/// connections can run at the same time.
///
/// A check of a server that hangs because of a fault can still time out here, which clears the pool.
/// Then the operations are sent again.
async fn expect_whole_pool(client: &Client, deployment: &Proxied) {
    for _ in 0..MAX_CLEARS {
        if use_whole_pool(client, deployment).await {
            return deployment.wait_for_at_most_open(POOL + OF_MONITOR).await;
        }
    }
    panic!("{POOL} operations cannot run at the same time");
}

/// Returns whether the operations ran at the same time and succeeded.
async fn use_whole_pool(client: &Client, deployment: &Proxied) -> bool {
    let (seen, mut count) = watch::channel(0);
    for proxy in &deployment.proxies {
        let seen = seen.clone();
        proxy.set_rule(move |exchange| {
            if exchange.command != "ping" {
                return Action::Pass;
            }
            seen.send_modify(|seen| *seen += 1);
            Action::Delay
        });
    }
    let mut pings = JoinSet::new();
    for _ in 0..POOL {
        let client = client.clone();
        pings.spawn(async move { work::ping(&client).await });
    }
    let mut all_succeeded = tokio::select! {
        all_sent = count.wait_for(|count| *count == POOL) => {
            all_sent.expect("the rule exists");
            true
        }
        Some(ended) = pings.join_next() => {
            work::check(&ended.expect("no panic").expect_err("the reply is held back"));
            false
        }
    };
    for proxy in &deployment.proxies {
        proxy.pass_everything();
        proxy.end_waits();
    }
    while let Some(ended) = pings.join_next().await {
        if let Err(error) = ended.expect("no panic") {
            work::check(&error);
            all_succeeded = false;
        }
    }
    all_succeeded
}

fn other_seeds() -> u64 {
    let variable = std::env::var("MARULA_FAULT_SEED").ok();
    variable.map_or(0, |text| text.parse().expect("a number"))
}

/// The number of faults in the runs below.
#[test]
fn the_runs_perform_at_least_a_thousand_faults() {
    let (stream, poll) = (
        Script::new(0, Mode::Stream).left(),
        Script::new(0, Mode::Poll).left(),
    );
    assert!(4 * stream + 2 * poll >= 1000, "{stream} and {poll}");
}

async fn run_in_time(kind: Topology, mode: Mode, seed: u64) {
    let seed = seed + other_seeds();
    let script = Script::new(seed, mode);
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
