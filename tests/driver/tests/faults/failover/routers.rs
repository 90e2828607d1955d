//! The routers of a sharded cluster are stopped and restarted, one after the other and all at once,
//! with and without a load balancer.

use marula_driver_tests::Topology;

use super::load::{Failover, run_with};

const ROUTERS: usize = 2;

/// Restarts the routers so that one is running at any time.
async fn restart_one_by_one(failover: &mut Failover) {
    for _ in 0..2 {
        for router in 0..ROUTERS {
            failover.deployment.server.stop_member(router).await;
            failover.wait_for_all_tasks().await;
            restart(failover, router).await;
            failover.wait_for_all_tasks().await;
        }
    }
}

/// Stops all routers, so that operations fail, and restarts them. The same client works afterwards.
async fn restart_all(failover: &mut Failover) {
    for router in 0..ROUTERS {
        failover.deployment.server.stop_member(router).await;
    }
    for router in 0..ROUTERS {
        restart(failover, router).await;
    }
    failover.wait_for_all_tasks().await;
}

async fn restart(failover: &Failover, router: usize) {
    let restarted = failover.deployment.server.restart_member(router).await;
    restarted.expect("the router restarts");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writes_are_exactly_once_when_routers_restart_one_by_one() {
    run_with(Topology::Sharded, restart_one_by_one).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writes_are_exactly_once_when_load_balanced_routers_restart_one_by_one() {
    run_with(Topology::LoadBalanced, restart_one_by_one).await;
}

#[tokio::test]
async fn writes_are_exactly_once_when_load_balanced_routers_restart_one_by_one_on_one_thread() {
    run_with(Topology::LoadBalanced, restart_one_by_one).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_works_after_all_routers_restart() {
    run_with(Topology::Sharded, restart_all).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_works_after_all_load_balanced_routers_restart() {
    run_with(Topology::LoadBalanced, restart_all).await;
}
