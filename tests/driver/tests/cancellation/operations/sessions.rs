//! The session of a dropped operation: the server may still execute its command, so the server
//! session is not returned to the pool.

use futures_util::StreamExt;
use marula_driver::{
    Client, ClientSession, Collection, Cursor, IndexModel, SearchIndexModel, WriteModel,
    bson::{Document, doc},
};
use marula_driver_tests::{Answer, Request, ScriptedServer};

/// Answers pings, and commands that open cursors in the collection `open`. Other commands get no
/// answer.
fn script(request: &Request) -> Answer {
    let is_open = request.command.get_str("find").ok() == Some("open");
    match request.name() {
        "ping" | "killCursors" | "endSessions" => Answer::Success,
        "find" if is_open => {
            Answer::Reply(doc! { "ok": 1, "cursor": { "id": 7_i64, "ns": "d.open", "firstBatch": [] } })
        }
        "insert" if request.command.get_str("insert").ok() == Some("open") => {
            Answer::Reply(doc! { "ok": 1, "n": 1 })
        }
        _ if request.is_hello() => Answer::Success,
        _ => Answer::Silence,
    }
}

struct SilentServer {
    server: ScriptedServer,
    client: Client,
    things: Collection<Document>,
    /// The collection whose commands are answered.
    open: Collection<Document>,
}

impl SilentServer {
    async fn start() -> Self {
        let hello = doc! { "logicalSessionTimeoutMinutes": 30 };
        let server = ScriptedServer::start(hello, script).await;
        // Late replies are awaited for 3 s, so each dropped operation needs a connection of its own.
        let client = Client::connect(server.uri("minPoolSize=50"))
            .await
            .expect("a client");
        let database = client.database("d");
        Self {
            things: database.collection("things"),
            open: database.collection("open"),
            server,
            client,
        }
    }

    /// Drops the future after the server has received `more` of these commands.
    async fn drop_when_sent<T>(&self, command: &str, more: usize, running: impl Future<Output = T>) {
        let count = self.server.requests_named(command).len() + more;
        tokio::select! {
            _ = running => panic!("{command} has no answer"),
            _ = self.server.wait_for(command, count) => {}
        }
    }

    /// Checks that neither an operation nor a new session of the application uses this session id.
    async fn assert_not_used_again(&self, name: &str, id: &Document) {
        let admin = self.client.database("admin");
        admin.run_command(doc! { "ping": 1 }).await.expect("a reply");
        let ping = self.server.requests_named("ping").pop().expect("a ping");
        assert!(ping.lsid().is_some_and(|lsid| lsid != *id), "{name}");
        let all = [self.start_session().await, self.start_session().await];
        assert!(
            all.iter().all(|session| session.id().as_ref() != Some(id)),
            "{name}"
        );
    }

    async fn start_session(&self) -> ClientSession {
        self.client.start_session().await.expect("a session")
    }
}

