//! The write commands `insert`, `update` and `delete`. A command contains as many statements of a
//! call as the limits of the server allow. All methods that send statements use it, for one
//! statement or many.
//!
//! Specifications:
//! [CRUD](https://github.com/mongodb/specifications/blob/master/source/crud/crud.md), [Write
//! Commands](https://github.com/mongodb/specifications/blob/master/source/server_write_commands.md)
//! ("Request Size Limits"), [Retryable
//! Writes](https://github.com/mongodb/specifications/blob/master/source/retryable-writes/retryable-writes.md).

use super::{Operation, OperationOverrides, Properties, ReplyContext, Retry, message_budget};
use crate::{
    Error, ErrorKind, Namespace, Result,
    bson::{Bson, RawElement, RawElements, find_element},
    error::{BulkWriteError, WriteFailure},
    proto::{
        command::{
            CommandBuilder, Reply, document_bytes, statement_index, write_concern_error, write_errors,
        },
        description::HelloReply,
        wire::MessageWriter,
    },
    types::{concern::WriteConcern, server_requirement::ServerRequirement},
};

/// Number of bytes by which a document in a command may exceed `maxBsonObjectSize`. The server
/// enforces the limit on documents; the driver rejects only documents so large that the server
/// would close the connection.
const HEADROOM: usize = 16 << 10;

/// The size of an empty document, the smallest document.
const MIN_DOCUMENT: usize = 5;

/// The type of a command with statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteKind {
    Insert,
    Update,
    Delete,
}

impl WriteKind {
    /// The name of the command.
    pub(crate) const fn command(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }

    /// The identifier of the document sequence that holds the statements.
    pub(crate) const fn sequence(self) -> &'static str {
        match self {
            Self::Insert => "documents",
            Self::Update => "updates",
            Self::Delete => "deletes",
        }
    }
}

/// The statements of a call that are sent with one type of command. Indexes count from the first
/// statement that has not been sent, which is the first statement of the next command.
pub(crate) trait Statements {
    const KIND: WriteKind;

    /// The number of statements that have not been sent.
    fn remaining(&self) -> usize;

    /// The position of a statement in the call.
    fn position(&self, index: usize) -> usize;

    /// The size of a statement in bytes, if known before [`append`](Self::append). Known for all
    /// statements or for none.
    fn encoded_size(&self, _index: usize) -> Option<usize> {
        None
    }

    /// Whether a statement can write several documents, so that a command with it is not retryable.
    fn is_multi(&self, _index: usize) -> bool {
        false
    }

    /// Whether a statement has a hint, which `delete` supports since MongoDB 4.4.
    fn needs_4_4(&self, _index: usize) -> bool {
        false
    }

    /// What the options of the call set; see [`Operation::overrides`].
    fn overrides(&self) -> OperationOverrides;

    /// The server version that the options of the call need; see [`Operation::requirement`].
    #[inline]
    fn requirement(&self) -> Option<&ServerRequirement> {
        None
    }

    /// Writes the fields of the command between its name and its write concern.
    fn write_options(&self, command: &mut CommandBuilder<'_>, server: &HelloReply);

    /// Appends the statement `index`. Called with `0`, `1`, … for each attempt. A later attempt
    /// must append the same bytes.
    fn append(&mut self, index: usize, buffer: &mut Vec<u8>) -> Result<()>;

    /// Reserves capacity for `count` more statements.
    fn reserve(&mut self, _count: usize) {}

    /// Limits the command to the first `count` of the appended statements.
    fn truncate(&mut self, _count: usize) {}

    /// Removes the first `count` statements after they were sent. Returns the `_id` and the
    /// position of each document that the command inserts.
    fn advance(&mut self, count: usize) -> Vec<(usize, Bson)>;
}

/// The result of one command.
#[derive(Debug, Default)]
pub(crate) struct WriteOutcome {
    /// `n`
    pub(crate) n: u64,
    /// `nModified`
    pub(crate) n_modified: u64,
    /// The `_id` of each upserted document, with the position of its statement.
    pub(crate) upserted: Box<[(usize, Bson)]>,
    /// An error of kind [`ErrorKind::BulkWrite`] if statements or the write concern failed, or an
    /// [`ErrorKind::Timeout`] of that cause if the time limit expired before the command could be sent again.
    /// Its indexes are positions in the call.
    pub(crate) error: Option<Error>,
}

impl WriteOutcome {
    /// The errors of the statements and of the write concern.
    pub(crate) fn failures(&self) -> Option<&BulkWriteError> {
        failures(self.error.as_ref()?)
    }

