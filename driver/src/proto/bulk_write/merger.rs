//! Merges the replies and results of the commands of a call into its result or its error (Bulk
//! Write specification, "Handling the `bulkWrite` Server Response" and "Handling Errors").

use super::reply::{Row, Summary};
use crate::{
    Error, ErrorKind, Result,
    bson::Bson,
    error::{ClientBulkWriteError, WriteError},
    types::write_result::{
        ClientBulkWriteResult, DeleteResult, InsertOneResult, UpdateResult, VerboseResults,
    },
};

/// A write that the server reports as performed. Its results do not name the kind of the write.
#[derive(Clone, Copy, Debug)]
pub enum Written<'a> {
    /// An insert of the document with this `_id`.
    Insert(&'a Bson),
    /// An update or a replacement.
    Update,
    /// A delete.
    Delete,
}

/// The command whose results are being read.
#[derive(Clone, Copy, Debug, Default)]
struct Command {
    /// The position of its first write in the call.
    offset: usize,
    /// Number of its writes.
    count: usize,
    /// `nErrors`
    errors: u64,
    /// Number of errors that have been read.
    found: u64,
}

/// The merged results of the commands of a call.
#[derive(Debug)]
pub struct ResultMerger {
    is_ordered: bool,
    is_verbose: bool,
    command: Command,
    result: ClientBulkWriteResult,
    // Vectors, because maps that grow with each result are several times slower.
    inserts: Vec<(usize, InsertOneResult)>,
    updates: Vec<(usize, UpdateResult)>,
    deletes: Vec<(usize, DeleteResult)>,
    write_errors: Vec<WriteError>,
    /// The write concern errors of all commands, each an [`ErrorKind::Write`].
    concern_errors: Vec<Error>,
    /// Whether it is known that a write succeeded.
    has_success: bool,
}

impl ResultMerger {
    /// The state before the first command. `is_verbose`: whether `errorsOnly` is `false`.
    pub fn new(is_ordered: bool, is_verbose: bool) -> Self {
        Self {
            is_ordered,
            is_verbose,
            command: Command::default(),
            result: ClientBulkWriteResult::default(),
            inserts: Vec::new(),
            updates: Vec::new(),
            deletes: Vec::new(),
            write_errors: Vec::new(),
            concern_errors: Vec::new(),
            has_success: false,
        }
    }

    /// Adds the counts in the reply to a command with `count` writes, of which the first has the
    /// position `offset` in the call.
    pub fn begin_command(&mut self, offset: usize, count: usize, summary: &Summary) {
        self.command = Command {
            offset,
            count,
            errors: summary.errors,
            found: 0,
        };
        let result = &mut self.result;
        result.acknowledged = true;
        result.inserted_count = result.inserted_count.saturating_add(summary.inserted);
        result.upserted_count = result.upserted_count.saturating_add(summary.upserted);
        result.matched_count = result.matched_count.saturating_add(summary.matched);
        result.modified_count = result.modified_count.saturating_add(summary.modified);
        result.deleted_count = result.deleted_count.saturating_add(summary.deleted);
        // In an ordered bulk write with an error, the position of the error decides; it follows in
        // the results cursor. A document that was written proves a success at once.
        let is_written = [
            summary.inserted,
            summary.upserted,
            summary.matched,
            summary.deleted,
        ]
        .iter()
        .any(|count| *count > 0);
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.has_success |= summary.errors == 0 || is_written || (!self.is_ordered && summary.errors < count);
    }

    /// Adds the write concern error of the command: an [`ErrorKind::Write`].
    pub fn write_concern_error(&mut self, error: Error) {
        self.concern_errors.push(error);
    }

    /// Adds a document of the results cursor. `written` returns the kind of the write at a position
    /// in the call. Returns whether more documents are read: an ordered bulk write ends at the first
    /// error.
    pub fn add_result<'a>(
        &mut self,
        document: &[u8],
        written: impl FnOnce(usize) -> Option<Written<'a>>,
    ) -> Result<bool> {
        let row = Row::parse(document)?;
        let position = self.command.offset + row.index;
        let written = written(position)
            .filter(|_| row.index < self.command.count)
            .ok_or_else(|| {
                Error::invalid_reply(format!(
                    "the results cursor of bulkWrite contains the index {}, but the command has {} writes",
                    row.index, self.command.count
                ))
            })?;
        if let Some(mut error) = row.error {
            error.index = position;
            self.write_errors.push(error);
            self.command.found += 1;
            // The writes before it succeeded.
            self.has_success |= self.is_ordered && row.index > 0;
            return Ok(!self.is_ordered);
        }
        self.has_success = true;
        if !self.is_verbose {
            return Ok(true);
        }
        match written {
            Written::Insert(id) => {
                let inserted_id = id.clone();
                self.inserts.push((position, InsertOneResult { inserted_id }));
            }
            Written::Update => {
                let result = UpdateResult {
                    matched_count: row.n,
                    modified_count: row.n_modified,
                    upserted_id: row.upserted_id,
                };
                self.updates.push((position, result));
            }
            Written::Delete => {
                let deleted_count = row.n;
                self.deletes.push((position, DeleteResult { deleted_count }));
            }
        }
        Ok(true)
    }

    /// Ends the results of the command. Returns whether the call continues with the next command.
    pub fn end_command(&mut self) -> Result<bool> {
        let Command { errors, found, .. } = self.command;
        if errors > 0 && found == 0 {
            return Err(Error::invalid_reply(format!(
                "nErrors of bulkWrite is {errors}, but the results cursor contains no error"
            )));
        }
        Ok(!self.is_ordered || found == 0)
    }

    /// The result of the call, or its error if writes or write concerns failed.
    pub fn finish(mut self) -> Result<ClientBulkWriteResult> {
        if self.write_errors.is_empty() && self.concern_errors.is_empty() {
            return Ok(self.take_result());
        }
        // The labels, the server and the reply of the error are those of the first write concern
        // error.
        let base = self
            .concern_errors
            .first()
            .cloned()
            .unwrap_or_else(|| Error::new(ErrorKind::ClientBulkWrite(Box::default())));
        Err(self.into_error(base, None))
    }

    /// The error of a call that an error ended: the error itself, unless results or errors of the
    /// writes are known.
    pub fn interrupt(self, error: Error) -> Error {
        if !self.has_success && self.write_errors.is_empty() && self.concern_errors.is_empty() {
            return error;
        }
        let top_level = error.clone();
        self.into_error(error, Some(top_level))
    }

    fn into_error(mut self, base: Error, error: Option<Error>) -> Error {
        self.write_errors.sort_by_key(|failed| failed.index);
        let write_concern_errors = self
            .concern_errors
            .iter()
            .filter_map(|error| error.write_concern_error().cloned())
            .collect();
        base.with_kind(ErrorKind::ClientBulkWrite(Box::new(ClientBulkWriteError {
            error,
            write_concern_errors,
            write_errors: std::mem::take(&mut self.write_errors),
            partial_result: self.has_success.then(|| self.take_result()),
        })))
    }

    fn take_result(&mut self) -> ClientBulkWriteResult {
        let mut result = std::mem::take(&mut self.result);
        if self.is_verbose {
            result.verbose_results = Some(VerboseResults {
                insert_results: std::mem::take(&mut self.inserts).into_iter().collect(),
                update_results: std::mem::take(&mut self.updates).into_iter().collect(),
                delete_results: std::mem::take(&mut self.deletes).into_iter().collect(),
            });
        }
        result
    }
}
