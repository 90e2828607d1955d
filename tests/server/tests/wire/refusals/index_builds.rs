//! The rows of `src/refusal/index_builds.rs`. The servers of these tests are not shared, because
//! [`TestServer::hold_index_builds`] applies to a whole server.

use super::{Server, VERSIONS, failure, has_message, start};
use crate::client::{Client, code, on, standalone};
use bson::{Document, doc};
use marula_test_server::{HeldIndexBuilds, Refusal, TestServer, refusals};
use std::collections::BTreeSet;
use std::time::Duration;

fn create() -> Document {
    doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "i" }] }
}

fn rows() -> &'static [Refusal] {
    let table = refusals().iter().find(|(name, _)| *name == "Index builds");
    table.unwrap().1
}

/// The row of this server among those with the code, if there is one.
fn row(server: &Server, code: i32) -> Option<&'static Refusal> {
    rows().iter().find(|row| row.code == code && server.refuses(row))
}

/// A server with a build that is open, and the connection that waits for it.
struct Open {
    builds: HeldIndexBuilds,
    builder: Client,
    other: Client,
    tested: BTreeSet<&'static str>,
}

impl Open {
    async fn new(server: &Server) -> Open {
        let address = server.server.primary().unwrap();
        let (builder, other) = (Client::connect(address).await, Client::connect(address).await);
        let builds = server.server.hold_index_builds();
        let mut open = Open {
            builds,
            builder,
            other,
            tested: BTreeSet::new(),
        };
        open.begin().await;
        open
    }

    async fn begin(&mut self) {
        for command in [
            doc! { "insert": "c", "documents": [{ "a": 1 }] },
            doc! { "createIndexes": "empty", "indexes": [{ "key": { "b": 1 }, "name": "b" }] },
        ] {
            assert_eq!(code(&self.other.run(on("db", command)).await), 0);
        }
        self.builder.send(0, &on("db", create())).await;
        self.builds.wait_for_builds(1).await;
    }

    async fn run(&mut self, command: Document) -> Document {
        let command = if command.contains_key("$db") {
            command
        } else {
            on("db", command)
        };
        self.other.run(command).await
    }

    async fn check(&mut self, server: &Server, command: Document, expected: Option<i32>) {
        let reply = self.run(command.clone()).await;
        self.compare(server, &command, &reply, expected);
    }

    /// The reply to `createIndexes`.
    async fn built(&mut self, server: &Server, expected: Option<i32>) {
        let reply = self.builder.receive().await.unwrap().body;
        self.compare(server, &create(), &reply, expected);
    }

    fn compare(&mut self, server: &Server, command: &Document, reply: &Document, expected: Option<i32>) {
        let context = format!("{command} on {} {:?}", server.deployment, server.version);
        match (failure(reply), expected) {
            (None, None) => {}
            (Some((code, message)), Some(wanted)) => {
                assert_eq!(code, wanted, "{context}: {message}");
                let row = row(server, code).unwrap();
                assert!(has_message(&message, row.message), "{context}: {message}");
                self.tested.insert(row.id);
            }
            (found, _) => panic!("{context}: {found:?}"),
        }
    }
}

async fn check_on(server: &Server) -> BTreeSet<&'static str> {
    let (old, old_drops) = (server.version < (4, 4), server.version < (5, 2));
    let rename = doc! { "renameCollection": "db.c", "to": "db.e", "$db": "admin" };
    let named = |name: &str| doc! { "dropIndexes": "c", "index": name };
    let mut open = Open::new(server).await;
    let other = doc! { "createIndexes": "d", "indexes": [{ "key": { "a": 1 }, "name": "x" }] };
    open.check(server, other, None).await;
    open.check(server, doc! { "collMod": "c", "validator": {} }, Some(12_587))
        .await;
    open.check(server, rename, Some(12_587)).await;
    let drop_other = if old_drops { Some(12_587) } else { None };
    let missing = open.run(named("x")).await;
    assert_eq!(code(&missing), drop_other.unwrap_or(27));
    let listed = open.run(doc! { "listIndexes": "c" }).await;
    let listed = listed.get_document("cursor").unwrap();
    assert_eq!(listed.get_array("firstBatch").unwrap().len(), 2);
    if old {
        open.check(server, named("i"), Some(12_587)).await;
        open.check(server, doc! { "drop": "c" }, Some(12_587)).await;
        open.check(server, doc! { "dropDatabase": 1 }, Some(12_586)).await;
    } else {
        for ends in [
            named("i"),
            named("*"),
            doc! { "drop": "c" },
            doc! { "dropDatabase": 1 },
        ] {
            open.check(server, ends, None).await;
            open.built(server, Some(276)).await;
            open.begin().await;
        }
    }
    let Open {
        builds,
        mut builder,
        mut other,
        tested,
    } = open;
    assert_eq!(builds.open_builds(), 1);
    builds.release();
    let reply = builder.receive().await.unwrap().body;
    assert_eq!(reply.get_i32("numIndexesAfter").unwrap(), 2, "{reply}");
    let modify = on("db", doc! { "collMod": "c", "validator": {} });
    assert_eq!(code(&other.run(modify).await), 0);
    tested
}

