//! Commands of search indexes. They fail as on a deployment without Atlas Search.

use super::Call;
use crate::error::{Error, Result};
use bson::Document;

/// The error of a deployment without Atlas Search.
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
