//! Violations by a driver: rejected with the server's errors, recorded, and failing the test.

use crate::client::{Client, MORE_TO_COME, OP_MSG, code, on, replica_set, standalone};
use bson::raw::RawDocumentBuf;
use bson::{Bson, Document, doc, rawdoc};
use marula_test_server::{TestServer, ViolationKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn primary(server: &TestServer) -> Client {
    Client::connect(server.primary().unwrap()).await
}

fn kinds(server: &TestServer) -> Vec<ViolationKind> {
    server
        .take_violations()
        .iter()
        .map(|violation| violation.kind)
        .collect()
}

/// Runs commands, compares their error codes, and checks that each error was recorded as a
/// violation of the given kind.
async fn check(
    server: &TestServer,
    kind: ViolationKind,
    commands: impl IntoIterator<Item = (i32, Document)>,
) {
    for (expected, body) in commands {
        let mut client = primary(server).await;
        let reply = client.run(on("db", body.clone())).await;
        assert_eq!(code(&reply), expected, "{body}: {reply}");
        let wanted = if expected == 0 { vec![] } else { vec![kind] };
        assert_eq!(kinds(server), wanted, "{body}");
    }
}

#[tokio::test]
async fn write_concerns_are_for_writes_only() {
    let server = replica_set().await;
    let concern = doc! {"w": 1};
    check(
        &server,
        ViolationKind::WriteConcern,
        [
            (72, doc! {"find": "c", "writeConcern": &concern}),
            (72, doc! {"count": "c", "writeConcern": &concern}),
            (72, doc! {"distinct": "c", "key": "a", "writeConcern": &concern}),
            (
                72,
                doc! {"aggregate": "c", "pipeline": [], "cursor": {}, "writeConcern": &concern},
            ),
            (72, doc! {"listCollections": 1, "writeConcern": &concern}),
            (72, doc! {"ping": 1, "writeConcern": &concern}),
            (72, doc! {"hello": 1, "writeConcern": &concern}),
            (
                72,
                doc! {"getMore": 1_i64, "collection": "c", "writeConcern": &concern},
            ),
            (
                0,
                doc! {"insert": "c", "documents": [{}], "writeConcern": &concern},
            ),
            (
                0,
                doc! {"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {}, "writeConcern": &concern},
            ),
            (0, doc! {"create": "e", "writeConcern": &concern}),
            (0, doc! {"drop": "e", "writeConcern": &concern}),
        ],
    )
    .await;
}

#[tokio::test]
async fn an_aggregate_with_writes_returns_write_concern_errors() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    for stage in [doc! {"$out": "d"}, doc! {"$merge": "d"}] {
        let body = doc! {"aggregate": "c", "pipeline": [stage], "cursor": {}, "writeConcern": {"w": 4, "wtimeout": 1}};
        let reply = client.run(on("db", body)).await;
        assert_eq!(reply.get_f64("ok").unwrap(), 1.0);
        let error = reply.get_document("writeConcernError").unwrap();
        assert_eq!(error.get_i32("code").unwrap(), 100);
    }
}

#[tokio::test]
async fn read_concerns_are_for_reads_only() {
    let server = replica_set().await;
    let concern = doc! {"level": "majority"};
    let mut client = primary(&server).await;
    client
        .run(on("db", doc! {"insert": "c", "documents": [{}, {}, {}]}))
        .await;
    check(
        &server,
        ViolationKind::ReadConcern,
        [
            (72, doc! {"insert": "c", "documents": [{}], "readConcern": &concern}),
            (72, doc! {"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}], "readConcern": &concern}),
            (72, doc! {"delete": "c", "deletes": [{"q": {}, "limit": 1}], "readConcern": &concern}),
            (72, doc! {"findAndModify": "c", "remove": true, "readConcern": &concern}),
            (72, doc! {"create": "e", "readConcern": &concern}),
            (72, doc! {"drop": "e", "readConcern": &concern}),
            (72, doc! {"listCollections": 1, "readConcern": &concern}),
            (72, doc! {"ping": 1, "readConcern": &concern}),
            (0, doc! {"find": "c", "readConcern": &concern}),
            (0, doc! {"count": "c", "readConcern": &concern}),
            (0, doc! {"distinct": "c", "key": "a", "readConcern": &concern}),
            (0, doc! {"aggregate": "c", "pipeline": [], "cursor": {}, "readConcern": &concern}),
        ],
    )
    .await;
    // The server accepts the default level on any command, but drivers must not send it.
    let accepted = doc! {"insert": "c", "documents": [{}], "readConcern": {"level": "local"}};
    assert_eq!(code(&client.run(on("db", accepted)).await), 0);
    assert_eq!(kinds(&server), [ViolationKind::ReadConcern]);
    // A getMore may have any read concern.
    let reply = client.run(on("db", doc! {"find": "c", "batchSize": 1})).await;
    let id = reply.get_document("cursor").unwrap().get_i64("id").unwrap();
    let time = reply.get_timestamp("operationTime").unwrap();
    for concern in [
        doc! {"level": "snapshot", "atClusterTime": time},
        doc! {"level": "majority"},
    ] {
        let body = doc! {"getMore": id, "collection": "c", "batchSize": 1, "readConcern": concern};
        assert_eq!(code(&client.run(on("db", body)).await), 0);
    }
}

#[tokio::test]
async fn malformed_read_concerns() {
    let server = replica_set().await;
    let mut client = primary(&server).await;
    let later = bson::Timestamp {
        time: 2_145_000_000,
        increment: 1,
    };
    for (expected, concern) in [
        (40415, doc! {"foo": 1}),
        (72, doc! {"afterClusterTime": later}),
        (14, doc! {"afterClusterTime": 1}),
        (14, doc! {"level": 1}),
        (2, doc! {"level": "bogus"}),
    ] {
        let reply = client
            .run(on("db", doc! {"find": "c", "readConcern": &concern}))
            .await;
        assert_eq!(code(&reply), expected, "{concern}: {reply}");
    }
    let now = client.run(on("db", doc! {"ping": 1})).await;
    let now = now.get_timestamp("operationTime").unwrap();
    let reply = client
        .run(on(
            "db",
            doc! {"find": "c", "readConcern": {"afterClusterTime": now}},
        ))
        .await;
    assert_eq!(code(&reply), 0);
}

#[tokio::test]
async fn malformed_session_fields() {
    let server = replica_set().await;
    let id = || doc! {"id": bson::Uuid::new()};
    let generic = Bson::Binary(bson::Binary {
        subtype: bson::spec::BinarySubtype::Generic,
        bytes: vec![0; 16],
    });
    let short = Bson::Binary(bson::Binary {
        subtype: bson::spec::BinarySubtype::Uuid,
        bytes: vec![0; 15],
    });
    check(
        &server,
        ViolationKind::SessionFields,
        [
            (40414, doc! {"ping": 1, "lsid": {}}),
            (14, doc! {"ping": 1, "lsid": "x"}),
            (14, doc! {"ping": 1, "lsid": {"id": "x"}}),
            (14, doc! {"ping": 1, "lsid": {"id": generic}}),
            (207, doc! {"ping": 1, "lsid": {"id": short}}),
            (40415, doc! {"ping": 1, "lsid": {"id": bson::Uuid::new(), "x": 1}}),
            (
                14,
                doc! {"insert": "c", "documents": [{}], "lsid": id(), "txnNumber": 1},
            ),
            (50768, doc! {"find": "c", "lsid": id(), "txnNumber": 1_i64}),
            (
                50768,
                doc! {"aggregate": "c", "pipeline": [], "cursor": {}, "lsid": id(), "txnNumber": 1_i64},
            ),
            (
                50768,
                doc! {"getMore": 1_i64, "collection": "c", "lsid": id(), "txnNumber": 1_i64},
            ),
            (72, doc! {"find": "c", "txnNumber": 1_i64}),
            (
                0,
                doc! {"insert": "c", "documents": [{}], "lsid": id(), "txnNumber": 1_i64},
            ),
        ],
    )
    .await;
    let (server, mut client) = standalone().await;
    let body = doc! {"find": "c", "lsid": id(), "txnNumber": 1_i64};
    assert_eq!(code(&client.run(on("db", body)).await), 20);
    assert_eq!(kinds(&server), [ViolationKind::SessionFields]);
}

#[tokio::test]
async fn malformed_read_preferences() {
    for builder in [
        TestServer::builder().replica_set(),
        TestServer::builder().sharded(),
    ] {
        let server = builder.start().await.unwrap();
        let find = |preference: Document| doc! {"find": "c", "$readPreference": preference};
        check(
            &server,
            ViolationKind::ReadPreference,
            [
                (2, find(doc! {"mode": "bogus"})),
                (2, find(doc! {"mode": "primary", "tags": [{"a": "b"}]})),
                (160, find(doc! {"mode": "nearest", "maxStalenessSeconds": 10})),
                (0, find(doc! {"mode": "nearest", "maxStalenessSeconds": 90})),
            ],
        )
        .await;
    }
}

#[tokio::test]
async fn client_metadata_is_sent_once_complete_and_within_the_limit() {
    let server = replica_set().await;
    let hello = |metadata: Document| doc! {"hello": 1, "client": metadata};
    let whole = doc! {"driver": {"name": "d", "version": "1"}, "os": {"type": "Linux"}};
    let with = |name: &str, value: Bson| {
        let mut changed = whole.clone();
        changed.insert(name, value);
        changed
    };
    check(
        &server,
        ViolationKind::ClientMetadata,
        [
            (183, hello(doc! {"os": {"type": "Linux"}})),
            (183, hello(doc! {"driver": {"name": "d", "version": "1"}})),
            (
                184,
                hello(with("application", doc! {"name": "x".repeat(129)}.into())),
            ),
            (185, hello(with("platform", "x".repeat(1024).into()))),
            (0, hello(whole.clone())),
        ],
    )
    .await;
    let mut client = primary(&server).await;
    // A mongod accepts more bytes than the specification allows drivers to send.
    let long = hello(with("platform", "x".repeat(512).into()));
    assert_eq!(code(&client.run(on("admin", long.clone())).await), 0);
    assert_eq!(kinds(&server), [ViolationKind::ClientMetadata]);
    assert_eq!(code(&client.run(on("admin", hello(whole.clone()))).await), 186);
    assert_eq!(code(&client.run(on("admin", doc! {"hello": 1})).await), 0);
    assert_eq!(kinds(&server), [ViolationKind::ClientMetadata]);
    let mongos = TestServer::builder().sharded().start().await.unwrap();
    let mut client = Client::connect(mongos.addresses()[0]).await;
    assert_eq!(code(&client.run(on("admin", long)).await), 185);
    assert_eq!(kinds(&mongos), [ViolationKind::ClientMetadata]);
}

#[tokio::test]
async fn messages_over_the_limit_close_the_connection() {
    let (server, mut client) = standalone().await;
    let mut head = 48_000_001_i32.to_le_bytes().to_vec();
    head.extend([0; 8]);
    head.extend(2013_i32.to_le_bytes());
    client.stream.write_all(&head).await.unwrap();
    assert_eq!(client.stream.read(&mut [0; 1]).await.unwrap_or(0), 0);
    assert_eq!(kinds(&server), [ViolationKind::MessageTooLarge]);
}

#[tokio::test]
async fn a_stored_document_over_the_limit_is_not_a_violation() {
    let (server, mut client) = standalone().await;
    // Longer than a stored document, but not than the document of a command.
    let document = doc! { "_id": 1, "a": "x".repeat(16 << 20) };
    let reply = client
        .run(on("db", doc! { "insert": "c", "documents": [document] }))
        .await;
    assert_eq!(code(&reply), 0);
    let errors = reply.get_array("writeErrors").unwrap();
    assert_eq!(code(errors[0].as_document().unwrap()), 10334);
    assert_eq!(kinds(&server), []);
}

#[tokio::test]
async fn write_commands_have_a_limit_of_statements() {
    let (server, mut client) = standalone().await;
    let deletes = |count: usize| {
        on(
            "db",
            doc! { "delete": "c", "deletes": vec![doc! { "q": {}, "limit": 1 }; count] },
        )
    };
    for (count, expected, kind) in [
        (100_000, 0, None),
        (100_001, 16, Some(ViolationKind::TooManyWrites)),
        (0, 16, None),
    ] {
        let reply = client.run(deletes(count)).await;
        assert_eq!(code(&reply), expected, "{count}: {reply}");
        assert_eq!(kinds(&server), kind.into_iter().collect::<Vec<_>>(), "{count}");
    }
    let operations = vec![doc! { "delete": 0, "filter": {}, "multi": false }; 100_001];
    let bulk = doc! { "bulkWrite": 1, "ops": operations, "nsInfo": [{ "ns": "db.c" }] };
    assert_eq!(code(&client.run(on("admin", bulk)).await), 16);
    assert_eq!(kinds(&server), [ViolationKind::TooManyWrites]);
}

#[tokio::test]
async fn modifiers_without_each_are_stored() {
    let (server, mut client) = standalone().await;
    let insert = doc! { "insert": "c", "documents": [{ "_id": 1 }] };
    client.run(on("db", insert)).await;
    let update = |update: Document| doc! { "update": "c", "updates": [{ "q": {}, "u": update }] };
    let modify = |update: Document| doc! { "findAndModify": "c", "query": {}, "update": update };
    let operation = |update: Document| doc! { "update": 0, "filter": {}, "updateMods": update };
    let bulk = |update: Document| {
        let operations = vec![operation(update)];
        doc! { "bulkWrite": 1, "ops": operations, "nsInfo": [{ "ns": "db.c" }], "$db": "admin" }
    };
    let literal = [ViolationKind::LiteralModifier];
    for (kinds_of, command) in [
        (&literal[..], update(doc! { "$push": { "a": { "$slice": 0 } } })),
        (&literal, update(doc! { "$addToSet": { "a": { "$sort": 1 } } })),
        (
            &literal,
            modify(doc! { "$push": { "b": 1, "a": { "$position": 0, "x": 1 } } }),
        ),
        (
            &literal,
            bulk(doc! { "$push": { "a": { "$sort": { "x": 1 }, "$slice": 0 } } }),
        ),
        (
            &[],
            update(doc! { "$push": { "a": { "$slice": 9, "$each": [] } } }),
        ),
        (
            &[],
            update(doc! { "$push": { "a": { "$each": [{ "$slice": 0 }] } } }),
        ),
        (&[], update(doc! { "$push": { "a": { "x": { "$slice": 0 } } } })),
        (&[], update(doc! { "$set": { "a": [{ "$slice": 0 }] } })),
    ] {
        let command = if command.contains_key("$db") {
            command
        } else {
            on("db", command)
        };
        let reply = client.run(command.clone()).await;
        assert_eq!(code(&reply), 0, "{command}: {reply}");
        assert!(!reply.contains_key("writeErrors"), "{command}: {reply}");
        assert_eq!(kinds(&server), kinds_of, "{command}");
    }
}

#[tokio::test]
async fn a_session_has_one_command_at_a_time() {
    let server = replica_set().await;
    let mut setup = primary(&server).await;
    let point = doc! {
        "configureFailPoint": "failCommand",
        "mode": "alwaysOn",
        "data": {"failCommands": ["insert"], "blockConnection": true, "blockTimeMS": 600_000, "appName": "blocked"},
    };
    setup.run(on("admin", point)).await;
    let named = doc! {
        "hello": 1,
        "client": {"application": {"name": "blocked"}, "driver": {"name": "d", "version": "1"}, "os": {"type": "Linux"}},
    };
    let session = || doc! {"id": bson::Uuid::new()};
    let insert = |session: &Document| {
        on(
            "db",
            doc! {"insert": "c", "documents": [{}], "lsid": session, "txnNumber": 1_i64},
        )
    };
    let find = |session: &Document| on("db", doc! {"find": "c", "lsid": session});
    let mut blocked = 0;
    // Open until the end, so that the number of open connections changes by that of each case only.
    let mut kept = Vec::new();
    for (close, then, expected) in [
        // A different command while the first one is running.
        (false, "find", vec![ViolationKind::SessionInUse]),
        // A different command after the client has closed the connection of the first one.
        (true, "find", vec![ViolationKind::SessionInUse]),
        // A retry of the same command, and commands that end operations.
        (true, "insert", vec![]),
        (false, "killCursors", vec![]),
        (true, "killCursors", vec![]),
    ] {
        let session = session();
        let mut first = primary(&server).await;
        first.run(on("admin", named.clone())).await;
        first.send(0, &insert(&session)).await;
        blocked += 1;
        server.wait_for_command("insert", blocked).await;
        let open = server.open_connections();
        if close {
            drop(first);
            server.wait_for_open_connections(open - 1).await;
        } else {
            kept.push(first);
        }
        let reply = match then {
            "find" => setup.run(find(&session)).await,
            "killCursors" => {
                let kill = doc! {"killCursors": "c", "cursors": [1_i64], "lsid": &session};
                setup.run(on("db", kill)).await
            }
            _ => {
                blocked += 1;
                setup.run(insert(&session)).await
            }
        };
        assert_eq!(code(&reply), 0, "{reply}");
        assert_eq!(kinds(&server), expected, "{then} after closing: {close}");
    }
}

#[tokio::test]
async fn a_violation_fails_the_test() {
    let (server, mut client) = standalone().await;
    client
        .run(on("db", doc! {"find": "c", "writeConcern": {"w": 1}}))
        .await;
    let stop = tokio::spawn(server.stop());
    let panic = stop.await.unwrap_err().into_panic();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(
        text.contains("WriteConcern: `find` on connection 1: Command does not support writeConcern"),
        "{text}"
    );
    let (server, mut client) = standalone().await;
    server.allow_violations([ViolationKind::WriteConcern]);
    client
        .run(on("db", doc! {"find": "c", "writeConcern": {"w": 1}}))
        .await;
    assert!(server.violations().is_empty());
}

#[tokio::test]
async fn a_command_over_the_limit_of_documents_is_rejected() {
    const LIMIT: usize = (16 << 20) + (16 << 10);
    let (server, mut client) = standalone().await;
    let body = |size: usize| {
        let command = |filler: String| doc! {"ping": 1, "comment": filler, "$db": "admin"};
        let empty = command(String::new()).to_vec().unwrap().len();
        command("x".repeat(size - empty))
    };
    assert_eq!(code(&client.run(body(LIMIT)).await), 0);
    let rejected = client.run(body(LIMIT + 1)).await;
    assert_eq!(code(&rejected), 10334);
    assert_eq!(rejected.get_str("codeName").unwrap(), "BSONObjectTooLarge");
    // A request with moreToCome gets no reply, and the connection stays open.
    client.send(MORE_TO_COME, &body(LIMIT + 1)).await;
    assert_eq!(code(&client.run(body(100)).await), 0);
    assert_eq!(kinds(&server), [ViolationKind::DocumentTooLarge; 2]);
}

#[tokio::test]
async fn a_document_has_each_field_once() {
    let (server, mut client) = standalone().await;
    let twice = rawdoc! { "_id": 1, "a": 1, "a": 2 };
    let repeated = |document: RawDocumentBuf| rawdoc! { "insert": "c", "documents": [document], "$db": "db" };
    let body = repeated(twice.clone());
    let mut payload = vec![0; 5];
    payload.extend(body.as_bytes());
    client.send_raw(OP_MSG, &payload).await;
    assert_eq!(code(&client.receive().await.unwrap().body), 0);
    let mut sequence = vec![0; 5];
    sequence.extend(rawdoc! { "insert": "c", "$db": "db" }.as_bytes());
    sequence.push(1);
    let document = rawdoc! { "_id": 2, "b": [twice] };
    sequence.extend((4 + 10 + document.as_bytes().len() as i32).to_le_bytes());
    sequence.extend(b"documents\0");
    sequence.extend(document.as_bytes());
    client.send_raw(OP_MSG, &sequence).await;
    assert_eq!(code(&client.receive().await.unwrap().body), 0);
    let found: Vec<String> = server.take_violations().iter().map(ToString::to_string).collect();
    let prefix = "DuplicateField: `insert` on connection 1: a document has the field";
    assert_eq!(
        found,
        [
            format!("{prefix} `documents.0.a` twice"),
            format!("{prefix} `documents.b.0.a` twice")
        ]
    );
    client
        .run(on(
            "db",
            doc! { "insert": "c", "documents": [{ "a": { "b": 1 } }, { "a": 1 }] },
        ))
        .await;
    assert_eq!(kinds(&server), []);
}
