//! Error codes of the server, with the names that the server gives them.
//!
//! <https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml>

pub(crate) const INTERNAL_ERROR: i32 = 1;
pub(crate) const HOST_UNREACHABLE: i32 = 6;
pub(crate) const HOST_NOT_FOUND: i32 = 7;
pub(crate) const AUTHENTICATION_FAILED: i32 = 18;
pub(crate) const ILLEGAL_OPERATION: i32 = 20;
pub(crate) const NAMESPACE_NOT_FOUND: i32 = 26;
pub(crate) const CURSOR_NOT_FOUND: i32 = 43;
pub(crate) const MAX_TIME_MS_EXPIRED: i32 = 50;
pub(crate) const STALE_SHARD_VERSION: i32 = 63;
pub(crate) const UNKNOWN_REPL_WRITE_CONCERN: i32 = 79;
pub(crate) const NETWORK_TIMEOUT: i32 = 89;
pub(crate) const SHUTDOWN_IN_PROGRESS: i32 = 91;
pub(crate) const UNSATISFIABLE_WRITE_CONCERN: i32 = 100;
pub(crate) const FAILED_TO_SATISFY_READ_PREFERENCE: i32 = 133;
pub(crate) const READ_CONCERN_MAJORITY_NOT_AVAILABLE_YET: i32 = 134;
pub(crate) const STALE_EPOCH: i32 = 150;
pub(crate) const PRIMARY_STEPPED_DOWN: i32 = 189;
pub(crate) const RETRY_CHANGE_STREAM: i32 = 234;
pub(crate) const EXCEEDED_TIME_LIMIT: i32 = 262;
pub(crate) const CHANGE_STREAM_HISTORY_LOST: i32 = 286;
pub(crate) const REAUTHENTICATION_REQUIRED: i32 = 391;
pub(crate) const SOCKET_EXCEPTION: i32 = 9001;
/// The legacy form of `NotWritablePrimary`.
pub(crate) const LEGACY_NOT_PRIMARY: i32 = 10058;
pub(crate) const NOT_WRITABLE_PRIMARY: i32 = 10107;
pub(crate) const DUPLICATE_KEY: i32 = 11000;
/// The legacy form of `DuplicateKey` for updates.
pub(crate) const LEGACY_DUPLICATE_KEY_ON_UPDATE: i32 = 11001;
pub(crate) const INTERRUPTED_AT_SHUTDOWN: i32 = 11600;
pub(crate) const INTERRUPTED_DUE_TO_REPL_STATE_CHANGE: i32 = 11602;
/// The legacy form of `DuplicateKey` for capped collections.
pub(crate) const DUPLICATE_KEY_ON_CAPPED: i32 = 12582;
pub(crate) const STALE_CONFIG: i32 = 13388;
pub(crate) const NOT_PRIMARY_NO_SECONDARY_OK: i32 = 13435;
pub(crate) const NOT_PRIMARY_OR_SECONDARY: i32 = 13436;

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

/// Whether a unique index rejected a write.
pub(crate) fn is_duplicate_key(code: i32) -> bool {
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
