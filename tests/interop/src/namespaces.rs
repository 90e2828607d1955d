//! Collections and databases: creating, listing, renaming, validating, dropping.

use crate::checks::{Checks, code_name_of};
use crate::context::{Context, DATABASE, ids};
use futures_util::TryStreamExt;
use mongodb::bson::{Bson, doc};
use mongodb::error::{ErrorKind, Result, WriteFailure};
use mongodb::options::{ValidationAction, ValidationLevel};
use mongodb::results::CollectionType;

pub(crate) async fn run(checks: &mut Checks, context: &Context) -> Result<()> {
    collections(checks, context).await?;
    validation(checks, context).await?;
    rename(checks, context).await?;
    databases(checks, context).await
}

async fn collections(checks: &mut Checks, context: &Context) -> Result<()> {
    let db = context.client.database("interop_check_listing");
    db.drop().await?;
    checks.eq(
        "list_collection_names: no database",
        db.list_collection_names().await,
        [""; 0],
    );
    checks.eq("create_collection", db.create_collection("made").await, ());
    checks.eq(
        "create_collection: the same again",
        db.create_collection("made").await,
        (),
    );
    db.create_collection("capped")
        .capped(true)
        .size(4096)
        .max(2)
        .await?;
    db.collection("implied").insert_one(doc! { "_id": 1 }).await?;
    let mut names = db.list_collection_names().await?;
    names.sort_unstable();
    checks.is("list_collection_names", names, ["capped", "implied", "made"]);
    checks.eq(
        "list_collection_names: filter",
        db.list_collection_names()
            .filter(doc! { "options.capped": true })
            .await,
        ["capped"],
    );
    let mut listed: Vec<_> = db.list_collections().await?.try_collect().await?;
    listed.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    checks.is(
        "list_collections: kinds",
        listed
            .iter()
            .map(|c| c.collection_type == CollectionType::Collection)
            .collect::<Vec<_>>(),
        [true; 3],
    );
    let capped = listed
        .first()
        .map(|c| (c.options.capped, c.options.size, c.options.max, c.info.read_only));
    checks.is(
        "list_collections: options",
        capped,
        Some((Some(true), Some(4096), Some(2), false)),
    );
    checks.is(
        "list_collections: uuids",
        listed
            .iter()
            .all(|c| c.info.uuid.as_ref().is_some_and(|uuid| uuid.bytes.len() == 16)),
        true,
    );
    checks.is(
        "list_collections: _id index",
        listed.first().and_then(|c| c.id_index.clone()),
        Some(doc! { "v": 2, "key": { "_id": 1 }, "name": "_id_" }),
    );
    let other = db.create_collection("made").capped(true).size(100).await;
    if let Some(error) = checks.code("create_collection: other options", 48, other) {
        checks.is(
            "create_collection: other options: name",
            code_name_of(&error),
            "NamespaceExists",
        );
    }
    checks.code(
        "create_collection: capped without a size",
        72,
        db.create_collection("x").capped(true).await,
    );
    checks.code(
        "create_collection: a dollar in the name",
        73,
        db.create_collection("a$b").await,
    );
    checks.code("create_collection: no name", 73, db.create_collection("").await);
    let capped = db.collection("capped");
    capped.insert_many((0..4).map(|id| doc! { "_id": id })).await?;
    checks.eq(
        "capped: keeps the latest",
        ids(capped.find(doc! {}).await).await,
        [2, 3],
    );
    checks.eq(
        "drop: a collection",
        db.collection::<Bson>("made").drop().await,
        (),
    );
    checks.eq(
        "drop: a missing collection",
        db.collection::<Bson>("made").drop().await,
        (),
    );
    checks.eq("drop: a database", db.drop().await, ());
    checks.eq("drop: nothing is left", db.list_collection_names().await, [""; 0]);
    Ok(())
}

