//! Prose tests of the CRUD specification.

use marula_driver::{
    Client, ClientBulkWriteError, ClientWriteModel, Collection, Error, ErrorKind, Namespace, WriteModel,
    bson::{Bson, Document, RawBsonRef, doc},
    event::{CommandEvent, CommandStartedEvent},
    options::{ExplainOptions, WriteConcern},
};
use marula_driver_tests::{
    CommandRecorder, RecordedClient, Target, any_deployment, any_single_router, recorded, standalone,
    with_logical_clock,
};

/// The limits in the reply to `hello`.
#[derive(Clone, Copy)]
struct Limits {
    max_write_batch_size: usize,
    max_bson_object_size: usize,
    max_message_size: usize,
}

async fn hello(client: &Client) -> Document {
    let admin = client.database("admin");
    admin.run_command(doc! { "hello": 1 }).await.expect("a reply")
}

/// A recorded client of a deployment with the command `bulkWrite`. `None` if it is older.
async fn with_bulk_write(deployment: Target, options: &str) -> Option<(RecordedClient, Limits)> {
    let hello = hello(&deployment.client).await;
    let number = |key| hello.get_i32(key).expect("a number");
    if number("maxWireVersion") < 25 {
        deployment.skip("bulkWrite requires MongoDB 8.0");
        return None;
    }
    let limit = |key| usize::try_from(number(key)).expect("a positive number");
    let limits = Limits {
        max_write_batch_size: limit("maxWriteBatchSize"),
        max_bson_object_size: limit("maxBsonObjectSize"),
        max_message_size: limit("maxMessageSizeBytes"),
    };
    // A server in the process of the test answers a check only after it has stored 100,000 documents.
    let separator = if options.is_empty() { "" } else { "&" };
    let options = format!("{options}{separator}connectTimeoutMS=120000");
    Some((recorded(deployment, &options), limits))
}

/// A started `bulkWrite` command.
struct BulkWrite {
    operation_id: i64,
    ops: usize,
    namespaces: Vec<String>,
    write_concern: Option<Document>,
}

impl BulkWrite {
    /// The large `ops` are not decoded.
    fn of(event: &CommandStartedEvent) -> Self {
        let command = &event.command;
        let ns_info = command.get_array("nsInfo").expect("nsInfo");
        let name = |entry: RawBsonRef<'_>| {
            let entry = entry.as_document().expect("a document");
            entry.get_str("ns").expect("a name").to_owned()
        };
        let write_concern = command.get_document("writeConcern").ok();
        Self {
            operation_id: event.operation_id,
            ops: command.get_array("ops").expect("ops").into_iter().count(),
            namespaces: ns_info
                .into_iter()
                .map(|entry| name(entry.expect("valid")))
                .collect(),
            write_concern: write_concern.map(|concern| Document::try_from(concern).expect("valid")),
        }
    }
}

/// Removes all events, and returns the started `bulkWrite` commands.
fn bulk_writes(commands: &CommandRecorder) -> Vec<BulkWrite> {
    let started = |event| match event {
        CommandEvent::Started(event) if event.command_name == "bulkWrite" => Some(BulkWrite::of(&event)),
        _ => None,
    };
    commands.take().into_iter().filter_map(started).collect()
}

fn lengths(commands: &[BulkWrite]) -> Vec<usize> {
    assert!(
        commands
            .iter()
            .all(|command| command.operation_id == commands[0].operation_id)
    );
    commands.iter().map(|command| command.ops).collect()
}

/// `{ a: "bbb…" }`
fn filled(length: usize) -> Document {
    doc! { "a": "b".repeat(length) }
}

fn insert(namespace: &Namespace, document: &Document) -> ClientWriteModel {
    ClientWriteModel::new(namespace.clone(), WriteModel::insert_one(document))
}

fn bulk_error(error: &Error) -> &ClientBulkWriteError {
    match error.kind() {
        ErrorKind::ClientBulkWrite(bulk) => bulk,
        _ => panic!("{error:?}"),
    }
}

async fn fail(client: &Client, times: i32, data: Document) {
    let command = doc! { "configureFailPoint": "failCommand", "mode": { "times": times }, "data": data };
    let admin = client.database("admin");
    admin.run_command(command).await.expect("the fail point is set");
}

