//! Query operators, projection, sort order and collation.

use crate::checks::Checks;
use crate::context::{Context, case_insensitive, ids, regex};
use mongodb::bson::{Bson, doc};
use mongodb::error::Result;
use mongodb::options::{Collation, CollationStrength};

pub(crate) async fn run(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("queries");
    c.insert_many([
        doc! { "_id": 1, "lines": [{ "sku": "a", "qty": 1 }, { "sku": "b", "qty": 5 }], "name": "Ann", "n": 1, "f": 7 },
        doc! { "_id": 2, "lines": [{ "sku": "a", "qty": 5 }], "name": "bob", "n": 2_i64, "x": Bson::Null },
        doc! { "_id": 3, "lines": [], "name": "Cyd", "n": 3.5, "tags": ["t", "u"], "grid": [[1, 2], [3]] },
    ])
    .await?;
    operators(checks, context).await?;
    rejected(checks, context).await;
    projection(checks, context).await?;
    order(checks, context).await?;
    collation(checks, context).await
}

async fn operators(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("queries");
    let cases = [
        (
            "$elemMatch",
            doc! { "lines": { "$elemMatch": { "sku": "a", "qty": 5 } } },
            vec![2],
        ),
        (
            "dotted paths",
            doc! { "lines.sku": "a", "lines.qty": 5 },
            vec![1, 2],
        ),
        ("a position in a path", doc! { "lines.0.sku": "a" }, vec![1, 2]),
        ("$size", doc! { "lines": { "$size": 0 } }, vec![3]),
        (
            "null matches a missing field",
            doc! { "x": Bson::Null },
            vec![1, 2, 3],
        ),
        ("$exists", doc! { "x": { "$exists": true } }, vec![2]),
        ("$type by name", doc! { "n": { "$type": "long" } }, vec![2]),
        ("$type by number", doc! { "n": { "$type": [1, 16] } }, vec![1, 3]),
        ("$type number", doc! { "n": { "$type": "number" } }, vec![1, 2, 3]),
        (
            "$regex",
            doc! { "name": { "$regex": "^[ab]", "$options": "i" } },
            vec![1, 2],
        ),
        (
            "a regular expression",
            doc! { "name": regex("D$", "i")? },
            vec![3],
        ),
        (
            "$in with a regular expression",
            doc! { "name": { "$in": [regex("^A", "")?, "bob"] } },
            vec![1, 2],
        ),
        ("$all", doc! { "tags": { "$all": ["u", "t"] } }, vec![3]),
        ("$not", doc! { "n": { "$not": { "$gt": 2 } } }, vec![1, 2]),
        ("$nor", doc! { "$nor": [{ "_id": 1 }, { "n": 3.5 }] }, vec![2]),
        (
            "$or and $and",
            doc! { "$or": [{ "_id": 1 }, { "$and": [{ "n": 3.5 }, { "name": "Cyd" }] }] },
            vec![1, 3],
        ),
        ("$nin", doc! { "_id": { "$nin": [1, 2] } }, vec![3]),
        ("$ne", doc! { "lines.sku": { "$ne": "b" } }, vec![2, 3]),
        ("$mod", doc! { "n": { "$mod": [2, 0] } }, vec![2]),
        ("$bitsAllSet", doc! { "f": { "$bitsAllSet": [0, 1, 2] } }, vec![1]),
        ("$bitsAnyClear", doc! { "f": { "$bitsAnyClear": 8 } }, vec![1]),
        ("$expr", doc! { "$expr": { "$gt": ["$n", 1.5] } }, vec![2, 3]),
        ("a whole array", doc! { "tags": ["t", "u"] }, vec![3]),
        ("an array within an array", doc! { "grid": [3] }, vec![3]),
        (
            "a whole document, order counts",
            doc! { "lines": { "qty": 5, "sku": "a" } },
            vec![],
        ),
        (
            "a whole document",
            doc! { "lines": { "sku": "a", "qty": 5 } },
            vec![2],
        ),
        ("numbers compare across types", doc! { "n": 2.0 }, vec![2]),
        ("other types do not", doc! { "n": "2" }, vec![]),
        ("ranges stay within a type", doc! { "name": { "$gt": 1 } }, vec![]),
        (
            "$jsonSchema",
            doc! { "$jsonSchema": { "required": ["tags"] } },
            vec![3],
        ),
    ];
    for (name, filter, expected) in cases {
        let found = ids(c.find(filter).sort(doc! { "_id": 1 }).await).await;
        checks.eq(&format!("filter: {name}"), found, expected);
    }
    Ok(())
}

