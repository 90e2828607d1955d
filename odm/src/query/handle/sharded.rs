//! The errors of writes to a sharded collection whose filters do not contain the shard key, or that change it.

use std::pin::Pin;
use std::time::Duration;

use crate::{
    base::{
        bson::{Document, doc},
        error::{Error, FailedWriteReason, Result},
    },
    driver::{self, error::code, event::TopologyType, options::ReadPreference},
};

/// The text of an update of one document that could be on several shards, which distinguishes it from the other errors
/// of its code.
const UPDATE_OF_ONE: &str = "{multi:false} update on a sharded collection";
/// The text of an update of several documents that changes the shard key of one, an error of the same code.
const CHANGE_OF_MANY: &str = "Multi-update operations are not allowed when updating the shard key";
/// The code of a change of the shard key without equality with the whole shard key in the filter. It has no name.
const SHARD_KEY_CHANGE: i32 = 31_025;
/// The text of a change of the shard key without retryable writes, which distinguishes it from the other errors of its code.
const CHANGE_OUTSIDE: &str = "update to shard key field";
/// The time limit of reading the shard key.
const LIMIT: Duration = Duration::from_secs(1);

/// The result of a call. An error because of the shard key names the shard key. `call`: the name of
/// the method. `upsert`: whether the call is an upsert.
pub(in crate::query) async fn explained<T, U>(
    collection: &driver::Collection<U>,
    call: &'static str,
    upsert: bool,
    result: Result<T>,
) -> Result<T> {
    match result {
        Err(Error::Driver(error)) if lacks_shard_key(&error) => Err(Error::ShardKey {
            collection: collection.namespace().to_string(),
            key: shard_key(collection.namespace(), collection.database()).await,
            call,
            upsert,
            source: error,
        }),
        result => result,
    }
}

/// The result of a bulk write. The writes that fail because of the shard key name the shard key.
pub(in crate::query) async fn explained_in_bulk<T, U>(
    collection: &driver::Collection<U>,
    mut result: Result<T>,
) -> Result<T> {
    let Err(Error::BulkWrite { failed, .. }) = &mut result else {
        return result;
    };
    if !failed
        .iter()
        .any(|write| is_rejected_for_shard_key(&write.reason))
    {
        return result;
    }
    let key = shard_key(collection.namespace(), collection.database()).await;
    for write in failed {
        if let FailedWriteReason::Rejected(error) = &write.reason
            && is_rejected_for_shard_key(&write.reason)
        {
            write.reason = FailedWriteReason::ShardKey {
                key: key.clone(),
                error: error.clone(),
            };
        }
    }
    result
}

fn is_rejected_for_shard_key(reason: &FailedWriteReason) -> bool {
    matches!(reason, FailedWriteReason::Rejected(error) if is_of_shard_key(error.code, &error.message))
}

/// Whether the command, or its first write that failed, has an error because of the shard key.
fn lacks_shard_key(error: &driver::Error) -> bool {
    match error.write_errors().first() {
        Some(write) => is_of_shard_key(write.code, &write.message),
        None => {
            let code = error.code();
            code.is_some_and(|code| is_of_shard_key(code, &error.to_string()))
        }
    }
}

fn is_of_shard_key(code: i32, message: &str) -> bool {
    match code {
        code::SHARD_KEY_NOT_FOUND | SHARD_KEY_CHANGE => true,
        code::INVALID_OPTIONS => message.contains(UPDATE_OF_ONE) || message.contains(CHANGE_OF_MANY),
        code::ILLEGAL_OPERATION => message.contains(CHANGE_OUTSIDE),
        _ => false,
    }
}

/// The shard key, read from the cluster. `None` if it cannot be read: the error of the call is
/// reported in any case.
///
/// The future is boxed, so that the futures of calls are smaller.
pub(crate) fn shard_key<'a>(
    namespace: &'a driver::Namespace,
    database: &'a driver::Database,
) -> Pin<Box<dyn Future<Output = Option<Box<Document>>> + Send + 'a>> {
    Box::pin(async move {
        let client = database.client();
        let kind = client.topology_description().topology_type();
        if !matches!(kind, TopologyType::Sharded | TopologyType::LoadBalanced) {
            return None;
        }
        let config = client.database("config").collection::<Document>("collections");
        let reading = config
            .find_one(doc! { "_id": namespace.to_string(), "dropped": { "$ne": true } })
            .projection(doc! { "key": 1 })
            .read_preference(ReadPreference::primary())
            .timeout(LIMIT);
        // Also if the call is part of a transaction, which the read cannot be part of.
        let sharding = driver::outside_transaction(reading).await.ok().flatten()?;
        sharding.get_document("key").ok().cloned().map(Box::new)
    })
}
