//! Operations: dispatched by the type of their object, run with the driver's public API, and
//! checked.

pub(crate) mod args;
mod assertion;
mod bucket;
pub(crate) mod bulk;
mod change_stream;
mod client;
mod collection;
mod cursor;
mod database;
mod encryption;
mod index;
mod modify;
mod output;
mod session;
mod session_assertion;
mod test_runner;
mod write;

use std::{pin::Pin, sync::Arc};

use marula_driver::{
    Cursor, Error,
    bson::{Bson, Document, to_document},
};

use self::args::Args;
pub(crate) use self::output::Output;
use super::{
    entity::Entity,
    expected_error, missing,
    run::TestRun,
    stop::{Step, Stop, failed},
};

/// The result of an operation, or the driver's error.
type Done = Result<Output, Error>;

/// Runs an operation and checks its result. The future is boxed because operations can be nested.
pub(crate) fn run_boxed(
    run: Arc<TestRun>,
    operation: Document,
) -> Pin<Box<dyn Future<Output = Step> + Send>> {
    Box::pin(async move {
        let done = self::run(&run, &operation).await?;
        check(&run, &operation, done)
    })
}

/// Runs an operation of the callback of `withTransaction`. Returns the error of the driver, also if
/// it was expected or ignored: errors propagate to `withTransaction`.
fn run_in_callback(
    run: Arc<TestRun>,
    operation: Document,
) -> Pin<Box<dyn Future<Output = Step<Option<Error>>> + Send>> {
    Box::pin(async move {
        let done = self::run(&run, &operation).await?;
        let error = done.as_ref().err().cloned();
        if error.is_none() || operation.contains_key("expectError") {
            check(&run, &operation, done)?;
        }
        Ok(error)
    })
}

/// Runs an operation. The result is that of the driver.
async fn run(run: &Arc<TestRun>, operation: &Document) -> Step<Done> {
    let text = |key: &str| {
        operation
            .get_str(key)
            .map_err(|_| Stop::Failed(format!("an operation requires \"{key}\"")))
    };
    let (name, object) = (text("name")?, text("object")?);
    let place = |stop: Stop| stop.within(format!("{object}.{name}"));
    let mut args = Args::new(
        name,
        operation.get_document("arguments").cloned().unwrap_or_default(),
    );
    if object == "testRunner" {
        for key in [
            "expectError",
            "expectResult",
            "saveResultAsEntity",
            "ignoreResultAndError",
        ] {
            if operation.contains_key(key) {
                return failed(format!("testRunner.{name} does not support \"{key}\""));
            }
        }
        test_runner::run(run, name, args).await.map_err(place)?;
        return Ok(Ok(Output::Nothing));
    }
    args.resolve_session(&run.entities).await.map_err(place)?;
    dispatch(run, &run.entities.get(object)?, name, args)
        .await
        .map_err(place)
}

async fn dispatch(run: &Arc<TestRun>, object: &Entity, name: &str, args: Args) -> Step<Done> {
    if let Some(reason) = missing::omitted_operation(name) {
        return Err(Stop::Skipped(reason.to_owned()));
    }
    let known = match object {
        Entity::Client(entity) => client::run(entity, name, args).await?,
        Entity::Database(database) => database::run(database, name, args).await?,
        Entity::Collection(collection) => collection::run(collection, name, args).await?,
        Entity::Bucket(entity) => bucket::run(entity, name, args).await?,
        Entity::Encryption(entity) => encryption::run(&entity.encryption, name, args).await?,
        Entity::Cursor(entity) => cursor::run(entity, name, args).await?,
        Entity::Session(entity) => session::run(run, entity, name, args).await?,
        _ => None,
    };
    known.map_or_else(
        || failed(format!("unknown operation \"{name}\" of a {}", object.kind())),
        Ok,
    )
}

/// Compares the result of an operation with the expected one, and saves it as an entity if
/// requested.
fn check(run: &TestRun, operation: &Document, done: Done) -> Step {
    if operation.get_bool("ignoreResultAndError").unwrap_or(false) {
        return Ok(());
    }
    if let Ok(expected) = operation.get_document("expectError") {
        return match done {
            Ok(output) => failed(format!("expected an error, found {}", output.show())),
            Err(error) => expected_error::check(expected, &error, &run.entities).map_err(Stop::Failed),
        };
    }
    let output = done.map_err(|error| run.unexpected("unexpected error", &error))?;
    if let Some(expected) = operation.get("expectResult") {
        // The reply of a command also has the fields that the server adds to all replies.
        let is_reply = matches!(operation.get_str("name"), Ok("runCommand"));
        let checked = if run.has_exact_results && !is_reply {
            output.check_exactly(expected, &run.entities)
        } else {
            output.check(expected, &run.entities)
        };
        checked.map_err(|why| format!("result {why}"))?;
    }
    match operation.get_str("saveResultAsEntity") {
        Ok(id) => run.entities.add(id, output.into_entity()?),
        Err(_) => Ok(()),
    }
}

/// The argument `returnDocument`.
fn return_document(args: &mut Args) -> Step<Option<marula_driver::options::ReturnDocument>> {
    use marula_driver::options::ReturnDocument;
    match args.string("returnDocument")? {
        None => Ok(None),
        Some(which) if which.eq_ignore_ascii_case("before") => Ok(Some(ReturnDocument::Before)),
        Some(which) if which.eq_ignore_ascii_case("after") => Ok(Some(ReturnDocument::After)),
        Some(other) => failed(format!("invalid returnDocument \"{other}\"")),
    }
}

/// An optional document as a result.
fn optional(document: Option<Document>) -> Output {
    Output::Value(document.map_or(Bson::Null, Bson::Document))
}

/// Serializes a list of models to documents.
fn documents<T: serde::Serialize>(models: Result<Vec<T>, Error>) -> Done {
    let documents: Result<Vec<Document>, Error> =
        models?.iter().map(|model| Ok(to_document(model)?)).collect();
    documents.map(Output::Documents)
}

/// The remaining documents of a cursor. A cursor is closed after an error, so that the event
/// precedes the end of the operation.
async fn collected(cursor: Result<Cursor<Document>, Error>) -> Done {
    let mut cursor = cursor?;
    let mut documents = Vec::new();
    loop {
        match cursor.try_next().await {
            Ok(Some(document)) => documents.push(document),
            Ok(None) => return Ok(Output::Documents(documents)),
            Err(error) => {
                cursor.close().await;
                return Err(error);
            }
        }
    }
}

#[cfg(test)]
mod tests;
