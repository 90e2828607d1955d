//! One `bulkWrite` command: the writes that it contains, and its reply ([Bulk Write], "Building a
//! `bulkWrite` Command").
//!
//! [Bulk Write]: https://github.com/mongodb/specifications/blob/master/source/crud/bulk-write.md

use super::{super::wire::WriteOptions, COMMAND, ClientBulkWriteOptions, DATABASE, writes::Writes};
use crate::{
    Error, ErrorKind, RETRYABLE_WRITE_ERROR, Result,
    error::WriteFailure,
    operation::{
        Operation, OperationOverrides, Properties, ReplyContext, Retry,
        cursor::{self, CursorReply},
        message_budget, single_budget,
    },
    proto::{
        bulk_write::{Batch, Limits, Summary},
        command::{CommandBuilder, Reply, write_concern_error},
        description::HelloReply,
        wire::{MessageWriter, ReplyBuffer},
    },
    types::concern::WriteConcern,
};

/// The size of the kinds, lengths and names of both document sequences.
const SEQUENCE_FRAMES: usize = 2 * (1 + 4) + "ops\0".len() + "nsInfo\0".len();

/// The reply to a command.
#[derive(Debug)]
pub(super) struct BulkWriteReply {
    pub(super) summary: Summary,
    /// The results cursor.
    pub(super) cursor: CursorReply,
    /// The write concern error: an [`ErrorKind::Write`], or an [`ErrorKind::Timeout`] of that cause if the time
    /// limit expired before the command could be sent again.
    pub(super) write_concern_error: Option<Error>,
}

/// A command with the next writes of a call. The limits of the server that it is sent to determine
/// how many. A retry contains the writes of the first attempt.
#[derive(Debug)]
pub(super) struct BulkWriteCommand<'a> {
    writes: &'a mut Writes,
    options: &'a ClientBulkWriteOptions,
    write_concern: &'a WriteConcern,
    limits: Limits,
    batch: Batch,
    /// Whether the command has been written. Its writes do not change afterwards.
    is_written: bool,
    /// The reply whose write concern error is retryable, if no further attempt replaces it.
    retryable: Option<BulkWriteReply>,
}

impl<'a> BulkWriteCommand<'a> {
    pub(super) fn new(
        writes: &'a mut Writes,
        options: &'a ClientBulkWriteOptions,
        write_concern: &'a WriteConcern,
    ) -> Self {
        let mut command = Self {
            writes,
            options,
            write_concern,
            limits: Limits::default(),
            batch: Batch::default(),
            is_written: false,
            retryable: None,
        };
        // The default limits apply until a server is selected.
        command.plan(&HelloReply::default());
        command
    }

    /// The number of writes of the command.
    pub(super) fn count(&self) -> usize {
        self.batch.count
    }

    fn plan(&mut self, server: &HelloReply) {
        let body = self.body_size(server);
        let limits = Limits {
            writes: server.max_batch_size(),
            bytes: message_budget(server).saturating_sub(body),
            single: single_budget(server).saturating_sub(body),
        };
        if limits != self.limits {
            self.limits = limits;
            self.batch = self.writes.plan(limits);
        }
    }

    /// The size in bytes of the command without its sequences and without the fields that all
    /// commands share.
    fn body_size(&self, server: &HelloReply) -> usize {
        let mut buffer = Vec::new();
        let mut command = CommandBuilder::new(&mut buffer);
        self.write_fields(&mut command, server);
        // The terminator follows.
        command.len() + 1
    }

    fn write_fields(&self, command: &mut CommandBuilder<'_>, server: &HelloReply) {
        command.i32(COMMAND, 1);
        command.bool("errorsOnly", !self.options.is_verbose());
        command.bool("ordered", self.options.is_ordered());
        self.options.write(command, server);
        command.write_concern(self.write_concern);
    }
}

impl Operation for BulkWriteCommand<'_> {
    /// `None` if the write is unacknowledged.
    type Output = Option<BulkWriteReply>;

    fn properties(&self) -> Properties<'_> {
        let retry = if self.batch.is_multi {
            Retry::No
        } else {
            Retry::Write
        };
        Properties {
            retry,
            ..Properties::write(COMMAND, DATABASE, self.write_concern)
        }
    }

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    fn prepare(&mut self, server: &HelloReply) {
        if !self.is_written {
            self.plan(server);
        }
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        if !server.is_8_0() {
            return Err(Error::unsupported(
                "the client bulk write requires MongoDB 8.0 or later; use bulk_write of a collection",
            ));
        }
        if self.batch.count == 0 {
            return Err(self.writes.too_large(self.limits));
        }
        self.write_fields(command, server);
        Ok(())
    }

    fn build_sequences(&mut self, message: &mut MessageWriter<'_>, _server: &HelloReply) -> Result<()> {
        // Beside the documents: the frames and names of both sequences.
        message.buffer.reserve(self.batch.bytes + SEQUENCE_FRAMES);
        let ops = message.begin_sequence("ops");
        self.writes.append_ops(self.batch.count, message.buffer)?;
        message.end_sequence(ops)?;
        let ns_info = message.begin_sequence("nsInfo");
        self.writes.append_ns_info(message.buffer)?;
        message.end_sequence(ns_info)?;
        self.is_written = true;
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<Option<BulkWriteReply>> {
        let mut parsed = BulkWriteReply {
            summary: Summary::parse(reply.body)?,
            cursor: cursor::parse(reply, context)?,
            write_concern_error: None,
        };
        let Some(concern) = write_concern_error(reply) else {
            return Ok(Some(parsed));
        };
        let error = Error::new(ErrorKind::Write(WriteFailure {
            write_concern_error: Some(concern),
            ..WriteFailure::default()
        }));
        let error = reply.annotate(error).with_address(context.address);
        // With an open cursor the command is not retried: its results would be lost with the
        // connection and the session that getMore requires.
        if error.contains_label(RETRYABLE_WRITE_ERROR) && parsed.cursor.id == 0 {
            let body = reply.body.to_vec();
            let range = 0..body.len();
            parsed.cursor.batch.attach(|| ReplyBuffer::new(body, range));
            self.retryable = Some(parsed);
            return Err(error);
        }
        parsed.write_concern_error = Some(error);
        Ok(Some(parsed))
    }

    fn cursor(output: &mut Option<BulkWriteReply>) -> Option<&mut CursorReply> {
        output.as_mut().map(|reply| &mut reply.cursor)
    }

    /// A write concern error is an error while the executor decides about a retry. Afterwards it
    /// belongs to the result of the call, which is that of the last attempt that was sent, also if the time limit
    /// expired before the next one was.
    fn recover(&mut self, error: Error) -> Result<Option<BulkWriteReply>> {
        match self.retryable.take() {
            Some(mut reply) if matches!(error.before_timeout().kind(), ErrorKind::Write(_)) => {
                reply.write_concern_error = Some(error);
                Ok(Some(reply))
            }
            _ => Err(error),
        }
    }

    fn unacknowledged(&mut self) -> Result<Option<BulkWriteReply>> {
        Ok(None)
    }
}
