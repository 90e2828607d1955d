//! The error of a collection that can't be sharded.

use crate::error::Error;
use std::{error, fmt};

/// The error of [`TestServer::shard_collection`](crate::TestServer::shard_collection): the error of
/// MongoDB's command `shardCollection`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShardCollectionError {
    /// The error code, such as 72 `InvalidOptions`. 59 `CommandNotFound` if the deployment is not
    /// sharded.
    pub code: i32,
    /// The message.
    pub message: String,
}

impl From<Error> for ShardCollectionError {
    fn from(error: Error) -> Self {
        ShardCollectionError {
            code: error.code,
            message: error.message,
        }
    }
}

impl fmt::Display for ShardCollectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the collection can't be sharded: {} (error code {})",
            self.message, self.code
        )
    }
}

impl error::Error for ShardCollectionError {}