#[tokio::test]
async fn crud_prose_1() {
    let deployment = standalone().await;
    let info = doc! { "writeConcern": { "w": 2, "wtimeout": 0, "provenance": "clientSupplied" } };
    let concern_error = doc! {
        "code": 100, "codeName": "UnsatisfiableWriteConcern", "errmsg": "Not enough data-bearing nodes",
        "errInfo": info.clone(),
    };
    let data = doc! { "failCommands": ["insert"], "writeConcernError": concern_error };
    fail(&deployment.client, 1, data).await;
    let error = deployment
        .collection()
        .insert_one(&doc! { "x": 1 })
        .await
        .unwrap_err();
    assert_eq!(error.write_concern_error().unwrap().details, Some(info));
}

#[tokio::test]
async fn crud_prose_2() {
    let recorded = recorded(any_deployment().await, "");
    let things = recorded.things();
    let validator = doc! { "x": { "$type": "string" } };
    let database = things.database();
    database
        .create_collection(things.name())
        .validator(validator)
        .await
        .unwrap();
    let error = things.insert_one(&doc! { "x": 1 }).await.unwrap_err();
    let write_error = &error.write_errors()[0];
    assert_eq!(write_error.code, 121);
    let details = write_error.details.clone().unwrap();
    let replies: Vec<Document> = recorded
        .commands
        .take()
        .iter()
        .filter_map(|event| match event {
            CommandEvent::Succeeded(event) if event.command_name == "insert" => {
                Some(Document::try_from(&*event.reply).unwrap())
            }
            _ => None,
        })
        .collect();
    let write_errors = replies[0].get_array("writeErrors").unwrap();
    let sent = write_errors[0]
        .as_document()
        .unwrap()
        .get_document("errInfo")
        .unwrap();
    assert_eq!(*sent, details);
}

#[tokio::test]
async fn crud_prose_3() {
    let Some((recorded, limits)) = with_bulk_write(any_deployment().await, "").await else {
        return;
    };
    let count = limits.max_write_batch_size + 1;
    let things = recorded.things();
    let models = (0..count).map(|_| things.insert_one_model(&doc! { "a": "b" }));
    let done = recorded.client.bulk_write(models).await.unwrap();
    assert_eq!(done.inserted_count, count as u64);
    let commands = bulk_writes(&recorded.commands);
    assert_eq!(lengths(&commands), [limits.max_write_batch_size, 1]);
}

#[tokio::test]
async fn crud_prose_4() {
    let Some((recorded, limits)) = with_bulk_write(any_deployment().await, "").await else {
        return;
    };
    let document = filled(limits.max_bson_object_size - 500);
    let count = limits.max_message_size / limits.max_bson_object_size + 1;
    let things = recorded.things();
    let models = (0..count).map(|_| things.insert_one_model(&document));
    let done = recorded.client.bulk_write(models).await.unwrap();
    assert_eq!(done.inserted_count, count as u64);
    assert_eq!(lengths(&bulk_writes(&recorded.commands)), [count - 1, 1]);
}

#[tokio::test]
async fn crud_prose_5() {
    let deployment = standalone().await.into();
    // The error marks the server Unknown. In polling mode it is checked again at once.
    let options = "retryWrites=false&serverMonitoringMode=poll";
    let (recorded, limits) = with_bulk_write(deployment, options).await.unwrap();
    let concern_error = doc! { "code": 91, "errmsg": "Replication is being shut down" };
    let data = doc! { "failCommands": ["bulkWrite"], "writeConcernError": concern_error };
    fail(&recorded.deployment.client, 2, data).await;
    let things = recorded.things();
    let count = limits.max_write_batch_size + 1;
    let models = (0..count).map(|_| things.insert_one_model(&doc! { "a": "b" }));
    let error = recorded.client.bulk_write(models).await.unwrap_err();
    let bulk = bulk_error(&error);
    assert_eq!(bulk.write_concern_errors.len(), 2);
    assert_eq!(bulk.partial_result.as_ref().unwrap().inserted_count, count as u64);
    assert_eq!(bulk_writes(&recorded.commands).len(), 2);
}

