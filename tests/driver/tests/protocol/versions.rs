//! Differences between server versions.

use marula_driver::{
    ErrorKind, IndexModel,
    bson::{Document, doc},
    options::WriteConcern,
};
use marula_driver_tests::Deployment;
use marula_test_server::TestServer;

async fn old_server() -> Deployment {
    let server = TestServer::builder()
        .version("4.2")
        .start()
        .await
        .expect("the server starts");
    Deployment::of(server, "").await
}

#[tokio::test]
async fn options_that_an_old_server_would_ignore_are_rejected() {
    let deployment = old_server().await;
    let things = deployment.collection::<Document>();
    let quorum = things
        .create_index(IndexModel::new(doc! { "a": 1 }))
        .commit_quorum(1)
        .await;
    assert!(matches!(quorum.unwrap_err().kind(), ErrorKind::Unsupported(_)));
    let silent = things.with_write_concern(WriteConcern::nodes(0));
    let deleted = silent.delete_one(doc! { "a": 1 }).hint("a_1").await;
    assert!(matches!(deleted.unwrap_err().kind(), ErrorKind::Unsupported(_)));
    let found = silent.find_one_and_delete(doc! { "a": 1 }).hint("a_1").await;
    assert!(matches!(found.unwrap_err().kind(), ErrorKind::Unsupported(_)));
    // The server received none of these commands, and the connection is usable.
    assert_eq!(deployment.server.commands_seen("delete"), 0);
    assert_eq!(deployment.server.commands_seen("createIndexes"), 0);
    silent.delete_one(doc! { "a": 1 }).await.unwrap();
}
