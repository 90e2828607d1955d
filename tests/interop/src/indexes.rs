//! Creating, listing and dropping indexes, and their effects.

use crate::checks::{Checks, code_name_of};
use crate::context::{Context, DATABASE, case_insensitive, docs, ids};
use futures_util::TryStreamExt;
use mongodb::IndexModel;
use mongodb::bson::{Document, doc};
use mongodb::error::Result;
use mongodb::options::{Hint, IndexOptions};
use std::time::Duration;

pub(crate) async fn run(checks: &mut Checks, context: &Context) -> Result<()> {
    create(checks, context).await?;
    rejected(checks, context).await?;
    list_and_drop(checks, context).await?;
    unique(checks, context).await?;
    hints(checks, context).await
}

fn model(keys: Document, options: IndexOptions) -> IndexModel {
    IndexModel::builder().keys(keys).options(options).build()
}

fn plain(keys: Document) -> IndexModel {
    IndexModel::builder().keys(keys).build()
}

fn named(name: &str) -> IndexOptions {
    IndexOptions::builder().name(name.to_owned()).build()
}

fn unique_index(keys: Document) -> IndexModel {
    model(keys, IndexOptions::builder().unique(true).build())
}

async fn create(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("indexed");
    let name = |result: Result<mongodb::results::CreateIndexResult>| result.map(|result| result.index_name);
    checks.eq(
        "create_index: name",
        name(c.create_index(unique_index(doc! { "email": 1 })).await),
        "email_1",
    );
    checks.eq(
        "create_index: the same again",
        name(c.create_index(unique_index(doc! { "email": 1 })).await),
        "email_1",
    );
    let partial = IndexOptions::builder()
        .name("ab".to_owned())
        .partial_filter_expression(doc! { "a": { "$gt": 0 } })
        .build();
    let ttl = IndexOptions::builder()
        .expire_after(Duration::from_secs(60))
        .build();
    let text = IndexOptions::builder().weights(doc! { "t": 10 }).build();
    let hidden = IndexOptions::builder().hidden(true).build();
    let created = c
        .create_indexes([
            model(doc! { "a": 1, "b": -1 }, partial),
            model(doc! { "at": 1 }, ttl),
            model(doc! { "t": "text" }, text),
            model(doc! { "secret": 1 }, hidden),
            plain(doc! { "$**": 1 }),
            plain(doc! { "h": "hashed" }),
            plain(doc! { "g": "2dsphere" }),
            model(
                doc! { "ci": 1 },
                IndexOptions::builder()
                    .unique(true)
                    .sparse(true)
                    .collation(case_insensitive())
                    .build(),
            ),
        ])
        .await;
    checks.eq(
        "create_indexes: names",
        created.map(|result| result.index_names),
        [
            "ab",
            "at_1",
            "t_text",
            "secret_1",
            "$**_1",
            "h_hashed",
            "g_2dsphere",
            "ci_1",
        ],
    );
    let reply = context
        .db
        .run_command(doc! { "createIndexes": "indexed", "indexes": [{ "key": { "z": 1 }, "name": "z_1" }] })
        .await?;
    checks.is(
        "createIndexes: counts",
        (
            reply.get_i32("numIndexesBefore").ok(),
            reply.get_i32("numIndexesAfter").ok(),
        ),
        (Some(10), Some(11)),
    );
    let reply = context
        .db
        .run_command(doc! { "createIndexes": "indexed", "indexes": [{ "key": { "z": 1 }, "name": "z_1" }] })
        .await?;
    checks.is(
        "createIndexes: note",
        reply.get_str("note").ok(),
        Some("all indexes already exist"),
    );
    Ok(())
}

