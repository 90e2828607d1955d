//! The arguments `readConcern`, `readPreference` and `writeConcern` of operations.

use marula_driver::{
    Client,
    bson::{Bson, Document, doc},
};
use marula_driver_tests::{Answer, ScriptedServer};

use super::{args::Args, collection, database};
use crate::unified::stop::{Step, Stop};

/// Runs an operation with the arguments. Returns the first command that it sends.
async fn sent(of_database: bool, name: &str, arguments: Document) -> Step<Document> {
    let server = ScriptedServer::start(doc! {}, |request| match request.name() {
        "find" | "aggregate" => {
            let cursor = doc! { "id": 0_i64, "ns": "d.things", "firstBatch": [] };
            Answer::Reply(doc! { "ok": 1, "n": 0, "cursor": cursor, "values": [] })
        }
        "distinct" => Answer::Reply(doc! { "ok": 1, "values": [] }),
        "count" | "insert" | "update" | "delete" => Answer::Reply(doc! { "ok": 1, "n": 1, "nModified": 1 }),
        _ => Answer::Success,
    })
    .await;
    let client = Client::connect(server.uri("")).await.expect("a client");
    let given = client.database("d");
    let args = Args::new(name, arguments);
    let done = if of_database {
        database::run(&given, name, args).await?
    } else {
        collection::run(&given.collection("things"), name, args).await?
    };
    assert!(done.is_some(), "{name}");
    let first = server.requests().into_iter().next();
    Ok(first.map(|request| request.command).unwrap_or_default())
}

fn arguments() -> Document {
    doc! {
        "filter": {}, "update": { "$set": { "a": 1 } }, "replacement": {}, "document": {}, "documents": [{}],
        "fieldName": "a", "pipeline": [], "keys": { "a": 1 }, "name": "a_1", "collection": "things", "to": "more",
        "requests": [{ "insertOne": { "document": {} } }],
    }
}

/// The arguments of [`arguments`] that the operation takes.
fn arguments_of(names: &str, more: Document) -> Document {
    let all = arguments();
    let mut given: Document = names
        .split_whitespace()
        .map(|name| (name.to_owned(), all.get(name).cloned().unwrap_or(Bson::Null)))
        .collect();
    given.extend(more);
    given
}

const READS: [(bool, &str, &str); 7] = [
    (false, "find", "filter"),
    (false, "findOne", "filter"),
    (false, "aggregate", "pipeline"),
    (false, "distinct", "filter fieldName"),
    (false, "countDocuments", "filter"),
    (false, "estimatedDocumentCount", ""),
    (true, "aggregate", "pipeline"),
];

const LISTS: [(bool, &str, &str); 2] = [(true, "listCollections", ""), (false, "listIndexes", "")];

const WRITES: [(bool, &str, &str); 18] = [
    (false, "insertOne", "document"),
    (false, "insertMany", "documents"),
    (false, "updateOne", "filter update"),
    (false, "updateMany", "filter update"),
    (false, "replaceOne", "filter replacement"),
    (false, "deleteOne", "filter"),
    (false, "deleteMany", "filter"),
    (false, "bulkWrite", "requests"),
    (false, "findOneAndUpdate", "filter update"),
    (false, "findOneAndReplace", "filter replacement"),
    (false, "findOneAndDelete", "filter"),
    (false, "createIndex", "keys"),
    (false, "dropIndex", "name"),
    (false, "dropIndexes", ""),
    (false, "rename", "to"),
    (true, "createCollection", "collection"),
    (true, "dropCollection", "collection"),
    (true, "modifyCollection", "collection"),
];

#[tokio::test]
async fn reads_get_their_concern_and_their_preference() {
    let given = doc! { "readConcern": { "level": "majority" }, "readPreference": { "mode": "secondary" } };
    for (of_database, name, names) in READS {
        let command = sent(of_database, name, arguments_of(names, given.clone())).await;
        let command = command.unwrap_or_else(|stop| panic!("{name}: {stop:?}"));
        assert_eq!(
            command.get_document("readConcern").ok(),
            given.get_document("readConcern").ok(),
            "{command}"
        );
        let preference = command.get_document("$readPreference").expect("a preference");
        assert_eq!(
            Some(preference),
            given.get_document("readPreference").ok(),
            "{command}"
        );
    }
}

#[tokio::test]
async fn writes_get_their_concern() {
    let concern = doc! { "w": "majority" };
    for (of_database, name, names) in WRITES {
        let given = arguments_of(names, doc! { "writeConcern": &concern });
        let command = sent(of_database, name, given).await;
        let command = command.unwrap_or_else(|stop| panic!("{name}: {stop:?}"));
        assert_eq!(
            command.get_document("writeConcern").ok(),
            Some(&concern),
            "{command}"
        );
    }
}

#[tokio::test]
async fn concerns_that_an_operation_does_not_have_are_errors() {
    let of_reads = READS.iter().filter(|(_, name, _)| *name != "aggregate");
    let of_reads = of_reads.map(|read| (read, "writeConcern"));
    let of_writes = WRITES
        .iter()
        .flat_map(|write| [(write, "readConcern"), (write, "readPreference")]);
    let of_lists = LISTS
        .iter()
        .flat_map(|list| ["readConcern", "readPreference", "writeConcern"].map(|argument| (list, argument)));
    for ((of_database, name, names), argument) in of_reads.chain(of_writes).chain(of_lists) {
        let given = arguments_of(names, doc! { argument: {} });
        match sent(*of_database, name, given).await {
            Err(Stop::Failed(why)) => assert!(why.contains(argument), "{why}"),
            done => panic!("{name} with {argument}: {done:?}"),
        }
    }
}
