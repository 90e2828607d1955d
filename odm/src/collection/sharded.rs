//! The error of a call on a sharded collection whose filter does not contain the shard key.

use std::pin::Pin;
use std::time::Duration;

use crate::bson::{Document, doc};
use crate::driver::{self, options::ReadPreference};
use crate::error::{Error, Result};

/// `ShardKeyNotFound`.
const SHARD_KEY_NOT_FOUND: i32 = 61;
/// `InvalidOptions`: also the error of an update of one document that could be on several shards.
const INVALID_OPTIONS: i32 = 72;
/// The time limit of reading the shard key.
const LIMIT: Duration = Duration::from_secs(2);

/// The result of a call that selects one document. An error because of the shard key names the shard
/// key.
pub(super) async fn explained<T, U>(collection: &driver::Collection<U>, result: Result<T>) -> Result<T> {
    match result {
        Err(Error::Driver(error)) if may_lack_shard_key(&error) => {
            // Boxed, so that the futures of calls are smaller.
            let naming: Pin<Box<dyn Future<Output = Error> + Send + '_>> =
                Box::pin(with_key(collection.namespace(), collection.database(), error));
            Err(naming.await)
        }
        result => result,
    }
}

/// The code of the command, or of the first write that failed.
fn may_lack_shard_key(error: &driver::Error) -> bool {
    let of_write = || error.write_errors().first().map(|write| write.code);
    matches!(
        error.code().or_else(of_write),
        Some(SHARD_KEY_NOT_FOUND | INVALID_OPTIONS)
    )
}

async fn with_key(namespace: &driver::Namespace, database: &driver::Database, error: driver::Error) -> Error {
    let collection = namespace.to_string();
    let config = database
        .client()
        .database("config")
        .collection::<Document>("collections");
    let reading = config
        .find_one(doc! { "_id": &collection, "dropped": { "$ne": true } })
        .projection(doc! { "key": 1 })
        .read_preference(ReadPreference::primary())
        .timeout(LIMIT);
    // The error of the call is reported also if the key cannot be read.
    let sharding = reading.await.ok().flatten();
    let key = sharding.as_ref().and_then(|found| found.get_document("key").ok());
    let is_missing = error.code() == Some(SHARD_KEY_NOT_FOUND)
        || error
            .write_errors()
            .first()
            .is_some_and(|write| write.code == SHARD_KEY_NOT_FOUND);
    if key.is_none() && !is_missing {
        return Error::Driver(error);
    }
    Error::ShardKey {
        collection,
        key: key.cloned().map(Box::new),
        source: error,
    }
}
