//! The wire protocol and basic commands on a standalone and a replica set.

use crate::client::{Client, EXHAUST_ALLOWED, MORE_TO_COME, OP_MSG, code, on, replica_set, standalone};
use bson::{Bson, Document, doc};
use marula_test_server::TestServer;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

#[tokio::test]
async fn hello_describes_a_standalone() {
    let (_server, mut client) = standalone().await;
    let hello = client.run(on("admin", doc! {"hello": 1, "helloOk": true})).await;
    assert!(hello.get_bool("isWritablePrimary").unwrap());
    assert!(hello.get_bool("helloOk").unwrap());
    assert_eq!(hello.get_i32("maxWireVersion").unwrap(), 27);
    assert_eq!(hello.get_i32("maxMessageSizeBytes").unwrap(), 48_000_000);
    assert!(!hello.contains_key("setName"));
    let legacy = client.run(on("admin", doc! {"isMaster": 1})).await;
    assert!(legacy.get_bool("ismaster").unwrap());
}

#[tokio::test]
async fn hello_describes_the_members_of_a_replica_set() {
    let server = replica_set().await;
    for (index, address) in server.addresses().into_iter().enumerate() {
        let hello = Client::connect(address)
            .await
            .run(on("admin", doc! {"hello": 1}))
            .await;
        assert_eq!(hello.get_str("setName").unwrap(), "rs0");
        assert_eq!(hello.get_array("hosts").unwrap().len(), 3);
        assert_eq!(hello.get_str("me").unwrap(), address.to_string());
        assert_eq!(hello.get_bool("isWritablePrimary").unwrap(), index == 0);
        assert_eq!(hello.contains_key("electionId"), index == 0);
        assert!(hello.contains_key("$clusterTime") && hello.contains_key("operationTime"));
    }
}

#[tokio::test]
async fn legacy_hello_is_accepted_as_op_query() {
    let (_server, mut client) = standalone().await;
    let mut payload = 0_i32.to_le_bytes().to_vec();
    payload.extend(b"admin.$cmd\0");
    payload.extend(0_i32.to_le_bytes());
    payload.extend((-1_i32).to_le_bytes());
    payload.extend(doc! {"ismaster": 1}.to_vec().unwrap());
    client.send_raw(2004, &payload).await;
    assert!(client.receive().await.unwrap().body.get_bool("ismaster").unwrap());
}

#[tokio::test]
async fn malformed_input_closes_the_connection() {
    let server = TestServer::builder().start().await.unwrap();
    for (op_code, payload) in [
        (1, vec![]),
        (2012, vec![0; 9]),
        (OP_MSG, vec![]),
        (OP_MSG, vec![0, 0, 0, 0, 7]),
    ] {
        let mut client = Client::connect(server.addresses()[0]).await;
        client.send_raw(op_code, &payload).await;
        if let Some(reply) = client.receive().await {
            assert_ne!(code(&reply.body), 0);
            assert!(client.receive().await.is_none());
        }
    }
    let mut client = Client::connect(server.addresses()[0]).await;
    client.stream.write_all(&[255; 64]).await.unwrap();
    assert!(client.receive().await.is_none());
    server.wait_for_open_connections(0).await;
}