async fn rejected(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("indexed");
    let other_name = IndexOptions::builder()
        .name("other".to_owned())
        .unique(true)
        .build();
    let cases = [
        ("another name", 85, model(doc! { "email": 1 }, other_name)),
        ("other options", 86, plain(doc! { "email": 1 })),
        (
            "a name of another key",
            86,
            model(doc! { "x": 1 }, named("email_1")),
        ),
        ("direction 0", 67, plain(doc! { "x": 0 })),
        ("an unknown kind", 67, plain(doc! { "x": "nothing" })),
        ("no key", 67, model(doc! {}, named("none"))),
        (
            "sparse and partial",
            67,
            model(
                doc! { "x": 1 },
                IndexOptions::builder()
                    .sparse(true)
                    .partial_filter_expression(doc! { "x": 1 })
                    .build(),
            ),
        ),
        ("a second text index", 85, plain(doc! { "u": "text" })),
    ];
    for (name, code, index) in cases {
        checks.code(
            &format!("create_index rejected: {name}"),
            code,
            c.create_index(index).await,
        );
    }
    let unknown =
        doc! { "createIndexes": "indexed", "indexes": [{ "key": { "x": 1 }, "name": "x_1", "nonsense": 1 }] };
    checks.code(
        "create_index rejected: unknown option",
        197,
        context.db.run_command(unknown).await,
    );
    let duplicates = context.collection("duplicates");
    duplicates.insert_many([doc! { "v": 1 }, doc! { "v": 1 }]).await?;
    checks.code(
        "create_index rejected: duplicates exist",
        11000,
        duplicates.create_index(unique_index(doc! { "v": 1 })).await,
    );
    checks.eq(
        "create_index rejected: no index is created",
        duplicates.list_index_names().await,
        ["_id_"],
    );
    let parallel = context.collection("parallel");
    parallel.create_index(plain(doc! { "a": 1, "b": 1 })).await?;
    checks.code(
        "parallel arrays",
        171,
        parallel.insert_one(doc! { "a": [1], "b": [2] }).await,
    );
    Ok(())
}

async fn list_and_drop(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("indexed");
    let mut names = c.list_index_names().await?;
    names.sort_unstable();
    checks.is(
        "list_index_names",
        names,
        [
            "$**_1",
            "_id_",
            "ab",
            "at_1",
            "ci_1",
            "email_1",
            "g_2dsphere",
            "h_hashed",
            "secret_1",
            "t_text",
            "z_1",
        ],
    );
    let models: Vec<IndexModel> = c.list_indexes().await?.try_collect().await?;
    let options = |name: &str| {
        let named = |model: &&IndexModel| {
            model
                .options
                .as_ref()
                .is_some_and(|options| options.name.as_deref() == Some(name))
        };
        models
            .iter()
            .find(named)
            .map(|model| (model.keys.clone(), model.options.clone().unwrap_or_default()))
    };
    checks.is(
        "list_indexes: _id first",
        models.first().map(|model| model.keys.clone()),
        Some(doc! { "_id": 1 }),
    );
    checks.is(
        "list_indexes: compound and partial",
        options("ab").map(|(keys, options)| (keys, options.partial_filter_expression)),
        Some((doc! { "a": 1, "b": -1 }, Some(doc! { "a": { "$gt": 0 } }))),
    );
    checks.is(
        "list_indexes: time to live",
        options("at_1").map(|(_, options)| options.expire_after),
        Some(Some(Duration::from_secs(60))),
    );
    checks.is(
        "list_indexes: unique",
        options("email_1").map(|(_, options)| options.unique),
        Some(Some(true)),
    );
    checks.is(
        "list_indexes: hidden",
        options("secret_1").map(|(_, options)| options.hidden),
        Some(Some(true)),
    );
    checks.is(
        "list_indexes: text",
        options("t_text").map(|(keys, options)| (keys, options.weights, options.default_language)),
        Some((
            doc! { "_fts": "text", "_ftsx": 1 },
            Some(doc! { "t": 10 }),
            Some("english".to_owned()),
        )),
    );
    checks.is(
        "list_indexes: collation",
        options("ci_1")
            .and_then(|(_, options)| options.collation)
            .map(|collation| collation.locale),
        Some("en"),
    );
    checks.eq("drop_index", c.drop_index("ab").await, ());
    if let Some(error) = checks.code("drop_index: again", 27, c.drop_index("ab").await) {
        checks.is("drop_index: again: name", code_name_of(&error), "IndexNotFound");
    }
    checks.code("drop_index: of _id", 72, c.drop_index("_id_").await);
    let by_keys = context
        .db
        .run_command(doc! { "dropIndexes": "indexed", "index": { "at": 1 } })
        .await;
    checks.eq(
        "dropIndexes: by key",
        by_keys.map(|reply| reply.get_i32("nIndexesWas").ok()),
        Some(10),
    );
    checks.eq("drop_indexes", c.drop_indexes().await, ());
    checks.eq(
        "drop_indexes: only _id left",
        c.list_index_names().await,
        ["_id_"],
    );
    let missing = doc! { "dropIndexes": "missing", "index": "x" };
    checks.code(
        "dropIndexes: missing collection",
        26,
        context.db.run_command(missing).await,
    );
    let missing = context.db.run_command(doc! { "listIndexes": "missing" }).await;
    if let Some(error) = checks.code("listIndexes: missing collection", 26, missing) {
        checks.is(
            "listIndexes: missing collection: name",
            code_name_of(&error),
            "NamespaceNotFound",
        );
    }
    Ok(())
}

