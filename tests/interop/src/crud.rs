//! Find, count, distinct, update, replace and delete.

use crate::checks::Checks;
use crate::context::{Context, case_insensitive, docs, ids};
use mongodb::bson::{Bson, doc};
use mongodb::error::Result;
use mongodb::options::Hint;

pub(crate) async fn run(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("crud");
    c.insert_many((1..=9).map(|id| doc! { "_id": id, "a": id % 3, "name": format!("n{id}") }))
        .await?;
    reads(checks, context).await?;
    counts(checks, context).await?;
    distinct(checks, context).await?;
    writes(checks, context).await?;
    deletes(checks, context).await
}

async fn reads(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("crud");
    checks.eq(
        "find: filter and sort",
        ids(c.find(doc! { "a": 1 }).sort(doc! { "_id": -1 }).await).await,
        [7, 4, 1],
    );
    checks.eq(
        "find: sort by two, skip, limit",
        ids(c
            .find(doc! {})
            .sort(doc! { "a": -1, "_id": 1 })
            .skip(2)
            .limit(3)
            .await)
        .await,
        [8, 1, 4],
    );
    checks.eq(
        "find: projection",
        docs(
            c.find(doc! { "_id": 2 })
                .projection(doc! { "name": 1, "_id": 0 })
                .await,
        )
        .await,
        [doc! { "name": "n2" }],
    );
    checks.eq(
        "find_one: no match",
        c.find_one(doc! { "_id": 99 }).await,
        None::<()>,
    );
    checks.eq(
        "find_one: sort and skip",
        c.find_one(doc! {})
            .sort(doc! { "_id": 1 })
            .skip(4)
            .projection(doc! { "_id": 1 })
            .await,
        Some(doc! { "_id": 5 }),
    );
    checks.eq(
        "find: a missing collection is empty",
        ids(context.collection("missing").find(doc! {}).await).await,
        [0_i32; 0],
    );
    checks.eq(
        "find: let",
        ids(c
            .find(doc! { "$expr": { "$eq": ["$_id", "$$wanted"] } })
            .let_vars(doc! { "wanted": 6 })
            .await)
        .await,
        [6],
    );
    checks.eq(
        "find: min and max",
        ids(c
            .find(doc! {})
            .min(doc! { "_id": 3 })
            .max(doc! { "_id": 6 })
            .hint(Hint::Keys(doc! { "_id": 1 }))
            .await)
        .await,
        [3, 4, 5],
    );
    checks.eq(
        "find: comment and natural order backwards",
        ids(c
            .find(doc! {})
            .hint(Hint::Keys(doc! { "$natural": -1 }))
            .comment("backwards".to_owned())
            .limit(2)
            .await)
        .await,
        [9, 8],
    );
    Ok(())
}

async fn counts(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("crud");
    checks.eq(
        "count_documents",
        c.count_documents(doc! { "a": { "$gte": 1 } }).await,
        6,
    );
    checks.eq(
        "count_documents: skip and limit",
        c.count_documents(doc! {}).skip(2).limit(5).await,
        5,
    );
    checks.eq(
        "count_documents: fewer than the limit",
        c.count_documents(doc! {}).skip(7).limit(5).await,
        2,
    );
    checks.eq(
        "count_documents: none",
        c.count_documents(doc! { "a": 7 }).await,
        0,
    );
    checks.eq("estimated_document_count", c.estimated_document_count().await, 9);
    let missing = context.collection("missing");
    checks.eq(
        "estimated_document_count: missing",
        missing.estimated_document_count().await,
        0,
    );
    checks.eq(
        "count_documents: missing",
        missing.count_documents(doc! {}).await,
        0,
    );
    checks.eq(
        "count_documents: collation",
        c.count_documents(doc! { "name": "N3" })
            .collation(case_insensitive())
            .await,
        1,
    );
    Ok(())
}

async fn distinct(checks: &mut Checks, context: &Context) -> Result<()> {
    let sorted = |values: Vec<Bson>| {
        let mut texts: Vec<String> = values.iter().map(ToString::to_string).collect();
        texts.sort_unstable();
        texts
    };
    let c = context.collection("crud");
    checks.eq(
        "distinct",
        c.distinct("a", doc! {}).await.map(sorted),
        ["0", "1", "2"],
    );
    checks.eq(
        "distinct: filter",
        c.distinct("a", doc! { "_id": { "$in": [1, 3] } })
            .await
            .map(sorted),
        ["0", "1"],
    );
    let d = context.collection("distinct");
    d.insert_many([
        doc! { "_id": 1, "v": [1, 2, 2], "o": { "k": "x" } },
        doc! { "_id": 2, "v": 2.0, "o": [{ "k": "x" }, { "k": "y" }] },
        doc! { "_id": 3, "o": { "k": "X" } },
        doc! { "_id": 4, "v": Bson::Null },
    ])
    .await?;
    checks.eq(
        "distinct: elements of arrays, equal numbers once",
        d.distinct("v", doc! {}).await.map(sorted),
        ["1", "2", "null"],
    );
    checks.eq(
        "distinct: dotted",
        d.distinct("o.k", doc! {}).await.map(sorted),
        ["\"X\"", "\"x\"", "\"y\""],
    );
    checks.eq(
        "distinct: collation",
        d.distinct("o.k", doc! {})
            .collation(case_insensitive())
            .await
            .map(|values| values.len()),
        2,
    );
    checks.eq(
        "distinct: no match",
        d.distinct("none", doc! {}).await.map(sorted),
        [""; 0],
    );
    Ok(())
}