#[tokio::test]
async fn unacknowledged_writes_get_no_reply() {
    let (_server, mut client) = standalone().await;
    let insert = on(
        "db",
        doc! {"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": 0}},
    );
    client.send(MORE_TO_COME, &insert).await;
    let found = client.run(on("db", doc! {"find": "c"})).await;
    assert_eq!(
        found
            .get_document("cursor")
            .unwrap()
            .get_array("firstBatch")
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn exhaust_hello_streams_topology_changes() {
    let server = replica_set().await;
    let mut client = Client::connect(server.addresses()[0]).await;
    let version = client
        .run(on("admin", doc! {"hello": 1}))
        .await
        .get("topologyVersion")
        .cloned()
        .unwrap();
    let hello = doc! {"hello": 1, "topologyVersion": version, "maxAwaitTimeMS": 600_000};
    let id = client.send(EXHAUST_ALLOWED, &on("admin", hello)).await;
    // A hello that is counted is waiting for a topology change.
    server.wait_for_command("hello", 2).await;
    assert!(server.step_down());
    let reply = client.receive().await.unwrap();
    assert_eq!(reply.response_to, id);
    assert_eq!(reply.flags & MORE_TO_COME, MORE_TO_COME);
    assert!(!reply.body.get_bool("isWritablePrimary").unwrap());
    assert!(server.step_down());
    let next = client.receive().await.unwrap();
    assert_eq!(next.response_to, reply.id, "each reply refers to the one before");
    assert_eq!(
        next.body.get_str("primary").unwrap(),
        server.primary().unwrap().to_string()
    );
}

#[tokio::test]
async fn awaitable_hello_ends_after_max_await_time() {
    let (_server, mut client) = standalone().await;
    let version = client
        .run(on("admin", doc! {"hello": 1}))
        .await
        .get("topologyVersion")
        .cloned()
        .unwrap();
    let hello = doc! {"hello": 1, "topologyVersion": version.clone(), "maxAwaitTimeMS": 1};
    assert!(
        client
            .run(on("admin", hello))
            .await
            .get_bool("isWritablePrimary")
            .unwrap()
    );
    assert_eq!(
        code(
            &client
                .run(on("admin", doc! {"hello": 1, "topologyVersion": version}))
                .await
        ),
        31368
    );
}

#[tokio::test]
async fn secondaries_reject_writes_and_primary_reads() {
    let server = replica_set().await;
    let mut secondary = Client::connect(server.addresses()[1]).await;
    let insert = secondary
        .run(on("db", doc! {"insert": "c", "documents": [{"_id": 1}]}))
        .await;
    assert_eq!(code(&insert), 10107);
    assert!(insert.contains_key("topologyVersion"));
    assert_eq!(code(&secondary.run(on("db", doc! {"find": "c"})).await), 13435);
    let mut primary = Client::connect(server.addresses()[0]).await;
    primary
        .run(on("db", doc! {"insert": "c", "documents": [{"_id": 1}]}))
        .await;
    let find = doc! {"find": "c", "$readPreference": {"mode": "secondary"}};
    let found = secondary.run(on("db", find)).await;
    assert_eq!(
        found
            .get_document("cursor")
            .unwrap()
            .get_array("firstBatch")
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn a_stopped_primary_is_replaced_and_returns_as_secondary() {
    let server = replica_set().await;
    let old = server.addresses()[0];
    let mut client = Client::connect(old).await;
    client.run(on("admin", doc! {"ping": 1})).await;
    server.stop_member(0).await;
    assert!(client.receive().await.is_none());
    assert!(TcpStream::connect(old).await.is_err());
    assert_eq!(server.primary(), Some(server.addresses()[1]));
    server.restart_member(0).await.unwrap();
    let hello = Client::connect(old)
        .await
        .run(on("admin", doc! {"hello": 1}))
        .await;
    assert!(hello.get_bool("secondary").unwrap());
    assert!(server.restart_member(0).await.is_err());
}

#[tokio::test]
async fn a_retried_write_is_executed_once() {
    let server = replica_set().await;
    let mut client = Client::connect(server.addresses()[0]).await;
    let lsid = doc! {"id": bson::Uuid::new()};
    client
        .run(on("db", doc! {"insert": "c", "documents": [{"_id": 1, "n": 0}]}))
        .await;
    let update = doc! {
        "update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}}], "lsid": lsid.clone(), "txnNumber": 1_i64,
    };
    for _ in 0..2 {
        let reply = client.run(on("db", update.clone())).await;
        assert_eq!(
            (reply.get_i32("n").unwrap(), reply.get_i32("nModified").unwrap()),
            (1, 1)
        );
    }
    let modify = doc! {
        "findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "new": true, "lsid": lsid,
        "txnNumber": 2_i64,
    };
    for _ in 0..2 {
        let reply = client.run(on("db", modify.clone())).await;
        assert_eq!(reply.get_document("value").unwrap(), &doc! {"_id": 1, "n": 2});
    }
}

#[tokio::test]
async fn fail_points_fail_commands() {
    let server = replica_set().await;
    let mut client = Client::connect(server.addresses()[0]).await;
    let configure = |data: Document| {
        on(
            "admin",
            doc! {"configureFailPoint": "failCommand", "mode": {"times": 1}, "data": data},
        )
    };
    let ping = || on("admin", doc! {"ping": 1});
    client
        .run(configure(
            doc! {"failCommands": ["ping"], "errorCode": 91, "errorLabels": ["X"]},
        ))
        .await;
    let failed = client.run(ping()).await;
    assert_eq!(
        (code(&failed), failed.get_str("codeName").unwrap()),
        (91, "ShutdownInProgress")
    );
    assert_eq!(failed.get_array("errorLabels").unwrap(), &vec![Bson::from("X")]);
    assert_eq!(code(&client.run(ping()).await), 0);
    let concern = doc! {"code": 64, "errmsg": "waiting"};
    client
        .run(configure(
            doc! {"failCommands": ["insert"], "writeConcernError": concern},
        ))
        .await;
    let inserted = client
        .run(on("db", doc! {"insert": "c", "documents": [{"_id": 1}]}))
        .await;
    assert_eq!(inserted.get_i32("n").unwrap(), 1);
    assert_eq!(
        inserted
            .get_document("writeConcernError")
            .unwrap()
            .get_i32("code")
            .unwrap(),
        64
    );
    client
        .run(configure(
            doc! {"failCommands": ["ping"], "closeConnection": true},
        ))
        .await;
    client.send(0, &ping()).await;
    assert!(client.receive().await.is_none());
}

#[tokio::test]
async fn errors_have_the_documented_codes() {
    let (_server, mut client) = standalone().await;
    client
        .run(on("db", doc! {"insert": "c", "documents": [{"_id": 1}]}))
        .await;
    for (expected, body) in [
        (59, doc! {"nonsense": 1}),
        (40415, doc! {"find": "c", "nonsense": 1}),
        (14, doc! {"find": "c", "filter": 1}),
        (2, doc! {"find": "c", "filter": {"$or": true}}),
        (2, doc! {"find": "c", "hint": "none"}),
        (73, doc! {"find": ""}),
        (43, doc! {"getMore": 5_i64, "collection": "c"}),
        (26, doc! {"listIndexes": "none"}),
        (27, doc! {"dropIndexes": "c", "index": "none"}),
        (26, doc! {"collMod": "none"}),
        (48, doc! {"create": "c", "capped": true, "size": 1000}),
        (9, doc! {"aggregate": "c", "pipeline": []}),
        (
            40324,
            doc! {"aggregate": "c", "pipeline": [{"$none": 1}], "cursor": {}},
        ),
        (
            67,
            doc! {"createIndexes": "c", "indexes": [{"key": {"a": 0}, "name": "a"}]},
        ),
        (13, doc! {"listDatabases": 1}),
        (
            20,
            doc! {"find": "c", "startTransaction": true, "autocommit": false, "txnNumber": 1_i64},
        ),
        (
            20,
            doc! {"insert": "c", "documents": [{}], "lsid": {"id": bson::Uuid::new()}, "txnNumber": 1_i64},
        ),
        (322, doc! {"ping": 1, "apiVersion": "2"}),
    ] {
        let shown = body.to_string();
        assert_eq!(code(&client.run(on("db", body)).await), expected, "{shown}");
    }
}

#[tokio::test]
async fn unique_indexes_and_ttl() {
    let (server, mut client) = standalone().await;
    let index = doc! {"key": {"email": 1}, "name": "email_1", "unique": true, "collation": {"locale": "en", "strength": 2}};
    let created = client
        .run(on("db", doc! {"createIndexes": "c", "indexes": [index]}))
        .await;
    assert_eq!(created.get_i32("numIndexesAfter").unwrap(), 2);
    client
        .run(on(
            "db",
            doc! {"insert": "c", "documents": [{"_id": 1, "email": "A"}]},
        ))
        .await;
    let refused = client
        .run(on(
            "db",
            doc! {"insert": "c", "documents": [{"_id": 2, "email": "a"}]},
        ))
        .await;
    let error = refused.get_array("writeErrors").unwrap()[0]
        .as_document()
        .unwrap();
    assert_eq!(code(error), 11000);
    assert_eq!(error.get_document("keyValue").unwrap(), &doc! {"email": "a"});
    let ttl = doc! {"key": {"at": 1}, "name": "at_1", "expireAfterSeconds": 0};
    client
        .run(on("db", doc! {"createIndexes": "t", "indexes": [ttl]}))
        .await;
    let due = bson::DateTime::from_millis(0);
    client
        .run(on(
            "db",
            doc! {"insert": "t", "documents": [{"at": due}, {"at": 1}]},
        ))
        .await;
    assert_eq!(server.run_ttl_monitor(), 1);
}

/// The replies of failed commands with and without a topology version.
#[tokio::test]
async fn fail_points_return_a_topology_version_on_request() {
    let given = doc! { "processId": bson::oid::ObjectId::new(), "counter": 7_i64 };
    for (version, has_one) in [("4.2", false), ("8.2", true)] {
        let builder = TestServer::builder().version(version).replica_set();
        let server = builder.start().await.unwrap();
        let mut client = Client::connect(server.addresses()[0]).await;
        let hello = client.run(on("admin", doc! { "hello": 1 })).await;
        let current = hello.get("topologyVersion").cloned();
        assert_eq!(current.is_some(), has_one);
        for (code_of, option, expected) in [
            (91, None, None),
            (91, Some(Bson::Boolean(false)), None),
            (91, Some(Bson::Boolean(true)), current.clone()),
            (10107, Some(Bson::Boolean(true)), current.clone()),
            (8, Some(Bson::Boolean(true)), None),
            (8, Some(given.clone().into()), Some(given.clone().into())),
        ] {
            let mut data = doc! { "failCommands": ["ping"], "errorCode": code_of };
            data.extend(option.map(|option| ("topologyVersion".to_owned(), option)));
            let point =
                doc! { "configureFailPoint": "failCommand", "mode": { "times": 1 }, "data": data.clone() };
            assert_eq!(code(&client.run(on("admin", point)).await), 0);
            let reply = client.run(on("admin", doc! { "ping": 1 })).await;
            assert_eq!(code(&reply), code_of);
            assert_eq!(
                reply.get("topologyVersion"),
                expected.as_ref(),
                "{data} on {version}"
            );
        }
    }
}

#[tokio::test]
async fn a_dropped_server_closes_its_connections() {
    let (server, mut client) = standalone().await;
    client.run(on("admin", doc! {"ping": 1})).await;
    server.stop().await;
    assert!(client.receive().await.is_none());
}
