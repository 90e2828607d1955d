//! Commands of search indexes, which only Atlas has.

use super::Call;
use crate::error::{Error, Result};
use bson::Document;

/// The error of a server that is not connected to Atlas.
pub(crate) fn atlas_only() -> Error {
    Error::new(
        31082,
        "Using Atlas Search Database Commands and the $listSearchIndexes aggregation stage requires additional configuration. \
         Please connect to Atlas or an AtlasCLI local deployment to enable.",
    )
}

/// `createSearchIndexes`, `updateSearchIndex`, `dropSearchIndex`.
pub(crate) fn refuse(call: &Call<'_>) -> Result<Document> {
    call.namespace()?;
    Err(atlas_only())
}
