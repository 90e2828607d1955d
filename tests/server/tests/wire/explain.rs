//! `explain`: the plans of each command, and their execution statistics.

use crate::client::{Client, code, on, standalone};
use bson::{Bson, Document, doc};
use marula_test_server::TestServer;

async fn ok(client: &mut Client, body: Document) -> Document {
    let reply = client.run(on("db", body)).await;
    assert_eq!(code(&reply), 0, "{reply}");
    reply
}

/// A collection with 100 documents: `_id` and `n` from 0 to 99, `tens` the tens digit of `n`,
/// `tags` an array; with an index on each.
async fn filled() -> (TestServer, Client) {
    let (server, mut client) = standalone().await;
    fill(&mut client).await;
    (server, client)
}

async fn fill(client: &mut Client) {
    let documents: Vec<Document> = (0..100)
        .map(|n| doc! { "_id": n, "n": n, "tens": n / 10, "tags": [n, n + 1000], "free": n })
        .collect();
    ok(client, doc! { "insert": "c", "documents": documents }).await;
    let indexes = vec![
        doc! { "key": { "n": 1 }, "name": "n_1", "unique": true },
        doc! { "key": { "tens": 1, "n": -1 }, "name": "tens_1_n_-1" },
        doc! { "key": { "tags": 1 }, "name": "tags_1" },
        doc! { "key": { "sparse": 1 }, "name": "sparse_1", "sparse": true },
        doc! { "key": { "part": 1 }, "name": "part_1", "partialFilterExpression": { "part": { "$gt": 5 } } },
    ];
    ok(client, doc! { "createIndexes": "c", "indexes": indexes }).await;
}

async fn explain(client: &mut Client, command: Document) -> Document {
    ok(client, doc! { "explain": command, "verbosity": "executionStats" }).await
}

fn winner(reply: &Document) -> &Document {
    let planner = reply.get_document("queryPlanner").unwrap();
    planner.get_document("winningPlan").unwrap()
}

/// The names of the stages from the root to the leaves, with the index of a scan.
fn names(stage: &Document) -> String {
    let mut text = stage.get_str("stage").unwrap().to_owned();
    if let Ok(index) = stage.get_str("indexName") {
        text.push_str(&format!("({index})"));
    }
    if let Ok(input) = stage.get_document("inputStage") {
        text.push_str(&format!(" < {}", names(input)));
    }
    if let Ok(inputs) = stage.get_array("inputStages") {
        let inputs: Vec<String> = inputs
            .iter()
            .map(|input| names(input.as_document().unwrap()))
            .collect();
        text.push_str(&format!(" < [{}]", inputs.join(", ")));
    }
    text
}

/// `nReturned`, `totalKeysExamined`, `totalDocsExamined`.
fn figures(reply: &Document) -> [i32; 3] {
    let stats = reply.get_document("executionStats").unwrap();
    ["nReturned", "totalKeysExamined", "totalDocsExamined"].map(|name| stats.get_i32(name).unwrap())
}

