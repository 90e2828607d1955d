//! Operations on databases.

use marula_driver::{
    Cursor, Database, Error,
    bson::{Bson, Document},
};

use super::{
    Done, Output,
    args::{Args, finish, set, set_read, set_write},
    change_stream, collected, documents,
};
use crate::unified::stop::{Step, failed};

pub(super) async fn run(database: &Database, name: &str, args: Args) -> Step<Option<Done>> {
    Ok(Some(match name {
        "runCommand" => run_command(database, args).await?,
        "runCursorCommand" => collected(run_cursor_command(database, args).await?).await,
        "createCommandCursor" => run_cursor_command(database, args).await?.map(Output::Cursor),
        "modifyCollection" => modify_collection(database, args).await?,
        "createChangeStream" => change_stream::create(database.watch(), args).await?,
        "aggregate" => aggregate(database, args).await?,
        "listCollections" => list_collections(database, args).await?,
        "listCollectionNames" => list_collection_names(database, args).await?,
        "createCollection" => create_collection(database, args).await?,
        "dropCollection" => drop_collection(database, args).await?,
        _ => return Ok(None),
    }))
}

/// The command with `commandName` as its first key.
fn command(args: &mut Args) -> Step<Document> {
    let mut given = args.required("command", Args::document)?;
    let Some(name) = args.string("commandName")? else {
        return Ok(given);
    };
    let Some(value) = given.remove(&name) else {
        return failed(format!("the command has no key \"{name}\""));
    };
    let mut command = Document::new();
    command.insert(name, value);
    command.extend(given);
    Ok(command)
}

async fn run_command(database: &Database, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let mut action = database.run_command(command(&mut args)?);
    set!(action, args; read_preference <- read_preference("readPreference"));
    finish!(action, args, session);
    Ok(action.await.map(|reply| Output::Value(Bson::Document(reply))))
}

async fn run_cursor_command(database: &Database, mut args: Args) -> Step<Result<Cursor<Document>, Error>> {
    let mut session = args.session();
    let mut action = database.run_cursor_command(command(&mut args)?);
    set!(action, args;
        read_preference <- read_preference("readPreference"), batch_size <- u32("batchSize"),
        max_await_time <- milliseconds("maxTimeMS"), comment <- bson("comment"),
        cursor_type <- cursor_type("cursorType"), timeout_mode <- timeout_mode("timeoutMode"));
    finish!(action, args, session);
    Ok(action.await)
}

async fn modify_collection(database: &Database, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let name = args.required("collection", Args::string)?;
    let mut action = database.modify_collection(&name);
    set!(action, args;
        index <- document("index"), validator <- document("validator"),
        validation_level <- string("validationLevel"), validation_action <- string("validationAction"),
        view_on <- string("viewOn"), pipeline <- documents("pipeline"), timeseries <- document("timeseries"),
        expire_after_seconds <- seconds("expireAfterSeconds"),
        change_stream_pre_and_post_images <- document("changeStreamPreAndPostImages"), comment <- bson("comment"));
    set_write!(action, args);
    finish!(action, args, session);
    Ok(action.await.map(|()| Output::Nothing))
}

async fn aggregate(database: &Database, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let mut action = database.aggregate(args.required("pipeline", Args::documents)?);
    set!(action, args; raw_data <- boolean("rawData"),
        batch_size <- u32("batchSize"), allow_disk_use <- boolean("allowDiskUse"),
        bypass_document_validation <- boolean("bypassDocumentValidation"), max_time <- milliseconds("maxTimeMS"),
        max_await_time <- milliseconds("maxAwaitTimeMS"), hint <- hint("hint"), collation <- collation("collation"),
        comment <- bson("comment"), let_vars <- document("let"), timeout_mode <- timeout_mode("timeoutMode"));
    set_read!(action, args);
    set_write!(action, args);
    finish!(action, args, session);
    Ok(collected(action.await).await)
}

async fn list_collections(database: &Database, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let mut action = database.list_collections();
    set!(action, args; raw_data <- boolean("rawData"),
        filter <- document("filter"), batch_size <- u32("batchSize"), comment <- bson("comment"),
        authorized_collections <- boolean("authorizedCollections"), timeout_mode <- timeout_mode("timeoutMode"));
    finish!(action, args, session);
    Ok(match action.await {
        Ok(cursor) => documents(cursor.try_collect().await),
        Err(error) => Err(error),
    })
}

async fn list_collection_names(database: &Database, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let mut action = database.list_collection_names();
    set!(action, args;
        filter <- document("filter"), comment <- bson("comment"),
        authorized_collections <- boolean("authorizedCollections"));
    finish!(action, args, session);
    let names = action.await;
    Ok(names.map(|names| Output::Values(names.into_iter().map(Bson::String).collect())))
}

async fn create_collection(database: &Database, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let name = args.required("collection", Args::string)?;
    let mut action = database.create_collection(&name);
    set!(action, args;
        capped <- boolean("capped"), size <- u64("size"), max <- u64("max"),
        storage_engine <- document("storageEngine"), validator <- document("validator"),
        validation_level <- string("validationLevel"), validation_action <- string("validationAction"),
        view_on <- string("viewOn"), pipeline <- documents("pipeline"), collation <- collation("collation"),
        expire_after_seconds <- seconds("expireAfterSeconds"), timeseries <- document("timeseries"),
        clustered_index <- document("clusteredIndex"),
        change_stream_pre_and_post_images <- document("changeStreamPreAndPostImages"),
        index_option_defaults <- document("indexOptionDefaults"),
        encrypted_fields <- document("encryptedFields"), comment <- bson("comment"));
    set_write!(action, args);
    finish!(action, args, session);
    Ok(action
        .await
        .map(|()| Output::Collection(database.collection(&name))))
}

async fn drop_collection(database: &Database, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let collection = database.collection::<Document>(&args.required("collection", Args::string)?);
    let mut action = collection.drop();
    set!(action, args;
        max_time <- milliseconds("maxTimeMS"), comment <- bson("comment"),
        encrypted_fields <- document("encryptedFields"));
    set_write!(action, args);
    finish!(action, args, session);
    Ok(action.await.map(|()| Output::Nothing))
}
