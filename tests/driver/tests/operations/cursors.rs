//! Cursors and batches.

use std::collections::BTreeSet;

use futures_util::{StreamExt, TryStreamExt};
use marula_driver::{
    Collection,
    bson::{Document, doc},
};
use marula_driver_tests::{Target, any_deployment};
use serde::Deserialize;

async fn filled(deployment: &Target, count: i32) -> Collection<Document> {
    let things = deployment.collection::<Document>();
    let all: Vec<Document> = (0..count)
        .map(|n| doc! { "_id": n, "name": format!("thing {n}") })
        .collect();
    things.insert_many(&all).await.expect("stored");
    things
}

#[tokio::test]
async fn ten_thousand_documents_are_read_once_each() {
    let deployment = any_deployment().await;
    let things = filled(&deployment, 10_000).await;
    let cursor = things.find(doc! {}).batch_size(999).await.unwrap();
    let ids: Vec<i32> = cursor
        .map_ok(|d| d.get_i32("_id").unwrap())
        .try_collect()
        .await
        .unwrap();
    assert_eq!(ids.len(), 10_000);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 10_000);
    if let Some(server) = deployment.in_process("the number of commands") {
        assert_eq!(server.commands_seen("getMore"), 11 - 1);
    }
}

#[tokio::test]
async fn documents_can_be_borrowed_from_the_batch() {
    #[derive(Deserialize)]
    struct Thing<'a> {
        name: &'a str,
    }
    let deployment = any_deployment().await;
    let things = filled(&deployment, 5).await;
    let mut cursor = things
        .find(doc! {})
        .batch_size(2)
        .sort(doc! { "_id": 1 })
        .await
        .unwrap();
    assert!(cursor.current().is_err(), "advance has not been called");
    let mut names = Vec::new();
    while cursor.advance().await.unwrap() {
        let thing: Thing<'_> = cursor.deserialize_current().unwrap();
        names.push(thing.name.to_owned());
        assert!(cursor.current().unwrap().get_str("name").is_ok());
    }
    assert_eq!(names, ["thing 0", "thing 1", "thing 2", "thing 3", "thing 4"]);
    assert!(cursor.is_exhausted());
    assert!(!cursor.advance().await.unwrap());
}

#[tokio::test]
async fn limit_applies_across_batches() {
    let deployment = any_deployment().await;
    let things = filled(&deployment, 20).await;
    let limited = things.find(doc! {}).limit(7).batch_size(3).await.unwrap();
    assert_eq!(limited.try_collect().await.unwrap().len(), 7);
    let single = things.find(doc! {}).limit(-7).await.unwrap();
    assert_eq!(single.try_collect().await.unwrap().len(), 7);
    assert_eq!(
        things
            .find(doc! {})
            .limit(4)
            .batch_size(4)
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap()
            .len(),
        4
    );
}

#[tokio::test]
async fn a_dropped_cursor_is_killed() {
    let deployment = any_deployment().await;
    let things = filled(&deployment, 10).await;
    let mut cursor = things.find(doc! {}).batch_size(2).await.unwrap();
    assert!(cursor.advance().await.unwrap());
    drop(cursor);
    let Some(server) = deployment.in_process("killCursors") else {
        return;
    };
    server.wait_for_command("killCursors", 1).await;
    // An exhausted cursor is not killed.
    things.find(doc! {}).await.unwrap().try_collect().await.unwrap();
    assert_eq!(server.commands_seen("killCursors"), 1);
}

#[tokio::test]
async fn get_more_uses_the_server_and_session_of_the_cursor() {
    let deployment = any_deployment().await;
    let things = filled(&deployment, 300).await;
    let mut stream = things.find(doc! {}).batch_size(50).await.unwrap();
    let mut count = 0;
    while let Some(thing) = stream.next().await {
        thing.unwrap();
        count += 1;
    }
    assert_eq!(count, 300);
    assert!(stream.next().await.is_none(), "an ended stream returns None");
}

#[tokio::test]
async fn aggregation_results_are_deserialized() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Counted {
        #[serde(rename = "_id")]
        even: bool,
        count: i64,
    }
    let deployment = any_deployment().await;
    let things = filled(&deployment, 9).await;
    let pipeline = [
        doc! { "$group": { "_id": { "$eq": [{ "$mod": ["$_id", 2] }, 0] }, "count": { "$sum": 1 } } },
        doc! { "$sort": { "_id": 1 } },
    ];
    let counted = things
        .aggregate(pipeline)
        .with_type::<Counted>()
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(
        counted,
        [
            Counted {
                even: false,
                count: 4
            },
            Counted { even: true, count: 5 }
        ]
    );
    let refused = things
        .aggregate([doc! { "$nonsense": 1 }])
        .await
        .expect_err("no such stage");
    assert_eq!(refused.code(), Some(40324));
}

#[tokio::test]
async fn batches_are_read_as_the_server_sent_them() {
    #[derive(Debug, Deserialize)]
    struct Name<'a> {
        name: &'a str,
    }
    let deployment = any_deployment().await;
    let things = filled(&deployment, 25).await;
    let mut cursor = things
        .find(doc! {})
        .sort(doc! { "_id": 1 })
        .batch_size(10)
        .limit(23)
        .await
        .expect("a cursor");
    assert!(cursor.advance().await.expect("a document"));
    let mut sizes = Vec::new();
    let mut names = Vec::new();
    while let Some(batch) = cursor.next_batch().await.expect("a batch") {
        let documents: Result<Vec<_>, _> = batch.documents().collect();
        sizes.push(documents.expect("documents").len());
        let read = batch.deserialize::<Name<'_>>();
        names.extend(read.map(|name| name.expect("a name").name.to_owned()));
    }
    assert_eq!(sizes, [9, 10, 3], "the first document was read before");
    let expected: Vec<String> = (1..23).map(|n| format!("thing {n}")).collect();
    assert_eq!(names, expected);
    assert!(cursor.is_exhausted());
    assert!(cursor.next_batch().await.expect("the end").is_none());
}
