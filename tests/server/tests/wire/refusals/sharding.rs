//! The rows of `src/refusal/sharding.rs`.

use super::{Case, Otherwise, case, check};
use bson::{Bson, Document, Uuid, doc};
use marula_test_server::TestServer;

/// A case on the collection `c` of a database of its own, sharded on `{k: 1}`, with a document.
struct Sharded {
    db: String,
    setup: Vec<Document>,
}

impl Sharded {
    fn new(db: &str) -> Sharded {
        let mut sharded = Sharded::by(db, doc! { "k": 1 });
        let document = doc! { "_id": 1, "k": 5, "a": 1 };
        sharded = sharded.with(doc! { "insert": "c", "documents": [document] });
        sharded
    }

    fn by(db: &str, key: Document) -> Sharded {
        let db = db.to_owned();
        let setup = vec![
            doc! { "enableSharding": &db, "$db": "admin" },
            doc! { "shardCollection": format!("{db}.c"), "key": key, "$db": "admin" },
        ];
        Sharded { db, setup }
    }

    fn with(mut self, mut command: Document) -> Sharded {
        command.insert("$db", &self.db);
        self.setup.push(command);
        self
    }

    fn refuses(self, id: &'static str, mut command: Document) -> Case {
        command
            .entry("$db".to_owned())
            .or_insert_with(|| self.db.clone().into());
        case(id, self.setup, command)
    }
}

fn update(statement: Document) -> Document {
    doc! { "update": "c", "updates": [statement] }
}

/// A retryable write.
fn retryable(mut command: Document) -> Document {
    command.extend(doc! { "lsid": { "id": Uuid::new() }, "txnNumber": 1_i64 });
    command
}

/// The first command of a transaction.
fn starting(command: Document) -> Document {
    let mut command = retryable(command);
    command.extend(doc! { "autocommit": false, "startTransaction": true });
    command
}

fn inserts() -> Vec<Case> {
    let insert = |document: Document| doc! { "insert": "c", "documents": [document] };
    let replacement = doc! { "q": { "_id": 1, "k": 5 }, "u": { "a": 2 } };
    vec![
        Sharded::new("sharded-insert").refuses("shard-insert-missing", insert(doc! { "_id": 2 })),
        Sharded::new("sharded-array")
            .refuses("shard-insert-array", insert(doc! { "_id": 2, "k": [1] }))
            .otherwise(Otherwise::Refuses(vec![61])),
        Sharded::new("sharded-replacement")
            .refuses("shard-replacement-missing", retryable(update(replacement))),
    ]
}

fn targeting() -> Vec<Case> {
    let set = doc! { "$set": { "a": 2 } };
    let upsert = doc! { "q": { "_id": 2 }, "u": set.clone(), "upsert": true };
    let save = doc! { "q": { "_id": 2 }, "u": { "_id": 2, "k": 6 }, "upsert": true };
    let one = doc! { "q": { "a": 1 }, "u": set.clone() };
    let range = doc! { "q": { "k": { "$gt": 1 } }, "u": set.clone() };
    let mut cases = vec![
        Sharded::new("sharded-upsert").refuses("shard-upsert", update(upsert)),
        Sharded::new("sharded-save").refuses("shard-upsert", update(save)),
        Sharded::by("sharded-compound", doc! { "k": 1, "l": 1 }).refuses(
            "shard-upsert",
            update(doc! { "q": { "k": 1 }, "u": set.clone(), "upsert": true }),
        ),
        Sharded::new("sharded-delete").refuses(
            "shard-delete-one",
            doc! { "delete": "c", "deletes": [{ "q": { "a": 1 }, "limit": 1 }] },
        ),
        Sharded::new("sharded-find-and-modify").refuses(
            "shard-find-and-modify",
            doc! { "findAndModify": "c", "query": { "_id": 1 }, "update": set },
        ),
    ];
    for (id, db) in [
        ("shard-update-one", "sharded-one"),
        ("shard-update-one-old", "sharded-old-one"),
    ] {
        for (statement, end) in [(&one, "a"), (&range, "b")] {
            let other = Otherwise::Either(vec![72]);
            let sharded = Sharded::new(&format!("{db}-{end}"));
            cases.push(sharded.refuses(id, update(statement.clone())).otherwise(other));
        }
    }
    cases
}

