//! Change streams whose server is gone.

use std::time::Duration;

use marula_driver::bson::{Document, doc};
use marula_driver_tests::replica_set;

/// The time limit, which is reached only if the test fails. Server selection waits longer.
const TIME_LIMIT: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_stream_whose_server_went_away_while_it_was_idle_resumes_at_once() {
    let deployment = replica_set().await;
    let client = deployment.client_with("serverSelectionTimeoutMS=600000").await;
    let things = client.database("shop").collection::<Document>("things");
    let mut changes = things.watch().await.expect("a stream");
    let primary = deployment.server.primary().expect("a primary");
    let index = deployment
        .server
        .addresses()
        .iter()
        .position(|address| *address == primary);
    deployment.server.stop_member(index.expect("a member")).await;
    // The client knows the new primary afterwards.
    things.insert_one(&doc! { "_id": 1 }).await.expect("stored");
    let event = tokio::time::timeout(TIME_LIMIT, changes.try_next())
        .await
        .expect("the stream does not wait for the previous primary");
    let event = event.expect("the stream resumes").expect("an event");
    assert_eq!(event.document_key, Some(doc! { "_id": 1 }));
}
