//! Error codes of the server, with the names that the server gives them.
//!
//! These are the codes that the driver and the ODM distinguish, and those that applications often compare with. The
//! [list of the server](https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml) has all.
//!
//! ```
//! use marula_driver::{Error, error::code};
//!
//! /// Whether the user may not run the command.
//! fn is_forbidden(error: &Error) -> bool {
//!     error.code() == Some(code::UNAUTHORIZED)
//! }
//! # drop(is_forbidden);
//! ```

/// `InternalError`: an assertion of the server failed.
pub const INTERNAL_ERROR: i32 = 1;
/// `HostUnreachable`: the server could not reach another server.
pub const HOST_UNREACHABLE: i32 = 6;
/// `HostNotFound`: the server could not resolve the name of another server.
pub const HOST_NOT_FOUND: i32 = 7;
/// `Unauthorized`: the user lacks the privilege for the command.
pub const UNAUTHORIZED: i32 = 13;
/// `AuthenticationFailed`: the credentials are wrong, or the user does not exist.
pub const AUTHENTICATION_FAILED: i32 = 18;
/// `IllegalOperation`: the deployment does not support the operation, e.g. transactions on a standalone.
pub const ILLEGAL_OPERATION: i32 = 20;
/// `NamespaceNotFound`: the database or collection does not exist.
pub const NAMESPACE_NOT_FOUND: i32 = 26;
/// `IndexNotFound`: the index does not exist.
pub const INDEX_NOT_FOUND: i32 = 27;
/// `CursorNotFound`: the cursor has timed out, was closed, or is on another server.
pub const CURSOR_NOT_FOUND: i32 = 43;
/// `NamespaceExists`: a collection or view with this name exists, with other options.
pub const NAMESPACE_EXISTS: i32 = 48;
/// `MaxTimeMSExpired`: `maxTimeMS` expired on the server.
pub const MAX_TIME_MS_EXPIRED: i32 = 50;
/// `CommandNotFound`: the server does not have the command.
pub const COMMAND_NOT_FOUND: i32 = 59;
/// `ShardKeyNotFound`: the filter of a write does not contain the shard key.
pub const SHARD_KEY_NOT_FOUND: i32 = 61;
/// The routing information of a mongos is outdated. Newer servers report it as [`STALE_CONFIG`].
pub const STALE_SHARD_VERSION: i32 = 63;
/// `IndexAlreadyExists`: a search index with this name exists.
pub const INDEX_ALREADY_EXISTS: i32 = 68;
/// `InvalidOptions`: the options of a command are invalid, or exclude one another.
pub const INVALID_OPTIONS: i32 = 72;
/// `UnknownReplWriteConcern`: the replica set does not define the tag set of the write concern.
pub const UNKNOWN_REPL_WRITE_CONCERN: i32 = 79;
/// `IndexOptionsConflict`: an index with the same keys has other options or another name.
pub const INDEX_OPTIONS_CONFLICT: i32 = 85;
/// `IndexKeySpecsConflict`: an index with the same name has other keys or options.
pub const INDEX_KEY_SPECS_CONFLICT: i32 = 86;
/// `NetworkTimeout`: another server did not reply in time.
pub const NETWORK_TIMEOUT: i32 = 89;
/// `ShutdownInProgress`: the server is shutting down.
pub const SHUTDOWN_IN_PROGRESS: i32 = 91;
/// `UnsatisfiableWriteConcern`: the replica set has fewer members than the write concern requires.
pub const UNSATISFIABLE_WRITE_CONCERN: i32 = 100;
/// `WriteConflict`: another operation has changed the document meanwhile. A transaction with this error is
/// aborted, and can be run again.
pub const WRITE_CONFLICT: i32 = 112;
/// `CommandNotSupported`: the deployment or its configuration does not support the command.
pub const COMMAND_NOT_SUPPORTED: i32 = 115;
/// `DocumentValidationFailure`: a document does not match the validator of its collection.
pub const DOCUMENT_VALIDATION_FAILURE: i32 = 121;
/// `FailedToSatisfyReadPreference`: a mongos did not find a member that the read preference allows.
pub const FAILED_TO_SATISFY_READ_PREFERENCE: i32 = 133;
/// `ReadConcernMajorityNotAvailableYet`: the server has no snapshot of the majority yet.
pub const READ_CONCERN_MAJORITY_NOT_AVAILABLE_YET: i32 = 134;
/// `StaleEpoch`: the collection was dropped or sharded again since its routing information was read.
pub const STALE_EPOCH: i32 = 150;
/// `PrimarySteppedDown`: the primary has stepped down.
pub const PRIMARY_STEPPED_DOWN: i32 = 189;
/// `RetryChangeStream`: the change stream must be resumed.
pub const RETRY_CHANGE_STREAM: i32 = 234;
/// `ExceededTimeLimit`: a time limit of the server itself expired.
pub const EXCEEDED_TIME_LIMIT: i32 = 262;
/// `IndexBuildAlreadyInProgress`: another command builds the same index.
pub const INDEX_BUILD_ALREADY_IN_PROGRESS: i32 = 285;
/// `ChangeStreamHistoryLost`: the oplog does not contain the position of the change stream any more.
pub const CHANGE_STREAM_HISTORY_LOST: i32 = 286;
/// `APIStrictError`: the command is not part of the Stable API, which the client requires.
pub const API_STRICT_ERROR: i32 = 323;
/// `CannotConvertIndexToUnique`: documents have the same key.
pub const CANNOT_CONVERT_INDEX_TO_UNIQUE: i32 = 359;
/// `CannotDropShardKeyIndex`: no other index supports the shard key of the collection.
pub const CANNOT_DROP_SHARD_KEY_INDEX: i32 = 373;
/// `ReauthenticationRequired`: the access token of the connection has expired. The driver authenticates again.
pub const REAUTHENTICATION_REQUIRED: i32 = 391;
/// `SocketException`: the connection to another server failed.
pub const SOCKET_EXCEPTION: i32 = 9001;
/// The legacy form of [`NOT_WRITABLE_PRIMARY`].
pub const LEGACY_NOT_PRIMARY: i32 = 10_058;
/// `NotWritablePrimary`: a write was sent to a server that is not the primary.
pub const NOT_WRITABLE_PRIMARY: i32 = 10_107;
/// `DuplicateKey`: a write violates a unique index; see [`is_duplicate_key`].
pub const DUPLICATE_KEY: i32 = 11_000;
/// The legacy form of [`DUPLICATE_KEY`] for updates.
pub const LEGACY_DUPLICATE_KEY_ON_UPDATE: i32 = 11_001;
/// `InterruptedAtShutdown`: the operation was interrupted because the server shuts down.
pub const INTERRUPTED_AT_SHUTDOWN: i32 = 11_600;
/// `Interrupted`: the operation was killed, e.g. by `killOp`.
pub const INTERRUPTED: i32 = 11_601;
/// `InterruptedDueToReplStateChange`: the operation was interrupted because the member changed its state.
pub const INTERRUPTED_DUE_TO_REPL_STATE_CHANGE: i32 = 11_602;
/// The legacy form of [`DUPLICATE_KEY`] for capped collections.
pub const DUPLICATE_KEY_ON_CAPPED: i32 = 12_582;
/// `BackgroundOperationInProgressForDatabase`: an index of the database is being built.
pub const BACKGROUND_OPERATION_IN_PROGRESS_FOR_DATABASE: i32 = 12_586;
/// `BackgroundOperationInProgressForNamespace`: an index of the collection is being built.
pub const BACKGROUND_OPERATION_IN_PROGRESS_FOR_NAMESPACE: i32 = 12_587;
/// `StaleConfig`: the routing information of a mongos is outdated.
pub const STALE_CONFIG: i32 = 13_388;
/// `NotPrimaryNoSecondaryOk`: a read that requires the primary was sent to another member.
pub const NOT_PRIMARY_NO_SECONDARY_OK: i32 = 13_435;
/// `NotPrimaryOrSecondary`: the member is neither primary nor secondary, e.g. recovering.
pub const NOT_PRIMARY_OR_SECONDARY: i32 = 13_436;
/// `SearchNotEnabled`: the deployment has no search indexes.
pub const SEARCH_NOT_ENABLED: i32 = 31_082;

