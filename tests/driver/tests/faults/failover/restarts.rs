//! Members are killed, which closes their connections, and started again as new processes.

use super::load::{Day, survive};

async fn restart(day: &Day, member: usize) {
    day.deployment
        .server
        .restart_member(member)
        .await
        .expect("it starts again");
}

async fn kill_primary(day: &mut Day) {
    for _ in 0..2 {
        let old = day.deployment.primary();
        day.deployment.server.stop_member(old).await;
        day.loses_primary(old).await;
        day.goes_on().await;
        restart(day, old).await;
        day.goes_on().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_killed_primary_is_survived() {
    survive(kill_primary).await;
}

#[tokio::test]
async fn a_killed_primary_is_survived_on_one_thread() {
    survive(kill_primary).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_secondary_is_survived() {
    survive(async |day| {
        let secondary = day.deployment.secondary();
        day.deployment.server.stop_member(secondary).await;
        day.goes_on().await;
        restart(day, secondary).await;
        day.goes_on().await;
    })
    .await;
}

/// While no member lives operations fail; when they are back, the same client finds them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_death_of_all_is_survived() {
    survive(async |day| {
        for member in 0..3 {
            day.deployment.server.stop_member(member).await;
        }
        day.finds_primary(None).await;
        for member in 0..3 {
            restart(day, member).await;
        }
        day.goes_on().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_is_survived() {
    survive(async |day| {
        for member in 0..3 {
            day.deployment.server.stop_member(member).await;
            day.goes_on().await;
            restart(day, member).await;
            day.goes_on().await;
        }
    })
    .await;
}