#[tokio::test]
async fn the_session_of_a_dropped_action_is_not_used_again() {
    let silent = SilentServer::start().await;
    let (things, database, client) = (&silent.things, silent.client.database("d"), &silent.client);
    let (set, empty) = (doc! { "$set": { "a": 1 } }, [doc! {}]);
    let index = || IndexModel::new(doc! { "a": 1 });
    let search = || SearchIndexModel::new(doc! {});
    macro_rules! drop_all {
        ($($name:literal, $command:literal: $action:expr;)*) => {$(
            let mut session = silent.start_session().await;
            let id = session.id().expect("an id");
            let running = $action.session(&mut session).into_future();
            silent.drop_when_sent($command, 1, running).await;
            // The application may continue to use its explicit session.
            let admin = client.database("admin");
            admin.run_command(doc! { "ping": 1 }).session(&mut session).await.expect("a reply");
            let ping = silent.server.requests_named("ping").pop().expect("a ping");
            assert_eq!(ping.lsid().as_ref(), Some(&id), $name);
            drop(session);
            silent.assert_not_used_again($name, &id).await;
        )*};
    }
    drop_all! {
        "insert_one", "insert": things.insert_one(&empty[0]);
        "insert_many", "insert": things.insert_many(&empty);
        "bulk_write", "insert": things.bulk_write([WriteModel::insert_one(&doc! {})]);
        "find", "find": things.find(doc! {});
        "find_one", "find": things.find_one(doc! {});
        "aggregate", "aggregate": things.aggregate([doc! { "$match": {} }]);
        "aggregate a database", "aggregate": database.aggregate([doc! { "$documents": [{}] }]);
        "distinct", "distinct": things.distinct("a", doc! {});
        "count_documents", "aggregate": things.count_documents(doc! {});
        "estimated_document_count", "count": things.estimated_document_count();
        "update_one", "update": things.update_one(doc! {}, &set);
        "update_many", "update": things.update_many(doc! {}, &set);
        "replace_one", "update": things.replace_one(doc! {}, &doc! {});
        "find_one_and_update", "findAndModify": things.find_one_and_update(doc! {}, &set);
        "find_one_and_replace", "findAndModify": things.find_one_and_replace(doc! {}, &doc! {});
        "find_one_and_delete", "findAndModify": things.find_one_and_delete(doc! {});
        "delete_one", "delete": things.delete_one(doc! {});
        "delete_many", "delete": things.delete_many(doc! {});
        "create_index", "createIndexes": things.create_index(index());
        "create_indexes", "createIndexes": things.create_indexes([index()]);
        "list_indexes", "listIndexes": things.list_indexes();
        "list_index_names", "listIndexes": things.list_index_names();
        "drop_index", "dropIndexes": things.drop_index("a_1");
        "drop_indexes", "dropIndexes": things.drop_indexes();
        "create_search_index", "createSearchIndexes": things.create_search_index(search());
        "create_search_indexes", "createSearchIndexes": things.create_search_indexes([search()]);
        "update_search_index", "updateSearchIndex": things.update_search_index("a", doc! {});
        "drop_search_index", "dropSearchIndex": things.drop_search_index("a");
        "list_search_indexes", "aggregate": things.list_search_indexes(None);
        "rename", "renameCollection": things.rename("other");
        "run_command", "hostInfo": database.run_command(doc! { "hostInfo": 1 });
        "run_cursor_command", "listThings": database.run_cursor_command(doc! { "listThings": 1 });
        "modify_collection", "collMod": database.modify_collection("things");
        "list_collections", "listCollections": database.list_collections();
        "list_collection_names", "listCollections": database.list_collection_names();
        "list_databases", "listDatabases": client.list_databases();
        "list_database_names", "listDatabases": client.list_database_names();
        "create_collection", "create": database.create_collection("more");
        "drop", "drop": things.drop();
        "drop a database", "dropDatabase": database.drop();
    }
}

#[tokio::test]
async fn the_session_of_a_bulk_write_dropped_in_its_second_command_is_not_used_again() {
    let silent = SilentServer::start().await;
    let mut session = silent.start_session().await;
    let id = session.id().expect("an id");
    let models = [WriteModel::insert_one(&doc! {}), WriteModel::delete_one(doc! {})];
    let running = silent.open.bulk_write(models).session(&mut session).into_future();
    silent.drop_when_sent("delete", 1, running).await;
    drop(session);
    silent.assert_not_used_again("bulk_write", &id).await;
}

#[tokio::test]
async fn a_session_whose_operation_was_not_sent_is_used_again() {
    let silent = SilentServer::start().await;
    // The client discovers the server, and thereby that it supports sessions.
    let admin = silent.client.database("admin");
    admin.run_command(doc! { "ping": 1 }).await.expect("a reply");
    let mut session = silent.start_session().await;
    let id = session.id();
    drop(
        silent
            .things
            .insert_one(&doc! {})
            .session(&mut session)
            .into_future(),
    );
    drop(session);
    assert_eq!(silent.start_session().await.id(), id);
}

