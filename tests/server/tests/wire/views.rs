//! Views: cyclic definitions, listing, modification, and options that views reject.

use crate::client::{Client, code, on, standalone};
use bson::{Document, doc};

async fn ok(client: &mut Client, body: Document) -> Document {
    let reply = client.run(on("db", body)).await;
    assert_eq!(code(&reply), 0, "{reply}");
    reply
}

fn batch(reply: &Document) -> Vec<Document> {
    let cursor = reply.get_document("cursor").unwrap();
    let rows = cursor.get_array("firstBatch").unwrap().iter();
    rows.map(|row| row.as_document().unwrap().clone()).collect()
}

#[tokio::test]
async fn cyclic_views_are_rejected() {
    let (_server, mut client) = standalone().await;
    let create = |name: &str, on: &str, pipeline: Vec<Document>| doc! { "create": name, "viewOn": on, "pipeline": pipeline };
    ok(&mut client, create("a", "b", vec![])).await;
    ok(&mut client, create("b", "c", vec![])).await;
    let lookup = vec![doc! { "$lookup": { "from": "a", "localField": "x", "foreignField": "x", "as": "y" } }];
    let union = vec![doc! { "$unionWith": { "coll": "d", "pipeline": lookup.clone() } }];
    for cyclic in [
        create("c", "a", vec![]),
        create("c", "c", vec![]),
        create("c", "d", lookup),
        create("c", "d", union),
        doc! { "collMod": "b", "viewOn": "a", "pipeline": [] },
    ] {
        let shown = cyclic.to_string();
        let reply = client.run(on("db", cyclic)).await;
        assert_eq!(code(&reply), 5, "{shown}: {reply}");
    }
    let mut on_what = "b".to_owned();
    for depth in 0..19 {
        let name = format!("deep{depth}");
        ok(&mut client, create(&name, &on_what, vec![])).await;
        on_what = name;
    }
    let deepest = client.run(on("db", create("deepest", &on_what, vec![]))).await;
    assert_eq!(code(&deepest), 165, "{deepest}");
}

#[tokio::test]
async fn definitions_are_listed_and_changed() {
    let (_server, mut client) = standalone().await;
    ok(
        &mut client,
        doc! { "insert": "c", "documents": [{ "_id": 1 }, { "_id": 2 }] },
    )
    .await;
    ok(&mut client, doc! { "insert": "d", "documents": [{ "_id": 3 }] }).await;
    assert!(batch(&ok(&mut client, doc! { "find": "system.views" }).await).is_empty());
    ok(
        &mut client,
        doc! { "create": "v", "viewOn": "c", "pipeline": [{ "$match": { "_id": 1 } }] },
    )
    .await;
    let found = batch(&ok(&mut client, doc! { "find": "system.views" }).await);
    assert_eq!(
        found,
        [doc! { "_id": "db.v", "viewOn": "c", "pipeline": [{ "$match": { "_id": 1 } }] }]
    );
    let listed = ok(
        &mut client,
        doc! { "listCollections": 1, "filter": { "name": "system.views" } },
    )
    .await;
    assert_eq!(batch(&listed)[0].get_str("type").unwrap(), "collection");
    ok(
        &mut client,
        doc! { "collMod": "v", "viewOn": "d", "pipeline": [] },
    )
    .await;
    assert_eq!(
        batch(&ok(&mut client, doc! { "find": "v" }).await),
        [doc! { "_id": 3 }]
    );
    let listed = ok(
        &mut client,
        doc! { "listCollections": 1, "filter": { "name": "v" } },
    )
    .await;
    let options = batch(&listed)[0].get_document("options").unwrap().clone();
    assert_eq!(options.get_str("viewOn").unwrap(), "d");
    for (expected, body) in [
        (72, doc! { "collMod": "c", "viewOn": "d", "pipeline": [] }),
        (26, doc! { "collMod": "absent", "viewOn": "d", "pipeline": [] }),
        (
            167,
            doc! { "collMod": "v", "viewOn": "d", "pipeline": [{ "$out": "x" }] },
        ),
        (168, doc! { "find": "v", "sort": { "$natural": 1 } }),
        (168, doc! { "find": "v", "showRecordId": true }),
        (168, doc! { "find": "v", "returnKey": true }),
    ] {
        let shown = body.to_string();
        assert_eq!(code(&client.run(on("db", body)).await), expected, "{shown}");
    }
}
