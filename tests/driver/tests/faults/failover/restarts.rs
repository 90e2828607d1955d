//! Members are stopped, which closes their connections, and restarted as new processes.

use super::load::{Failover, run};

async fn restart(failover: &Failover, member: usize) {
    failover
        .deployment
        .server
        .restart_member(member)
        .await
        .expect("the member restarts");
}

async fn kill_primary(failover: &mut Failover) {
    for _ in 0..2 {
        let old = failover.deployment.primary();
        failover.deployment.server.stop_member(old).await;
        failover.wait_for_loss_of_primary(old).await;
        failover.wait_for_all_tasks().await;
        restart(failover, old).await;
        failover.wait_for_all_tasks().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writes_are_exactly_once_when_the_primary_restarts() {
    run(kill_primary).await;
}

#[tokio::test]
async fn writes_are_exactly_once_when_the_primary_restarts_on_one_thread() {
    run(kill_primary).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operations_succeed_when_a_secondary_restarts() {
    run(async |failover| {
        let secondary = failover.deployment.secondary();
        failover.deployment.server.stop_member(secondary).await;
        failover.wait_for_all_tasks().await;
        restart(failover, secondary).await;
        failover.wait_for_all_tasks().await;
    })
    .await;
}

/// Operations fail while no member is running. After the restart, the same client discovers the
/// members.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_rediscovers_the_set_after_all_members_restart() {
    run(async |failover| {
        for member in 0..3 {
            failover.deployment.server.stop_member(member).await;
        }
        failover.wait_for_primary(None).await;
        for member in 0..3 {
            restart(failover, member).await;
        }
        failover.wait_for_all_tasks().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_are_exactly_once_during_a_rolling_restart() {
    run(async |failover| {
        for member in 0..3 {
            failover.deployment.server.stop_member(member).await;
            failover.wait_for_all_tasks().await;
            restart(failover, member).await;
            failover.wait_for_all_tasks().await;
        }
    })
    .await;
}
