//! `bulkWrite` on a collection, and `clientBulkWrite`.

use std::collections::BTreeMap;

use marula_driver::{
    BulkWriteResult, Client, ClientBulkWriteResult, ClientWriteModel, Collection, Namespace, WriteModel,
    bson::{Bson, Document, doc},
};

use super::{
    Done, Output,
    args::{Args, UpdateArgument, finish, set, set_write},
    write::{by_index, count},
};
use crate::unified::stop::{Step, failed};

pub(super) async fn run(collection: &Collection<Document>, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let requests = args.required("requests", Args::documents)?;
    let models: Vec<WriteModel> = requests
        .iter()
        .map(|request| model(&request_name(request)?, request_args("bulkWrite", request)?))
        .collect::<Step<_>>()?;
    let mut action = collection.bulk_write(models);
    set!(action, args; raw_data <- boolean("rawData"),
        ordered <- boolean("ordered"), bypass_document_validation <- boolean("bypassDocumentValidation"),
        comment <- bson("comment"), let_vars <- document("let"));
    set_write!(action, args);
    finish!(action, args, session);
    Ok(action
        .await
        .map(|result| Output::Value(Bson::Document(collection_result(&result)))))
}

pub(super) async fn run_on_client(client: &Client, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let requests = args.required("models", Args::documents)?;
    let models: Vec<ClientWriteModel> = requests
        .iter()
        .map(|request| {
            let mut args = request_args("clientBulkWrite", request)?;
            let namespace = args.required("namespace", Args::string)?;
            match Namespace::parse(&namespace) {
                Some(namespace) => Ok(ClientWriteModel::new(
                    namespace,
                    model(&request_name(request)?, args)?,
                )),
                None => failed(format!("clientBulkWrite: invalid namespace \"{namespace}\"")),
            }
        })
        .collect::<Step<_>>()?;
    let mut action = client.bulk_write(models);
    set!(action, args; raw_data <- boolean("rawData"),
        ordered <- boolean("ordered"), bypass_document_validation <- boolean("bypassDocumentValidation"),
        comment <- bson("comment"), let_vars <- document("let"), verbose_results <- boolean("verboseResults"),
        write_concern <- write_concern("writeConcern"));
    finish!(action, args, session);
    Ok(action
        .await
        .map(|result| Output::Value(Bson::Document(client_result(&result)))))
}

fn request(document: &Document) -> Step<(&String, &Document)> {
    match document.iter().next().filter(|_| document.len() == 1) {
        Some((name, Bson::Document(arguments))) => Ok((name, arguments)),
        _ => failed("a request of a bulk write must be a document with one key"),
    }
}

fn request_name(document: &Document) -> Step<String> {
    request(document).map(|(name, _)| name.clone())
}

fn request_args(operation: &str, document: &Document) -> Step<Args> {
    let (name, arguments) = request(document)?;
    Ok(Args::new(&format!("{operation}.{name}"), arguments.clone()))
}

/// Parses a request such as `{insertOne: {document: …}}`.
fn model(name: &str, mut args: Args) -> Step<WriteModel> {
    let model = match name {
        "insertOne" => WriteModel::insert_one(&args.required("document", Args::document)?),
        "updateOne" | "updateMany" => {
            let filter = args.required("filter", Args::document)?;
            let many = name == "updateMany";
            let mut model = match (args.required("update", Args::update)?, many) {
                (UpdateArgument::Operators(update), false) => WriteModel::update_one(filter, update),
                (UpdateArgument::Operators(update), true) => WriteModel::update_many(filter, update),
                (UpdateArgument::Pipeline(stages), false) => WriteModel::update_one(filter, stages),
                (UpdateArgument::Pipeline(stages), true) => WriteModel::update_many(filter, stages),
            };
            set!(model, args;
                upsert <- boolean("upsert"), hint <- hint("hint"), collation <- collation("collation"),
                array_filters <- documents("arrayFilters"));
            if !many {
                set!(model, args; sort <- document("sort"));
            }
            model
        }
        "replaceOne" => {
            let filter = args.required("filter", Args::document)?;
            let mut model = WriteModel::replace_one(filter, &args.required("replacement", Args::document)?);
            set!(model, args;
                upsert <- boolean("upsert"), hint <- hint("hint"), collation <- collation("collation"),
                sort <- document("sort"));
            model
        }
        "deleteOne" | "deleteMany" => {
            let filter = args.required("filter", Args::document)?;
            let mut model = match name {
                "deleteOne" => WriteModel::delete_one(filter),
                _ => WriteModel::delete_many(filter),
            };
            set!(model, args; hint <- hint("hint"), collation <- collation("collation"));
            model
        }
        _ => return failed(format!("unknown request of bulkWrite: \"{name}\"")),
    };
    args.finish()?;
    Ok(model)
}

pub(crate) fn collection_result(result: &BulkWriteResult) -> Document {
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    doc! {
        "insertedCount": number(result.inserted_count),
        "matchedCount": number(result.matched_count),
        "modifiedCount": number(result.modified_count),
        "deletedCount": number(result.deleted_count),
        "upsertedCount": count(result.upserted_ids.len()),
        "insertedIds": by_index(&result.inserted_ids),
        "upsertedIds": by_index(&result.upserted_ids),
    }
}

/// The result of a client bulk write, or the partial result of a failed one.
pub(crate) fn client_result(result: &ClientBulkWriteResult) -> Document {
    let number = |count: u64| Bson::Int64(i64::try_from(count).unwrap_or(i64::MAX));
    let mut document = doc! {
        "acknowledged": result.acknowledged,
        "insertedCount": number(result.inserted_count),
        "upsertedCount": number(result.upserted_count),
        "matchedCount": number(result.matched_count),
        "modifiedCount": number(result.modified_count),
        "deletedCount": number(result.deleted_count),
    };
    let Some(verbose) = &result.verbose_results else {
        return document;
    };
    let inserts = by_position(&verbose.insert_results, |result| {
        doc! { "insertedId": result.inserted_id.clone() }
    });
    let updates = by_position(&verbose.update_results, |result| {
        let mut update = doc! {
            "matchedCount": number(result.matched_count),
            "modifiedCount": number(result.modified_count),
        };
        if let Some(id) = &result.upserted_id {
            update.insert("upsertedId", id.clone());
        }
        update
    });
    let deletes = by_position(&verbose.delete_results, |result| {
        doc! { "deletedCount": number(result.deleted_count) }
    });
    document.insert("insertResults", inserts);
    document.insert("updateResults", updates);
    document.insert("deleteResults", deletes);
    document
}

/// Results by the index of their model.
fn by_position<R>(results: &BTreeMap<usize, R>, document: impl Fn(&R) -> Document) -> Document {
    results
        .iter()
        .map(|(index, result)| (index.to_string(), Bson::Document(document(result))))
        .collect()
}