#[tokio::test]
async fn find_is_planned_by_filter_and_sort() {
    let (_server, mut client) = filled().await;
    let indexed = "FETCH < IXSCAN(n_1)";
    for (stages, expected, find) in [
        ("COLLSCAN", [100, 0, 100], doc! {}),
        ("COLLSCAN", [1, 0, 100], doc! { "filter": { "free": 7 } }),
        (
            "LIMIT < COLLSCAN",
            [1, 0, 8],
            doc! { "filter": { "free": 7 }, "limit": 1 },
        ),
        ("EXPRESS_IXSCAN(_id_)", [1, 1, 1], doc! { "filter": { "_id": 7 } }),
        (
            "EXPRESS_IXSCAN(_id_)",
            [0, 0, 0],
            doc! { "filter": { "_id": 700 } },
        ),
        (
            "FETCH < IXSCAN(_id_)",
            [2, 4, 2],
            doc! { "filter": { "_id": { "$in": [3, 9] } } },
        ),
        (indexed, [1, 1, 1], doc! { "filter": { "n": 7 } }),
        (indexed, [5, 5, 5], doc! { "filter": { "n": { "$gte": 95 } } }),
        (
            indexed,
            [3, 5, 5],
            doc! { "filter": { "n": { "$gte": 95 }, "free": { "$lt": 98 } } },
        ),
        (indexed, [100, 100, 100], doc! { "sort": { "n": -1 } }),
        (
            "LIMIT < FETCH < IXSCAN(n_1)",
            [2, 2, 2],
            doc! { "sort": { "n": 1 }, "limit": 2 },
        ),
        (
            "SORT < COLLSCAN",
            [3, 0, 100],
            doc! { "sort": { "free": 1 }, "limit": 3 },
        ),
        (
            "LIMIT < SKIP < COLLSCAN",
            [3, 0, 5],
            doc! { "limit": 3, "skip": 2 },
        ),
        (
            "FETCH < IXSCAN(tens_1_n_-1)",
            [10, 10, 10],
            doc! { "filter": { "tens": 4 }, "sort": { "n": 1 } },
        ),
        (
            "SORT < FETCH < IXSCAN(tens_1_n_-1)",
            [10, 10, 10],
            doc! { "filter": { "tens": 4 }, "sort": { "free": 1 } },
        ),
        (
            "FETCH < IXSCAN(tags_1)",
            [1, 1, 1],
            doc! { "filter": { "tags": 1003 } },
        ),
        (
            "FETCH < IXSCAN(sparse_1)",
            [0, 0, 0],
            doc! { "filter": { "sparse": 1 } },
        ),
        ("COLLSCAN", [100, 0, 100], doc! { "filter": { "sparse": null } }),
        (
            "FETCH < IXSCAN(part_1)",
            [0, 0, 0],
            doc! { "filter": { "part": { "$gte": 6 } } },
        ),
        (
            "COLLSCAN",
            [0, 0, 100],
            doc! { "filter": { "part": { "$gte": 5 } } },
        ),
        (
            "COLLSCAN",
            [1, 0, 100],
            doc! { "filter": { "n": 7 }, "hint": { "$natural": 1 } },
        ),
        (
            "FETCH < IXSCAN(tens_1_n_-1)",
            [1, 12, 1],
            doc! { "filter": { "n": 7 }, "hint": "tens_1_n_-1" },
        ),
        (
            "PROJECTION_COVERED < IXSCAN(n_1)",
            [5, 5, 0],
            doc! { "filter": { "n": { "$gte": 95 } }, "projection": { "_id": 0, "n": 1 } },
        ),
        (
            "PROJECTION_SIMPLE < FETCH < IXSCAN(n_1)",
            [5, 5, 5],
            doc! { "filter": { "n": { "$gte": 95 } }, "projection": { "n": 1 } },
        ),
        (
            "PROJECTION_DEFAULT < COLLSCAN",
            [100, 0, 100],
            doc! { "projection": { "x": { "$literal": 1 } } },
        ),
        (
            "SUBPLAN < FETCH < OR < [IXSCAN(n_1), IXSCAN(tens_1_n_-1)]",
            [11, 11, 11],
            doc! { "filter": { "$or": [{ "n": 7 }, { "tens": 9 }] } },
        ),
    ] {
        let mut command = doc! { "find": "c" };
        command.extend(find);
        let shown = command.to_string();
        let reply = explain(&mut client, command).await;
        assert_eq!(
            (names(winner(&reply)).as_str(), figures(&reply)),
            (stages, expected),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn plans_contain_the_index_and_its_bounds() {
    let (_server, mut client) = filled().await;
    let reply = explain(
        &mut client,
        doc! { "find": "c", "filter": { "tens": 4, "n": { "$gt": 38, "$lte": 44 }, "free": 43 } },
    )
    .await;
    let fetch = winner(&reply);
    assert_eq!(
        fetch.get_document("filter").unwrap(),
        &doc! { "free": { "$eq": 43 } }
    );
    let scan = fetch.get_document("inputStage").unwrap();
    assert_eq!(
        scan.get_document("indexBounds").unwrap(),
        &doc! { "tens": ["[4, 4]"], "n": ["[44, 38)"] }
    );
    assert_eq!(
        scan.get_document("keyPattern").unwrap(),
        &doc! { "tens": 1, "n": -1 }
    );
    assert_eq!(scan.get_str("direction").unwrap(), "forward");
    assert!(!scan.get_bool("isMultiKey").unwrap());
    let planner = reply.get_document("queryPlanner").unwrap();
    assert_eq!(planner.get_str("namespace").unwrap(), "db.c");
    assert_eq!(planner.get_array("rejectedPlans").unwrap().len(), 1);
    let parsed = planner.get_document("parsedQuery").unwrap();
    assert_eq!(parsed.get_array("$and").unwrap().len(), 4);
    let reply = explain(
        &mut client,
        doc! { "find": "c", "filter": { "tags": { "$gt": 5, "$lt": 7 } } },
    )
    .await;
    let scan = winner(&reply).get_document("inputStage").unwrap();
    assert_eq!(
        scan.get_document("multiKeyPaths").unwrap(),
        &doc! { "tags": ["tags"] }
    );
    // On a multikey index, different elements may satisfy the two bounds.
    assert_eq!(
        scan.get_document("indexBounds").unwrap(),
        &doc! { "tags": ["[-inf, 7)"] }
    );
}

#[tokio::test]
async fn indexes_support_filters_with_the_same_collation() {
    let (_server, mut client) = standalone().await;
    let documents = vec![
        doc! { "name": "Ann" },
        doc! { "name": "BOB" },
        doc! { "name": "bob" },
    ];
    ok(&mut client, doc! { "insert": "c", "documents": documents }).await;
    let collation = doc! { "locale": "en", "strength": 2 };
    let index = doc! { "key": { "name": 1 }, "name": "name_1", "collation": collation.clone() };
    ok(&mut client, doc! { "createIndexes": "c", "indexes": [index] }).await;
    let find = doc! { "find": "c", "filter": { "name": "Bob" } };
    let reply = explain(&mut client, find.clone()).await;
    assert_eq!(
        (names(winner(&reply)).as_str(), figures(&reply)),
        ("COLLSCAN", [0, 0, 3])
    );
    let mut collated = find;
    collated.insert("collation", collation);
    let reply = explain(&mut client, collated).await;
    assert_eq!(
        (names(winner(&reply)).as_str(), figures(&reply)),
        ("FETCH < IXSCAN(name_1)", [2, 2, 2])
    );
}

#[tokio::test]
async fn verbosity_determines_the_sections_of_the_reply() {
    let (_server, mut client) = filled().await;
    let find = doc! { "find": "c", "filter": { "n": 7, "tens": 0 } };
    let reply = ok(
        &mut client,
        doc! { "explain": find.clone(), "verbosity": "queryPlanner" },
    )
    .await;
    assert!(!reply.contains_key("executionStats"));
    assert_eq!(reply.get_str("explainVersion").unwrap(), "1");
    let mut command = find.clone();
    command.insert("$db", "db");
    assert_eq!(reply.get_document("command").unwrap(), &command);
    let info = reply.get_document("serverInfo").unwrap();
    assert_eq!(info.get_str("host").unwrap(), "127.0.0.1");
    assert_eq!(info.get_str("version").unwrap(), "8.2.0");
    let reply = ok(
        &mut client,
        doc! { "explain": find.clone(), "verbosity": "executionStats" },
    )
    .await;
    let stats = reply.get_document("executionStats").unwrap();
    assert!(!stats.contains_key("allPlansExecution"));
    assert!(stats.get_bool("executionSuccess").unwrap());
    let stages = stats.get_document("executionStages").unwrap();
    assert_eq!(stages.get_i32("nReturned").unwrap(), 1);
    let reply = ok(&mut client, doc! { "explain": find.clone() }).await;
    let stats = reply.get_document("executionStats").unwrap();
    assert_eq!(stats.get_array("allPlansExecution").unwrap().len(), 2);
    for (expected, body) in [
        (2, doc! { "explain": find.clone(), "verbosity": "loud" }),
        (9, doc! { "explain": 1 }),
        (59, doc! { "explain": { "nonsense": 1 } }),
        (20, doc! { "explain": { "insert": "c", "documents": [{}] } }),
        (20, doc! { "explain": { "ping": 1 } }),
        (73, doc! { "explain": { "find": "c", "$db": "other" } }),
        (40415, doc! { "explain": { "find": "c", "nonsense": 1 } }),
        (2, doc! { "explain": { "find": "c", "hint": "nonsense" } }),
        (16, doc! { "explain": { "delete": "c", "deletes": [] } }),
    ] {
        let shown = body.to_string();
        assert_eq!(code(&client.run(on("db", body)).await), expected, "{shown}");
    }
    let reply = explain(&mut client, doc! { "find": "absent" }).await;
    assert_eq!(
        (names(winner(&reply)).as_str(), figures(&reply)),
        ("EOF", [0, 0, 0])
    );
}

#[tokio::test]
async fn count_and_distinct_use_index_keys() {
    let (_server, mut client) = filled().await;
    for (stages, expected, command) in [
        ("RECORD_STORE_FAST_COUNT", [0, 0, 0], doc! { "count": "c" }),
        (
            "COUNT < COUNT_SCAN(n_1)",
            [0, 6, 0],
            doc! { "count": "c", "query": { "n": { "$gte": 95 } } },
        ),
        (
            "COUNT < COLLSCAN",
            [0, 0, 100],
            doc! { "count": "c", "query": { "free": 7 } },
        ),
        (
            "PROJECTION_COVERED < DISTINCT_SCAN(tens_1_n_-1)",
            [10, 10, 0],
            doc! { "distinct": "c", "key": "tens" },
        ),
        ("COLLSCAN", [100, 0, 100], doc! { "distinct": "c", "key": "free" }),
    ] {
        let shown = command.to_string();
        let reply = explain(&mut client, command).await;
        assert_eq!(
            (names(winner(&reply)).as_str(), figures(&reply)),
            (stages, expected),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn writes_are_explained_without_execution() {
    let (_server, mut client) = filled().await;
    let counted = |reply: &Document, name: &str| {
        let stats = reply.get_document("executionStats").unwrap();
        let stages = stats.get_document("executionStages").unwrap();
        stages.get_i32(name).unwrap()
    };
    let update = |q: Document, multi: bool| doc! { "update": "c", "updates": [{ "q": q, "u": { "$set": { "tens": 4 } }, "multi": multi }] };
    let reply = explain(&mut client, update(doc! { "n": { "$gte": 45 } }, true)).await;
    assert_eq!(names(winner(&reply)), "UPDATE < FETCH < IXSCAN(n_1)");
    assert_eq!(
        ["nMatched", "nWouldModify", "nWouldUpsert"].map(|name| counted(&reply, name)),
        [55, 50, 0]
    );
    assert_eq!(figures(&reply), [0, 55, 55]);
    let reply = explain(&mut client, update(doc! { "_id": 9 }, false)).await;
    assert_eq!(names(winner(&reply)), "EXPRESS_UPDATE(_id_)");
    let delete = doc! { "delete": "c", "deletes": [{ "q": { "tens": 3 }, "limit": 0 }] };
    let reply = explain(&mut client, delete).await;
    assert_eq!(
        names(winner(&reply)),
        "BATCHED_DELETE < FETCH < IXSCAN(tens_1_n_-1)"
    );
    assert_eq!(counted(&reply, "nWouldDelete"), 10);
    let modify = doc! { "findAndModify": "c", "query": { "free": 500 }, "update": { "$set": { "x": 1 } }, "upsert": true };
    let reply = explain(&mut client, modify).await;
    assert_eq!(names(winner(&reply)), "UPDATE < COLLSCAN");
    assert_eq!(counted(&reply, "nWouldUpsert"), 1);
    let modify = doc! { "findAndModify": "c", "query": { "free": 5 }, "remove": true, "fields": { "n": 1 } };
    let reply = explain(&mut client, modify).await;
    assert_eq!(names(winner(&reply)), "PROJECTION_SIMPLE < DELETE < COLLSCAN");
    assert_eq!(figures(&reply), [1, 0, 6]);
    let reply = ok(&mut client, doc! { "count": "c", "query": { "tens": 4 } }).await;
    assert_eq!(reply.get_i32("n").unwrap(), 10);
    assert_eq!(
        ok(&mut client, doc! { "count": "c" }).await.get_i32("n").unwrap(),
        100
    );
}

#[tokio::test]
async fn aggregations_are_a_query_and_the_following_stages() {
    let (_server, mut client) = filled().await;
    let aggregate = |pipeline: Vec<Document>| doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} };
    let query = vec![
        doc! { "$match": { "n": { "$gte": 90 } } },
        doc! { "$sort": { "n": 1 } },
        doc! { "$limit": 3 },
    ];
    let reply = explain(&mut client, aggregate(query.clone())).await;
    assert_eq!(names(winner(&reply)), "LIMIT < FETCH < IXSCAN(n_1)");
    assert_eq!(figures(&reply), [3, 3, 3]);
    let mut grouped = query;
    grouped.push(doc! { "$group": { "_id": "$n" } });
    grouped.push(doc! { "$count": "all" });
    let reply = explain(&mut client, aggregate(grouped.clone())).await;
    let stages = reply.get_array("stages").unwrap();
    let stage = |index: usize| stages[index].as_document().unwrap();
    let cursor = stage(0).get_document("$cursor").unwrap();
    assert_eq!(names(winner(cursor)), "LIMIT < FETCH < IXSCAN(n_1)");
    assert_eq!(figures(cursor), [3, 3, 3]);
    let returned = [0, 1, 2].map(|index| stage(index).get_i64("nReturned").unwrap());
    assert_eq!(returned, [3, 3, 1]);
    assert!(stage(1).contains_key("$group") && stage(2).contains_key("$count"));
    // The `explain` option has the verbosity queryPlanner and does not require `cursor`.
    let reply = ok(
        &mut client,
        doc! { "aggregate": "c", "pipeline": grouped, "explain": true },
    )
    .await;
    let stages = reply.get_array("stages").unwrap();
    assert!(!stages[1].as_document().unwrap().contains_key("nReturned"));
    let concerned = doc! { "aggregate": "c", "pipeline": [], "explain": true, "writeConcern": { "w": 1 } };
    assert_eq!(code(&client.run(on("db", concerned)).await), 9);
    // A read of a view is explained as the equivalent aggregation.
    let view = doc! { "create": "v", "viewOn": "c", "pipeline": [{ "$match": { "n": { "$gt": 97 } } }] };
    ok(&mut client, view).await;
    let reply = explain(&mut client, doc! { "find": "v", "filter": { "free": 99 } }).await;
    assert_eq!(
        (names(winner(&reply)).as_str(), figures(&reply)),
        ("FETCH < IXSCAN(n_1)", [1, 2, 2])
    );
}

#[tokio::test]
async fn a_mongos_returns_the_explanation_of_its_shard() {
    let server = TestServer::builder().sharded().start().await.unwrap();
    let mut client = Client::connect(server.addresses()[0]).await;
    fill(&mut client).await;
    let reply = explain(&mut client, doc! { "find": "c", "filter": { "n": 7 } }).await;
    assert_eq!(winner(&reply).get_str("stage").unwrap(), "SINGLE_SHARD");
    let Some(Bson::Document(shard)) = winner(&reply).get_array("shards").unwrap().first() else {
        panic!("{reply}")
    };
    assert_eq!(
        names(shard.get_document("winningPlan").unwrap()),
        "FETCH < IXSCAN(n_1)"
    );
    assert_eq!(figures(&reply), [1, 1, 1]);
    let aggregate = doc! { "aggregate": "c", "pipeline": [{ "$count": "n" }], "cursor": {} };
    let reply = explain(&mut client, aggregate).await;
    let shards = reply.get_document("shards").unwrap();
    assert!(shards.get_document("shard01").unwrap().contains_key("stages"));
}

#[tokio::test]
async fn older_servers_use_idhack() {
    let server = TestServer::builder().version("7.0.0").start().await.unwrap();
    let mut client = Client::connect(server.addresses()[0]).await;
    ok(&mut client, doc! { "insert": "c", "documents": [{ "_id": 1 }] }).await;
    let reply = explain(&mut client, doc! { "find": "c", "filter": { "_id": 1 } }).await;
    assert_eq!(names(winner(&reply)), "IDHACK");
    assert!(!winner(&reply).contains_key("isCached"));
}
