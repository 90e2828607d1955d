//! The commands of one call share an `operationId`; those of different calls do not.

use marula_driver::{
    Client, Collection, Cursor, WriteModel,
    bson::{Document, doc},
};
use marula_driver_tests::{Answer, CommandRecorder, Request, ScriptedServer};

use super::replies::{CURSOR, documents, first_batch, next_batch, written};

struct Fixture {
    server: ScriptedServer,
    client: Client,
    things: Collection<Document>,
    recorder: CommandRecorder,
    kills: usize,
}

fn script(request: &Request) -> Answer {
    match request.name() {
        "insert" | "update" | "delete" => written(request),
        "find" | "aggregate" | "listCollections" | "listIndexes" | "listThings" => {
            first_batch(CURSOR, documents(1))
        }
        "getMore" => next_batch(CURSOR, documents(1)),
        _ => Answer::Success,
    }
}

impl Fixture {
    async fn start(script: impl FnMut(&Request) -> Answer + Send + 'static) -> Self {
        let hello = doc! { "maxWriteBatchSize": 2, "logicalSessionTimeoutMinutes": 30 };
        let server = ScriptedServer::start(hello, script).await;
        let recorder = CommandRecorder::default();
        let client = recorder.client_of(&server.uri(""));
        Self {
            things: client.database("d").collection("c"),
            server,
            client,
            recorder,
            kills: 0,
        }
    }

    /// Checks the commands since the last check, and that all belong to one operation.
    fn assert_one(&self, commands: &[&str]) {
        assert_eq!(self.recorder.operations(), [commands]);
    }

    /// Reads one document of each of the first two batches, and drops the cursor.
    async fn read_and_drop(&mut self, opened_by: &str, mut cursor: Cursor<Document>) {
        assert!(cursor.advance().await.expect("a document"));
        assert!(cursor.advance().await.expect("a document"));
        drop(cursor);
        self.kills += 1;
        self.server.wait_for("killCursors", self.kills).await;
        self.assert_one(&[opened_by, "getMore", "killCursors"]);
    }
}

#[tokio::test]
async fn the_commands_of_a_write_with_many_statements_share_an_operation_id() {
    let fixture = Fixture::start(script).await;
    let things = &fixture.things;
    let all: Vec<Document> = (0..5).map(|n| doc! { "_id": n }).collect();
    for ordered in [true, false] {
        things.insert_many(&all).ordered(ordered).await.expect("stored");
        fixture.assert_one(&["insert", "insert", "insert"]);
    }
    let models = || {
        [
            WriteModel::insert_one(&doc! {}),
            WriteModel::update_one(doc! {}, doc! { "$set": { "a": 1 } }),
            WriteModel::delete_many(doc! {}),
            WriteModel::delete_one(doc! {}),
            WriteModel::delete_one(doc! {}),
            WriteModel::insert_one(&doc! {}),
        ]
    };
    things.bulk_write(models()).await.expect("written");
    fixture.assert_one(&["insert", "update", "delete", "delete", "insert"]);
    things.bulk_write(models()).ordered(false).await.expect("written");
    fixture.assert_one(&["insert", "update", "delete", "delete"]);
}

#[tokio::test]
async fn the_commands_of_a_cursor_share_an_operation_id() {
    let mut fixture = Fixture::start(script).await;
    let things = fixture.things.clone();
    let database = fixture.client.database("d");
    let cursor = things.find(doc! {}).await.expect("a cursor");
    fixture.read_and_drop("find", cursor).await;
    let cursor = things.aggregate([doc! { "$match": {} }]).await.expect("a cursor");
    fixture.read_and_drop("aggregate", cursor).await;
    let command = doc! { "listThings": 1 };
    let cursor = database.run_cursor_command(command).await.expect("a cursor");
    fixture.read_and_drop("listThings", cursor).await;
    let mut session = fixture.client.start_session().await.expect("a session");
    let cursor = things
        .find(doc! {})
        .session(&mut session)
        .await
        .expect("a cursor");
    fixture.read_and_drop("find", cursor).await;
    // A cursor that is closed instead of dropped.
    let mut cursor = things.find(doc! {}).await.expect("a cursor");
    while fixture.server.requests_named("getMore").len() < 6 {
        assert!(cursor.next_if_any().await.expect("a document").is_some());
    }
    cursor.close().await;
    fixture.assert_one(&["find", "getMore", "getMore", "killCursors"]);
}

#[tokio::test]
async fn the_commands_of_a_listing_share_an_operation_id() {
    let fixture = Fixture::start(|request| match request.name() {
        "listCollections" => {
            let first = doc! { "name": "a", "type": "collection" };
            first_batch(CURSOR, vec![first.into()])
        }
        "listIndexes" => {
            let first = doc! { "v": 2, "key": { "_id": 1 }, "name": "_id_" };
            first_batch(CURSOR, vec![first.into()])
        }
        "getMore" => next_batch(0, Vec::new()),
        _ => Answer::Success,
    })
    .await;
    let database = fixture.client.database("d");
    database.list_collection_names().await.expect("names");
    fixture.assert_one(&["listCollections", "getMore"]);
    fixture.things.list_index_names().await.expect("names");
    fixture.assert_one(&["listIndexes", "getMore"]);
}

#[tokio::test]
async fn all_attempts_of_an_operation_share_an_operation_id() {
    let mut lost = false;
    let fixture = Fixture::start(move |request| match request.name() {
        "insert" if !std::mem::replace(&mut lost, true) => Answer::Close,
        _ => script(request),
    })
    .await;
    fixture.things.insert_one(&doc! {}).await.expect("retried");
    fixture.assert_one(&["insert", "insert"]);
}

#[tokio::test]
async fn each_operation_has_another_operation_id() {
    let fixture = Fixture::start(script).await;
    for _ in 0..3 {
        fixture.things.insert_one(&doc! {}).await.expect("stored");
    }
    let (server, recorder) = (fixture.server, fixture.recorder);
    drop((fixture.things, fixture.client));
    server.wait_for("endSessions", 1).await;
    let one = |name: &str| vec![name.to_owned()];
    assert_eq!(
        recorder.operations(),
        [one("insert"), one("insert"), one("insert"), one("endSessions")]
    );
}
