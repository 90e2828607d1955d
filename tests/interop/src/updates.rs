//! Update operators, array filters, updates by pipeline.

use crate::checks::Checks;
use crate::context::{Context, field};
use mongodb::bson::{Bson, DateTime, Document, doc};
use mongodb::error::Result;
use mongodb::options::UpdateModifications;

/// A name, a document, an update, and the updated document.
type Case = (&'static str, Document, UpdateModifications, Document);

pub(crate) async fn run(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("updates");
    for (name, before, update, after) in fields().into_iter().chain(arrays()).chain(pipelines()) {
        c.delete_many(doc! {}).await?;
        c.insert_one(before).await?;
        let name = format!("update: {name}");
        match c.update_one(doc! {}, update).await {
            Ok(_) => checks.eq(&name, c.find_one(doc! {}).await, Some(after)),
            Err(error) => checks.fail(&name, &error.to_string()),
        }
    }
    positions(checks, context).await?;
    clocks(checks, context).await
}

fn fields() -> Vec<Case> {
    vec![
        (
            "$set creates a path, new fields in order of their names",
            doc! { "_id": 1, "a": 1 },
            doc! { "$set": { "z": 1, "b.c": 2, "a": 3 } }.into(),
            doc! { "_id": 1, "a": 3, "b": { "c": 2 }, "z": 1 },
        ),
        (
            "$unset",
            doc! { "_id": 1, "a": 1, "l": [1, 2] },
            doc! { "$unset": { "a": "", "l.0": "", "none": "" } }.into(),
            doc! { "_id": 1, "l": [Bson::Null, 2] },
        ),
        (
            "$inc keeps and widens types",
            doc! { "_id": 1, "i": i32::MAX, "l": 1_i64, "d": 0.5 },
            doc! { "$inc": { "d": 1, "i": 1, "l": 1, "m": 5 } }.into(),
            doc! { "_id": 1, "i": 2_147_483_648_i64, "l": 2_i64, "d": 1.5, "m": 5 },
        ),
        (
            "$mul",
            doc! { "_id": 1, "a": 3 },
            doc! { "$mul": { "a": 2.0, "b": 4 } }.into(),
            doc! { "_id": 1, "a": 6.0, "b": 0 },
        ),
        (
            "$min and $max",
            doc! { "_id": 1, "a": 3, "b": 3, "c": 3 },
            doc! { "$min": { "a": 1, "b": 9 }, "$max": { "c": 5, "d": 1 } }.into(),
            doc! { "_id": 1, "a": 1, "b": 3, "c": 5, "d": 1 },
        ),
        (
            "$rename",
            doc! { "_id": 1, "a": { "x": 1 }, "b": 2 },
            doc! { "$rename": { "a.x": "c", "none": "d" } }.into(),
            doc! { "_id": 1, "a": {}, "b": 2, "c": 1 },
        ),
        (
            "$bit",
            doc! { "_id": 1, "a": 13, "b": 5, "c": 6 },
            doc! { "$bit": { "a": { "and": 10 }, "b": { "or": 2 }, "c": { "xor": 3 } } }.into(),
            doc! { "_id": 1, "a": 8, "b": 7, "c": 5 },
        ),
        (
            "$set of an array's position beyond its end",
            doc! { "_id": 1, "l": [1] },
            doc! { "$set": { "l.3": 4 } }.into(),
            doc! { "_id": 1, "l": [1, Bson::Null, Bson::Null, 4] },
        ),
        (
            "$setOnInsert of what exists",
            doc! { "_id": 1 },
            doc! { "$setOnInsert": { "a": 1 } }.into(),
            doc! { "_id": 1 },
        ),
    ]
}

fn arrays() -> Vec<Case> {
    vec![
        (
            "$push",
            doc! { "_id": 1, "l": [1] },
            doc! { "$push": { "l": [2], "new": 1 } }.into(),
            doc! { "_id": 1, "l": [1, [2]], "new": [1] },
        ),
        (
            "$push $each $position",
            doc! { "_id": 1, "l": [1, 4] },
            doc! { "$push": { "l": { "$each": [2, 3], "$position": 1 } } }.into(),
            doc! { "_id": 1, "l": [1, 2, 3, 4] },
        ),
        (
            "$push $each $sort $slice",
            doc! { "_id": 1, "l": [{ "s": 5 }, { "s": 1 }] },
            doc! { "$push": { "l": { "$each": [{ "s": 3 }], "$sort": { "s": -1 }, "$slice": 2 } } }.into(),
            doc! { "_id": 1, "l": [{ "s": 5 }, { "s": 3 }] },
        ),
        (
            "$push keeps the last with a negative $slice",
            doc! { "_id": 1, "l": [1, 2] },
            doc! { "$push": { "l": { "$each": [3, 4], "$slice": -3 } } }.into(),
            doc! { "_id": 1, "l": [2, 3, 4] },
        ),
        (
            "$addToSet",
            doc! { "_id": 1, "l": [1, 2] },
            doc! { "$addToSet": { "l": { "$each": [2.0, 3, 3] }, "m": 1 } }.into(),
            doc! { "_id": 1, "l": [1, 2, 3], "m": [1] },
        ),
        (
            "$pop",
            doc! { "_id": 1, "a": [1, 2, 3], "b": [1, 2, 3] },
            doc! { "$pop": { "a": 1, "b": -1 } }.into(),
            doc! { "_id": 1, "a": [1, 2], "b": [2, 3] },
        ),
        (
            "$pull by a condition",
            doc! { "_id": 1, "l": [1, 5, 9], "d": [{ "k": 1, "v": 1 }, { "k": 2, "v": 2 }] },
            doc! { "$pull": { "l": { "$gte": 5 }, "d": { "k": 1 } } }.into(),
            doc! { "_id": 1, "l": [1], "d": [{ "k": 2, "v": 2 }] },
        ),
        (
            "$pullAll",
            doc! { "_id": 1, "l": [1, 2, 1, 3] },
            doc! { "$pullAll": { "l": [1, 3] } }.into(),
            doc! { "_id": 1, "l": [2] },
        ),
        (
            "$[] sets every element",
            doc! { "_id": 1, "l": [{ "q": 1 }, { "q": 2 }] },
            doc! { "$inc": { "l.$[].q": 10 } }.into(),
            doc! { "_id": 1, "l": [{ "q": 11 }, { "q": 12 }] },
        ),
    ]
}

fn pipelines() -> Vec<Case> {
    vec![
        (
            "pipeline $set and $unset",
            doc! { "_id": 1, "a": 2, "b": 3 },
            vec![
                doc! { "$set": { "sum": { "$add": ["$a", "$b"] } } },
                doc! { "$unset": "b" },
            ]
            .into(),
            doc! { "_id": 1, "a": 2, "sum": 5 },
        ),
        (
            "pipeline $replaceWith",
            doc! { "_id": 1, "in": { "x": 1 } },
            vec![doc! { "$replaceWith": { "$mergeObjects": ["$in", { "y": 2 }] } }].into(),
            doc! { "_id": 1, "x": 1, "y": 2 },
        ),
        (
            "pipeline with $cond and $$REMOVE",
            doc! { "_id": 1, "a": 2, "b": 3 },
            vec![doc! { "$set": {
                "b": "$$REMOVE", "big": { "$cond": [{ "$gt": ["$a", 1] }, "yes", "no"] },
            } }]
            .into(),
            doc! { "_id": 1, "a": 2, "big": "yes" },
        ),
    ]
}

/// The positional operator, and array filters.
async fn positions(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("positions");
    let lines = || async { field(c.find_one(doc! { "_id": 1 }).await, "lines") };
    c.insert_one(doc! { "_id": 1, "lines": [
        { "sku": "a", "qty": 1, "tags": [{ "t": "x", "n": 1 }] },
        { "sku": "b", "qty": 5, "tags": [{ "t": "x", "n": 1 }, { "t": "y", "n": 1 }] },
    ] })
    .await?;
    c.update_one(
        doc! { "_id": 1, "lines.sku": "b" },
        doc! { "$set": { "lines.$.qty": 9 } },
    )
    .await?;
    let line = |sku: &str, qty: i32, tags: &[(&str, i32)]| {
        let tags: Vec<_> = tags.iter().map(|(t, n)| doc! { "t": *t, "n": *n }).collect();
        doc! { "sku": sku, "qty": qty, "tags": tags }
    };
    let expected = |lines: [Document; 2]| Some(Bson::Array(lines.map(Bson::Document).to_vec()));
    checks.eq(
        "update: positional",
        lines().await,
        expected([line("a", 1, &[("x", 1)]), line("b", 9, &[("x", 1), ("y", 1)])]),
    );
    let updated = c
        .update_one(doc! { "_id": 1 }, doc! { "$inc": { "lines.$[l].qty": 1 } })
        .array_filters([doc! { "l.qty": { "$lt": 5 } }].to_vec())
        .await;
    checks.eq(
        "array filters: counts",
        updated.map(|r| (r.matched_count, r.modified_count)),
        (1, 1),
    );
    checks.eq(
        "array filters: one level",
        lines().await,
        expected([line("a", 2, &[("x", 1)]), line("b", 9, &[("x", 1), ("y", 1)])]),
    );
    c.update_one(
        doc! { "_id": 1 },
        doc! { "$set": { "lines.$[l].tags.$[t].n": 7 } },
    )
    .array_filters([doc! { "l.sku": "b" }, doc! { "t.t": "x" }].to_vec())
    .await?;
    checks.eq(
        "array filters: two levels",
        lines().await,
        expected([line("a", 2, &[("x", 1)]), line("b", 9, &[("x", 7), ("y", 1)])]),
    );
    c.update_many(doc! {}, doc! { "$pull": { "lines.$[].tags": { "t": "x" } } })
        .await?;
    checks.eq(
        "array filters: every element",
        lines().await,
        expected([line("a", 2, &[]), line("b", 9, &[("y", 1)])]),
    );
    let scalars = context.collection("scalars");
    scalars
        .insert_one(doc! { "_id": 1, "grades": [85, 100, 90, 101] })
        .await?;
    let capped = scalars
        .update_one(doc! {}, doc! { "$set": { "grades.$[g]": 100 } })
        .array_filters([doc! { "g": { "$gte": 100 } }].to_vec())
        .await;
    checks.eq("array filters: plain values", capped.map(|r| r.modified_count), 1);
    checks.eq(
        "array filters: plain values changed",
        scalars.find_one(doc! {}).await,
        Some(doc! { "_id": 1, "grades": [85, 100, 90, 100] }),
    );
    let unmatched = scalars
        .update_one(doc! {}, doc! { "$set": { "grades.$[g]": 0 } })
        .array_filters([doc! { "g": { "$gt": 1_000 } }].to_vec())
        .await;
    checks.eq(
        "array filters: none matches",
        unmatched.map(|r| (r.matched_count, r.modified_count)),
        (1, 0),
    );
    Ok(())
}

async fn clocks(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("clocks");
    let before = DateTime::now().timestamp_millis();
    c.update_one(
        doc! { "_id": 1 },
        doc! { "$currentDate": { "at": true, "ts": { "$type": "timestamp" } } },
    )
    .upsert(true)
    .await?;
    let after = DateTime::now().timestamp_millis();
    let at = field(c.find_one(doc! {}).await, "at")?.and_then(|at| at.as_datetime().copied());
    checks.is(
        "$currentDate: between before and after",
        at.is_some_and(|at| (before..=after).contains(&at.timestamp_millis())),
        true,
    );
    let ts = field(c.find_one(doc! {}).await, "ts")?.and_then(|ts| ts.as_timestamp());
    checks.is("$currentDate: timestamp", ts.is_some_and(|ts| ts.time > 0), true);
    c.update_one(doc! { "_id": 1 }, vec![doc! { "$set": { "now": "$$NOW" } }])
        .await?;
    let now = field(c.find_one(doc! {}).await, "now")?;
    checks.is(
        "$$NOW is a date",
        now.is_some_and(|now| now.as_datetime().is_some()),
        true,
    );
    Ok(())
}
