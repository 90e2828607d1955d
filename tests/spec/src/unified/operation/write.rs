//! Operations that insert, update and delete.

use marula_driver::{
    Collection, UpdateResult,
    bson::{Bson, Document, doc},
};

use super::{
    Done, Output,
    args::{Args, UpdateArgument, finish, set, set_write},
};
use crate::unified::stop::Step;

/// Returns whether the operation is one of this module.
pub(super) fn is_write(name: &str) -> bool {
    matches!(
        name,
        "insertOne" | "insertMany" | "updateOne" | "updateMany" | "replaceOne" | "deleteOne" | "deleteMany"
    )
}

pub(super) async fn run(collection: &Collection<Document>, name: &str, args: Args) -> Step<Option<Done>> {
    Ok(Some(match name {
        "insertOne" => insert_one(collection, args).await?,
        "insertMany" => insert_many(collection, args).await?,
        "updateOne" => update_one(collection, args).await?,
        "updateMany" => update_many(collection, args).await?,
        "replaceOne" => replace(collection, args).await?,
        "deleteOne" => delete(collection, args, false).await?,
        "deleteMany" => delete(collection, args, true).await?,
        _ => return Ok(None),
    }))
}

async fn insert_one(collection: &Collection<Document>, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let document = args.required("document", Args::document)?;
    let mut action = collection.insert_one(&document);
    set!(action, args; raw_data <- boolean("rawData"),
        bypass_document_validation <- boolean("bypassDocumentValidation"), comment <- bson("comment"));
    set_write!(action, args);
    finish!(action, args, session);
    Ok(action
        .await
        .map(|result| Output::Value(Bson::Document(doc! { "insertedId": result.inserted_id }))))
}

async fn insert_many(collection: &Collection<Document>, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let documents = args.required("documents", Args::documents)?;
    let mut action = collection.insert_many(&documents);
    set!(action, args; raw_data <- boolean("rawData"),
        ordered <- boolean("ordered"), bypass_document_validation <- boolean("bypassDocumentValidation"),
        comment <- bson("comment"));
    set_write!(action, args);
    finish!(action, args, session);
    Ok(action.await.map(|result| {
        let count = count(result.inserted_ids.len());
        Output::Value(Bson::Document(
            doc! { "insertedCount": count, "insertedIds": by_index(&result.inserted_ids) },
        ))
    }))
}

/// IDs by their index in the request.
pub(super) fn by_index(ids: &std::collections::BTreeMap<usize, Bson>) -> Document {
    ids.iter()
        .map(|(index, id)| (index.to_string(), id.clone()))
        .collect()
}

pub(super) fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

macro_rules! common {
    ($action:ident, $args:ident) => {
        set!($action, $args; raw_data <- boolean("rawData"),
            upsert <- boolean("upsert"), hint <- hint("hint"), collation <- collation("collation"),
            let_vars <- document("let"), bypass_document_validation <- boolean("bypassDocumentValidation"),
            comment <- bson("comment"));
    };
}

async fn update_one(collection: &Collection<Document>, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let filter = args.required("filter", Args::document)?;
    let mut action = match args.required("update", Args::update)? {
        UpdateArgument::Operators(update) => collection.update_one(filter, update),
        UpdateArgument::Pipeline(stages) => collection.update_one(filter, stages),
    };
    common!(action, args);
    set!(action, args; array_filters <- documents("arrayFilters"), sort <- document("sort"));
    set_write!(action, args);
    finish!(action, args, session);
    Ok(action.await.map(|result| updated(&result)))
}

async fn update_many(collection: &Collection<Document>, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let filter = args.required("filter", Args::document)?;
    let mut action = match args.required("update", Args::update)? {
        UpdateArgument::Operators(update) => collection.update_many(filter, update),
        UpdateArgument::Pipeline(stages) => collection.update_many(filter, stages),
    };
    common!(action, args);
    set!(action, args; array_filters <- documents("arrayFilters"));
    set_write!(action, args);
    finish!(action, args, session);
    Ok(action.await.map(|result| updated(&result)))
}

async fn replace(collection: &Collection<Document>, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let filter = args.required("filter", Args::document)?;
    let replacement = args.required("replacement", Args::document)?;
    let mut action = collection.replace_one(filter, &replacement);
    common!(action, args);
    set!(action, args; sort <- document("sort"));
    set_write!(action, args);
    finish!(action, args, session);
    Ok(action.await.map(|result| updated(&result)))
}

fn updated(result: &UpdateResult) -> Output {
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let mut document = doc! {
        "matchedCount": number(result.matched_count),
        "modifiedCount": number(result.modified_count),
        "upsertedCount": i64::from(result.upserted_id.is_some()),
    };
    if let Some(id) = &result.upserted_id {
        document.insert("upsertedId", id.clone());
    }
    Output::Value(Bson::Document(document))
}

async fn delete(collection: &Collection<Document>, mut args: Args, many: bool) -> Step<Done> {
    let mut session = args.session();
    let filter = args.required("filter", Args::document)?;
    let mut action = if many {
        collection.delete_many(filter)
    } else {
        collection.delete_one(filter)
    };
    set!(action, args; raw_data <- boolean("rawData"),
        hint <- hint("hint"), collation <- collation("collation"), let_vars <- document("let"),
        comment <- bson("comment"));
    set_write!(action, args);
    finish!(action, args, session);
    Ok(action.await.map(|result| {
        let count = i64::try_from(result.deleted_count).unwrap_or(i64::MAX);
        Output::Value(Bson::Document(doc! { "deletedCount": count }))
    }))
}
