//! The indexes of a collection, with those that are being built, and commands that wait for index
//! builds.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::{
    base::bson::{Document, doc},
    driver::{self, error::code},
    schema::deployment::Deployment,
};

/// The errors of `collMod` and `dropIndexes` while an index of the collection or of the database is
/// built, such as by a rolling build or by another client. Nothing was changed.
const BUILD_IN_PROGRESS: [i32; 2] = [
    code::BACKGROUND_OPERATION_IN_PROGRESS_FOR_DATABASE,
    code::BACKGROUND_OPERATION_IN_PROGRESS_FOR_NAMESPACE,
];
/// The pause after the first attempt. Each pause is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The indexes of a collection, as `listIndexes` returns them.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// The specifications, also those of indexes that are being built.
    pub(super) specifications: Vec<Document>,
    /// The names of the indexes that are being built.
    pub(super) building: BTreeSet<String>,
}

impl Listed {
    /// Lists the indexes. A collection that does not exist has none.
    ///
    /// `listIndexes` also returns the indexes that are being built. They are distinguished by
    /// `includeBuildUUIDs`: `{spec, buildUUID}` in place of the specification. A standalone lists
    /// them without `buildUUID`.
    pub(super) async fn of(
        database: &driver::Database,
        collection: &str,
        deployment: &Deployment,
    ) -> driver::Result<Listed> {
        if !deployment.lists_builds() {
            let collection = database.collection::<Document>(collection);
            let cursor = collection.list_indexes().with_type::<Document>().await?;
            return Ok(Listed::new(cursor.try_collect().await?));
        }
        let listed = match list_with_builds(database, collection).await {
            // The driver does not retry a command that the application has written.
            Err(error) if error.is_network() || error.is_unavailable() => {
                list_with_builds(database, collection).await
            }
            listed => listed,
        };
        match listed {
            Ok(listed) => Ok(Listed::new(listed)),
            Err(error) if error.code() == Some(code::NAMESPACE_NOT_FOUND) => Ok(Listed::default()),
            Err(error) => Err(error),
        }
    }

    fn new(documents: Vec<Document>) -> Listed {
        let mut listed = Listed::default();
        for document in documents {
            let Ok(specification) = document.get_document("spec") else {
                listed.specifications.push(document);
                continue;
            };
            if document.contains_key("buildUUID") {
                listed
                    .building
                    .extend(specification.get_str("name").map(str::to_owned));
            }
            listed.specifications.push(specification.clone());
        }
        listed
    }
}

async fn list_with_builds(database: &driver::Database, collection: &str) -> driver::Result<Vec<Document>> {
    let command = doc! { "listIndexes": collection, "cursor": {}, "includeBuildUUIDs": true };
    let cursor = database.run_cursor_command(command).await?;
    cursor.try_collect().await
}

/// Whether an index build has prevented a command.
pub(super) fn is_prevented_by_build(error: &driver::Error) -> bool {
    error.code().is_some_and(|code| BUILD_IN_PROGRESS.contains(&code))
}

/// Sends a command again while an index build prevents it, for at most `limit`.
pub(super) async fn wait_for_builds<T, F>(limit: Duration, send: impl FnMut() -> F) -> driver::Result<T>
where
    F: Future<Output = driver::Result<T>>,
{
    repeat_within(limit, send, |reply| {
        reply.as_ref().is_err_and(is_prevented_by_build)
    })
    .await
}

/// Sends a command again while the reply is not the awaited one, for at most `limit`. Returns the
/// last reply.
pub(super) async fn repeat_within<T, F>(
    limit: Duration,
    mut send: impl FnMut() -> F,
    is_repeated: impl Fn(&driver::Result<T>) -> bool,
) -> driver::Result<T>
where
    F: Future<Output = driver::Result<T>>,
{
    let began = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        let reply = send().await;
        let left = limit.saturating_sub(began.elapsed());
        if left.is_zero() || !is_repeated(&reply) {
            return reply;
        }
        tokio::time::sleep(pause.min(left)).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}