fn changes() -> Vec<Case> {
    let set = doc! { "$set": { "k": 6 } };
    let exact = doc! { "q": { "_id": 1, "k": 5 }, "u": set.clone() };
    let merge = doc! { "aggregate": "d", "pipeline": [{ "$merge": { "into": "c", "on": "_id", "whenMatched": "merge" } }], "cursor": {} };
    vec![
        Sharded::new("sharded-multi").refuses(
            "shard-change-multi",
            update(doc! { "q": {}, "u": set.clone(), "multi": true }),
        ),
        Sharded::new("sharded-change").refuses(
            "shard-change-filter",
            retryable(update(doc! { "q": { "_id": 1 }, "u": set })),
        ),
        Sharded::new("sharded-outside").refuses("shard-change-outside", update(exact)),
        Sharded::new("sharded-merge")
            .with(doc! { "insert": "d", "documents": [{ "_id": 1, "k": 9 }] })
            .refuses("shard-merge-change", merge),
    ]
}

fn indexes() -> Vec<Case> {
    let unique = |key: Document| {
        doc! { "createIndexes": "c", "indexes": [{ "key": key, "name": "unique", "unique": true }] }
    };
    vec![
        Sharded::new("sharded-unique").refuses("shard-unique-index", unique(doc! { "a": 1, "k": 1 })),
        Sharded::new("sharded-last").refuses("shard-last-index", doc! { "dropIndexes": "c", "index": "k_1" }),
    ]
}

fn reads() -> Vec<Case> {
    let aggregate = |stage: Document| doc! { "aggregate": "d", "pipeline": [stage], "cursor": {} };
    let lookup = doc! { "$lookup": { "from": "c", "localField": "a", "foreignField": "a", "as": "b" } };
    let graph = doc! { "$graphLookup": { "from": "c", "startWith": "$a", "connectFromField": "a", "connectToField": "b", "as": "c" } };
    let out = aggregate(doc! { "$out": "c" });
    let distinct = doc! { "distinct": "c", "key": "a" };
    let mut snapshot = distinct.clone();
    snapshot.insert("readConcern", doc! { "level": "snapshot" });
    vec![
        Sharded::new("sharded-lookup").refuses("shard-lookup", aggregate(lookup.clone())),
        Sharded::new("sharded-graph").refuses("shard-lookup", aggregate(graph)),
        Sharded::new("sharded-lookup-in")
            .refuses("shard-lookup-transaction", starting(aggregate(lookup)))
            .otherwise(Otherwise::Either(vec![28769])),
        Sharded::new("sharded-out")
            .refuses("shard-out", out.clone())
            .otherwise(Otherwise::Refuses(vec![28769])),
        Sharded::new("sharded-out-new")
            .refuses("shard-out-new", out)
            .otherwise(Otherwise::Refuses(vec![28769])),
        Sharded::new("sharded-distinct").refuses("shard-distinct-transaction", starting(distinct)),
        Sharded::new("sharded-snapshot")
            .refuses("shard-distinct-snapshot", snapshot)
            .otherwise(Otherwise::Refuses(vec![72])),
    ]
}

/// A case of `shardCollection` itself.
fn sharding(id: &'static str, setup: Vec<Document>, options: Document) -> Case {
    let mut command = doc! { "shardCollection": format!("{id}-db.c"), "$db": "admin" };
    command.extend(options);
    let mut all = vec![doc! { "enableSharding": format!("{id}-db"), "$db": "admin" }];
    all.extend(setup.into_iter().map(|mut command| {
        command.insert("$db", format!("{id}-db"));
        command
    }));
    case(id, all, command)
}

/// A refinement of the shard key `{k: 1}`.
fn refinement(id: &'static str, key: Document) -> Case {
    let db = format!("{id}-db");
    let command = doc! { "refineCollectionShardKey": format!("{db}.c"), "key": key, "$db": "admin" };
    Sharded::new(&db)
        .refuses(id, command)
        .otherwise(Otherwise::Either(vec![59]))
}

