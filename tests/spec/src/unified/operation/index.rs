//! Operations on a collection's indexes.

use marula_driver::{
    Collection, IndexModel,
    bson::{Bson, Document, from_document},
};

use super::{
    Done, Output,
    args::{Args, set},
    collected,
};
use crate::unified::stop::{Step, failed};

/// The options of an index, by the format's names.
const OPTIONS: [&str; 20] = [
    "name",
    "unique",
    "sparse",
    "expireAfterSeconds",
    "partialFilterExpression",
    "collation",
    "hidden",
    "v",
    "weights",
    "default_language",
    "language_override",
    "textIndexVersion",
    "2dsphereIndexVersion",
    "bits",
    "min",
    "max",
    "wildcardProjection",
    "clustered",
    "storageEngine",
    "background",
];

pub(super) async fn run(collection: &Collection<Document>, name: &str, mut args: Args) -> Step<Option<Done>> {
    Ok(Some(match name {
        "createIndex" => {
            let model = model(&mut args)?;
            let mut action = collection.create_index(model);
            set!(action, args;
                max_time <- milliseconds("maxTimeMS"), commit_quorum <- bson("commitQuorum"),
                comment <- bson("comment"));
            args.finish()?;
            action.await.map(|name| Output::Value(Bson::String(name)))
        }
        "dropIndex" => {
            let mut action = collection.drop_index(args.required("name", Args::string)?);
            set!(action, args; max_time <- milliseconds("maxTimeMS"), comment <- bson("comment"));
            args.finish()?;
            action.await.map(|()| Output::Nothing)
        }
        "dropIndexes" => {
            let mut action = collection.drop_indexes();
            set!(action, args; max_time <- milliseconds("maxTimeMS"), comment <- bson("comment"));
            args.finish()?;
            action.await.map(|()| Output::Nothing)
        }
        "listIndexes" => {
            let mut action = collection.list_indexes().with_type::<Document>();
            set!(action, args; batch_size <- u32("batchSize"), comment <- bson("comment"));
            args.finish()?;
            collected(action.await).await
        }
        "listIndexNames" => {
            args.finish()?;
            let names = collection.list_index_names().await;
            names.map(|names| Output::Values(names.into_iter().map(Bson::String).collect()))
        }
        _ => return Ok(None),
    }))
}

fn model(args: &mut Args) -> Step<IndexModel> {
    let mut description = Document::new();
    description.insert("key", args.required("keys", Args::document)?);
    for option in OPTIONS {
        if let Some(value) = args.take(option) {
            description.insert(option, value);
        }
    }
    from_document(&description).or_else(|error| failed(format!("this is no index: {error}")))
}