#[tokio::test]
async fn crud_prose_6() {
    let Some((recorded, limits)) = with_bulk_write(any_deployment().await, "").await else {
        return;
    };
    let things = recorded.things();
    let document = doc! { "_id": 1 };
    things.insert_one(&document).await.unwrap();
    for (ordered, errors, commands) in [(false, limits.max_write_batch_size + 1, 2), (true, 1, 1)] {
        let models = (0..=limits.max_write_batch_size).map(|_| things.insert_one_model(&document));
        let error = recorded
            .client
            .bulk_write(models)
            .ordered(ordered)
            .await
            .unwrap_err();
        assert_eq!(bulk_error(&error).write_errors.len(), errors);
        assert_eq!(
            bulk_writes(&recorded.commands).len(),
            commands,
            "ordered: {ordered}"
        );
    }
}

/// Two upserts whose results do not fit into one batch.
fn large_upserts(things: &Collection<Document>, limits: Limits) -> [ClientWriteModel; 2] {
    ["a", "b"].map(|letter| {
        let filter = doc! { "_id": letter.repeat(limits.max_bson_object_size / 2) };
        things
            .update_one_model(filter, doc! { "$set": { "x": 1 } })
            .upsert(true)
    })
}

#[tokio::test]
async fn crud_prose_7() {
    let Some((recorded, limits)) = with_bulk_write(any_deployment().await, "").await else {
        return;
    };
    let models = large_upserts(&recorded.things(), limits);
    let done = recorded
        .client
        .bulk_write(models)
        .verbose_results(true)
        .await
        .unwrap();
    assert_eq!(done.upserted_count, 2);
    assert_eq!(done.verbose_results.unwrap().update_results.len(), 2);
    assert_eq!(recorded.commands.operations(), [["bulkWrite", "getMore"]]);
}

#[tokio::test]
async fn crud_prose_8() {
    let Some(deployment) = with_logical_clock().await else {
        return;
    };
    let Some((recorded, limits)) = with_bulk_write(deployment, "").await else {
        return;
    };
    let things = recorded.things();
    things.database().create_collection(things.name()).await.unwrap();
    let _ = recorded.commands.take();
    let mut session = recorded.client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let action = recorded.client.bulk_write(large_upserts(&things, limits));
    let action = action.verbose_results(true).session(&mut session);
    let done = action.await.unwrap();
    assert_eq!(done.upserted_count, 2);
    assert_eq!(done.verbose_results.unwrap().update_results.len(), 2);
    assert_eq!(recorded.commands.operations(), [["bulkWrite", "getMore"]]);
    session.abort_transaction().await.unwrap();
    assert_eq!(things.count_documents(doc! {}).await.unwrap(), 0);
}

#[tokio::test]
async fn crud_prose_9() {
    let (recorded, limits) = with_bulk_write(standalone().await.into(), "").await.unwrap();
    let data = doc! { "failCommands": ["getMore"], "errorCode": 8 };
    fail(&recorded.deployment.client, 1, data).await;
    let models = large_upserts(&recorded.things(), limits);
    let error = recorded
        .client
        .bulk_write(models)
        .verbose_results(true)
        .await
        .unwrap_err();
    let bulk = bulk_error(&error);
    assert_eq!(bulk.error.as_ref().unwrap().code(), Some(8));
    let partial = bulk.partial_result.as_ref().unwrap();
    assert_eq!(partial.upserted_count, 2);
    assert_eq!(partial.verbose_results.as_ref().unwrap().update_results.len(), 1);
    assert_eq!(
        recorded.commands.operations(),
        [["bulkWrite", "getMore", "killCursors"]]
    );
}

/// Models that leave exactly the space for one insert of `{ a: "b" }` into the same namespace.
fn filling(namespace: &Namespace, limits: Limits) -> Vec<ClientWriteModel> {
    let bytes = limits.max_message_size - 1122;
    let (count, rest) = (
        bytes / limits.max_bson_object_size,
        bytes % limits.max_bson_object_size,
    );
    let document = filled(limits.max_bson_object_size - 57);
    let mut models: Vec<_> = (0..count).map(|_| insert(namespace, &document)).collect();
    if rest >= 217 {
        models.push(insert(namespace, &filled(rest - 57)));
    }
    models
}

