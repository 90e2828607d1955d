//! Ranked queries over a socket: text, geospatial and search, with their indexes and metadata.

use crate::client::{Client, code, on, standalone};
use bson::{Bson, Document, doc};
use marula_test_server::TestServer;

async fn run(client: &mut Client, body: Document, expected: i32) -> Document {
    let reply = client.run(on("db", body)).await;
    assert_eq!(code(&reply), expected, "{reply}");
    reply
}

/// The first batch of a cursor.
async fn rows(client: &mut Client, body: Document) -> Vec<Document> {
    let reply = run(client, body, 0).await;
    let batch = reply
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    batch
        .iter()
        .map(|row| row.as_document().unwrap().clone())
        .collect()
}

fn aggregate(pipeline: Vec<Document>) -> Document {
    doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} }
}

fn insert(documents: Vec<Document>) -> Document {
    doc! { "insert": "c", "documents": documents }
}

fn create_index(key: Document) -> Document {
    doc! { "createIndexes": "c", "indexes": [{ "key": key, "name": "i" }] }
}

#[tokio::test]
async fn text_scores_are_sorted_projected_and_not_returned() {
    let (_server, mut client) = standalone().await;
    run(
        &mut client,
        insert(vec![
            doc! { "_id": 1, "s": "coffee and cream" },
            doc! { "_id": 2, "s": "coffee" },
            doc! { "_id": 3, "s": "tea" },
        ]),
        0,
    )
    .await;
    run(&mut client, create_index(doc! { "s": "text" }), 0).await;
    let text = || doc! { "$text": { "$search": "coffee" } };
    let score = || doc! { "$meta": "textScore" };
    let find =
        doc! { "find": "c", "filter": text(), "sort": { "x": score() }, "projection": { "score": score() } };
    assert_eq!(
        rows(&mut client, find).await,
        [
            doc! { "_id": 2, "s": "coffee", "score": 1.0 },
            doc! { "_id": 1, "s": "coffee and cream", "score": 0.75 },
        ]
    );
    let plain = doc! { "find": "c", "filter": text(), "sort": { "_id": 1 } };
    assert_eq!(
        rows(&mut client, plain).await[1],
        doc! { "_id": 2, "s": "coffee" }
    );
    let grouped = aggregate(vec![
        doc! { "$match": text() },
        doc! { "$sort": { "x": score() } },
        doc! { "$group": { "_id": null, "all": { "$push": "$$ROOT" }, "best": { "$max": score() } } },
    ]);
    assert_eq!(
        rows(&mut client, grouped).await,
        [
            doc! { "_id": null, "all": [{ "_id": 2, "s": "coffee" }, { "_id": 1, "s": "coffee and cream" }], "best": 1.0 }
        ]
    );
    let replaced = aggregate(vec![
        doc! { "$match": text() },
        doc! { "$replaceWith": { "id": "$_id" } },
        doc! { "$match": { "id": 1 } },
        doc! { "$set": { "score": score() } },
    ]);
    assert_eq!(
        rows(&mut client, replaced).await,
        [doc! { "id": 1, "score": 0.75 }]
    );
    let late = aggregate(vec![doc! { "$limit": 1 }, doc! { "$match": text() }]);
    run(&mut client, late, 17313).await;
    let without = doc! { "find": "c", "projection": { "score": score() } };
    run(&mut client, without, 40218).await;
    let deleted = doc! { "delete": "c", "deletes": [{ "q": text(), "limit": 0 }] };
    assert_eq!(run(&mut client, deleted, 0).await.get_i32("n").unwrap(), 2);
}

