//! The kinds of protocol violations, and how one is described.

use std::fmt;

/// The rule that a protocol violation breaks. Each variant states the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ViolationKind {
    /// A message, decompressed, has at most `maxMessageSizeBytes` bytes.
    MessageTooLarge,
    /// A document of a message has at most `maxBsonObjectSize` and 16 KiB bytes.
    DocumentTooLarge,
    /// A write command has at most `maxWriteBatchSize` statements.
    TooManyWrites,
    /// The value of `$push` or `$addToSet` is not a document that begins with `$slice`, `$sort` or
    /// `$position`: these are modifiers beside `$each` only, and without it MongoDB stores them.
    LiteralModifier,
    /// A `getMore` is sent in the session and transaction of the command that created the cursor. A `killCursors` is
    /// sent in that session or without one.
    CursorSession,
    /// A session is used by one command at a time. A command whose connection the client closed
    /// before the reply counts as running; the client may retry it, resume the change stream whose
    /// `getMore` it is, send `killCursors`, `abortTransaction`, `endSessions` or `killSessions`, or begin
    /// a newer transaction, which ends the one of the command.
    SessionInUse,
    /// A read concern level is sent only with reads that support it and with the first command of a
    /// transaction. `afterClusterTime` without a level is allowed on every command of a causally
    /// consistent session.
    ReadConcern,
    /// A write concern is sent only with writes and with the last command of a transaction.
    WriteConcern,
    /// `lsid`, `txnNumber` and `autocommit` are well-formed and sent only with commands that accept
    /// them.
    SessionFields,
    /// `$readPreference` is well-formed.
    ReadPreference,
    /// A document has each field name once, at all levels.
    DuplicateField,
    /// The `client` document is sent only in the first `hello` of a connection, is complete, and
    /// has at most 512 bytes.
    ClientMetadata,
}

/// A command or message that a correct driver does not send, unless the application has composed
/// the command itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The rule that is broken.
    pub kind: ViolationKind,
    /// The name of the command; empty if the message could not be parsed.
    pub command: String,
    /// The `lsid` of the command, formatted as a UUID.
    pub session: Option<String>,
    /// The `connectionId` of the reply to `hello` on the connection.
    pub connection: i32,
    /// The violation in words.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: ", self.kind)?;
        if !self.command.is_empty() {
            write!(f, "`{}` ", self.command)?;
        }
        write!(f, "on connection {}", self.connection)?;
        if let Some(session) = &self.session {
            write!(f, " in session {session}")?;
        }
        write!(f, ": {}", self.detail)
    }
}