#[tokio::test]
async fn crud_prose_11() {
    let Some((recorded, limits)) = with_bulk_write(any_deployment().await, "").await else {
        return;
    };
    let namespace = Namespace::new("db", "coll");
    let long = Namespace::new("db", "c".repeat(200));
    let same = std::slice::from_ref(&namespace);
    for (last, commands) in [
        (&namespace, vec![same]),
        (&long, vec![same, std::slice::from_ref(&long)]),
    ] {
        let mut models = filling(&namespace, limits);
        models.push(insert(last, &filled(1)));
        let count = models.len();
        let done = recorded.client.bulk_write(models).await.unwrap();
        assert_eq!(done.inserted_count, count as u64);
        let started = bulk_writes(&recorded.commands);
        let expected: Vec<usize> = if commands.len() == 1 {
            vec![count]
        } else {
            vec![count - 1, 1]
        };
        assert_eq!(lengths(&started), expected);
        for (command, namespaces) in started.iter().zip(commands) {
            assert!(
                namespaces
                    .iter()
                    .map(ToString::to_string)
                    .eq(command.namespaces.iter().cloned())
            );
        }
    }
    // The names of the specification's test determine the sizes.
    recorded.client.database("db").drop().await.unwrap();
}

#[tokio::test]
async fn crud_prose_12() {
    let Some((recorded, limits)) = with_bulk_write(any_deployment().await, "").await else {
        return;
    };
    let long = Namespace::new("db", "c".repeat(limits.max_message_size));
    let large = insert(&Namespace::new("db", "coll"), &filled(limits.max_message_size));
    for model in [large, insert(&long, &filled(1))] {
        let error = recorded.client.bulk_write([model]).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error:?}");
        assert!(error.to_string().contains("models[0]"), "{error}");
        assert!(recorded.commands.is_empty());
    }
}

#[tokio::test]
async fn crud_prose_15() {
    let Some((recorded, limits)) = with_bulk_write(any_single_router().await, "maxPoolSize=1").await else {
        return;
    };
    let things = recorded.things();
    things.database().create_collection(things.name()).await.unwrap();
    let document = filled(limits.max_bson_object_size - 500);
    let count = limits.max_message_size / limits.max_bson_object_size + 1;
    let models = (0..count).map(|_| things.insert_one_model(&document));
    let action = recorded.client.bulk_write(models).ordered(false);
    let done = action.write_concern(WriteConcern::nodes(0)).await.unwrap();
    assert!(!done.acknowledged);
    let commands = bulk_writes(&recorded.commands);
    assert_eq!(lengths(&commands), [count - 1, 1]);
    for command in commands {
        assert_eq!(command.write_concern, Some(doc! { "w": 0 }));
    }
    assert_eq!(things.count_documents(doc! {}).await.unwrap(), count as u64);
}

#[tokio::test]
async fn crud_prose_16() {
    let recorded = recorded(standalone().await, "");
    let things = recorded.things();
    let document = doc! { "x": 1 };
    things.insert_one(&document).await.unwrap();
    things.insert_many(std::slice::from_ref(&document)).await.unwrap();
    things
        .bulk_write([WriteModel::insert_one(&document)])
        .await
        .unwrap();
    recorded
        .client
        .bulk_write([things.insert_one_model(&document)])
        .await
        .unwrap();
    let first = |documents: &Bson| documents.as_array().unwrap()[0].as_document().unwrap().clone();
    let commands = recorded.commands.commands();
    assert_eq!(commands.len(), 4);
    for command in commands {
        let document = match command.get("documents") {
            Some(documents) => first(documents),
            None => first(&command["ops"]).get_document("document").unwrap().clone(),
        };
        assert_eq!(document.keys().collect::<Vec<_>>(), ["_id", "x"]);
    }
}

/// Each form of the API: the setter of the action, its options, and the setter of the explained action.
#[tokio::test]
async fn crud_prose_14() {
    let tested = recorded(any_deployment().await, "");
    let collection = tested
        .client
        .database("explain-test")
        .collection::<Document>("collection");
    let limit = std::time::Duration::from_millis(2_000);
    let find = || collection.find(doc! { "name": "john doe" });
    for explain in [
        find().explain().max_time(limit),
        find()
            .explain()
            .with_options(ExplainOptions::default().max_time(limit)),
        find().max_time(limit).explain(),
    ] {
        explain.await.expect("a plan");
        let command = tested.commands.only_command();
        assert_eq!(command.get_i64("maxTimeMS").ok(), Some(2_000), "{command}");
        let find = command.get_document("explain").expect("the explained command");
        assert!(!find.contains_key("maxTimeMS"), "{command}");
    }
}
