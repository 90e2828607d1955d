//! Cursors over 10,000 documents: batches, limits, killCursors, errors.

use crate::checks::{Checks, code_name_of};
use crate::context::{Context, complaint, docs, ids};
use futures_util::TryStreamExt;
use mongodb::bson::{Bson, Document, doc};
use mongodb::error::Result;
use mongodb::options::CursorType;

const COUNT: i32 = 10_000;

pub(crate) async fn run(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("many");
    c.insert_many((0..COUNT).map(|id| doc! { "_id": id, "text": "x".repeat(100) }))
        .await?;
    batches(checks, context).await?;
    limits(checks, context).await?;
    aggregations(checks, context).await?;
    kills(checks, context).await?;
    tailable(checks, context).await;
    c.drop().await
}

async fn batches(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("many");
    let all: Vec<i32> = (0..COUNT).collect();
    context.commands.clear();
    checks.is(
        "cursor: all, in order",
        ids(c.find(doc! {}).await).await? == all,
        true,
    );
    let sizes = context.commands.batches();
    checks.is("cursor: the first batch is of 101", sizes.first(), Some(101));
    checks.is("cursor: the rest fits one batch", &sizes[1..], [9_899]);
    for size in [3, 100, 997, 4_096, 20_000_u32] {
        context.commands.clear();
        let found = ids(c.find(doc! {}).batch_size(size).await).await?;
        checks.is(&format!("cursor: all, in batches of {size}"), found == all, true);
        let sizes = context.commands.batches();
        let mut expected = vec![size as usize; COUNT as usize / size as usize];
        expected.push(COUNT as usize % size as usize);
        // Whether an empty batch follows a full last batch depends on the server.
        let trim = |sizes: Vec<usize>| sizes.into_iter().filter(|count| *count > 0).collect::<Vec<_>>();
        checks.is(
            &format!("cursor: sizes of batches of {size}"),
            trim(sizes) == trim(expected),
            true,
        );
    }
    context.commands.clear();
    let sorted = c
        .find(doc! {})
        .sort(doc! { "_id": -1 })
        .skip(10)
        .batch_size(2_500)
        .await;
    let backwards: Vec<i32> = (0..COUNT - 10).rev().collect();
    checks.is("cursor: sorted, skipped", ids(sorted).await? == backwards, true);
    checks.is(
        "cursor: sorted, skipped: batches",
        context.commands.batches(),
        [2_500, 2_500, 2_500, 2_490],
    );
    Ok(())
}

async fn limits(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("many");
    context.commands.clear();
    let limited = ids(c.find(doc! {}).limit(250).batch_size(100).await).await;
    checks.eq("limit: across batches", limited.map(|found| found.len()), 250);
    checks.is("limit: batches", context.commands.batches(), [100, 100, 50]);
    context.commands.clear();
    let limited = ids(c.find(doc! {}).limit(100).batch_size(100).await).await;
    checks.eq("limit: of one batch", limited.map(|found| found.len()), 100);
    context.commands.clear();
    let limited = ids(c.find(doc! {}).limit(-7).await).await;
    checks.eq(
        "limit: negative is one batch",
        limited,
        (0..7).collect::<Vec<_>>(),
    );
    checks.is(
        "limit: negative needs no getMore",
        context.commands.names(),
        ["find"],
    );
    context.commands.clear();
    let reply = context
        .db
        .run_command(doc! { "find": "many", "batchSize": 0 })
        .await?;
    let cursor = reply.get_document("cursor")?;
    checks.is(
        "batchSize 0: an empty first batch",
        cursor.get_array("firstBatch").map(Vec::len).ok(),
        Some(0),
    );
    checks.is(
        "batchSize 0: an open cursor",
        cursor.get_i64("id").is_ok_and(|id| id != 0),
        true,
    );
    checks.is(
        "cursor: namespace",
        cursor.get_str("ns").ok(),
        Some("interop_check.many"),
    );
    let reply = context
        .db
        .run_command(doc! { "find": "many", "limit": 5, "singleBatch": true })
        .await?;
    checks.is(
        "singleBatch: a closed cursor",
        reply.get_document("cursor")?.get_i64("id").ok(),
        Some(0),
    );
    let mut cursor = c.find(doc! {}).batch_size(2).await?;
    let mut seen = Vec::new();
    while seen.len() < 5
        && let Some(document) = cursor.try_next().await?
    {
        seen.push(document.get_i32("_id").ok());
    }
    checks.is(
        "cursor: one by one",
        seen,
        [Some(0), Some(1), Some(2), Some(3), Some(4)],
    );
    Ok(())
}

