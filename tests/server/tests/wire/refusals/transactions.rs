//! The rows of `src/refusal/transactions.rs`.

use super::{Case, Otherwise, case, check};
use bson::{Document, Uuid, doc};

/// A command of a transaction.
fn part(session: Uuid, mut command: Document, starts: bool) -> Document {
    command.extend(doc! { "lsid": { "id": session }, "txnNumber": 1_i64, "autocommit": false });
    if starts {
        command.insert("startTransaction", true);
    }
    command
}

/// A command that starts a transaction. Standalones refuse it with 20.
fn starting(id: &'static str, setup: Vec<Document>, command: Document) -> Case {
    case(id, setup, part(Uuid::new(), command, true)).otherwise(Otherwise::Either(vec![20]))
}

fn find() -> Document {
    doc! { "find": "c", "limit": 1 }
}

fn aggregate(stage: Document) -> Document {
    doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} }
}

fn commands() -> Vec<Case> {
    let inserted = vec![doc! { "insert": "c", "documents": [{ "_id": 1 }] }];
    let mut cases = vec![
        starting("transaction-count", vec![], doc! { "count": "c" }),
        starting("transaction-create", vec![], doc! { "create": "c" }),
        starting(
            "transaction-create",
            vec![],
            doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "a" }] },
        ),
        starting(
            "transaction-implicit-create",
            vec![],
            doc! { "insert": "c", "documents": [{ "_id": 1 }] },
        ),
        starting(
            "transaction-write-system",
            vec![],
            doc! { "insert": "system.other", "documents": [{}] },
        )
        .otherwise(Otherwise::Refuses(vec![20])),
        starting(
            "transaction-find-and-modify-system",
            vec![],
            doc! { "findAndModify": "system.other", "query": {}, "remove": true },
        )
        .otherwise(Otherwise::Refuses(vec![20, 50_791])),
        starting(
            "transaction-kill-cursors",
            vec![],
            doc! { "killCursors": "c", "cursors": [1_i64] },
        ),
        starting(
            "transaction-tailable",
            vec![doc! { "create": "c", "capped": true, "size": 4096 }],
            doc! { "find": "c", "tailable": true },
        ),
        starting(
            "transaction-create-view",
            vec![],
            doc! { "create": "v", "viewOn": "c", "pipeline": [] },
        )
        .otherwise(Otherwise::Refuses(vec![20, 263])),
        starting(
            "transaction-create-timeseries",
            vec![],
            doc! { "create": "t", "timeseries": { "timeField": "t" } },
        )
        .otherwise(Otherwise::Refuses(vec![20, 263]))
        .since(5, 0),
        starting(
            "transaction-index-existing",
            inserted,
            doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "a" }] },
        )
        .otherwise(Otherwise::Refuses(vec![20, 263])),
        starting("transaction-standalone", vec![], find()),
    ];
    for command in [
        doc! { "ping": 1 },
        doc! { "drop": "c" },
        doc! { "listCollections": 1 },
        doc! { "listIndexes": "c" },
        doc! { "collMod": "c" },
        doc! { "dropIndexes": "c", "index": "*" },
        doc! { "explain": find() },
        doc! { "renameCollection": "transactions.a", "to": "transactions.b", "$db": "admin" },
    ] {
        cases.push(starting("transaction-command", vec![], command));
    }
    cases
}

fn databases() -> Vec<Case> {
    let on = |id: &'static str, db: &str| {
        let mut command = find();
        command.insert("$db", db);
        starting(id, vec![], command)
    };
    vec![
        on("transaction-local", "local"),
        on("transaction-config", "config"),
        on("transaction-admin", "admin"),
        starting(
            "transaction-system-views",
            vec![],
            doc! { "find": "system.views", "limit": 1 },
        ),
        starting(
            "transaction-profile",
            vec![],
            doc! { "find": "system.profile", "limit": 1 },
        ),
    ]
}

fn stages() -> Vec<Case> {
    let mut cases = Vec::new();
    for id in ["transaction-stage", "transaction-stage-old"] {
        for stage in [
            doc! { "$out": "d" },
            doc! { "$merge": "d" },
            doc! { "$collStats": {} },
            doc! { "$indexStats": {} },
            doc! { "$changeStream": {} },
            doc! { "$lookup": { "from": "d", "pipeline": [{ "$collStats": {} }], "as": "b" } },
        ] {
            cases.push(
                starting(id, vec![], aggregate(stage)).otherwise(Otherwise::Refuses(vec![20, 263, 40573])),
            );
        }
    }
    let window = doc! { "$setWindowFields": { "sortBy": { "a": 1 }, "output": { "n": { "$sum": 1 } } } };
    cases.push(starting("transaction-window-fields", vec![], aggregate(window)).since(5, 0));
    let mut explain = aggregate(doc! { "$match": {} });
    explain.insert("explain", true);
    cases.push(starting("transaction-explain", vec![], explain));
    cases
}

fn concerns() -> Vec<Case> {
    let session = Uuid::new();
    let with = |name: &str, concern: Document| {
        let mut command = find();
        command.insert(name, concern);
        command
    };
    vec![
        starting("transaction-write-concern", vec![], {
            let mut command = doc! { "insert": "c", "documents": [{ "_id": 1 }] };
            command.insert("writeConcern", doc! { "w": 1 });
            command
        }),
        starting(
            "transaction-read-concern-level",
            vec![],
            with("readConcern", doc! { "level": "linearizable" }),
        ),
        case(
            "transaction-read-concern-later",
            vec![part(session, find(), true)],
            part(session, with("readConcern", doc! { "level": "local" }), false),
        ),
    ]
}

#[tokio::test]
async fn rows_are_refused_where_they_apply() {
    let cases = [commands(), databases(), stages(), concerns()];
    check("Transactions", cases.into_iter().flatten().collect()).await;
}
