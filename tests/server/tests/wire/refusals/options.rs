//! The options that older servers do not have.

use super::{failure, servers};
use crate::client::{Client, on};
use bson::{Bson, Document, doc};

/// A command, an option and its value, the first version that has it, and the error code of older
/// versions. The name of the option is empty if a statement of the command contains it.
type Row = (Document, &'static str, Bson, (u32, u32), i32);

fn rows() -> Vec<Row> {
    let find = doc! { "find": "c" };
    let modify = doc! { "findAndModify": "c", "query": {}, "remove": true };
    let update = doc! { "update": "c", "updates": [{ "q": {}, "u": { "$set": { "a": 1 } } }] };
    let delete = doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 1 }] };
    let insert = doc! { "insert": "c", "documents": [{ "a": 1 }] };
    let aggregate = doc! { "aggregate": "c", "pipeline": [], "cursor": {} };
    let variables = || Bson::from(doc! { "x": 1 });
    let by_id = || Bson::from(doc! { "_id": 1 });
    vec![
        (find.clone(), "let", variables(), (5, 0), 9),
        (find.clone(), "allowDiskUse", true.into(), (4, 4), 9),
        (find, "comment", 1.into(), (4, 4), 14),
        (aggregate.clone(), "let", variables(), (5, 0), 9),
        (aggregate, "comment", 1.into(), (4, 4), 14),
        (modify.clone(), "let", variables(), (5, 0), 51177),
        (modify.clone(), "hint", by_id(), (4, 4), 51177),
        (modify, "comment", "x".into(), (4, 4), 51177),
        (update.clone(), "let", variables(), (5, 0), 40415),
        (update, "comment", "x".into(), (4, 4), 40415),
        (delete.clone(), "let", variables(), (5, 0), 40415),
        (delete, "comment", "x".into(), (4, 4), 40415),
        (insert, "comment", "x".into(), (4, 4), 40415),
        (
            doc! { "distinct": "c", "key": "a" },
            "hint",
            by_id(),
            (7, 1),
            40415,
        ),
        (doc! { "ping": 1 }, "rawData", true.into(), (8, 2), 40415),
    ]
}

fn statements() -> Vec<Row> {
    let set = doc! { "$set": { "a": 1 } };
    let update = doc! { "update": "c", "updates": [{ "q": {}, "u": set, "sort": { "a": 1 } }] };
    let delete = doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 1, "hint": { "_id": 1 } }] };
    vec![
        (update, "", Bson::Null, (8, 0), 40415),
        (delete, "", Bson::Null, (4, 4), 40415),
    ]
}

#[tokio::test]
async fn options_are_unknown_before_their_first_version() {
    for server in servers().await {
        let address = match server.deployment {
            "replica set" => server.server.primary().unwrap(),
            _ => server.server.addresses()[0],
        };
        let mut client = Client::connect(address).await;
        let insert = doc! { "insert": "c", "documents": [{ "a": 1 }] };
        client.run(on("options", insert)).await;
        for (mut command, option, value, since, code) in rows().into_iter().chain(statements()) {
            if !option.is_empty() {
                command.insert(option, value);
            }
            let reply = client.run(on("options", command.clone())).await;
            let failed = failure(&reply).map(|(code, _)| code);
            let expected = (server.version < since).then_some(code);
            assert_eq!(failed, expected, "{command} on {:?}: {reply}", server.version);
        }
    }
}