/// Whether the server is not a writable primary (SDAM, "not writable primary" and "node is
/// recovering" errors).
pub(crate) fn is_state_change(code: i32) -> bool {
    matches!(
        code,
        NOT_WRITABLE_PRIMARY
            | NOT_PRIMARY_NO_SECONDARY_OK
            | LEGACY_NOT_PRIMARY
            | INTERRUPTED_AT_SHUTDOWN
            | INTERRUPTED_DUE_TO_REPL_STATE_CHANGE
            | NOT_PRIMARY_OR_SECONDARY
            | PRIMARY_STEPPED_DOWN
            | SHUTDOWN_IN_PROGRESS
    )
}

/// Whether the server is shutting down (SDAM, "node is shutting down" errors).
pub(crate) fn is_shutdown(code: i32) -> bool {
    matches!(code, INTERRUPTED_AT_SHUTDOWN | SHUTDOWN_IN_PROGRESS)
}

/// Whether a unique index rejected a write: [`DUPLICATE_KEY`], and its legacy forms 11001 and 12582.
///
/// [`Error::is_duplicate_key`](crate::Error::is_duplicate_key) says so of an error, this function of the code of one
/// failed write, or of a code that was logged.
///
/// ```
/// use marula_driver::{Error, error::code};
///
/// /// The positions of the duplicates in an `insert_many`.
/// fn duplicates(error: &Error) -> Vec<usize> {
///     let failed = error.write_errors().iter();
///     failed.filter(|write| code::is_duplicate_key(write.code)).map(|write| write.index).collect()
/// }
/// # drop(duplicates);
/// assert!(code::is_duplicate_key(11_001));
/// ```
#[must_use]
pub fn is_duplicate_key(code: i32) -> bool {
    matches!(
        code,
        DUPLICATE_KEY | LEGACY_DUPLICATE_KEY_ON_UPDATE | DUPLICATE_KEY_ON_CAPPED
    )
}

