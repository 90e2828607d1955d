//! Writes a command document into the write buffer of a connection.

use std::{
    ops::{Deref, DerefMut},
    time::Duration,
};

use crate::{
    bson::{Bson, DocumentWriter, EncodeError, IndexKey, Position, RawDocument},
    proto::session::ReadTime,
    types::{
        concern::{Acknowledgment, ReadConcern, WriteConcern},
        read_preference::ReadPreference,
        server_api::ServerApi,
    },
};

/// The body of a command: a document writer with methods for the fields that commands share. Fields
/// are written in the order of the calls; the first one must be the command name.
pub struct CommandBuilder<'b> {
    writer: DocumentWriter<'b>,
    body: Position,
    read_time: Option<ReadTime>,
    has_timeout: bool,
    /// The command is part of a transaction: it has no concerns but those of the transaction.
    omits_concerns: bool,
    /// The command of the application contains its own read concern.
    has_read_concern: bool,
}

impl<'b> Deref for CommandBuilder<'b> {
    type Target = DocumentWriter<'b>;

    fn deref(&self) -> &Self::Target {
        &self.writer
    }
}

impl DerefMut for CommandBuilder<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.writer
    }
}

impl<'b> CommandBuilder<'b> {
    /// Begins the body of a message whose header and flags have been written to `buffer`.
    pub fn new(buffer: &'b mut Vec<u8>) -> Self {
        let mut writer = DocumentWriter::new(buffer);
        let body = writer.begin();
        Self {
            writer,
            body,
            read_time: None,
            has_timeout: false,
            omits_concerns: false,
            has_read_concern: false,
        }
    }

    /// Omits the read concern and the write concern of the operation, because the command is part of
    /// a transaction.
    pub fn omit_concerns(&mut self) {
        self.omits_concerns = true;
    }

    /// Writes the read concern of a transaction, into its first command. `time` is what the session
    /// adds.
    pub fn transaction_read_concern(&mut self, concern: &ReadConcern, time: Option<ReadTime>) {
        if !self.has_read_concern {
            self.omits_concerns = false;
            self.read_time = time;
            self.read_concern(concern);
        }
    }

    /// Omits `maxTimeMS` and `wtimeout` of the options from now on: `timeoutMS` is set and replaces
    /// them (Client Side Operations Timeout, "Validation and Overrides").
    pub fn omit_time_limits(&mut self) {
        self.has_timeout = true;
    }

    /// Whether [`omit_time_limits`](Self::omit_time_limits) was called.
    pub fn omits_time_limits(&self) -> bool {
        self.has_timeout
    }

    /// Sets what the session adds to the read concern (`afterClusterTime` or `atClusterTime`). It
    /// is written once, by [`read_concern`](Self::read_concern) or
    /// [`remaining_read_time`](Self::remaining_read_time).
    pub fn set_read_time(&mut self, time: Option<ReadTime>) {
        self.read_time = time;
    }

    /// Writes a command as the value of a field: without concerns, `maxTimeMS` and `wtimeout`, which are
    /// fields of the command that it is part of.
    pub fn nested<E>(&mut self, key: &str, build: impl FnOnce(&mut Self) -> Result<(), E>) -> Result<(), E> {
        let outer = (self.has_timeout, self.omits_concerns);
        (self.has_timeout, self.omits_concerns) = (true, true);
        let start = self.begin_document(key);
        let built = build(self);
        self.end(start);
        (self.has_timeout, self.omits_concerns) = outer;
        built
    }

