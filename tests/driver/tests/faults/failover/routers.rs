//! The routers of a sharded cluster are killed and started again, one by one and all at once, with and without a load balancer.

use marula_driver_tests::Topology;

use super::load::{Day, survive_at};

const ROUTERS: usize = 2;

/// One router runs at any time.
async fn restart_one_by_one(day: &mut Day) {
    for _ in 0..2 {
        for router in 0..ROUTERS {
            day.deployment.server.stop_member(router).await;
            day.goes_on().await;
            restart(day, router).await;
            day.goes_on().await;
        }
    }
}

/// For a while no router runs: operations fail, and the same client works again afterwards.
async fn restart_all(day: &mut Day) {
    for router in 0..ROUTERS {
        day.deployment.server.stop_member(router).await;
    }
    for router in 0..ROUTERS {
        restart(day, router).await;
    }
    day.goes_on().await;
}

async fn restart(day: &Day, router: usize) {
    let restarted = day.deployment.server.restart_member(router).await;
    restarted.expect("it starts again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn routers_are_restarted_one_by_one() {
    survive_at(Topology::Sharded, restart_one_by_one).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn routers_behind_a_load_balancer_are_restarted_one_by_one() {
    survive_at(Topology::LoadBalanced, restart_one_by_one).await;
}

#[tokio::test]
async fn routers_behind_a_load_balancer_are_restarted_one_by_one_on_one_thread() {
    survive_at(Topology::LoadBalanced, restart_one_by_one).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_routers_are_restarted() {
    survive_at(Topology::Sharded, restart_all).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_routers_behind_a_load_balancer_are_restarted() {
    survive_at(Topology::LoadBalanced, restart_all).await;
}