async fn rejected(checks: &mut Checks, context: &Context) {
    let c = context.collection("queries");
    let cases = [
        ("unknown operator", doc! { "a": { "$foo": 1 } }, 2),
        ("unknown top level operator", doc! { "$foo": 1 }, 2),
        ("$in needs an array", doc! { "a": { "$in": 1 } }, 2),
        ("$or must not be empty", doc! { "$or": [] }, 2),
        ("$all needs an array", doc! { "a": { "$all": 1 } }, 2),
        ("$mod needs two numbers", doc! { "a": { "$mod": [2] } }, 2),
        ("$regex does not parse", doc! { "a": { "$regex": "(" } }, 51091),
        (
            "$type does not know a name",
            doc! { "a": { "$type": "nothing" } },
            2,
        ),
        (
            "$expr of an unknown expression",
            doc! { "$expr": { "$foo": 1 } },
            168,
        ),
        (
            "$expr of an undefined variable",
            doc! { "$expr": { "$eq": ["$a", "$$none"] } },
            17276,
        ),
    ];
    for (name, filter, code) in cases {
        let found = c.find_one(filter).await;
        checks.code(&format!("filter rejected: {name}"), code, found);
    }
    checks.code(
        "sort rejected: direction",
        15975,
        c.find_one(doc! {}).sort(doc! { "a": 2 }).await,
    );
    let mixed = c.find_one(doc! {}).projection(doc! { "a": 1, "b": 0 }).await;
    checks.code("projection rejected: exclusion in inclusion", 31254, mixed);
    let mixed = c.find_one(doc! {}).projection(doc! { "a": 0, "b": 1 }).await;
    checks.code("projection rejected: inclusion in exclusion", 31253, mixed);
    let collision = c.find_one(doc! {}).projection(doc! { "a": 1, "a.b": 1 }).await;
    checks.code("projection rejected: path collision", 31249, collision);
    let hint = mongodb::options::Hint::Name("none".to_owned());
    checks.code(
        "hint rejected: unknown index",
        2,
        c.find_one(doc! {}).hint(hint).await,
    );
    let negative = doc! { "find": "queries", "skip": -1 };
    checks.code(
        "skip rejected: negative",
        2,
        context.db.run_command(negative).await,
    );
}

async fn projection(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("queries");
    let cases = [
        (
            "inclusion of a nested field",
            doc! { "lines.qty": 1 },
            doc! { "_id": 1, "lines": [{ "qty": 1 }, { "qty": 5 }] },
        ),
        (
            "exclusion",
            doc! { "lines.sku": 0, "f": 0, "n": 0 },
            doc! { "_id": 1, "lines": [{ "qty": 1 }, { "qty": 5 }], "name": "Ann" },
        ),
        (
            "$slice",
            doc! { "lines": { "$slice": -1 }, "name": 0, "n": 0, "f": 0 },
            doc! { "_id": 1, "lines": [{ "sku": "b", "qty": 5 }] },
        ),
        (
            "$elemMatch",
            doc! { "lines": { "$elemMatch": { "qty": { "$gt": 1 } } } },
            doc! { "_id": 1, "lines": [{ "sku": "b", "qty": 5 }] },
        ),
        (
            "positional",
            doc! { "lines.$": 1 },
            doc! { "_id": 1, "lines": [{ "sku": "b", "qty": 5 }] },
        ),
        (
            "computed",
            doc! { "_id": 0, "sum": { "$sum": "$lines.qty" }, "text": { "$literal": "$n" } },
            doc! { "sum": 6, "text": "$n" },
        ),
        ("only the _id", doc! { "_id": 1 }, doc! { "_id": 1 }),
        ("nothing", doc! { "none": 1, "_id": 0 }, doc! {}),
    ];
    for (name, projection, expected) in cases {
        let found = c.find_one(doc! { "lines.sku": "b" }).projection(projection).await;
        checks.eq(&format!("projection: {name}"), found, Some(expected));
    }
    Ok(())
}

