//! Features of MongoDB that this server lacks are reported as not implemented; other names are
//! reported as unknown.

use crate::client::{Client, code, on, replica_set, standalone};
use bson::{Document, doc};
use marula_test_server::TestServer;

async fn check(client: &mut Client, cases: Vec<(i32, Document)>) {
    for (expected, body) in cases {
        let shown = body.to_string();
        let reply = client.run(on("db", body)).await;
        assert_eq!(code(&reply), expected, "{shown}: {reply}");
        if expected == 238 {
            let message = reply.get_str("errmsg").unwrap();
            assert!(
                message.ends_with("is not supported by this test server"),
                "{message}"
            );
        }
    }
}

#[tokio::test]
async fn unimplemented_commands_are_not_unknown() {
    let (_server, mut client) = standalone().await;
    let cases = vec![
        (238, doc! { "fsync": 1 }),
        (238, doc! { "compact": "c" }),
        (238, doc! { "setFeatureCompatibilityVersion": "8.2" }),
        (59, doc! { "nonsense": 1 }),
        (59, doc! { "moveChunk": "db.c" }),
        (59, doc! { "eval": "1" }),
    ];
    check(&mut client, cases).await;
    let server = TestServer::builder().sharded().start().await.unwrap();
    let mut client = Client::connect(server.addresses()[0]).await;
    let cases = vec![
        (238, doc! { "moveChunk": "db.c" }),
        (238, doc! { "fsync": 1 }),
        (59, doc! { "replSetReconfig": {} }),
    ];
    check(&mut client, cases).await;
    // A command of a later server version is unknown to an earlier one, even if it is implemented.
    let server = TestServer::builder().version("7.0.0").start().await.unwrap();
    let mut client = Client::connect(server.addresses()[0]).await;
    let bulk = doc! { "bulkWrite": 1, "ops": [], "nsInfo": [] };
    check(&mut client, vec![(59, bulk)]).await;
}

#[tokio::test]
async fn unimplemented_options_are_not_unknown() {
    let (_server, mut client) = standalone().await;
    let cases = vec![
        (238, doc! { "find": "c", "querySettings": {} }),
        (
            238,
            doc! { "insert": "c", "documents": [{}], "collectionUUID": bson::Uuid::new() },
        ),
        (238, doc! { "create": "c", "recordPreImages": true }),
        (40415, doc! { "find": "c", "collectionUUID": bson::Uuid::new() }),
        (40415, doc! { "find": "c", "queryingSettings": {} }),
    ];
    check(&mut client, cases).await;
}

#[tokio::test]
async fn unimplemented_operators_are_not_unknown() {
    let (_server, mut client) = standalone().await;
    check(
        &mut client,
        vec![(0, doc! { "insert": "c", "documents": [{ "a": 1 }] })],
    )
    .await;
    let project = |expression: Document| {
        doc! { "aggregate": "c", "pipeline": [{ "$project": { "x": expression } }], "cursor": {} }
    };
    let update =
        |operator: &str| doc! { "findAndModify": "c", "query": {}, "update": { operator: { "a": 1 } } };
    let cases = vec![
        (
            238,
            project(doc! { "$function": { "body": "", "args": [], "lang": "js" } }),
        ),
        (168, project(doc! { "$functional": 1 })),
        (238, project(doc! { "$concat": ["$$USER_ROLES"] })),
        (17276, project(doc! { "$concat": ["$$nonsense"] })),
        (
            238,
            doc! { "aggregate": "c", "pipeline": [{ "$queryStats": {} }], "cursor": {} },
        ),
        (
            238,
            doc! { "aggregate": "c", "pipeline": [{ "$listCatalog": {} }], "cursor": {} },
        ),
        (
            40324,
            doc! { "aggregate": "c", "pipeline": [{ "$graphlookup": {} }], "cursor": {} },
        ),
        (
            27,
            doc! { "find": "c", "filter": { "$text": { "$search": "x" } } },
        ),
        (291, doc! { "find": "c", "filter": { "a": { "$near": [1, 2] } } }),
        (
            31082,
            doc! { "aggregate": "c", "pipeline": [{ "$search": { "exists": { "path": "a" } } }], "cursor": {} },
        ),
        (2, doc! { "find": "c", "filter": { "a": { "$nearby": [1, 2] } } }),
        (9, update("$sets")),
        (9, update("$pushAll")),
    ];
    check(&mut client, cases).await;
    // All update operators are implemented.
    for operator in ["$set", "$setOnInsert", "$inc", "$mul", "$min", "$max", "$unset"] {
        check(&mut client, vec![(0, update(operator))]).await;
    }
}

#[tokio::test]
async fn cluster_time_is_a_variable_on_replica_sets_only() {
    let server = replica_set().await;
    let mut client = Client::connect(server.addresses()[0]).await;
    let insert = doc! { "insert": "c", "documents": [{ "_id": 1 }] };
    let written = client.run(on("db", insert)).await;
    let find = doc! { "find": "c", "filter": { "$expr": { "$gte": ["$$CLUSTER_TIME", written.get_timestamp("operationTime").unwrap()] } } };
    let reply = client.run(on("db", find.clone())).await;
    let batch = reply
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    assert_eq!(batch.len(), 1);
    let (_server, mut client) = standalone().await;
    assert_eq!(code(&client.run(on("db", find)).await), 51144);
}
