//! Writes a command document field by field into the connection's buffer.

use serde::Serialize;

use crate::{
    Error, Result,
    bson::{Bson, EncodeError, RawDocument, Timestamp, writer},
    proto::wire::{MessageWriter, WireError},
    types::{
        collation::Collation,
        concern::{Acknowledgment, ReadConcern, WriteConcern},
        read_preference::ReadPreference,
    },
};

/// One command under construction. Field order is the order of the calls, and the command's name must come first.
pub(crate) struct CommandBuilder<'b> {
    message: MessageWriter<'b>,
    body: usize,
    database: &'b str,
}

impl<'b> CommandBuilder<'b> {
    pub(crate) fn new(message: MessageWriter<'b>, database: &'b str) -> Self {
        let body = writer::begin(message.buffer);
        Self {
            message,
            body,
            database,
        }
    }

    pub(crate) fn str(&mut self, key: &str, value: &str) {
        writer::str(self.message.buffer, key, value);
    }

    pub(crate) fn i32(&mut self, key: &str, value: i32) {
        writer::i32(self.message.buffer, key, value);
    }

    pub(crate) fn i64(&mut self, key: &str, value: i64) {
        writer::i64(self.message.buffer, key, value);
    }

    pub(crate) fn bool(&mut self, key: &str, value: bool) {
        writer::bool(self.message.buffer, key, value);
    }

    pub(crate) fn document(&mut self, key: &str, value: &RawDocument) {
        writer::document(self.message.buffer, key, value);
    }

    pub(crate) fn timestamp(&mut self, key: &str, value: Timestamp) {
        writer::timestamp(self.message.buffer, key, value);
    }

    /// A subtype 4 Binary.
    pub(crate) fn uuid(&mut self, key: &str, value: &[u8; 16]) {
        writer::uuid(self.message.buffer, key, value);
    }

    pub(crate) fn serialize<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), EncodeError> {
        writer::serialize(self.message.buffer, key, value)
    }

    /// Begins an embedded document and returns what [`end`](Self::end) needs.
    pub(crate) fn begin_document(&mut self, key: &str) -> usize {
        writer::begin_document(self.message.buffer, key)
    }

    /// Begins an array; its elements' keys are "0", "1" ….
    pub(crate) fn begin_array(&mut self, key: &str) -> usize {
        writer::begin_array(self.message.buffer, key)
    }

    pub(crate) fn end(&mut self, start: usize) -> Result<(), EncodeError> {
        writer::end(self.message.buffer, start)
    }

    /// An array of documents.
    pub(crate) fn documents<'d>(
        &mut self,
        key: &str,
        documents: impl IntoIterator<Item = &'d RawDocument>,
    ) -> Result<(), EncodeError> {
        let start = self.begin_array(key);
        for (index, document) in documents.into_iter().enumerate() {
            writer::document(self.message.buffer, writer::ArrayKey::new(index).as_str(), document);
        }
        self.end(start)
    }

    pub(crate) fn optional_document(&mut self, key: &str, value: Option<&RawDocument>) {
        if let Some(value) = value {
            self.document(key, value);
        }
    }

    pub(crate) fn optional_bool(&mut self, key: &str, value: Option<bool>) {
        if let Some(value) = value {
            self.bool(key, value);
        }
    }

    pub(crate) fn optional_bson(&mut self, key: &str, value: Option<&Bson>) -> Result<(), EncodeError> {
        value.map_or(Ok(()), |value| self.serialize(key, value))
    }

    pub(crate) fn collation(&mut self, value: Option<&Collation>) -> Result<(), EncodeError> {
        value.map_or(Ok(()), |value| self.serialize("collation", value))
    }

    /// `maxTimeMS`, rounded down but never to zero, which would mean "no limit".
    pub(crate) fn max_time(&mut self, value: Option<std::time::Duration>) {
        if let Some(value) = value {
            let millis = i64::try_from(value.as_millis()).unwrap_or(i64::MAX);
            self.i64("maxTimeMS", millis.clamp(1, i64::from(i32::MAX)));
        }
    }

    /// Left out when it is the server's default.
    pub(crate) fn read_concern(&mut self, concern: &ReadConcern) -> Result<(), EncodeError> {
        let Some(level) = &concern.level else {
            return Ok(());
        };
        let start = self.begin_document("readConcern");
        self.str("level", level.as_str());
        self.end(start)
    }

    /// Left out when it is the server's default.
    pub(crate) fn write_concern(&mut self, concern: &WriteConcern) -> Result<(), EncodeError> {
        if concern.is_server_default() {
            return Ok(());
        }
        let start = self.begin_document("writeConcern");
        match &concern.w {
            Some(Acknowledgment::Nodes(nodes)) => self.i32("w", i32::try_from(*nodes).unwrap_or(i32::MAX)),
            Some(Acknowledgment::Majority) => self.str("w", "majority"),
            Some(Acknowledgment::Custom(name)) => self.str("w", name),
            None => {}
        }
        self.optional_bool("j", concern.journal);
        if let Some(timeout) = concern.w_timeout {
            self.i64("wtimeout", i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX));
        }
        self.end(start)
    }

    /// `$readPreference`.
    pub(crate) fn read_preference(&mut self, preference: &ReadPreference) -> Result<(), EncodeError> {
        let start = self.begin_document("$readPreference");
        self.str("mode", preference.mode.as_str());
        if !preference.tag_sets.is_empty() {
            self.serialize("tags", &preference.tag_sets)?;
        }
        if let Some(bound) = preference.max_staleness {
            self.i64("maxStalenessSeconds", i64::try_from(bound.as_secs()).unwrap_or(i64::MAX));
        }
        self.end(start)
    }

    /// Ends the body. What follows can only be document sequences.
    pub(crate) fn end_body(mut self) -> Result<MessageWriter<'b>> {
        let database = self.database;
        self.str("$db", database);
        writer::end(self.message.buffer, self.body)?;
        Ok(self.message)
    }

    /// Ends a command without sequences.
    pub(crate) fn finish(self) -> Result<()> {
        self.end_body()?.finish().map_err(|WireError(message)| Error::invalid_argument(message))
    }
}