    /// The result of a call with one statement. Its failure is an [`ErrorKind::Write`].
    pub(crate) fn into_single(self) -> Result<Self> {
        match self.single_error() {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// The failure of a call with one statement.
    fn single_error(&self) -> Option<Error> {
        let failures = self.failures()?;
        let failure = WriteFailure {
            write_error: failures.write_errors.first().cloned(),
            write_concern_error: failures.write_concern_error.clone(),
        };
        let error = self.error.clone()?;
        Some(error.with_kind_before_timeout(ErrorKind::Write(failure)))
    }
}

/// The errors of the statements and of the write concern in an error, or in the cause of a timeout.
fn failures(error: &Error) -> Option<&BulkWriteError> {
    match error.before_timeout().kind() {
        ErrorKind::BulkWrite(failures) => Some(failures),
        _ => None,
    }
}

/// A command with the next statements of a call.
///
/// The limits of the server that the command is sent to determine its statements. Only these
/// statements determine whether it is retryable: eligibility is evaluated for each command "after
/// order and batch splitting" individually (Retryable Writes, "Supported Write Operations"). A
/// retry contains the statements of the first attempt.
#[derive(Debug)]
pub(crate) struct WriteCommand<'a, S> {
    namespace: &'a Namespace,
    statements: &'a mut S,
    write_concern: &'a WriteConcern,
    /// Number of statements of the command. Until the command has been written, the maximum.
    count: usize,
    /// Whether one of these statements can write several documents.
    is_multi: bool,
    /// Whether the command has been written. Its statements do not change afterwards.
    is_written: bool,
    outcome: WriteOutcome,
}

impl<'a, S: Statements> WriteCommand<'a, S> {
    pub(crate) fn new(
        namespace: &'a Namespace,
        statements: &'a mut S,
        write_concern: &'a WriteConcern,
    ) -> Self {
        let mut command = Self {
            namespace,
            statements,
            write_concern,
            count: 0,
            is_multi: false,
            is_written: false,
            outcome: WriteOutcome::default(),
        };
        if command.statements.encoded_size(0).is_some() {
            // The default limits apply until a server is selected.
            command.split(&HelloReply::default());
        } else {
            command.is_multi = command.statements.is_multi(0);
        }
        command
    }

    /// The number of statements of the command, and its result.
    pub(crate) fn into_outcome(self) -> (usize, WriteOutcome) {
        (self.count, self.outcome)
    }

    /// Takes as many statements as a command to this server can contain, at least one. Statements
    /// of unknown size are limited again while they are written.
    fn split(&mut self, server: &HelloReply) {
        let most = self.statements.remaining().min(server.max_batch_size().max(1));
        let mut space = match self.statements.encoded_size(0) {
            Some(_) => message_budget(server).saturating_sub(self.body_size(server)),
            None => 0,
        };
        (self.count, self.is_multi) = (0, false);
        for index in 0..most {
            if let Some(size) = self.statements.encoded_size(index) {
                if index > 0 && size > space {
                    break;
                }
                space = space.saturating_sub(size);
            }
            self.is_multi |= self.statements.is_multi(index);
            self.count += 1;
        }
    }

    /// Size in bytes of the command without its statements and without the fields that an attempt
    /// adds.
    fn body_size(&mut self, server: &HelloReply) -> usize {
        let mut buffer = Vec::new();
        let mut command = CommandBuilder::new(&mut buffer);
        // An error is returned when the command is written.
        if self.build(&mut command, server).is_ok() {
            let _ = command.finish(&self.namespace.database);
        }
        buffer.len()
    }

    /// The position in the call of the statement that the reply names.
    fn position(&self, index: usize) -> Result<usize> {
        if index < self.count {
            return Ok(self.statements.position(index));
        }
        Err(Error::invalid_reply(format!(
            "a reply names the statement {index} of a command with {} statements",
            self.count
        )))
    }

    /// Reads the counts and the ids of upserted documents.
    fn read_outcome(&mut self, reply: &Reply<'_>) -> Result<()> {
        let upserted = match reply.upserted() {
            None => Box::default(),
            Some(array) => RawElements::new(array)?
                .map(|element| self.upserted(element?))
                .collect::<Result<_>>()?,
        };
        self.outcome = WriteOutcome {
            n: reply.n()?,
            n_modified: match S::KIND {
                WriteKind::Update => reply.n_modified()?,
                _ => 0,
            },
            upserted,
            error: None,
        };
        Ok(())
    }

    /// Reads the counts and the ids of upserted documents beside errors of writes. What cannot be read
    /// is left out, so that the errors are reported.
    #[cold]
    fn read_outcome_of_failed(&mut self, reply: &Reply<'_>) {
        let upserted = reply.upserted().into_iter().flat_map(RawElements::new).flatten();
        self.outcome = WriteOutcome {
            n: reply.n().unwrap_or_default(),
            n_modified: reply.n_modified().unwrap_or_default(),
            upserted: upserted
                .filter_map(|element| self.upserted(element.ok()?).ok())
                .collect(),
            error: None,
        };
    }

