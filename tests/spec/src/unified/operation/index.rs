//! Operations on the indexes of a collection, and `rename`.

use marula_driver::{
    Collection, IndexModel, SearchIndexModel,
    bson::{Bson, Document, from_document},
};

use super::{
    Done, Output,
    args::{Args, finish, set, set_write},
    collected,
};
use crate::unified::stop::{Step, failed};

/// The options of an index in the test format.
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
    let mut session = args.session();
    Ok(Some(match name {
        "createIndex" => {
            let model = model(&mut args)?;
            let mut action = collection.create_index(model);
            set!(action, args; raw_data <- boolean("rawData"),
                max_time <- milliseconds("maxTimeMS"), commit_quorum <- bson("commitQuorum"),
                comment <- bson("comment"));
            set_write!(action, args);
            finish!(action, args, session);
            action.await.map(|name| Output::Value(Bson::String(name)))
        }
        "dropIndex" => {
            let mut action = collection.drop_index(args.required("name", Args::string)?);
            set!(action, args; raw_data <- boolean("rawData"), max_time <- milliseconds("maxTimeMS"), comment <- bson("comment"));
            set_write!(action, args);
            finish!(action, args, session);
            action.await.map(|()| Output::Nothing)
        }
        "dropIndexes" => {
            let mut action = collection.drop_indexes();
            set!(action, args; raw_data <- boolean("rawData"), max_time <- milliseconds("maxTimeMS"), comment <- bson("comment"));
            set_write!(action, args);
            finish!(action, args, session);
            action.await.map(|()| Output::Nothing)
        }
        "listIndexes" => {
            let mut action = collection.list_indexes().with_type::<Document>();
            set!(action, args; raw_data <- boolean("rawData"), batch_size <- u32("batchSize"), comment <- bson("comment"),
                timeout_mode <- timeout_mode("timeoutMode"));
            finish!(action, args, session);
            collected(action.await).await
        }
        "listIndexNames" => {
            let mut action = collection.list_index_names();
            finish!(action, args, session);
            action
                .await
                .map(|names| Output::Values(names.into_iter().map(Bson::String).collect()))
        }
        "createSearchIndex" => {
            let model = search_model(&args.required("model", Args::document)?)?;
            let mut action = collection.create_search_index(model);
            finish!(action, args, session);
            action.await.map(|name| Output::Value(Bson::String(name)))
        }
        "createSearchIndexes" => {
            let models = args.required("models", Args::documents)?;
            let models = models.iter().map(search_model).collect::<Step<Vec<_>>>()?;
            let mut action = collection.create_search_indexes(models);
            finish!(action, args, session);
            action
                .await
                .map(|names| Output::Values(names.into_iter().map(Bson::String).collect()))
        }
        "updateSearchIndex" => {
            let index = args.required("name", Args::string)?;
            let definition = args.required("definition", Args::document)?;
            let mut action = collection.update_search_index(index, definition);
            finish!(action, args, session);
            action.await.map(|()| Output::Nothing)
        }
        "dropSearchIndex" => {
            let index = args.required("name", Args::string)?;
            let mut action = collection.drop_search_index(index);
            finish!(action, args, session);
            action.await.map(|()| Output::Nothing)
        }
        "listSearchIndexes" => {
            let index = args.string("name")?;
            let mut action = collection.list_search_indexes(index.as_deref());
            let options = args.document("aggregationOptions")?.unwrap_or_default();
            let mut options = Args::new("listSearchIndexes", options);
            set!(action, options;
                batch_size <- u32("batchSize"), allow_disk_use <- boolean("allowDiskUse"),
                max_time <- milliseconds("maxTimeMS"), hint <- hint("hint"), collation <- collation("collation"),
                comment <- bson("comment"), let_vars <- document("let"));
            options.finish()?;
            finish!(action, args, session);
            collected(action.await).await
        }
        "rename" => {
            let to = args.required("to", Args::string)?;
            let mut action = collection.rename(&to);
            set!(action, args; drop_target <- boolean("dropTarget"), comment <- bson("comment"));
            set_write!(action, args);
            finish!(action, args, session);
            action.await.map(|()| Output::Nothing)
        }
        _ => return Ok(None),
    }))
}

fn search_model(description: &Document) -> Step<SearchIndexModel> {
    if let Some(key) = description
        .keys()
        .find(|key| !matches!(key.as_str(), "definition" | "name" | "type"))
    {
        return failed(format!("unknown key of a search index: \"{key}\""));
    }
    from_document(description).or_else(|error| failed(format!("invalid search index: {error}")))
}

fn model(args: &mut Args) -> Step<IndexModel> {
    let mut description = Document::new();
    description.insert("key", args.required("keys", Args::document)?);
    for option in OPTIONS {
        if let Some(value) = args.take(option) {
            description.insert(option, value);
        }
    }
    from_document(&description).or_else(|error| failed(format!("invalid index: {error}")))
}