async fn validation(checks: &mut Checks, context: &Context) -> Result<()> {
    context
        .db
        .create_collection("checked")
        .validator(doc! { "$jsonSchema": { "required": ["n"], "properties": { "n": { "bsonType": "int", "minimum": 1 } } } })
        .validation_level(ValidationLevel::Strict)
        .validation_action(ValidationAction::Error)
        .await?;
    let c = context.collection("checked");
    let refused = c.insert_one(doc! { "_id": 1, "n": 0 }).await;
    if let Some(error) = checks.code("validation: insert", 121, refused) {
        let details = match &*error.kind {
            ErrorKind::Write(WriteFailure::WriteError(error)) => error.details.clone(),
            _ => None,
        };
        checks.is(
            "validation: the failing document is named",
            details.and_then(|details| details.get("failingDocumentId").cloned()),
            Some(Bson::Int32(1)),
        );
    }
    checks.eq(
        "validation: passes",
        c.insert_one(doc! { "_id": 1, "n": 1 }).await.map(|_| ()),
        (),
    );
    let updated = c
        .update_one(doc! { "_id": 1 }, doc! { "$set": { "n": "x" } })
        .await;
    checks.code("validation: update", 121, updated);
    checks.code(
        "validation: replace",
        121,
        c.replace_one(doc! { "_id": 1 }, doc! {}).await,
    );
    let modified = c
        .find_one_and_update(doc! { "_id": 1 }, doc! { "$unset": { "n": 1 } })
        .await;
    checks.code("validation: find_one_and_update", 121, modified);
    let bypassed = c
        .insert_one(doc! { "_id": 2 })
        .bypass_document_validation(true)
        .await;
    checks.eq("validation: bypassed", bypassed.map(|_| ()), ());
    context
        .db
        .run_command(doc! { "collMod": "checked", "validator": {} })
        .await?;
    checks.eq(
        "collMod: no validator any more",
        c.insert_one(doc! { "_id": 3 }).await.map(|_| ()),
        (),
    );
    let missing = context
        .db
        .run_command(doc! { "collMod": "missing", "validator": {} })
        .await;
    checks.code("collMod: missing collection", 26, missing);
    Ok(())
}

async fn rename(checks: &mut Checks, context: &Context) -> Result<()> {
    let rename = |from: &str, to: &str, drop_target: bool| {
        context.admin(doc! {
            "renameCollection": format!("{DATABASE}.{from}"), "to": format!("{DATABASE}.{to}"), "dropTarget": drop_target,
        })
    };
    context.collection("from").insert_one(doc! { "_id": 1 }).await?;
    context.collection("taken").insert_one(doc! { "_id": 2 }).await?;
    checks.code(
        "rename: the target exists",
        48,
        rename("from", "taken", false).await,
    );
    checks.code(
        "rename: the source is missing",
        26,
        rename("missing", "other", false).await,
    );
    checks.code("rename: to itself", 20, rename("from", "from", false).await);
    checks.eq(
        "rename: drops the target",
        rename("from", "taken", true).await.map(|_| ()),
        (),
    );
    checks.eq(
        "rename: the documents",
        ids(context.collection("taken").find(doc! {}).await).await,
        [1],
    );
    checks.eq(
        "rename: the source is gone",
        context
            .db
            .list_collection_names()
            .filter(doc! { "name": "from" })
            .await,
        [""; 0],
    );
    Ok(())
}

async fn databases(checks: &mut Checks, context: &Context) -> Result<()> {
    let names = context.client.list_database_names().await?;
    checks.is(
        "list_database_names",
        names.iter().any(|name| name == DATABASE),
        true,
    );
    checks.eq(
        "list_database_names: filter",
        context
            .client
            .list_database_names()
            .filter(doc! { "name": DATABASE })
            .await,
        [DATABASE],
    );
    let listed = context
        .client
        .list_databases()
        .filter(doc! { "name": DATABASE })
        .await?;
    checks.is(
        "list_databases: not empty",
        listed
            .first()
            .map(|database| (database.empty, database.size_on_disk > 0)),
        Some((false, true)),
    );
    let other = context.client.database("INTEROP_CHECK");
    let created = other.collection("c").insert_one(doc! { "_id": 1 }).await;
    checks.code("a database's name that differs only in case", 13297, created);
    Ok(())
}
