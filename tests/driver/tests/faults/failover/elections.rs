//! Elections while all members are running.

use marula_driver::{Client, bson::doc};

use super::load::{Failover, run, run_without_errors};

const ELECTIONS: usize = 4;

/// Sends `replSetStepDown` to the primary.
async fn step_down(failover: &Failover) {
    let direct = Client::connect(failover.deployment.direct_uri())
        .await
        .expect("a client");
    let admin = direct.database("admin");
    admin
        .run_command(doc! { "replSetStepDown": 10 })
        .await
        .expect("another member is elected");
    direct.shutdown().await;
}

/// An operation is retried once, so the next election waits until every operation that the previous
/// one may have affected has ended.
async fn elections(failover: &mut Failover) {
    for _ in 0..ELECTIONS {
        step_down(failover).await;
        let primary = failover.deployment.primary();
        failover.wait_for_primary(Some(primary)).await;
        failover.wait_for_all_tasks().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn step_downs_cause_no_errors() {
    run_without_errors(elections).await;
}

#[tokio::test]
async fn step_downs_cause_no_errors_on_one_thread() {
    run_without_errors(elections).await;
}

/// Elections in quick succession, which do not wait for operations.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_are_exactly_once_during_rapid_elections() {
    run(async |failover| {
        for _ in 0..20 {
            assert!(
                failover.deployment.server.step_down(),
                "another member can be elected"
            );
            tokio::task::yield_now().await;
        }
        failover.wait_for_all_tasks().await;
        for _ in 0..5 {
            let primary = failover.deployment.primary();
            failover.deployment.server.stop_member(primary).await;
            failover
                .deployment
                .server
                .restart_member(primary)
                .await
                .expect("the member restarts");
        }
        failover.wait_for_all_tasks().await;
    })
    .await;
}