async fn aggregations(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("many");
    context.commands.clear();
    let found = docs(
        c.aggregate([doc! { "$match": { "_id": { "$gte": 5_000 } } }])
            .batch_size(1_500)
            .await,
    )
    .await;
    checks.eq("aggregate: batches", found.map(|found| found.len()), 5_000);
    checks.is(
        "aggregate: sizes of batches",
        context.commands.batches(),
        [1_500, 1_500, 1_500, 500],
    );
    let cursor = context
        .db
        .run_cursor_command(doc! { "find": "many", "batchSize": 4_000 })
        .await;
    checks.eq(
        "run_cursor_command",
        docs(cursor).await.map(|found| found.len()),
        10_000,
    );
    // Deletions while a cursor is open.
    let mut cursor = c
        .find(doc! { "_id": { "$lt": 500 } })
        .sort(doc! { "_id": 1 })
        .batch_size(100)
        .await?;
    let mut last = None;
    while let Some(document) = cursor.try_next().await? {
        let id = document.get_i32("_id").unwrap_or(-1);
        if id == 50 {
            c.delete_many(doc! { "_id": { "$gte": 400, "$lt": 500 } }).await?;
        }
        last = Some(id);
    }
    checks.is(
        "cursor: deletions while open",
        last.is_some_and(|id| id == 399 || id == 499),
        true,
    );
    Ok(())
}

async fn kills(checks: &mut Checks, context: &Context) -> Result<()> {
    // A cursor is used in the session that it was created in. The driver rejects killCursors in an
    // explicit session.
    let mut session = context.client.start_session().await?;
    let reply = context
        .db
        .run_command(doc! { "find": "many", "batchSize": 2 })
        .session(&mut session)
        .await?;
    let id = cursor_id(&reply)?;
    let more = || doc! { "getMore": id, "collection": "many", "batchSize": 2 };
    let next = context.db.run_command(more()).session(&mut session).await?;
    checks.is("getMore: the same cursor", cursor_id(&next)?, id);
    let other = doc! { "getMore": id, "collection": "other" };
    checks.code(
        "getMore: another collection",
        13,
        context.db.run_command(other).session(&mut session).await,
    );
    let killed = context
        .db
        .run_command(doc! { "killCursors": "many", "cursors": [id, 42_i64] })
        .await?;
    checks.is(
        "killCursors: killed",
        killed.get_array("cursorsKilled").ok(),
        Some(vec![Bson::Int64(id)]),
    );
    checks.is(
        "killCursors: not found",
        killed.get_array("cursorsNotFound").ok(),
        Some(vec![Bson::Int64(42)]),
    );
    if let Some(error) = checks.code(
        "getMore: killed",
        43,
        context.db.run_command(more()).session(&mut session).await,
    ) {
        checks.is("getMore: killed: name", code_name_of(&error), "CursorNotFound");
    }
    checks.code(
        "getMore: the id must be a long",
        14,
        context
            .db
            .run_command(doc! { "getMore": 1, "collection": "many" })
            .await,
    );
    Ok(())
}

fn cursor_id(reply: &Document) -> Result<i64> {
    let id = reply
        .get_document("cursor")
        .ok()
        .and_then(|cursor| cursor.get_i64("id").ok());
    id.ok_or_else(|| complaint(format!("no cursor in {reply}")))
}

/// Tailable cursors require a capped collection.
async fn tailable(checks: &mut Checks, context: &Context) {
    let ordinary = context
        .collection("many")
        .find(doc! {})
        .cursor_type(CursorType::Tailable)
        .await;
    checks.is("tailable: requires a capped collection", ordinary.is_err(), true);
}