    /// Writes an array of documents.
    pub fn documents<'d>(&mut self, key: &str, documents: impl IntoIterator<Item = &'d RawDocument>) {
        write_documents(&mut self.writer, key, documents);
    }

    /// Writes a document, unless it is `None`.
    pub fn optional_document(&mut self, key: &str, value: Option<&RawDocument>) {
        if let Some(value) = value {
            self.document(key, value);
        }
    }

    /// Writes a boolean, unless it is `None`.
    pub fn optional_bool(&mut self, key: &str, value: Option<bool>) {
        if let Some(value) = value {
            self.bool(key, value);
        }
    }

    /// Writes a value, unless it is `None`.
    pub fn optional_bson(&mut self, key: &str, value: Option<&Bson>) {
        if let Some(value) = value {
            self.bson(key, value);
        }
    }

    /// Writes `maxTimeMS` in whole milliseconds, at least 1. Zero is written as 0, which disables
    /// the limit of the cluster parameter `defaultMaxTimeMS`.
    pub fn max_time(&mut self, value: Option<Duration>) {
        if let Some(value) = value.filter(|_| !self.has_timeout) {
            self.i64("maxTimeMS", max_time_millis(value));
        }
    }

    /// Writes `maxTimeMS` of a getMore, which limits how long the server waits for data. In whole
    /// milliseconds, at least 1, because 0 means no limit.
    pub fn max_await_time(&mut self, value: Option<Duration>) {
        self.max_time(value.map(|value| value.max(Duration::from_millis(1))));
    }

    /// Writes `readConcern`, unless it is the server's default and the session adds nothing.
    pub fn read_concern(&mut self, concern: &ReadConcern) {
        if self.omits_concerns {
            return;
        }
        let time = self.read_time.take();
        if concern.level.is_none() && time.is_none() {
            return;
        }
        let start = self.begin_document("readConcern");
        match (time, &concern.level) {
            (Some(ReadTime::Snapshot(_)), _) => self.str("level", "snapshot"),
            (_, Some(level)) => self.str("level", level.as_str()),
            (_, None) => {}
        }
        match time {
            Some(ReadTime::After(time)) => self.timestamp("afterClusterTime", time),
            Some(ReadTime::Snapshot(Some(time))) => self.timestamp("atClusterTime", time),
            Some(ReadTime::Snapshot(None)) | None => {}
        }
        self.end(start);
    }

    /// Writes `readConcern` with what the session adds, for commands without a read concern option.
    pub fn remaining_read_time(&mut self) {
        if self.read_time.is_some() {
            self.read_concern(&ReadConcern::default());
        }
    }

    /// Discards what the session adds: the command of the application contains its own read
    /// concern.
    pub fn discard_read_time(&mut self) {
        self.read_time = None;
        self.has_read_concern = true;
    }

    /// Writes `writeConcern`, unless it is the server's default.
    pub fn write_concern(&mut self, concern: &WriteConcern) {
        let w_timeout = concern.w_timeout.filter(|_| !self.has_timeout);
        let is_empty = w_timeout.is_none() && concern.w.is_none() && concern.journal.is_none();
        if self.omits_concerns || is_empty || concern.is_server_default() {
            return;
        }
        let start = self.begin_document("writeConcern");
        match &concern.w {
            Some(Acknowledgment::Nodes(nodes)) => self.i32("w", i32::try_from(*nodes).unwrap_or(i32::MAX)),
            Some(Acknowledgment::Majority) => self.str("w", "majority"),
            Some(Acknowledgment::Custom(name)) => self.str("w", name),
            None => {}
        }
        self.optional_bool("j", concern.journal);
        if let Some(timeout) = w_timeout {
            self.i64("wtimeout", i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX));
        }
        self.end(start);
    }

    /// Writes `$readPreference`.
    pub fn read_preference(&mut self, preference: &ReadPreference) {
        let start = self.begin_document("$readPreference");
        self.str("mode", preference.mode.as_str());
        if !preference.tag_sets.is_empty() {
            self.serialize("tags", &preference.tag_sets);
        }
        if let Some(bound) = preference.max_staleness {
            // Some servers reject a 64-bit integer here.
            match i32::try_from(bound.as_secs()) {
                Ok(seconds) => self.i32("maxStalenessSeconds", seconds),
                Err(_) => self.i64(
                    "maxStalenessSeconds",
                    i64::try_from(bound.as_secs()).unwrap_or(i64::MAX),
                ),
            }
        }
        if let Some(enabled) = preference.hedge {
            let hedge = self.begin_document("hedge");
            self.bool("enabled", enabled);
            self.end(hedge);
        }
        self.end(start);
    }

    /// Writes `apiVersion`, `apiStrict` and `apiDeprecationErrors` (Stable API, "Command Syntax").
    pub fn server_api(&mut self, api: ServerApi) {
        self.str("apiVersion", api.version.as_str());
        self.optional_bool("apiStrict", api.strict);
        self.optional_bool("apiDeprecationErrors", api.deprecation_errors);
    }

    /// Writes `$db` and ends the body. Only document sequences may follow.
    pub fn finish(mut self, database: &str) -> Result<(), EncodeError> {
        self.str("$db", database);
        self.writer.end(self.body);
        self.writer.finish()
    }
}

/// The value of `maxTimeMS`: whole milliseconds, at least 1. Zero stays 0, which disables the limit
/// of the cluster parameter `defaultMaxTimeMS`.
pub fn max_time_millis(value: Duration) -> i64 {
    if value.is_zero() {
        return 0;
    }
    let millis = i64::try_from(value.as_millis()).unwrap_or(i64::MAX);
    millis.clamp(1, i64::from(i32::MAX))
}

/// Writes a field with an array of documents.
pub fn write_documents<'d>(
    writer: &mut DocumentWriter<'_>,
    key: &str,
    documents: impl IntoIterator<Item = &'d RawDocument>,
) {
    let array = writer.begin_array(key);
    for (index, document) in documents.into_iter().enumerate() {
        writer.document(IndexKey::new(index).as_str(), document);
    }
    writer.end(array);
}
