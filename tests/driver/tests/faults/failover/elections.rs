//! Elections while all members run.

use marula_driver::{Client, bson::doc};

use super::load::{Day, survive, survive_unnoticed};

const ELECTIONS: usize = 4;

/// Sends `replSetStepDown` to the primary, as an operator does.
async fn step_down(day: &Day) {
    let direct = Client::connect(day.deployment.direct_uri())
        .await
        .expect("a client");
    let admin = direct.database("admin");
    admin
        .run_command(doc! { "replSetStepDown": 10 })
        .await
        .expect("another member takes over");
    direct.shutdown().await;
}

/// An operation is sent again once, so the next election waits until every operation that the last one could have hit is done.
async fn elections(day: &mut Day) {
    for _ in 0..ELECTIONS {
        step_down(day).await;
        let primary = day.deployment.primary();
        day.finds_primary(Some(primary)).await;
        day.goes_on().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn step_downs_are_hidden() {
    survive_unnoticed(elections).await;
}

#[tokio::test]
async fn step_downs_are_hidden_on_one_thread() {
    survive_unnoticed(elections).await;
}

/// Elections that do not wait for anybody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flapping_set_is_survived() {
    survive(async |day| {
        for _ in 0..20 {
            assert!(day.deployment.server.step_down(), "another member can take over");
            tokio::task::yield_now().await;
        }
        day.goes_on().await;
        for _ in 0..5 {
            let primary = day.deployment.primary();
            day.deployment.server.stop_member(primary).await;
            day.deployment
                .server
                .restart_member(primary)
                .await
                .expect("it starts again");
        }
        day.goes_on().await;
    })
    .await;
}
