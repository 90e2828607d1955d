//! Updates that the server rejects, by error code.

use crate::checks::Checks;
use crate::context::Context;
use mongodb::bson::{Bson, Document, doc};
use mongodb::error::Result;
use mongodb::options::UpdateModifications;

pub(crate) async fn run(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("update_errors");
    let stored = doc! { "_id": 1, "a": 1, "name": "Ann", "l": [1, 2], "o": {} };
    c.insert_one(&stored).await?;
    let cases: [(&str, i32, UpdateModifications); 16] = [
        (
            "two operators on one path",
            40,
            doc! { "$set": { "a": 1 }, "$inc": { "a.b": 1 } }.into(),
        ),
        ("the _id", 66, doc! { "$set": { "_id": 2 } }.into()),
        ("$inc of a string", 14, doc! { "$inc": { "name": 1 } }.into()),
        ("$inc by a string", 14, doc! { "$inc": { "a": "1" } }.into()),
        ("$mul of a document", 14, doc! { "$mul": { "o": 2 } }.into()),
        ("unknown operator", 9, doc! { "$foo": { "a": 1 } }.into()),
        ("an operator's argument", 9, doc! { "$set": 1 }.into()),
        (
            "a path through a plain value",
            28,
            doc! { "$set": { "name.x": 1 } }.into(),
        ),
        ("$push to a plain value", 2, doc! { "$push": { "a": 1 } }.into()),
        (
            "$addToSet to a plain value",
            2,
            doc! { "$addToSet": { "a": 1 } }.into(),
        ),
        ("$pop of a plain value", 14, doc! { "$pop": { "a": 1 } }.into()),
        ("$pop by another number", 9, doc! { "$pop": { "l": 2 } }.into()),
        (
            "the positional operator without a match",
            2,
            doc! { "$set": { "l.$": 1 } }.into(),
        ),
        ("an empty path", 56, doc! { "$set": { "": 1 } }.into()),
        ("a pipeline's stage", 40324, vec![doc! { "$foo": 1 }].into()),
        (
            "a stage that updates may not have",
            72,
            vec![doc! { "$match": {} }].into(),
        ),
    ];
    for (name, code, update) in cases {
        let result = c.update_one(doc! { "_id": 1 }, update).await;
        checks.code(&format!("update rejected: {name}"), code, result);
    }
    filters(checks, context).await;
    checks.eq(
        "update rejected: no document is changed",
        c.find_one(doc! {}).await,
        Some(stored),
    );
    upserts(checks, context).await?;
    ordered(checks, context).await
}

async fn filters(checks: &mut Checks, context: &Context) {
    let c = context.collection("update_errors");
    let set = |path: &str| doc! { "$set": { path: 1 } };
    let cases: [(&str, i32, Document, Vec<Document>); 5] = [
        ("no filter for an identifier", 2, set("l.$[x]"), vec![]),
        ("a filter that is not used", 9, set("a"), vec![doc! { "x": 1 }]),
        (
            "two filters for an identifier",
            9,
            set("l.$[x]"),
            vec![doc! { "x": 1 }, doc! { "x": 2 }],
        ),
        (
            "two identifiers in a filter",
            9,
            set("l.$[x]"),
            vec![doc! { "x": 1, "y": 2 }],
        ),
        ("not an array", 2, set("a.$[x]"), vec![doc! { "x": 1 }]),
    ];
    for (name, code, update, filters) in cases {
        let result = c
            .update_one(doc! { "_id": 1 }, update)
            .array_filters(filters)
            .await;
        checks.code(&format!("array filters rejected: {name}"), code, result);
    }
}

async fn upserts(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("update_errors");
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
    c.insert_one(doc! { "_id": 2, "u": 1 }).await?;
    let duplicate = c
        .update_one(doc! { "_id": 3 }, doc! { "$set": { "u": 1 } })
        .upsert(true)
        .await;
    checks.code("upsert rejected: a duplicate", 11000, duplicate);
    checks.eq(
        "upsert rejected: no document is inserted",
        c.find_one(doc! { "_id": 3 }).await,
        None::<()>,
    );
    let duplicate = c.update_one(doc! { "_id": 1 }, doc! { "$set": { "u": 1 } }).await;
    checks.code("update rejected: a duplicate", 11000, duplicate);
    let ambiguous = c
        .update_one(
            doc! { "$and": [{ "k": 1 }, { "k": 2 }] },
            doc! { "$set": { "v": 1 } },
        )
        .upsert(true)
        .await;
    checks.code("upsert rejected: two values for a field", 54, ambiguous);
    let many = context
        .db
        .run_command(doc! { "update": "update_errors", "updates": [
            { "q": {}, "u": { "a": 1 }, "multi": true },
        ] });
    let reply = many.await?;
    let code = reply
        .get_array("writeErrors")?
        .first()
        .and_then(Bson::as_document);
    checks.is(
        "update rejected: a replacement of many",
        code.and_then(|error| error.get_i32("code").ok()),
        Some(9),
    );
    Ok(())
}

/// Several updates in a command, ordered and unordered.
async fn ordered(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("update_ordered");
    c.insert_many([
        doc! { "_id": 1, "n": 0 },
        doc! { "_id": 2, "n": 0, "s": "x" },
        doc! { "_id": 3, "n": 0 },
    ])
    .await?;
    for (ordered, n, upserted) in [(true, 1, 0), (false, 2, 1)] {
        let reply = context
            .db
            .run_command(doc! {
                "update": "update_ordered",
                "ordered": ordered,
                "updates": [
                    { "q": { "_id": 1 }, "u": { "$inc": { "n": 1 } } },
                    { "q": { "_id": 2 }, "u": { "$inc": { "s": 1 } } },
                    { "q": { "_id": 9 }, "u": { "$set": { "n": 1 } }, "upsert": true },
                ],
            })
            .await?;
        let errors = reply.get_array("writeErrors")?;
        let index = errors
            .iter()
            .filter_map(Bson::as_document)
            .map(|error| error.get_i32("index").ok());
        let index: Vec<_> = index.collect();
        let name = if ordered { "ordered" } else { "unordered" };
        checks.is(&format!("updates {name}: the error's index"), index, [Some(1)]);
        checks.is(&format!("updates {name}: n"), reply.get_i32("n").ok(), Some(n));
        checks.is(
            &format!("updates {name}: upserted"),
            reply.get_array("upserted").map_or(0, Vec::len),
            upserted,
        );
    }
    Ok(())
}
