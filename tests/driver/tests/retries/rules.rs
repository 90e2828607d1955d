//! Which errors are retried, and which of two errors is returned.

use marula_driver::{
    Client, RETRYABLE_WRITE_ERROR,
    bson::{Document, doc},
    internals::fix_jitter,
    options::ClientOptions,
};
use marula_driver_tests::{Deployment, Proxied, Topology, proxy::Action, replica_set};
use marula_test_server::TestServer;

async fn fail(deployment: &Deployment, mode: Document, data: Document) {
    deployment
        .client
        .database("admin")
        .run_command(doc! { "configureFailPoint": "failCommand", "mode": mode, "data": data })
        .await
        .expect("a fail point");
}

#[tokio::test]
async fn an_insert_is_retried_after_a_retryable_write_concern_error() {
    let deployment = replica_set().await;
    let things = deployment.collection::<Document>();
    let concern = doc! { "code": 91, "errmsg": "going down" };
    for document in [doc! { "_id": 1 }, doc! { "_id": 2 }] {
        let data = doc! {
            "failCommands": ["insert"], "writeConcernError": concern.clone(), "errorLabels": [RETRYABLE_WRITE_ERROR],
        };
        fail(&deployment, doc! { "times": 1 }, data).await;
        let before = deployment.server.commands_seen("insert");
        if document == doc! { "_id": 1 } {
            things.insert_one(&document).await.unwrap();
        } else {
            things.insert_many(&[document]).await.unwrap();
        }
        assert_eq!(deployment.server.commands_seen("insert"), before + 2);
    }
    assert_eq!(things.count_documents(doc! {}).await.unwrap(), 2);
}

#[tokio::test]
async fn a_repeated_write_concern_error_is_returned_with_the_inserted_ids() {
    let deployment = replica_set().await;
    let things = deployment.collection::<Document>();
    let data = doc! {
        "failCommands": ["insert"],
        "writeConcernError": { "code": 64, "codeName": "WriteConcernTimeout", "errmsg": "too slow" },
    };
    fail(&deployment, doc! { "times": 1 }, data).await;
    let error = things
        .insert_many(&[doc! { "_id": 1 }, doc! { "_id": 2 }])
        .await
        .unwrap_err();
    assert_eq!(error.write_concern_error().map(|e| e.code), Some(64));
    assert_eq!(error.code_name(), Some("WriteConcernTimeout"));
    assert!(error.to_string().contains("2 document(s) inserted"), "{error}");
}

#[tokio::test]
async fn writes_are_retried_on_servers_without_error_labels() {
    let server = TestServer::builder()
        .replica_set()
        .version("4.2")
        .start()
        .await
        .unwrap();
    let deployment = Deployment::of(server, "").await;
    let things = deployment.collection::<Document>();
    for data in [
        doc! { "failCommands": ["insert"], "errorCode": 91, "errorLabels": [] },
        doc! { "failCommands": ["insert"], "writeConcernError": { "code": 91, "errmsg": "going down" }, "errorLabels": [] },
    ] {
        fail(&deployment, doc! { "times": 1 }, data).await;
        things.insert_one(&doc! {}).await.unwrap();
    }
    assert_eq!(things.count_documents(doc! {}).await.unwrap(), 2);
}

/// Retryable Writes, "RetryableWriteError Labels": only with retryWrites=true. An unacknowledged
/// write and a write on a standalone server are not retried either.
#[tokio::test]
async fn a_write_without_connection_has_the_label_only_if_it_is_retryable() {
    for (topology, options, is_labelled) in [
        (Topology::ReplicaSet, "", true),
        (Topology::Sharded, "", true),
        (Topology::LoadBalanced, "", true),
        (Topology::ReplicaSet, "retryWrites=false", false),
        (Topology::Sharded, "retryWrites=false", false),
        (Topology::LoadBalanced, "retryWrites=false", false),
        (Topology::Standalone, "", false),
        (Topology::ReplicaSet, "w=0", false),
    ] {
        let builder = TestServer::builder()
            .parameter("scramSHA256IterationCount", 4096)
            .auth("user", "secret");
        let deployment = Proxied::start(topology, builder).await;
        for proxy in &deployment.proxies {
            proxy.set_rule(|exchange| {
                if exchange.is_login() {
                    Action::DropRequest
                } else {
                    Action::Pass
                }
            });
        }
        let mut options = ClientOptions::parse(&deployment.uri("user:secret@", options)).unwrap();
        // Backoff is not tested here.
        fix_jitter(&mut options, 0.0);
        let client = Client::with_options(options).unwrap();
        let things = client.database("d").collection::<Document>("things");
        let error = things.insert_one(&doc! {}).await.unwrap_err();
        assert!(error.is_network(), "{topology:?}: {error:?}");
        assert_eq!(
            error.contains_label(RETRYABLE_WRITE_ERROR),
            is_labelled,
            "{topology:?}: {error:?}"
        );
    }
}

#[tokio::test]
async fn a_retry_with_no_writes_performed_returns_the_first_error() {
    let deployment = replica_set().await;
    let things = deployment.collection::<Document>();
    deployment
        .client
        .database("admin")
        .run_command(doc! {
            "configureFailPoint": "onPrimaryTransactionalWrite",
            "mode": { "times": 1 },
            "data": { "failBeforeCommitExceptionCode": 189, "closeConnection": false },
        })
        .await
        .unwrap();
    let data = doc! {
        "failCommands": ["insert"], "errorCode": 10107, "errorLabels": [RETRYABLE_WRITE_ERROR, "NoWritesPerformed"],
    };
    fail(&deployment, doc! { "skip": 1 }, data).await;
    let before = deployment.server.commands_seen("insert");
    let error = things.insert_one(&doc! { "_id": 1 }).await.unwrap_err();
    assert_eq!(error.code(), Some(189));
    assert_eq!(deployment.server.commands_seen("insert"), before + 2);
}
