//! The kinds of errors, as spans and metrics name them.

use crate::base::error::Error;

/// The name of the variant, in the form of a label.
pub(super) fn kind(error: &Error) -> &'static str {
    match error {
        Error::Driver(_) => "driver",
        Error::Duplicate { .. } => "duplicate",
        Error::Decode { .. } => "decode",
        Error::MissingId { .. } => "missing_id",
        Error::VersionConflict { .. } => "version_conflict",
        Error::NewerSchema { .. } => "newer_schema",
        Error::Upgrade { .. } => "upgrade",
        Error::Validation { .. } => "validation",
        Error::Hook { .. } => "hook",
        Error::ShardKey { .. } => "shard_key",
        Error::SearchUnsupported { .. } => "search_unsupported",
        Error::ShardKeyChanged { .. } => "shard_key_changed",
        Error::NotFound { .. } => "not_found",
        Error::MoreThanOne { .. } => "more_than_one",
        Error::InvalidPageToken => "invalid_page_token",
        Error::Encode { .. } => "encode",
        Error::OutOfScope { .. } => "out_of_scope",
        Error::InvalidFilter { .. } => "invalid_filter",
        Error::InvalidUpdate { .. } => "invalid_update",
        Error::InvalidPipeline { .. } => "invalid_pipeline",
        Error::InvalidArgument { .. } => "invalid_argument",
        Error::BulkWrite { .. } => "bulk_write",
        Error::InvalidBulkWrite { .. } => "invalid_bulk_write",
        Error::UnknownSort { .. } => "unknown_sort",
        Error::UnknownFilter { .. } => "unknown_filter",
        Error::InvalidFilterValue { .. } => "invalid_filter_value",
        Error::Schema(_) => "schema",
    }
}
