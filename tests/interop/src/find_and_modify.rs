//! `find_one_and_update`, `find_one_and_replace`, `find_one_and_delete`.

use crate::checks::Checks;
use crate::context::{Context, case_insensitive, ids};
use mongodb::bson::{Bson, doc};
use mongodb::error::Result;
use mongodb::options::{Hint, ReturnDocument};

pub(crate) async fn run(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("find_and_modify");
    c.insert_many(
        (1..=4).map(|id| doc! { "_id": id, "n": 10 * id, "k": format!("k{id}"), "l": [id, id + 1] }),
    )
    .await?;
    update(checks, context).await?;
    replace_and_delete(checks, context).await?;
    rejected(checks, context).await
}

async fn update(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("find_and_modify");
    checks.eq(
        "find_one_and_update: returns the document before",
        c.find_one_and_update(doc! { "_id": 1 }, doc! { "$inc": { "n": 1 } })
            .await,
        Some(doc! { "_id": 1, "n": 10, "k": "k1", "l": [1, 2] }),
    );
    checks.eq(
        "find_one_and_update: or after, projected",
        c.find_one_and_update(doc! { "_id": 1 }, doc! { "$inc": { "n": 1 } })
            .return_document(ReturnDocument::After)
            .projection(doc! { "n": 1 })
            .await,
        Some(doc! { "_id": 1, "n": 12 }),
    );
    checks.eq(
        "find_one_and_update: sort",
        c.find_one_and_update(doc! { "n": { "$gt": 15 } }, doc! { "$set": { "max": true } })
            .sort(doc! { "n": -1 })
            .projection(doc! { "_id": 1 })
            .await,
        Some(doc! { "_id": 4 }),
    );
    checks.eq(
        "find_one_and_update: nothing matches",
        c.find_one_and_update(doc! { "_id": 99 }, doc! { "$set": { "n": 1 } })
            .await,
        None::<()>,
    );
    checks.eq(
        "find_one_and_update: array filters",
        c.find_one_and_update(doc! { "_id": 2 }, doc! { "$set": { "l.$[x]": 0 } })
            .array_filters([doc! { "x": { "$gte": 3 } }].to_vec())
            .return_document(ReturnDocument::After)
            .projection(doc! { "l": 1, "_id": 0 })
            .await,
        Some(doc! { "l": [2, 0] }),
    );
    checks.eq(
        "find_one_and_update: positional projection is of the document after",
        c.find_one_and_update(doc! { "_id": 3, "l": 3 }, doc! { "$set": { "l.$": 30 } })
            .return_document(ReturnDocument::After)
            .projection(doc! { "l": 1 })
            .await,
        Some(doc! { "_id": 3, "l": [30, 4] }),
    );
    checks.eq(
        "find_one_and_update: pipeline and let",
        c.find_one_and_update(
            doc! { "_id": 1 },
            vec![doc! { "$set": { "n": { "$add": ["$n", "$$by"] } } }],
        )
        .let_vars(doc! { "by": 100 })
        .return_document(ReturnDocument::After)
        .projection(doc! { "n": 1, "_id": 0 })
        .await,
        Some(doc! { "n": 112 }),
    );
    checks.eq(
        "find_one_and_update: upsert without a document before",
        c.find_one_and_update(doc! { "_id": 5 }, doc! { "$set": { "n": 50 } })
            .upsert(true)
            .await,
        None::<()>,
    );
    checks.eq(
        "find_one_and_update: upsert returns the document after",
        c.find_one_and_update(doc! { "_id": 6 }, doc! { "$setOnInsert": { "n": 60 } })
            .upsert(true)
            .return_document(ReturnDocument::After)
            .await,
        Some(doc! { "_id": 6, "n": 60 }),
    );
    checks.eq(
        "find_one_and_update: collation and hint",
        c.find_one_and_update(doc! { "k": "K2" }, doc! { "$set": { "seen": true } })
            .collation(case_insensitive())
            .hint(Hint::Name("_id_".to_owned()))
            .projection(doc! { "_id": 1 })
            .await,
        Some(doc! { "_id": 2 }),
    );
    Ok(())
}

