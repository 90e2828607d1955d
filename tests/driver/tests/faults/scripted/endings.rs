//! A client that is shut down or dropped while its connections fail.

use super::{
    Load, Mode, Script, TASKS, TIME_LIMIT,
    stage::{Connected, Stage},
    work,
};
use crate::ledger;
use marula_driver_tests::{Topology, tasks};

/// How the client ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It is shut down; the tasks continue until an operation fails because of it.
    ShutDown,
    /// The tasks are aborted, and thereby the last handles are dropped.
    Dropped,
}

/// Ends a client during the script. No task or connection is left, and acknowledged writes are
/// stored.
async fn end_during_faults(kind: Topology, mode: Mode, seed: u64, end: End) {
    let stage = Stage::start(kind).await;
    ledger::prepare(&stage.direct, TASKS).await;
    let Connected {
        client,
        tally,
        tasks_before,
    } = stage.connect(mode, |_| {});
    let script = Script::new(seed, mode, Load::Operations);
    let _shown = script.print_on_panic();
    script.begin(&stage.deployment.proxies);
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
    stage.deployment.wait_for_at_most_open(0).await;
    tasks::wait_for_at_most(tasks_before).await;
    tally.assert_nothing_left();
    ledger::compare(&stage.direct, &ledgers).await;
}

async fn end_in_time(kind: Topology, mode: Mode, seed: u64, end: End) {
    let seed = seed + super::other_seeds();
    tokio::time::timeout(TIME_LIMIT, end_during_faults(kind, mode, seed, end))
        .await
        .unwrap_or_else(|_| panic!("{kind:?}, {mode:?}, seed {seed}, {end:?}: a task or connection is left"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_client_of_a_replica_set_is_shut_down_during_faults() {
    end_in_time(Topology::ReplicaSet, Mode::Stream, 11, End::ShutDown).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_client_of_a_replica_set_is_dropped_during_faults() {
    end_in_time(Topology::ReplicaSet, Mode::Stream, 12, End::Dropped).await;
}

#[tokio::test]
async fn a_client_of_a_standalone_is_shut_down_during_faults_on_one_thread() {
    end_in_time(Topology::Standalone, Mode::Poll, 13, End::ShutDown).await;
}

#[tokio::test]
async fn a_client_of_a_standalone_is_dropped_during_faults_on_one_thread() {
    end_in_time(Topology::Standalone, Mode::Stream, 14, End::Dropped).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_client_of_a_sharded_cluster_is_shut_down_during_faults() {
    end_in_time(Topology::Sharded, Mode::Stream, 15, End::ShutDown).await;
}

#[tokio::test]
async fn a_client_of_a_sharded_cluster_is_dropped_during_faults_on_one_thread() {
    end_in_time(Topology::Sharded, Mode::Poll, 16, End::Dropped).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_client_of_a_load_balancer_is_shut_down_during_faults() {
    end_in_time(Topology::LoadBalanced, Mode::Unmonitored, 17, End::ShutDown).await;
}

#[tokio::test]
async fn a_client_of_a_load_balancer_is_dropped_during_faults_on_one_thread() {
    end_in_time(Topology::LoadBalanced, Mode::Unmonitored, 18, End::Dropped).await;
}