    /// The errors of the statements and of the write concern.
    #[cold]
    fn read_failures(&self, reply: &Reply<'_>) -> Result<BulkWriteError> {
        let mut failures = BulkWriteError {
            write_errors: write_errors(reply)?,
            write_concern_error: write_concern_error(reply),
            ..BulkWriteError::default()
        };
        for error in &mut failures.write_errors {
            error.index = self.position(error.index)?;
        }
        Ok(failures)
    }

    /// The position and the id of an upserted document, from an element of `upserted`.
    fn upserted(&self, element: RawElement<'_>) -> Result<(usize, Bson)> {
        let bytes = document_bytes(element.value)
            .ok_or_else(|| Error::invalid_reply("an element of \"upserted\" is not a document"))?;
        let index = find_element(bytes, "index")?.and_then(|element| statement_index(element.value));
        let (Some(index), Some(id)) = (index, find_element(bytes, "_id")?) else {
            return Err(Error::invalid_reply(
                "an element of \"upserted\" has no valid fields \"index\" and \"_id\"",
            ));
        };
        Ok((self.position(index)?, id.value.to_bson()?))
    }
}

impl<S: Statements> Operation for WriteCommand<'_, S> {
    type Output = ();

    fn properties(&self) -> Properties<'_> {
        let write = Properties::write(S::KIND.command(), &self.namespace.database, self.write_concern);
        Properties {
            retry: if self.is_multi { Retry::No } else { Retry::Write },
            ..write
        }
    }

    fn collection(&self) -> Option<&str> {
        Some(&self.namespace.collection)
    }

    fn failure(&self) -> Option<Error> {
        self.outcome.single_error()
    }

    fn prepare(&mut self, server: &HelloReply) {
        if !self.is_written {
            self.split(server);
        }
    }

    fn overrides(&self) -> OperationOverrides {
        self.statements.overrides()
    }

    fn requirement(&self) -> Option<&ServerRequirement> {
        self.statements.requirement()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        let has_hint = || (0..self.count).any(|index| self.statements.needs_4_4(index));
        check_hint(has_hint, self.write_concern, server)?;
        command.str(S::KIND.command(), &self.namespace.collection);
        self.statements.write_options(command, server);
        command.write_concern(self.write_concern);
        Ok(())
    }

    fn build_sequences(&mut self, message: &mut MessageWriter<'_>, server: &HelloReply) -> Result<()> {
        let sequence = message.begin_sequence(S::KIND.sequence());
        let limit = message_budget(server);
        let largest = server.max_document_size() + HEADROOM;
        let is_measured = self.statements.encoded_size(0).is_some();
        for index in 0..self.count {
            let start = message.buffer.len();
            self.statements.append(index, message.buffer)?;
            let size = message.buffer.len() - start;
            if S::KIND == WriteKind::Insert && size > largest {
                return Err(Error::invalid_argument(format!(
                    "the document at index {} has {size} bytes; the server accepts at most {} (maxBsonObjectSize)",
                    self.statements.position(index),
                    server.max_document_size()
                )));
            }
            if is_measured {
                continue;
            }
            if index == 0 {
                // Reserve capacity under the assumption that all statements are as large as the
                // first.
                let fitting = limit.saturating_sub(message.size()) / size.max(MIN_DOCUMENT);
                let more = fitting.min(self.count - 1);
                message.buffer.reserve(more * size);
                self.statements.reserve(more);
            } else if !self.is_written && message.size() > limit {
                message.buffer.truncate(start);
                self.statements.truncate(index);
                self.count = index;
                break;
            }
        }
        self.is_written = true;
        message.end_sequence(sequence)?;
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<()> {
        if reply.has_write_failures() {
            let failures = self.read_failures(reply).map_err(|error| reply.annotate(error))?;
            if !failures.write_errors.is_empty() || failures.write_concern_error.is_some() {
                self.read_outcome_of_failed(reply);
                return Err(reply.annotate(Error::new(ErrorKind::BulkWrite(Box::new(failures)))));
            }
        }
        self.read_outcome(reply).map_err(|error| reply.annotate(error))
    }

    /// Errors of statements are an error while the executor decides about a retry. Afterwards they
    /// belong to the result of the call, which is that of the last attempt that was sent, also if the time limit
    /// expired before the next one was.
    fn recover(&mut self, error: Error) -> Result<()> {
        if failures(&error).is_none() {
            return Err(error);
        }
        self.outcome.error = Some(error);
        Ok(())
    }

    fn unacknowledged(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Rejects a hint of an unacknowledged `delete` or `findAndModify` for servers before 4.4: they do
/// not support it, and their error reply is not received (CRUD, `DeleteOptions.hint`).
pub(crate) fn check_hint(
    has_hint: impl FnOnce() -> bool,
    write_concern: &WriteConcern,
    server: &HelloReply,
) -> Result<()> {
    if !write_concern.is_acknowledged() && !server.is_4_4() && has_hint() {
        return Err(Error::unsupported(
            "a hint on this unacknowledged write requires MongoDB 4.4 or later",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