#[tokio::test]
async fn near_sorts_by_distance() {
    let (_server, mut client) = standalone().await;
    let place = |id: i32, longitude: f64| {
        doc! { "_id": id, "at": { "type": "Point", "coordinates": [longitude, 0.0] } }
    };
    run(
        &mut client,
        insert(vec![
            place(1, 3.0),
            place(2, 1.0),
            place(3, 2.0),
            doc! { "_id": 4 },
        ]),
        0,
    )
    .await;
    let origin = || doc! { "type": "Point", "coordinates": [0, 0] };
    let near = || doc! { "find": "c", "filter": { "at": { "$near": { "$geometry": origin() } } } };
    run(&mut client, near(), 291).await;
    run(&mut client, create_index(doc! { "at": "2dsphere" }), 0).await;
    let ids = |rows: Vec<Document>| {
        rows.iter()
            .map(|row| row.get_i32("_id").unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(rows(&mut client, near()).await), [2, 3, 1]);
    let stage = |options: Document| {
        let mut stage = doc! { "near": origin(), "distanceField": "far" };
        stage.extend(options);
        aggregate(vec![doc! { "$geoNear": stage }])
    };
    let limited =
        stage(doc! { "maxDistance": 250_000, "distanceMultiplier": 0.001, "query": { "_id": { "$ne": 3 } } });
    let found = rows(&mut client, limited).await;
    assert_eq!(ids(found.clone()), [2]);
    let degree = 6378.1_f64.to_radians();
    assert!((found[0].get_f64("far").unwrap() - degree).abs() < 1e-9);
    run(&mut client, stage(doc! { "limit": 1 }), 50858).await;
    let matched = aggregate(vec![
        doc! { "$match": { "at": { "$near": { "$geometry": origin() } } } },
    ]);
    run(&mut client, matched, 5_626_500).await;
    let second = aggregate(vec![
        doc! { "$limit": 1 },
        doc! { "$geoNear": { "near": origin(), "distanceField": "far" } },
    ]);
    run(&mut client, second, 40602).await;
    let invalid = client.run(on("db", insert(vec![doc! { "at": "x" }]))).await;
    let errors = invalid.get_array("writeErrors").unwrap();
    assert_eq!(errors[0].as_document().unwrap().get_i32("code").unwrap(), 16755);
}

async fn searchable() -> (TestServer, Client) {
    let server = TestServer::builder().search(true).start().await.unwrap();
    let client = Client::connect(server.addresses()[0]).await;
    (server, client)
}

/// Lists the search indexes until this one can be queried.
async fn wait_until_queryable(client: &mut Client, name: &str) {
    let mut states = Vec::new();
    loop {
        let listed = rows(
            client,
            aggregate(vec![doc! { "$listSearchIndexes": { "name": name } }]),
        )
        .await;
        states.push(listed[0].get_str("status").unwrap().to_owned());
        if listed[0].get_bool("queryable").unwrap() {
            break;
        }
    }
    assert_eq!(states, ["PENDING", "BUILDING", "READY"]);
}

#[tokio::test]
async fn search_indexes_become_ready() {
    let (_server, mut client) = searchable().await;
    let index = |name: &str| doc! { "name": name, "definition": { "mappings": { "dynamic": true } } };
    let create = |name: &str| doc! { "createSearchIndexes": "c", "indexes": [index(name)] };
    run(&mut client, create("s"), 26).await;
    let documents = vec![doc! { "_id": 1, "t": "big fish" }, doc! { "_id": 2, "t": "big" }];
    run(&mut client, insert(documents), 0).await;
    let search = || {
        let operator = doc! { "index": "s", "text": { "query": "big", "path": "t" } };
        aggregate(vec![
            doc! { "$search": operator },
            doc! { "$project": { "score": { "$gt": [{ "$meta": "searchScore" }, 0] } } },
        ])
    };
    assert_eq!(rows(&mut client, search()).await, []);
    let created = run(&mut client, create("s"), 0).await;
    let created = created.get_array("indexesCreated").unwrap()[0]
        .as_document()
        .unwrap();
    assert_eq!(created.get_str("name").unwrap(), "s");
    run(&mut client, create("s"), 68).await;
    wait_until_queryable(&mut client, "s").await;
    assert_eq!(
        rows(&mut client, search()).await,
        [doc! { "_id": 2, "score": true }, doc! { "_id": 1, "score": true }]
    );
    let meta =
        doc! { "$searchMeta": { "index": "s", "exists": { "path": "t" }, "count": { "type": "total" } } };
    assert_eq!(
        rows(&mut client, aggregate(vec![meta])).await,
        [doc! { "count": { "total": 2_i64 } }]
    );
    let update =
        doc! { "updateSearchIndex": "c", "name": "s", "definition": { "mappings": { "dynamic": false } } };
    run(&mut client, update, 0).await;
    assert_eq!(rows(&mut client, search()).await, []);
    run(&mut client, doc! { "dropSearchIndex": "c", "name": "s" }, 0).await;
    run(&mut client, doc! { "dropSearchIndex": "c", "name": "s" }, 27).await;
    let (_other, mut without) = standalone().await;
    run(&mut without, create("s"), 31082).await;
}

#[tokio::test]
async fn vector_search_finds_the_nearest() {
    let (_server, mut client) = searchable().await;
    let row = |id: i32, v: [f64; 2], k: &str| doc! { "_id": id, "v": v.to_vec(), "k": k };
    let documents = vec![
        row(1, [1.0, 0.0], "a"),
        row(2, [0.0, 1.0], "a"),
        row(3, [1.0, 1.0], "b"),
        doc! { "_id": 4, "k": "a" },
    ];
    run(&mut client, insert(documents), 0).await;
    let definition = doc! { "fields": [
        { "type": "vector", "path": "v", "numDimensions": 2, "similarity": "cosine" },
        { "type": "filter", "path": "k" },
    ] };
    let index = doc! { "name": "s", "type": "vectorSearch", "definition": definition };
    run(
        &mut client,
        doc! { "createSearchIndexes": "c", "indexes": [index] },
        0,
    )
    .await;
    wait_until_queryable(&mut client, "s").await;
    let search = |options: Document| {
        let mut stage =
            doc! { "index": "s", "path": "v", "queryVector": [1, 0], "numCandidates": 10, "limit": 2 };
        stage.extend(options);
        aggregate(vec![
            doc! { "$vectorSearch": stage },
            doc! { "$project": { "score": { "$meta": "vectorSearchScore" } } },
        ])
    };
    let half = (1.0 + 1.0 / 2.0_f64.sqrt()) / 2.0;
    let near = |row: &Document, expected: f64| (row.get_f64("score").unwrap() - expected).abs() < 1e-12;
    let found = rows(&mut client, search(doc! {})).await;
    assert_eq!(found.len(), 2);
    assert!(near(&found[0], 1.0) && near(&found[1], half), "{found:?}");
    let filtered = rows(&mut client, search(doc! { "filter": { "k": { "$ne": "a" } } })).await;
    assert_eq!(filtered[0].get("_id"), Some(&Bson::Int32(3)));
    run(&mut client, search(doc! { "filter": { "x": 1 } }), 8).await;
    run(&mut client, search(doc! { "queryVector": [1] }), 8).await;
    run(&mut client, search(doc! { "limit": 11 }), 8).await;
    assert_eq!(rows(&mut client, search(doc! { "index": "none" })).await, []);
}

/// The filters that mongod of some versions refuses before mongot can check them.
#[tokio::test]
async fn filters_of_vector_search_depend_on_the_version() {
    let regex = Bson::RegularExpression(bson::Regex {
        pattern: "a".try_into().unwrap(),
        options: "".try_into().unwrap(),
    });
    let filters = [
        (doc! { "k": { "$not": { "$eq": "a" } } }, 7_828_300, 0),
        (doc! { "k": { "$not": { "$gt": "a" } } }, 7_828_300, 0),
        (doc! { "k": { "$exists": true } }, 7_828_300, 0),
        (doc! { "$nor": [{ "k": "a" }] }, 7_828_300, 0),
        (doc! { "$and": [{ "k": { "$type": "string" } }] }, 7_828_300, 8),
        (doc! { "k": { "$in": [Bson::Null] } }, 7_828_302, 0),
        (doc! { "k": { "$nin": [regex] } }, 7_828_303, 0),
        (
            doc! { "$or": [{ "k": { "$nin": ["a"], "$ne": "b", "$lte": "c" } }] },
            0,
            0,
        ),
    ];
    for (version, is_checked) in [
        ("6.0.11", true),
        ("6.0.16", false),
        ("7.0.2", true),
        ("7.0.10", false),
        ("7.1", true),
        ("8.0", false),
    ] {
        let server = TestServer::builder()
            .version(version)
            .search(true)
            .start()
            .await
            .unwrap();
        let mut client = Client::connect(server.addresses()[0]).await;
        for (filter, by_mongod, by_mongot) in &filters {
            let stage = doc! { "$vectorSearch": {
                "index": "i", "path": "v", "queryVector": [1], "numCandidates": 1, "limit": 1, "filter": filter,
            } };
            let reply = client.run(on("db", aggregate(vec![stage]))).await;
            let expected = if is_checked { *by_mongod } else { *by_mongot };
            assert_eq!(code(&reply), expected, "{filter} on {version}: {reply}");
        }
    }
}
