//! The fields of a reply to `bulkWrite` and of the documents in its results cursor (Bulk Write
//! specification, "Handling the `bulkWrite` Server Response").

use crate::{
    Error, Result,
    bson::{Bson, RawElement, RawElements, RawValue, find_element, from_slice},
    error::WriteError,
    proto::command::document_bytes,
};

/// The counts in a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// `nErrors`
    pub errors: u64,
    /// `nInserted`
    pub inserted: u64,
    /// `nUpserted`
    pub upserted: u64,
    /// `nMatched`
    pub matched: u64,
    /// `nModified`
    pub modified: u64,
    /// `nDeleted`
    pub deleted: u64,
}

impl Summary {
    /// Parses the body of a reply. A missing count is 0.
    pub fn parse(reply: &[u8]) -> Result<Self> {
        let mut summary = Self::default();
        let mut elements = RawElements::new(reply)?;
        while let Some(RawElement { key, value }) = elements.next_element()? {
            let count = match key {
                "nErrors" => &mut summary.errors,
                "nInserted" => &mut summary.inserted,
                "nUpserted" => &mut summary.upserted,
                "nMatched" => &mut summary.matched,
                "nModified" => &mut summary.modified,
                "nDeleted" => &mut summary.deleted,
                _ => continue,
            };
            *count = number(value);
        }
        Ok(summary)
    }
}

/// A document of the results cursor.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// `idx`: the position of the write in the command.
    pub(super) index: usize,
    /// `n`
    pub(super) n: u64,
    /// `nModified`
    pub(super) n_modified: u64,
    /// `upserted._id`
    pub(super) upserted_id: Option<Bson>,
    /// The error, if `ok` is 0. Its index is `idx`.
    pub(super) error: Option<WriteError>,
}

impl Row {
    pub(super) fn parse(document: &[u8]) -> Result<Self> {
        let mut row = Self::default();
        let mut error = WriteError::default();
        let (mut ok, mut index) = (false, None);
        let mut elements = RawElements::new(document)?;
        while let Some(RawElement { key, value }) = elements.next_element()? {
            match key {
                "ok" => ok = value.is_truthy(),
                "idx" => index = value.int().ok().and_then(|index| usize::try_from(index).ok()),
                "n" => row.n = number(value),
                "nModified" => row.n_modified = number(value),
                "upserted" => {
                    if let Some(upserted) = document_bytes(value)
                        && let Some(id) = find_element(upserted, "_id")?
                    {
                        row.upserted_id = Some(id.value.to_bson()?);
                    }
                }
                "code" => error.code = i32::try_from(value.int().unwrap_or_default()).unwrap_or_default(),
                "errmsg" => value.str()?.clone_into(&mut error.message),
                "errInfo" => error.details = document_bytes(value).map(from_slice).transpose()?,
                "keyPattern" => error.key_pattern = document_bytes(value).map(from_slice).transpose()?,
                "keyValue" => error.key_value = document_bytes(value).map(from_slice).transpose()?,
                _ => {}
            }
        }
        row.index = index.ok_or_else(|| {
            Error::invalid_reply("a document in the results cursor of bulkWrite has no valid field \"idx\"")
        })?;
        if !ok {
            error.index = row.index;
            row.error = Some(error);
        }
        Ok(row)
    }
}

fn number(value: RawValue<'_>) -> u64 {
    u64::try_from(value.int().unwrap_or_default()).unwrap_or_default()
}