async fn writes(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("crud");
    let counts = |result: Result<mongodb::results::UpdateResult>| {
        result.map(|result| (result.matched_count, result.modified_count, result.upserted_id))
    };
    let none = None::<Bson>;
    checks.eq(
        "update_one",
        counts(c.update_one(doc! { "a": 1 }, doc! { "$set": { "b": 1 } }).await),
        (1, 1, &none),
    );
    checks.eq(
        "update_many",
        counts(c.update_many(doc! { "a": 1 }, doc! { "$set": { "b": 1 } }).await),
        (3, 2, &none),
    );
    checks.eq(
        "update: nothing to change",
        counts(c.update_many(doc! { "a": 1 }, doc! { "$set": { "b": 1 } }).await),
        (3, 0, &none),
    );
    checks.eq(
        "update: nothing matches",
        counts(
            c.update_one(doc! { "_id": 99 }, doc! { "$set": { "b": 1 } })
                .await,
        ),
        (0, 0, &none),
    );
    checks.eq(
        "update_one: sort selects the document",
        counts(
            c.update_one(doc! {}, doc! { "$set": { "last": true } })
                .sort(doc! { "_id": -1 })
                .await,
        ),
        (1, 1, &none),
    );
    checks.eq(
        "update_one: the sorted one",
        ids(c.find(doc! { "last": true }).await).await,
        [9],
    );
    checks.eq(
        "upsert: document from the filter and the update",
        counts(
            c.update_one(
                doc! { "_id": 50, "kind": "x", "n": { "$gt": 1 } },
                doc! { "$set": { "s": 1 }, "$setOnInsert": { "t": 2 }, "$inc": { "i": 3 } },
            )
            .upsert(true)
            .await,
        ),
        (0, 0, Some(Bson::Int32(50))),
    );
    checks.eq(
        "upsert: the document",
        c.find_one(doc! { "_id": 50 }).await,
        Some(doc! { "_id": 50, "kind": "x", "i": 3, "s": 1, "t": 2 }),
    );
    checks.eq(
        "upsert: of an existing document",
        counts(
            c.update_one(doc! { "_id": 50 }, doc! { "$setOnInsert": { "t": 9 } })
                .upsert(true)
                .await,
        ),
        (1, 0, &none),
    );
    let made = c
        .update_many(doc! { "kind": "y" }, doc! { "$set": { "n": 1 } })
        .upsert(true)
        .await?;
    checks.is(
        "upsert: _id generated by the server",
        made.upserted_id.and_then(|id| id.as_object_id()).is_some(),
        true,
    );
    checks.eq(
        "replace_one",
        counts(c.replace_one(doc! { "_id": 50 }, doc! { "z": 1 }).await),
        (1, 1, &none),
    );
    checks.eq(
        "replace_one: the document",
        c.find_one(doc! { "_id": 50 }).await,
        Some(doc! { "_id": 50, "z": 1 }),
    );
    checks.eq(
        "replace_one: upsert",
        counts(
            c.replace_one(doc! { "_id": 51 }, doc! { "z": 2 })
                .upsert(true)
                .await,
        ),
        (0, 0, Some(Bson::Int32(51))),
    );
    checks.code(
        "replace_one: another _id",
        66,
        c.replace_one(doc! { "_id": 51 }, doc! { "_id": 52, "z": 2 })
            .await,
    );
    Ok(())
}

async fn deletes(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("crud");
    let deleted = |result: Result<mongodb::results::DeleteResult>| result.map(|result| result.deleted_count);
    checks.eq("delete_one", deleted(c.delete_one(doc! { "a": 2 }).await), 1);
    checks.eq(
        "delete_one: the first in natural order",
        ids(c.find(doc! { "a": 2 }).await).await,
        [5, 8],
    );
    checks.eq(
        "delete_one: no match",
        deleted(c.delete_one(doc! { "_id": 99 }).await),
        0,
    );
    checks.eq(
        "delete_one: collation",
        deleted(
            c.delete_one(doc! { "name": "N5" })
                .collation(case_insensitive())
                .await,
        ),
        1,
    );
    checks.eq("delete_many", deleted(c.delete_many(doc! { "a": 1 }).await), 3);
    checks.code(
        "delete_many: unknown operator",
        2,
        c.delete_many(doc! { "a": { "$foo": 1 } }).await,
    );
    checks.eq("delete_many: all", deleted(c.delete_many(doc! {}).await), 7);
    checks.eq(
        "delete_many: a missing collection",
        deleted(context.collection("missing").delete_many(doc! {}).await),
        0,
    );
    Ok(())
}