/// The comparison order of BSON types.
async fn order(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("order");
    let values = [
        Bson::MinKey,
        Bson::Null,
        Bson::Double(f64::NAN),
        Bson::Int32(-1),
        Bson::Double(0.5),
        Bson::Int64(2),
        Bson::String("B".to_owned()),
        Bson::String("a".to_owned()),
        Bson::Document(doc! { "a": 1 }),
        Bson::Binary(mongodb::bson::Binary {
            subtype: mongodb::bson::spec::BinarySubtype::Generic,
            bytes: vec![1],
        }),
        Bson::ObjectId(mongodb::bson::oid::ObjectId::from_bytes([7; 12])),
        Bson::Boolean(false),
        Bson::Boolean(true),
        Bson::DateTime(mongodb::bson::DateTime::from_millis(-5)),
        Bson::Timestamp(mongodb::bson::Timestamp {
            time: 1,
            increment: 1,
        }),
        regex("a", "")?,
        Bson::MaxKey,
    ];
    let count = values.len() as i32;
    // Inserted in reverse order, so that the sort order differs from the insertion order.
    let documents = values
        .into_iter()
        .enumerate()
        .map(|(index, v)| doc! { "_id": index as i32, "v": v });
    let mut documents: Vec<_> = documents.collect();
    documents.reverse();
    c.insert_many(documents).await?;
    let ascending: Vec<i32> = (0..count).collect();
    let descending: Vec<i32> = (0..count).rev().collect();
    checks.eq(
        "sort: types",
        ids(c.find(doc! {}).sort(doc! { "v": 1 }).await).await,
        &ascending,
    );
    checks.eq(
        "sort: types backwards",
        ids(c.find(doc! {}).sort(doc! { "v": -1 }).await).await,
        descending,
    );
    let sorted = c.aggregate([doc! { "$sort": { "v": 1 } }]).await;
    checks.eq("sort: types in an aggregation", ids(sorted).await, ascending);
    let arrays = context.collection("order_arrays");
    arrays
        .insert_many([
            doc! { "_id": 1, "v": [3, 9] },
            doc! { "_id": 2, "v": [1, 10] },
            doc! { "_id": 3, "v": 5 },
            doc! { "_id": 4, "v": [] },
            doc! { "_id": 5 },
        ])
        .await?;
    checks.eq(
        "sort: an array by its least element, an empty one before null",
        ids(arrays.find(doc! {}).sort(doc! { "v": 1 }).await).await,
        [4, 5, 2, 1, 3],
    );
    checks.eq(
        "sort: an array by its greatest element backwards",
        ids(arrays.find(doc! {}).sort(doc! { "v": -1 }).await).await,
        [2, 1, 3, 5, 4],
    );
    Ok(())
}

async fn collation(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("collation");
    let words = ["b", "A", "a", "B", "é", "e", "10", "9"];
    c.insert_many(
        words
            .iter()
            .enumerate()
            .map(|(id, word)| doc! { "_id": id as i32, "w": word }),
    )
    .await?;
    let sort = doc! { "w": 1, "_id": 1 };
    checks.eq(
        "collation: none is by bytes",
        ids(c.find(doc! {}).sort(sort.clone()).await).await,
        [6, 7, 1, 3, 2, 0, 5, 4],
    );
    checks.eq(
        "collation: strength 2 ignores case, not accents",
        ids(c
            .find(doc! {})
            .sort(sort.clone())
            .collation(case_insensitive())
            .await)
        .await,
        [6, 7, 1, 2, 0, 3, 5, 4],
    );
    let english = Collation::builder().locale("en").build();
    checks.eq(
        "collation: lower case first",
        ids(c.find(doc! {}).sort(sort.clone()).collation(english).await).await,
        [6, 7, 2, 1, 0, 3, 5, 4],
    );
    let numeric = Collation::builder().locale("en").numeric_ordering(true).build();
    checks.eq(
        "collation: numeric",
        ids(c.find(doc! {}).sort(sort).collation(numeric).limit(2).await).await,
        [7, 6],
    );
    let base = || {
        Collation::builder()
            .locale("en")
            .strength(CollationStrength::Primary)
            .build()
    };
    checks.eq(
        "collation: strength 1 ignores accents",
        c.count_documents(doc! { "w": "E" }).collation(base()).await,
        2,
    );
    checks.eq(
        "collation: $in",
        c.count_documents(doc! { "w": { "$in": ["B", "x"] } })
            .collation(base())
            .await,
        2,
    );
    let unknown = Collation::builder().locale("nowhere").build();
    checks.is(
        "collation: unknown locale",
        c.find_one(doc! {}).collation(unknown).await.is_err(),
        true,
    );
    context
        .db
        .create_collection("collated")
        .collation(case_insensitive())
        .await?;
    let collated = context.collection("collated");
    collated.insert_one(doc! { "_id": 1, "w": "Word" }).await?;
    checks.eq(
        "collation: a collection's own",
        collated.count_documents(doc! { "w": "WORD" }).await,
        1,
    );
    let simple = Collation::builder().locale("simple").build();
    checks.eq(
        "collation: simple overrides it",
        collated
            .count_documents(doc! { "w": "WORD" })
            .collation(simple)
            .await,
        0,
    );
    Ok(())
}
