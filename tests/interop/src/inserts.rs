//! `insert_one`, ordered and unordered `insert_many`, duplicates, typed documents.

use crate::checks::Checks;
use crate::context::{Context, DATABASE, docs, ids};
use mongodb::bson::{Bson, Document, doc, oid::ObjectId};
use mongodb::error::{Error, ErrorKind, Result, WriteFailure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Person {
    #[serde(rename = "_id", skip_serializing_if = "Option::is_none")]
    id: Option<ObjectId>,
    name: String,
    age: u32,
    nick_names: Vec<String>,
    address: Option<Address>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Address {
    city: String,
    number: i64,
}

pub(crate) async fn run(checks: &mut Checks, context: &Context) -> Result<()> {
    one(checks, context).await?;
    many(checks, context).await?;
    typed(checks, context).await
}

/// `WriteError` of the official driver has no `keyPattern` and `keyValue`, so the reply of a
/// command is checked.
async fn one(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("insert_one");
    checks.eq(
        "insert_one: _id given",
        c.insert_one(doc! { "_id": 1, "a": 1 })
            .await
            .map(|result| result.inserted_id),
        Bson::Int32(1),
    );
    let made = c.insert_one(doc! { "a": 2 }).await?.inserted_id;
    checks.is("insert_one: generated _id", made.as_object_id().is_some(), true);
    checks.eq(
        "insert_one: _id first",
        c.find_one(doc! { "a": 2 }).await,
        Some(doc! { "_id": made, "a": 2 }),
    );
    checks.code_and_message(
        "insert_one: duplicate _id",
        11000,
        &format!(
            "E11000 duplicate key error collection: {DATABASE}.insert_one index: _id_ dup key: {{ _id: 1 }}"
        ),
        c.insert_one(doc! { "_id": 1 }).await,
    );
    let equal = c.insert_one(doc! { "_id": 1.0 }).await;
    checks.code("insert_one: an equal number of another type", 11000, equal);
    let raw = context
        .db
        .run_command(doc! { "insert": "insert_one", "documents": [{ "_id": 1 }] })
        .await?;
    let error = raw
        .get_array("writeErrors")?
        .first()
        .and_then(Bson::as_document)
        .cloned();
    let error = error.unwrap_or_default();
    checks.is(
        "insert: ok despite write errors",
        raw.get("ok"),
        Some(Bson::Double(1.0)),
    );
    checks.is("insert: n", raw.get_i32("n").ok(), Some(0));
    checks.is(
        "insert: keyPattern",
        error.get("keyPattern"),
        Some(doc! { "_id": 1 }).map(Bson::Document),
    );
    checks.is(
        "insert: keyValue",
        error.get("keyValue"),
        Some(doc! { "_id": 1 }).map(Bson::Document),
    );
    checks.code(
        "insert_one: _id an array",
        53,
        c.insert_one(doc! { "_id": [1] }).await,
    );
    checks.code(
        "insert: no documents",
        16,
        context
            .db
            .run_command(doc! { "insert": "insert_one", "documents": [] })
            .await,
    );
    checks.eq(
        "insert_one: dotted and dollar names are kept",
        c.insert_one(doc! { "_id": 3, "a.b": 1, "$c": 2 })
            .await
            .map(|result| result.inserted_id),
        Bson::Int32(3),
    );
    checks.eq(
        "insert_one: dotted and dollar names back",
        c.find_one(doc! { "_id": 3 }).await,
        Some(doc! { "_id": 3, "a.b": 1, "$c": 2 }),
    );
    checks.eq(
        "insert_one: _id moved first by the server",
        context
            .db
            .run_command(doc! { "insert": "insert_one", "documents": [{ "z": 1, "_id": 4 }] })
            .await
            .map(|reply| reply.get_i32("n").ok()),
        Some(1),
    );
    checks.eq(
        "insert_one: _id first in what was stored",
        c.find_one(doc! { "_id": 4 }).await,
        Some(doc! { "_id": 4, "z": 1 }),
    );
    Ok(())
}

fn write_errors(error: &Error) -> Vec<(usize, i32)> {
    match &*error.kind {
        ErrorKind::InsertMany(error) => error
            .write_errors
            .iter()
            .flatten()
            .map(|error| (error.index, error.code))
            .collect(),
        ErrorKind::Write(WriteFailure::WriteError(error)) => vec![(0, error.code)],
        _ => Vec::new(),
    }
}

async fn many(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("insert_many");
    let inserted = c.insert_many((1..=5).map(|id| doc! { "_id": id })).await;
    checks.eq(
        "insert_many: ids",
        inserted.map(|result| result.inserted_ids.into_iter().collect::<BTreeMap<_, _>>()),
        (0..5)
            .map(|index| (index, Bson::Int32(index + 1)))
            .collect::<BTreeMap<_, _>>(),
    );
    let batch = || [10, 1, 11, 2, 12].map(|id| doc! { "_id": id });
    if let Some(error) = checks.code("insert_many: ordered", 11000, c.insert_many(batch()).await) {
        checks.is(
            "insert_many: ordered: stops at the first error",
            write_errors(&error),
            [(1, 11000)],
        );
    }
    let present = ids(c
        .find(doc! { "_id": { "$gte": 10 } })
        .sort(doc! { "_id": 1 })
        .await)
    .await;
    checks.eq("insert_many: ordered: inserted before", present, [10]);
    c.delete_one(doc! { "_id": 10 }).await?;
    let unordered = c.insert_many(batch()).ordered(false).await;
    if let Some(error) = checks.code("insert_many: unordered", 11000, unordered) {
        checks.is(
            "insert_many: unordered: every error",
            write_errors(&error),
            [(1, 11000), (3, 11000)],
        );
    }
    let present = ids(c
        .find(doc! { "_id": { "$gte": 10 } })
        .sort(doc! { "_id": 1 })
        .await)
    .await;
    checks.eq("insert_many: unordered: the rest inserted", present, [10, 11, 12]);
    context.commands.clear();
    c.insert_many((100..1_100).map(|id| doc! { "_id": id })).await?;
    checks.is(
        "insert_many: one command for 1,000",
        context.commands.names(),
        ["insert"],
    );
    checks.eq(
        "insert_many: natural order",
        ids(c.find(doc! { "_id": { "$gte": 100 } }).limit(4).await).await,
        [100, 101, 102, 103],
    );
    let big = "x".repeat(1024 * 1024);
    let large = context.collection("insert_large");
    context.commands.clear();
    large
        .insert_many((0..60).map(|id| doc! { "_id": id, "text": &big }))
        .await?;
    checks.is(
        "insert_many: 60 MB need two messages",
        context.commands.sent("insert").len(),
        2,
    );
    checks.eq(
        "insert_many: 60 MB inserted",
        large.count_documents(doc! {}).await,
        60,
    );
    context.commands.clear();
    checks.eq(
        "find: 60 MB",
        docs(large.find(doc! {}).batch_size(1_000).await)
            .await
            .map(|documents| documents.len()),
        60,
    );
    let batches = context.commands.batches();
    checks.is(
        "find: no batch above 16 MB",
        (
            batches.iter().sum::<usize>(),
            batches.iter().all(|count| *count <= 16),
        ),
        (60, true),
    );
    large.drop().await
}

async fn typed(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.db.collection::<Person>("people");
    let ann = Person {
        id: None,
        name: "Ann".to_owned(),
        age: 37,
        nick_names: vec!["A".to_owned(), "Annie".to_owned()],
        address: Some(Address {
            city: "Łódź".to_owned(),
            number: i64::MAX,
        }),
    };
    let id = c.insert_one(&ann).await?.inserted_id.as_object_id();
    checks.eq(
        "typed: round trip",
        c.find_one(doc! { "address.city": "Łódź" }).await,
        Some(Person { id, ..ann.clone() }),
    );
    let bob = Person {
        id,
        name: "Bob".to_owned(),
        address: None,
        ..ann
    };
    checks.eq(
        "typed: replace",
        c.replace_one(doc! { "_id": id }, &bob)
            .await
            .map(|result| result.modified_count),
        1,
    );
    checks.eq(
        "typed: replaced",
        c.find_one(doc! { "name": "Bob" }).await,
        Some(bob),
    );
    let untyped = c.clone_with_type::<Document>();
    untyped.insert_one(doc! { "name": 5 }).await?;
    checks.is(
        "typed: a document of another shape is the client's error",
        c.find_one(doc! { "name": 5 }).await.is_err(),
        true,
    );
    Ok(())
}
