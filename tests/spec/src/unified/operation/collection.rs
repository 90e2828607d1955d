//! Read operations on collections, and the dispatch of all collection operations.

use marula_driver::{
    Collection, Cursor, Error,
    bson::{Bson, Document, doc},
};

use super::{
    Done, Output,
    args::{Args, finish, set, set_read, set_write},
    bulk, change_stream, collected, index, modify, optional, write,
};
use crate::unified::stop::{Step, Stop, failed};

pub(super) async fn run(collection: &Collection<Document>, name: &str, args: Args) -> Step<Option<Done>> {
    Ok(Some(match name {
        "find" => collected(find(collection, args).await?).await,
        "createFindCursor" => find(collection, args).await?.map(Output::Cursor),
        "createChangeStream" => change_stream::create(collection.watch(), args).await?,
        "findOne" => find_one(collection, args).await?,
        "aggregate" => collected(aggregate(collection, args).await?).await,
        "distinct" => distinct(collection, args).await?,
        "count" => count_command(collection, args).await?,
        "countDocuments" => count_documents(collection, args).await?,
        "bulkWrite" => bulk::run(collection, args).await?,
        "estimatedDocumentCount" => estimated_document_count(collection, args).await?,
        _ => {
            if write::is_write(name) {
                return write::run(collection, name, args).await;
            }
            return match name {
                "findOneAndUpdate" | "findOneAndReplace" | "findOneAndDelete" => {
                    modify::run(collection, name, args).await
                }
                _ => index::run(collection, name, args).await,
            };
        }
    }))
}

async fn find(collection: &Collection<Document>, mut args: Args) -> Step<Result<Cursor<Document>, Error>> {
    let mut session = args.session();
    let mut action = collection.find(args.required("filter", Args::document)?);
    set!(action, args; raw_data <- boolean("rawData"),
        sort <- document("sort"), projection <- document("projection"), skip <- u64("skip"), limit <- integer("limit"),
        batch_size <- u32("batchSize"), hint <- hint("hint"), collation <- collation("collation"),
        comment <- bson("comment"), max_time <- milliseconds("maxTimeMS"), let_vars <- document("let"),
        min <- document("min"), max <- document("max"), return_key <- boolean("returnKey"),
        show_record_id <- boolean("showRecordId"), allow_partial_results <- boolean("allowPartialResults"),
        allow_disk_use <- boolean("allowDiskUse"), no_cursor_timeout <- boolean("noCursorTimeout"),
        cursor_type <- cursor_type("cursorType"), max_await_time <- milliseconds("maxAwaitTimeMS"),
        timeout_mode <- timeout_mode("timeoutMode"));
    set_read!(action, args);
    finish!(action, args, session);
    Ok(action.await)
}

async fn find_one(collection: &Collection<Document>, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let mut action = collection.find_one(args.required("filter", Args::document)?);
    set!(action, args; raw_data <- boolean("rawData"),
        sort <- document("sort"), projection <- document("projection"), skip <- u64("skip"), hint <- hint("hint"),
        collation <- collation("collation"), comment <- bson("comment"), max_time <- milliseconds("maxTimeMS"),
        let_vars <- document("let"), min <- document("min"), max <- document("max"),
        return_key <- boolean("returnKey"), show_record_id <- boolean("showRecordId"),
        allow_partial_results <- boolean("allowPartialResults"), allow_disk_use <- boolean("allowDiskUse"));
    set_read!(action, args);
    finish!(action, args, session);
    Ok(action.await.map(optional))
}

async fn aggregate(
    collection: &Collection<Document>,
    mut args: Args,
) -> Step<Result<Cursor<Document>, Error>> {
    let mut session = args.session();
    let mut action = collection.aggregate(args.required("pipeline", Args::documents)?);
    set!(action, args; raw_data <- boolean("rawData"),
        batch_size <- u32("batchSize"), allow_disk_use <- boolean("allowDiskUse"),
        bypass_document_validation <- boolean("bypassDocumentValidation"), max_time <- milliseconds("maxTimeMS"),
        max_await_time <- milliseconds("maxAwaitTimeMS"), hint <- hint("hint"), collation <- collation("collation"),
        comment <- bson("comment"), let_vars <- document("let"), timeout_mode <- timeout_mode("timeoutMode"));
    set_read!(action, args);
    set_write!(action, args);
    finish!(action, args, session);
    Ok(action.await)
}

async fn distinct(collection: &Collection<Document>, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let field = args.required("fieldName", Args::string)?;
    let mut action = collection.distinct(field, args.required("filter", Args::document)?);
    set!(action, args; raw_data <- boolean("rawData"),
        max_time <- milliseconds("maxTimeMS"), collation <- collation("collation"), comment <- bson("comment"),
        hint <- hint("hint"));
    set_read!(action, args);
    finish!(action, args, session);
    Ok(action.await.map(Output::Values))
}

/// The driver omits the deprecated helper, but encrypts the command.
async fn count_command(collection: &Collection<Document>, mut args: Args) -> Step<Done> {
    let database = collection.database();
    if !database.client().encrypts_commands() {
        return Err(Stop::Skipped(
            "the deprecated helper count is omitted in favor of countDocuments and estimatedDocumentCount"
                .to_owned(),
        ));
    }
    let mut session = args.session();
    let filter = args.required("filter", Args::document)?;
    let mut command = doc! { "count": collection.name(), "query": filter };
    if let Some(level) = args
        .read_concern("readConcern")?
        .and_then(|concern| concern.level)
    {
        command.insert("readConcern", doc! { "level": level.as_str() });
    }
    let mut action = database.run_command(command);
    set!(action, args; read_preference <- read_preference("readPreference"));
    finish!(action, args, session);
    Ok(match action.await {
        Ok(reply) => match reply.get("n") {
            Some(n) => Ok(Output::Value(n.clone())),
            None => return failed("the reply to count has no n"),
        },
        Err(error) => Err(error),
    })
}

async fn count_documents(collection: &Collection<Document>, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let mut action = collection.count_documents(args.required("filter", Args::document)?);
    set!(action, args; raw_data <- boolean("rawData"),
        skip <- u64("skip"), limit <- u64("limit"), hint <- hint("hint"), collation <- collation("collation"),
        comment <- bson("comment"), max_time <- milliseconds("maxTimeMS"), let_vars <- document("let"));
    set_read!(action, args);
    finish!(action, args, session);
    Ok(action.await.map(count))
}

async fn estimated_document_count(collection: &Collection<Document>, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let mut action = collection.estimated_document_count();
    set!(action, args; raw_data <- boolean("rawData"), max_time <- milliseconds("maxTimeMS"), comment <- bson("comment"));
    set_read!(action, args);
    finish!(action, args, session);
    Ok(action.await.map(count))
}

fn count(count: u64) -> Output {
    Output::Value(Bson::Int64(i64::try_from(count).unwrap_or(i64::MAX)))
}