#[tokio::test]
async fn rows_are_refused_where_they_apply() {
    let mut tested = BTreeSet::new();
    for version in VERSIONS {
        for deployment in ["standalone", "replica set", "sharded"] {
            tested.extend(check_on(&start(version, deployment).await).await);
        }
    }
    let all: BTreeSet<&str> = rows().iter().map(|row| row.id).collect();
    assert_eq!(tested, all);
}

#[tokio::test]
async fn a_build_ends_with_its_connection_and_with_kill_op() {
    let (server, mut client) = standalone().await;
    let address = server.addresses()[0];
    let insert = doc! { "insert": "c", "documents": [{ "a": 1 }] };
    client.run(on("db", insert)).await;
    let builds = server.hold_index_builds();
    let mut closed = Client::connect(address).await;
    closed.send(0, &on("db", create())).await;
    builds.wait_for_builds(1).await;
    drop(closed);
    while builds.open_builds() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let mut killed = Client::connect(address).await;
    killed.send(0, &on("db", create())).await;
    builds.wait_for_builds(1).await;
    let current = on("admin", doc! { "currentOp": 1, "command.createIndexes": "c" });
    let operations = client.run(current).await;
    let operation = operations.get_array("inprog").unwrap()[0].as_document().unwrap();
    let id = operation.get("opid").unwrap().clone();
    client.run(on("admin", doc! { "killOp": 1, "op": id })).await;
    assert_eq!(code(&killed.receive().await.unwrap().body), 11_601);
    assert_eq!(builds.open_builds(), 0);
    // A server stops while a build is open.
    killed.send(0, &on("db", create())).await;
    builds.wait_for_builds(1).await;
    server.stop().await;
}

#[tokio::test]
async fn a_build_ends_after_its_time_limit() {
    let (server, mut client) = standalone().await;
    let insert = doc! { "insert": "c", "documents": [{ "a": 1 }] };
    client.run(on("db", insert)).await;
    let builds = server.hold_index_builds();
    let mut limited = create();
    limited.insert("maxTimeMS", 1);
    assert_eq!(code(&client.run(on("db", limited)).await), 50);
    assert_eq!(builds.open_builds(), 0);
}

#[tokio::test]
async fn duplicates_are_found_at_the_end_of_a_build() {
    let (server, mut client) = standalone().await;
    let insert = doc! { "insert": "c", "documents": [{ "a": 1 }, { "a": 1 }] };
    client.run(on("db", insert)).await;
    let builds = server.hold_index_builds();
    let unique =
        doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "i", "unique": true }] };
    client.send(0, &on("db", unique)).await;
    builds.wait_for_builds(1).await;
    drop(builds);
    assert_eq!(code(&client.receive().await.unwrap().body), 11_000);
}

/// A standalone has no ids of builds.
#[tokio::test]
async fn indexes_that_are_being_built_are_listed_with_the_ids_of_their_builds() {
    for is_replicated in [false, true] {
        let builder = if is_replicated {
            TestServer::builder().replica_set()
        } else {
            TestServer::builder().standalone()
        };
        let server = builder.start().await.unwrap();
        let address = server.addresses()[0];
        let (mut client, mut builder) = (Client::connect(address).await, Client::connect(address).await);
        let insert = doc! { "insert": "c", "documents": [{ "a": 1 }] };
        client.run(on("db", insert)).await;
        let builds = server.hold_index_builds();
        builder.send(0, &on("db", create())).await;
        builds.wait_for_builds(1).await;
        let mut listed = Vec::new();
        for with_ids in [false, true] {
            let list = doc! { "listIndexes": "c", "includeBuildUUIDs": with_ids };
            let reply = client.run(on("db", list)).await;
            let batch = reply
                .get_document("cursor")
                .unwrap()
                .get_array("firstBatch")
                .unwrap();
            listed.push(batch[1].as_document().unwrap().clone());
        }
        assert_eq!(listed[0].get_str("name").unwrap(), "i");
        if is_replicated {
            assert_eq!(listed[1].get_document("spec").unwrap(), &listed[0]);
            assert!(listed[1].contains_key("buildUUID"));
        } else {
            assert_eq!(listed[1], listed[0]);
        }
        drop(builds);
        assert_eq!(code(&builder.receive().await.unwrap().body), 0);
    }
}
