//! `bulkWrite` on a collection.

use marula_driver::{
    BulkWriteResult, Collection, WriteModel,
    bson::{Bson, Document, doc},
};

use super::{
    Done, Output,
    args::{Args, UpdateArgument, finish, set},
    write::{by_index, count},
};
use crate::unified::stop::{Step, failed};

pub(super) async fn run(collection: &Collection<Document>, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let requests = args.required("requests", Args::documents)?;
    let models: Vec<WriteModel> = requests.iter().map(model).collect::<Step<_>>()?;
    let mut action = collection.bulk_write(models);
    set!(action, args; raw_data <- boolean("rawData"),
        ordered <- boolean("ordered"), bypass_document_validation <- boolean("bypassDocumentValidation"),
        comment <- bson("comment"), let_vars <- document("let"));
    finish!(action, args, session);
    Ok(action
        .await
        .map(|result| Output::Value(Bson::Document(document(&result)))))
}

/// Parses a request such as `{insertOne: {document: …}}`.
fn model(request: &Document) -> Step<WriteModel> {
    let Some((name, Bson::Document(arguments))) = request.iter().next().filter(|_| request.len() == 1) else {
        return failed("a request of bulkWrite must be a document with one key");
    };
    let mut args = Args::new(&format!("bulkWrite.{name}"), arguments.clone());
    let model = match name.as_str() {
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
            let mut model = match name.as_str() {
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

fn document(result: &BulkWriteResult) -> Document {
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