async fn replace_and_delete(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("find_and_modify");
    checks.eq(
        "find_one_and_replace: before",
        c.find_one_and_replace(doc! { "_id": 5 }, doc! { "r": 1 }).await,
        Some(doc! { "_id": 5, "n": 50 }),
    );
    checks.eq(
        "find_one_and_replace: after",
        c.find_one_and_replace(doc! { "_id": 5 }, doc! { "r": 2 })
            .return_document(ReturnDocument::After)
            .await,
        Some(doc! { "_id": 5, "r": 2 }),
    );
    checks.eq(
        "find_one_and_replace: nothing matches",
        c.find_one_and_replace(doc! { "_id": 99 }, doc! { "r": 2 }).await,
        None::<()>,
    );
    checks.eq(
        "find_one_and_replace: upsert",
        c.find_one_and_replace(doc! { "_id": 7 }, doc! { "r": 7 })
            .upsert(true)
            .return_document(ReturnDocument::After)
            .await,
        Some(doc! { "_id": 7, "r": 7 }),
    );
    checks.eq(
        "find_one_and_delete: sort and projection",
        c.find_one_and_delete(doc! { "r": { "$exists": true } })
            .sort(doc! { "_id": -1 })
            .projection(doc! { "r": 1, "_id": 0 })
            .await,
        Some(doc! { "r": 7 }),
    );
    checks.eq(
        "find_one_and_delete: nothing matches",
        c.find_one_and_delete(doc! { "_id": 7 }).await,
        None::<()>,
    );
    checks.eq(
        "find_one_and_delete: deleted one",
        ids(c.find(doc! {}).sort(doc! { "_id": 1 }).await).await,
        [1, 2, 3, 4, 5, 6],
    );
    Ok(())
}

async fn rejected(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("find_and_modify");
    checks.code(
        "find_one_and_update: unknown operator",
        9,
        c.find_one_and_update(doc! { "_id": 1 }, doc! { "$foo": { "a": 1 } })
            .await,
    );
    checks.code(
        "find_one_and_replace: another _id",
        66,
        c.find_one_and_replace(doc! { "_id": 1 }, doc! { "_id": 2 }).await,
    );
    c.create_index(
        mongodb::IndexModel::builder()
            .keys(doc! { "u": 1 })
            .options(
                mongodb::options::IndexOptions::builder()
                    .unique(true)
                    .sparse(true)
                    .build(),
            )
            .build(),
    )
    .await?;
    c.update_one(doc! { "_id": 1 }, doc! { "$set": { "u": 1 } })
        .await?;
    checks.code(
        "find_one_and_update: a duplicate",
        11000,
        c.find_one_and_update(doc! { "_id": 2 }, doc! { "$set": { "u": 1 } })
            .await,
    );
    let both = doc! { "findAndModify": "find_and_modify", "query": {}, "remove": true, "update": { "a": 1 } };
    checks.code(
        "findAndModify: remove and update",
        9,
        context.db.run_command(both).await,
    );
    let neither = doc! { "findAndModify": "find_and_modify", "query": {} };
    checks.code("findAndModify: neither", 9, context.db.run_command(neither).await);
    let raw = doc! {
        "findAndModify": "find_and_modify", "query": { "_id": 70 }, "update": { "$set": { "a": 1 } }, "upsert": true,
    };
    let reply = context.db.run_command(raw).await?;
    checks.is(
        "findAndModify: lastErrorObject of an upsert",
        (reply.get("lastErrorObject"), reply.get("value")),
        (
            Some(Bson::Document(
                doc! { "n": 1, "updatedExisting": false, "upserted": 70 },
            )),
            Some(Bson::Null),
        ),
    );
    Ok(())
}