/// Whether the server could not reach another server.
pub(crate) fn is_unreachable(code: i32) -> bool {
    matches!(
        code,
        HOST_UNREACHABLE | HOST_NOT_FOUND | NETWORK_TIMEOUT | SOCKET_EXCEPTION
    )
}

/// Whether a write may be retried (Retryable Writes, "RetryableWriteError Labels"). Such reads are
/// retryable as well.
pub(crate) fn is_retryable_write(code: i32) -> bool {
    matches!(
        code,
        INTERRUPTED_AT_SHUTDOWN
            | INTERRUPTED_DUE_TO_REPL_STATE_CHANGE
            | NOT_WRITABLE_PRIMARY
            | NOT_PRIMARY_NO_SECONDARY_OK
            | NOT_PRIMARY_OR_SECONDARY
            | PRIMARY_STEPPED_DOWN
            | SHUTDOWN_IN_PROGRESS
            | HOST_NOT_FOUND
            | HOST_UNREACHABLE
            | NETWORK_TIMEOUT
            | SOCKET_EXCEPTION
            | EXCEEDED_TIME_LIMIT
    )
}

/// Whether a read may be retried (Retryable Reads, "Retryable Error").
pub(crate) fn is_retryable_read(code: i32) -> bool {
    is_retryable_write(code) || matches!(code, LEGACY_NOT_PRIMARY | READ_CONCERN_MAJORITY_NOT_AVAILABLE_YET)
}

/// Whether a change stream resumes after this error of a getMore, on servers before 4.4 (Change
/// Streams, "Resumable Error").
pub(crate) fn is_resumable_change_stream(code: i32) -> bool {
    is_retryable_write(code)
        || matches!(
            code,
            STALE_SHARD_VERSION
                | STALE_EPOCH
                | STALE_CONFIG
                | RETRY_CHANGE_STREAM
                | FAILED_TO_SATISFY_READ_PREFERENCE
        )
}
