//! Many tasks on one client whose connections fail in scripted ways, over a thousand of them: nothing hangs, nothing panics,
//! every error has a type, every acknowledged write is stored exactly once, and afterwards the client works as before.
//!
//! `cargo test --test faults scripted -- --nocapture` prints the faults of each target. The number in `MARULA_FAULT_SEED` is
//! added to the seeds, for other orders.

mod cuts;
mod endings;
mod kinds;
mod script;
mod table;
mod work;

use std::time::Duration;

use marula_driver::{Client, bson::doc, options::ClientOptions};
use marula_driver_tests::{Counts, PoolTally, Proxied, Topology, proxy::Action, tasks};
use marula_test_server::TestServer;
use tokio::sync::watch;

use crate::ledger::{self, Ledger};
use kinds::Mode;
use script::Script;

/// Catches hangs only.
const HANG: Duration = Duration::from_secs(240);
const TASKS: i32 = 64;
/// More than a burst of faults holds back.
const POOL: usize = 20;
/// A monitor's connection and one for round trips.
const OF_MONITOR: usize = 2;
/// The timeouts of connections to a server that does not answer, and of commands without a reply.
const TIMEOUTS: &str =
    "connectTimeoutMS=2000&socketTimeoutMS=2000&waitQueueTimeoutMS=10000&heartbeatFrequencyMS=500";
/// A user of the older hash: the handshake speculates on the newer one, so that every message of the login is sent.
const USER: &str = "older:secret@";

async fn deploy(kind: Topology) -> Proxied {
    // The fewest iterations that clients accept: what a login costs is tested elsewhere.
    let builder = TestServer::builder()
        .parameter("scramIterationCount", 4096)
        .auth("owner", "secret");
    let deployment = match kind {
        // Both routers, so that retries go from one to the other.
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

/// A client through the proxies, whose connections are counted.
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

async fn survive(kind: Topology, mode: Mode, seed: u64) {
    let deployment = deploy(kind).await;
    let direct = Client::connect(deployment.direct_uri()).await.expect("a client");
    ledger::prepare(&direct, TASKS).await;
    let tasks = tasks::alive();
    let (client, tally) = connect(&deployment, mode);
    let script = Script::new(seed, mode);
    let _shown = script.shown_on_panic();
    script.begin(&deployment.proxies);
    let started = (0..TASKS).map(|task| tokio::spawn(work::work(client.clone(), task, seed, script.clone())));
    let mut ledgers: Vec<Ledger> = Vec::new();
    for task in started.collect::<Vec<_>>() {
        ledgers.push(task.await.expect("no panic"));
    }
    for proxy in &deployment.proxies {
        proxy.pass_everything();
        proxy.end_waits();
    }
    ledger::compare(&direct, &ledgers).await;
    // The last faults may still be news to the client.
    while let Err(error) = work::ping(&client).await {
        work::check(&error);
    }
    script.all_survived();
    expect_whole_pool(&client, &deployment).await;
    // A cursor may still be being killed in the background.
    tally.wait_until(Counts::is_at_rest).await;
    client.shutdown().await;
    drop(client);
    deployment.wait_for_at_most_open(0).await;
    tasks::wait_for_at_most(tasks).await;
    tally.assert_nothing_left();
    let counts = tally.counts();
    assert!(counts.max_pending <= 2 && counts.max_open <= POOL, "{counts:?}");
    println!(
        "{kind:?}, {mode:?}, seed {seed}: {}\n{counts:?}\n{}",
        ledger::sum(&ledgers),
        script.table()
    );
    script.assert_every_kind_was_met();
}

/// All places of the primary's pool are free: as many operations as it has can be under way at once.
async fn expect_whole_pool(client: &Client, deployment: &Proxied) {
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
    let pings: Vec<_> = (0..POOL)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { work::ping(&client).await })
        })
        .collect();
    count
        .wait_for(|count| *count == POOL)
        .await
        .expect("the rule is there");
    for proxy in &deployment.proxies {
        proxy.pass_everything();
        proxy.end_waits();
    }
    for ping in pings {
        ping.await.expect("no panic").expect("a reply");
    }
    deployment.wait_for_at_most_open(POOL + OF_MONITOR).await;
}

fn other_seeds() -> u64 {
    let variable = std::env::var("MARULA_FAULT_SEED").ok();
    variable.map_or(0, |text| text.parse().expect("a number"))
}

/// What the runs below come to.
#[test]
fn there_are_a_thousand_faults() {
    let (stream, poll) = (
        Script::new(0, Mode::Stream).left(),
        Script::new(0, Mode::Poll).left(),
    );
    assert!(4 * stream + 2 * poll >= 1000, "{stream} and {poll}");
}

async fn survive_in_time(kind: Topology, mode: Mode, seed: u64) {
    let seed = seed + other_seeds();
    tokio::time::timeout(HANG, survive(kind, mode, seed))
        .await
        .unwrap_or_else(|_| panic!("{kind:?}, {mode:?}, seed {seed} hangs"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_streamed_standalone_is_survived() {
    survive_in_time(Topology::Standalone, Mode::Stream, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_polled_standalone_is_survived() {
    survive_in_time(Topology::Standalone, Mode::Poll, 2).await;
}

#[tokio::test]
async fn a_streamed_standalone_is_survived_on_one_thread() {
    survive_in_time(Topology::Standalone, Mode::Stream, 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_streamed_set_is_survived() {
    survive_in_time(Topology::ReplicaSet, Mode::Stream, 4).await;
}

#[tokio::test]
async fn a_streamed_set_is_survived_on_one_thread() {
    survive_in_time(Topology::ReplicaSet, Mode::Stream, 5).await;
}

#[tokio::test]
async fn a_polled_set_is_survived_on_one_thread() {
    survive_in_time(Topology::ReplicaSet, Mode::Poll, 6).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_streamed_sharded_cluster_is_survived() {
    survive_in_time(Topology::Sharded, Mode::Stream, 7).await;
}

#[tokio::test]
async fn a_polled_sharded_cluster_is_survived_on_one_thread() {
    survive_in_time(Topology::Sharded, Mode::Poll, 8).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_load_balancer_is_survived() {
    survive_in_time(Topology::LoadBalanced, Mode::Unmonitored, 9).await;
}

#[tokio::test]
async fn a_load_balancer_is_survived_on_one_thread() {
    survive_in_time(Topology::LoadBalanced, Mode::Unmonitored, 10).await;
}