/// Reads a cursor in one of several ways, up to its getMore.
async fn read(cursor: &mut Cursor<Document>, way: usize) {
    match way {
        0 => drop(cursor.advance().await),
        1 => drop(cursor.try_next().await),
        2 => drop(cursor.next().await),
        3 => drop(cursor.next_if_any().await),
        _ => drop(cursor.advance_if_any().await),
    }
}

#[tokio::test]
async fn the_session_of_a_dropped_get_more_is_not_used_again_and_not_by_kill_cursors() {
    let silent = SilentServer::start().await;
    let mut killed = 0;
    for explicit in [false, true] {
        for way in 0..5 {
            // The same holds if the cursor is read again after the future was dropped, which ends
            // the cursor with an error.
            for look_again in [false, true] {
                let mut session = silent.start_session().await;
                let find = silent.open.find(doc! {});
                let find = if explicit {
                    find.session(&mut session)
                } else {
                    find
                };
                let mut cursor = find.await.expect("a cursor");
                let opened = silent.server.requests_named("find").pop().expect("a find");
                let id = opened.lsid().expect("a session");
                assert_eq!(session.id().as_ref() == Some(&id), explicit);
                silent.drop_when_sent("getMore", 1, read(&mut cursor, way)).await;
                // A stream continues the getMore in flight.
                if look_again && way != 2 {
                    cursor.advance().await.expect_err("a batch is lost");
                }
                drop(cursor);
                drop(session);
                killed += 1;
                let kill = silent
                    .server
                    .wait_for("killCursors", killed)
                    .await
                    .pop()
                    .expect("one");
                assert_eq!(kill.lsid(), None, "way {way}");
                silent.assert_not_used_again("getMore", &id).await;
            }
        }
    }
}

/// A cursor that is read as a stream or in another task can have a getMore in flight when the
/// application ends the session.
#[tokio::test]
async fn a_session_that_ends_before_the_reply_to_a_get_more_is_not_used_again() {
    let silent = SilentServer::start().await;
    for in_task in [false, true] {
        let mut session = silent.start_session().await;
        let id = session.id().expect("an id");
        let find = silent.open.find(doc! {}).session(&mut session);
        let mut cursor = find.await.expect("a cursor");
        if in_task {
            let count = silent.server.requests_named("getMore").len() + 1;
            let reading = tokio::spawn(async move { cursor.advance().await });
            silent.server.wait_for("getMore", count).await;
            drop(session);
            silent.assert_not_used_again("in a task", &id).await;
            reading.abort();
            assert!(reading.await.expect_err("no reply").is_cancelled());
        } else {
            silent.drop_when_sent("getMore", 1, cursor.next()).await;
            drop(session);
            silent.assert_not_used_again("as a stream", &id).await;
            drop(cursor);
        }
        silent.assert_not_used_again("after the cursor", &id).await;
    }
}

/// The application may use its session again as soon as the cursor is dropped.
#[tokio::test]
async fn a_cursor_dropped_in_a_session_is_killed_without_the_session() {
    let silent = SilentServer::start().await;
    let mut session = silent.start_session().await;
    let id = session.id();
    for (killed, lsid) in [(1, None), (2, id.clone())] {
        let find = silent.open.find(doc! {}).session(&mut session);
        let cursor = find.await.expect("a cursor");
        if killed == 1 {
            drop(cursor);
        } else {
            cursor.close().await;
        }
        let kill = silent
            .server
            .wait_for("killCursors", killed)
            .await
            .pop()
            .expect("one");
        assert_eq!(kill.lsid(), lsid);
    }
    drop(session);
    assert_eq!(
        silent.start_session().await.id(),
        id,
        "no command of the session was dropped in flight"
    );
}

#[tokio::test]
async fn a_cursor_whose_close_is_dropped_is_killed() {
    let silent = SilentServer::start().await;
    let mut session = silent.start_session().await;
    for (killed, explicit) in [(1, false), (2, true)] {
        let find = silent.open.find(doc! {});
        let find = if explicit {
            find.session(&mut session)
        } else {
            find
        };
        drop(find.await.expect("a cursor").close());
        silent.server.wait_for("killCursors", killed).await;
    }
}
