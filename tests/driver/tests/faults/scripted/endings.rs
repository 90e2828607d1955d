//! A client that ends while its connections fail.

use super::{HANG, Mode, Script, TASKS, connect, deploy, work};
use crate::ledger;
use marula_driver::Client;
use marula_driver_tests::{Topology, tasks};

/// How the client ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It is shut down; the tasks go on until they hear of it.
    ShutDown,
    /// The tasks are aborted wherever they are, and with them the last handles.
    Dropped,
}

/// Ends a client in the middle of the script. Nothing is left, and what was acknowledged is stored.
async fn end_amid_faults(kind: Topology, mode: Mode, seed: u64, end: End) {
    let deployment = deploy(kind).await;
    let direct = Client::connect(deployment.direct_uri()).await.expect("a client");
    ledger::prepare(&direct, TASKS).await;
    let alive = tasks::alive();
    let (client, tally) = connect(&deployment, mode);
    let script = Script::new(seed, mode);
    let _shown = script.shown_on_panic();
    script.begin(&deployment.proxies);
    let started = (0..TASKS).map(|task| tokio::spawn(work::work(client.clone(), task, seed, script.clone())));
    let started: Vec<_> = started.collect();
    script.wait_for(script.left() / 4).await;
    let mut ledgers = Vec::new();
    match end {
        End::ShutDown => {
            client.shutdown().await;
            for task in started {
                ledgers.push(task.await.expect("no panic"));
            }
        }
        End::Dropped => {
            for task in &started {
                task.abort();
            }
            for task in started {
                let error = task.await.expect_err("it was aborted");
                assert!(error.is_cancelled(), "{error}");
            }
        }
    }
    drop(client);
    deployment.wait_for_at_most_open(0).await;
    tasks::wait_for_at_most(alive).await;
    tally.assert_nothing_left();
    ledger::compare(&direct, &ledgers).await;
}

async fn end_in_time(kind: Topology, mode: Mode, seed: u64, end: End) {
    let seed = seed + super::other_seeds();
    tokio::time::timeout(HANG, end_amid_faults(kind, mode, seed, end))
        .await
        .unwrap_or_else(|_| panic!("{kind:?}, {mode:?}, seed {seed}, {end:?}: something is left"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_set_is_left_amid_faults() {
    end_in_time(Topology::ReplicaSet, Mode::Stream, 11, End::ShutDown).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_set_is_dropped_amid_faults() {
    end_in_time(Topology::ReplicaSet, Mode::Stream, 12, End::Dropped).await;
}

#[tokio::test]
async fn a_standalone_is_left_amid_faults_on_one_thread() {
    end_in_time(Topology::Standalone, Mode::Poll, 13, End::ShutDown).await;
}

#[tokio::test]
async fn a_standalone_is_dropped_amid_faults_on_one_thread() {
    end_in_time(Topology::Standalone, Mode::Stream, 14, End::Dropped).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_sharded_cluster_is_left_amid_faults() {
    end_in_time(Topology::Sharded, Mode::Stream, 15, End::ShutDown).await;
}

#[tokio::test]
async fn a_sharded_cluster_is_dropped_amid_faults_on_one_thread() {
    end_in_time(Topology::Sharded, Mode::Poll, 16, End::Dropped).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_load_balancer_is_left_amid_faults() {
    end_in_time(Topology::LoadBalanced, Mode::Unmonitored, 17, End::ShutDown).await;
}

#[tokio::test]
async fn a_load_balancer_is_dropped_amid_faults_on_one_thread() {
    end_in_time(Topology::LoadBalanced, Mode::Unmonitored, 18, End::Dropped).await;
}