async fn unique(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("unique");
    c.create_index(unique_index(doc! { "a": 1, "b": -1 })).await?;
    c.insert_one(doc! { "_id": 1, "a": 1, "b": "x" }).await?;
    checks.code_and_message(
        "unique: compound",
        11000,
        &format!(
            "E11000 duplicate key error collection: {DATABASE}.unique index: a_1_b_-1 dup key: {{ a: 1, b: \"x\" }}"
        ),
        c.insert_one(doc! { "_id": 2, "a": 1, "b": "x" }).await,
    );
    c.insert_one(doc! { "_id": 3 }).await?;
    checks.code(
        "unique: missing is null",
        11000,
        c.insert_one(doc! { "_id": 4 }).await,
    );
    let sparse = context.collection("unique_sparse");
    sparse
        .create_index(model(
            doc! { "a": 1 },
            IndexOptions::builder().unique(true).sparse(true).build(),
        ))
        .await?;
    let many = sparse
        .insert_many([doc! { "_id": 1 }, doc! { "_id": 2 }, doc! { "_id": 3, "a": 1 }])
        .await;
    checks.eq(
        "unique and sparse: missing fields do not collide",
        many.map(|result| result.inserted_ids.len()),
        3,
    );
    checks.code(
        "unique and sparse: values do",
        11000,
        sparse.insert_one(doc! { "_id": 4, "a": 1 }).await,
    );
    let partial = context.collection("unique_partial");
    let options = IndexOptions::builder()
        .unique(true)
        .partial_filter_expression(doc! { "live": true })
        .build();
    partial.create_index(model(doc! { "a": 1 }, options)).await?;
    let many = [
        doc! { "_id": 1, "a": 1, "live": true },
        doc! { "_id": 2, "a": 1, "live": false },
        doc! { "_id": 3, "a": 1 },
    ];
    checks.eq(
        "unique and partial: outside the filter",
        partial.insert_many(many).await.map(|r| r.inserted_ids.len()),
        3,
    );
    let entering = partial
        .update_one(doc! { "_id": 2 }, doc! { "$set": { "live": true } })
        .await;
    checks.code("unique and partial: entering the filter", 11000, entering);
    let array = context.collection("unique_array");
    array.create_index(unique_index(doc! { "l": 1 })).await?;
    array.insert_one(doc! { "_id": 1, "l": [1, 1, 2] }).await?;
    checks.code(
        "unique: an element of an array",
        11000,
        array.insert_one(doc! { "_id": 2, "l": 2 }).await,
    );
    let folded = context.collection("unique_folded");
    let options = IndexOptions::builder()
        .unique(true)
        .collation(case_insensitive())
        .build();
    folded.create_index(model(doc! { "w": 1 }, options)).await?;
    folded.insert_one(doc! { "w": "A" }).await?;
    checks.code(
        "unique: collation",
        11000,
        folded.insert_one(doc! { "w": "a" }).await,
    );
    Ok(())
}

async fn hints(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("hints");
    c.insert_many([
        doc! { "_id": 1, "s": 1 },
        doc! { "_id": 2 },
        doc! { "_id": 3, "s": 0 },
    ])
    .await?;
    c.create_index(model(
        doc! { "s": 1 },
        IndexOptions::builder().sparse(true).build(),
    ))
    .await?;
    let by_name = c.find(doc! {}).hint(Hint::Name("s_1".to_owned())).await;
    checks.eq(
        "hint: a sparse index returns its documents in its order",
        ids(by_name).await,
        [3, 1],
    );
    let by_keys = c
        .find(doc! {})
        .hint(Hint::Keys(doc! { "s": 1 }))
        .projection(doc! { "_id": 1 })
        .await;
    checks.eq(
        "hint: by its keys",
        docs(by_keys).await,
        [doc! { "_id": 3 }, doc! { "_id": 1 }],
    );
    let none = Hint::Name("none".to_owned());
    checks.code(
        "hint: no such index",
        2,
        c.delete_many(doc! {}).hint(none.clone()).await,
    );
    checks.code(
        "hint: no such index in an update",
        2,
        c.update_one(doc! {}, doc! { "$set": { "a": 1 } })
            .hint(none)
            .await,
    );
    Ok(())
}
