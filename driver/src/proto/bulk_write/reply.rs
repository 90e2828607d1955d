//! The fields of a reply to `bulkWrite` and of the documents in its results cursor (Bulk Write
//! specification, "Handling the `bulkWrite` Server Response").

use crate::{
    Error, Result,
    bson::{Bson, RawElement, RawElements, find_element},
    error::WriteError,
    proto::command::{count, document_bytes, invalid_count, read_write_error_field, statement_index},
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
    /// Parses the body of a reply. Fails if a count is missing or is not a whole number of at least 0;
    /// only `nErrors` may be missing, which means 0.
    pub fn parse(reply: &[u8]) -> Result<Self> {
        const NAMES: [&str; 6] = [
            "nInserted",
            "nUpserted",
            "nMatched",
            "nModified",
            "nDeleted",
            "nErrors",
        ];
        let mut counts = [None, None, None, None, None, Some(0)];
        let mut elements = RawElements::new(reply)?;
        while let Some(RawElement { key, value }) = elements.next_element()? {
            if let Some((_, found)) = NAMES.iter().zip(&mut counts).find(|(name, _)| **name == key) {
                *found = Some(count(value, key)?);
            }
        }
        match counts {
            [
                Some(inserted),
                Some(upserted),
                Some(matched),
                Some(modified),
                Some(deleted),
                Some(errors),
            ] => Ok(Self {
                errors,
                inserted,
                upserted,
                matched,
                modified,
                deleted,
            }),
            _ => {
                let missing = NAMES.iter().zip(&counts).find(|(_, found)| found.is_none());
                Err(invalid_count(missing.map_or("", |(name, _)| name)))
            }
        }
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
        let (mut n, mut n_modified, mut upserted) = (None, None, None);
        let mut elements = RawElements::new(document)?;
        while let Some(RawElement { key, value }) = elements.next_element()? {
            match key {
                "ok" => ok = value.is_truthy(),
                "idx" => index = statement_index(value),
                "n" => n = Some(value),
                "nModified" => n_modified = Some(value),
                "upserted" => upserted = document_bytes(value),
                _ => read_write_error_field(&mut error, key, value),
            }
        }
        row.index = index.ok_or_else(|| {
            Error::invalid_reply("a document in the results cursor of bulkWrite has no valid field \"idx\"")
        })?;
        if !ok {
            error.index = row.index;
            row.error = Some(error);
            return Ok(row);
        }
        row.n = n.map_or_else(|| Err(invalid_count("n")), |value| count(value, "n"))?;
        row.n_modified = n_modified.map_or(Ok(0), |value| count(value, "nModified"))?;
        if let Some(id) = upserted
            .map(|upserted| find_element(upserted, "_id"))
            .transpose()?
            .flatten()
        {
            row.upserted_id = Some(id.value.to_bson()?);
        }
        Ok(row)
    }
}