fn shard_collection() -> Vec<Case> {
    let key = |pattern: Document| doc! { "key": pattern };
    let inserted = || doc! { "insert": "c", "documents": [{ "_id": 1, "k": 1 }] };
    let index = |options: Document| {
        let mut index = doc! { "key": { "k": 1 }, "name": "k" };
        index.extend(options);
        doc! { "createIndexes": "c", "indexes": [index] }
    };
    let french = doc! { "create": "c", "collation": { "locale": "fr" } };
    vec![
        case(
            "shard-not-enabled",
            vec![],
            doc! { "shardCollection": "shard-not-enabled.c", "key": { "k": 1 }, "$db": "admin" },
        )
        .otherwise(Otherwise::Either(vec![59])),
        sharding(
            "shard-view",
            vec![doc! { "create": "c", "viewOn": "d", "pipeline": [] }],
            key(doc! { "k": 1 }),
        ),
        sharding(
            "shard-capped",
            vec![doc! { "create": "c", "capped": true, "size": 4096 }],
            key(doc! { "k": 1 }),
        ),
        sharding("shard-collation", vec![french.clone()], key(doc! { "k": 1 })),
        sharding(
            "shard-other-collation",
            vec![french],
            doc! { "key": { "k": 1 }, "collation": { "locale": "fr" } },
        ),
        sharding(
            "shard-existing-unique",
            vec![
                doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "a", "unique": true }] },
            ],
            key(doc! { "k": 1 }),
        ),
        sharding(
            "shard-no-index",
            vec![inserted(), index(doc! { "sparse": true })],
            key(doc! { "k": 1 }),
        ),
        sharding(
            "shard-not-unique",
            vec![inserted(), index(doc! {})],
            doc! { "key": { "k": 1 }, "unique": true },
        ),
        sharding(
            "shard-unique-hashed",
            vec![],
            doc! { "key": { "k": "hashed" }, "unique": true },
        ),
        sharding("shard-pattern", vec![], key(doc! { "k": -1 })).otherwise(Otherwise::Refuses(vec![2])),
        sharding("shard-pattern-old", vec![], key(doc! { "k": "hashed", "l": 1 })),
        case(
            "shard-refine-not-sharded",
            vec![],
            doc! { "refineCollectionShardKey": "shard-refine-not-sharded.c", "key": { "k": 1 }, "$db": "admin" },
        )
        .otherwise(Otherwise::Either(vec![59])),
        refinement("shard-refine-no-extension", doc! { "l": 1, "k": 1 }),
        refinement("shard-refine-no-index", doc! { "k": 1, "l": 1 }),
        sharding("shard-already", vec![doc! { "ping": 1 }], key(doc! { "l": 1 }))
            .after(doc! { "shardCollection": "shard-already-db.c", "key": { "k": 1 }, "$db": "admin" }),
    ]
}

impl Case {
    /// Adds a command to the preparation.
    fn after(mut self, command: Document) -> Case {
        self.setup.push(command);
        self
    }
}

#[tokio::test]
async fn rows_are_refused_where_they_apply() {
    let cases = [
        inserts(),
        targeting(),
        changes(),
        indexes(),
        reads(),
        shard_collection(),
    ];
    check("Sharded collections", cases.into_iter().flatten().collect()).await;
}

#[tokio::test]
async fn targeted_writes_are_accepted() {
    let server = TestServer::builder()
        .sharded()
        .version("6.0")
        .start()
        .await
        .unwrap();
    server.shard_collection("db.c", &doc! { "k": 1 }).unwrap();
    let refused = server.shard_collection("db.c", &doc! { "l": 1 }).unwrap_err();
    assert_eq!(refused.code, 23);
    let mut client = super::Client::connect(server.addresses()[0]).await;
    let mut run = async |command: Document| {
        let reply = client.run(super::on("db", command.clone())).await;
        assert_eq!(super::failure(&reply), None, "{command}");
        reply
    };
    let set = doc! { "$set": { "a": 1 } };
    run(update(doc! { "q": { "k": 1 }, "u": set.clone(), "upsert": true })).await;
    run(update(
        doc! { "q": { "$and": [{ "k": { "$eq": 1 } }] }, "u": { "k": 1, "b": 2 } },
    ))
    .await;
    run(update(doc! { "q": {}, "u": set.clone(), "multi": true })).await;
    run(doc! { "findAndModify": "c", "query": { "k": 1, "b": 2 }, "update": set }).await;
    run(retryable(update(
        doc! { "q": { "k": 1 }, "u": { "$set": { "k": 2 } } },
    )))
    .await;
    run(doc! { "insert": "d", "documents": [{ "_id": 7, "k": 3 }] }).await;
    run(doc! { "aggregate": "d", "pipeline": [{ "$merge": "c" }], "cursor": {} }).await;
    run(doc! { "dropIndexes": "c", "index": "*" }).await;
    let listed = run(doc! { "listIndexes": "c" }).await;
    let indexes = listed
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    let names: Vec<&str> = indexes
        .iter()
        .filter_map(|index| index.as_document()?.get_str("name").ok())
        .collect();
    assert_eq!(names, ["_id_", "k_1"]);
    let deleted = run(doc! { "delete": "c", "deletes": [{ "q": { "_id": 7 }, "limit": 1 }] }).await;
    assert_eq!(deleted.get("n"), Some(&Bson::Int32(1)));
}

#[tokio::test]
async fn other_deployments_have_no_sharded_collections() {
    let server = TestServer::builder().replica_set().start().await.unwrap();
    let refused = server.shard_collection("db.c", &doc! { "k": 1 }).unwrap_err();
    assert_eq!(refused.code, 59);
}
