//! Change streams during elections.

use std::time::Duration;

use marula_driver::bson::{Document, doc};
use marula_driver_tests::{Deployment, replica_set};

const ELECTIONS: usize = 100;

/// The time limit, which is reached only if the test fails.
const TIME_LIMIT: Duration = Duration::from_secs(180);

/// Another member is elected, and the cursors of the previous primary are lost: its connections
/// close. A cursor survives `replSetStepDown`, because the member can still read.
async fn elect(deployment: &Deployment) {
    let server = &deployment.server;
    let primary = server.primary().expect("a primary");
    let index = server.addresses().iter().position(|address| *address == primary);
    let index = index.expect("a member");
    server.stop_member(index).await;
    server.restart_member(index).await.expect("the member restarts");
}

#[tokio::test]
async fn a_stream_survives_100_elections_without_losing_or_repeating_an_event() {
    let deployment = replica_set().await;
    let things = deployment.collection::<Document>();
    let mut changes = things.watch().await.expect("a stream");
    let all = async {
        let mut seen = Vec::new();
        for round in 0..ELECTIONS {
            let ids = [2 * round, 2 * round + 1].map(|id| i64::try_from(id).expect("a small number"));
            things.insert_one(&doc! { "_id": ids[0] }).await.expect("stored");
            if round % 2 == 0 {
                // The getMore is interrupted; otherwise the cursor is lost between two.
                assert!(futures_util::FutureExt::now_or_never(changes.try_next()).is_none());
            }
            elect(&deployment).await;
            things.insert_one(&doc! { "_id": ids[1] }).await.expect("stored");
            while seen.last() != Some(&ids[1]) {
                let event = changes
                    .try_next()
                    .await
                    .expect("the stream resumes")
                    .expect("an event");
                let key = event.document_key.expect("a key");
                seen.push(key.get_i64("_id").expect("a number"));
            }
        }
        seen
    };
    let seen = tokio::time::timeout(TIME_LIMIT, all)
        .await
        .expect("no event is missing");
    let expected: Vec<i64> = (0..).take(2 * ELECTIONS).collect();
    assert_eq!(seen, expected);
    let opened = deployment.server.commands_seen("aggregate");
    assert!(
        opened > ELECTIONS,
        "each election interrupts the stream: {opened}"
    );
}
