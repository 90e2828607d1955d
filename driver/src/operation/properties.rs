//! What the executor must know of an operation, besides its command and its reply.

use crate::{
    ServerAddress,
    proto::{
        retry::Intent,
        server_selection::Criteria,
        session::{ReadTimeRule, ServerSession},
    },
    types::{
        concern::WriteConcern,
        read_preference::{PRIMARY, ReadPreference},
    },
};

/// Whether the specifications of retryable reads and writes apply to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    /// Neither does.
    No,
    /// Retryable Reads.
    Read,
    /// Retryable Writes: the command gets a transaction number.
    Write,
}

/// The session of an operation that is not given one by the application.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ImplicitSession<'a> {
    /// One from the session pool.
    FromPool,
    /// That of the cursor, if it has one.
    OfCursor(Option<&'a ServerSession>),
    /// None: the command is about sessions themselves.
    None,
}

/// The properties of an operation. They are fixed once [`prepare`](super::Operation::prepare) was called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Properties<'a> {
    /// The name of the command, as events show it.
    pub(crate) name: &'a str,
    /// The database that the command is addressed to.
    pub(crate) database: &'a str,
    /// The servers that are suitable.
    pub(crate) criteria: Criteria<'a>,
    pub(crate) retry: Retry,
    /// Whether `retryReads` or `retryWrites` permits retries when the server is overloaded.
    pub(crate) intent: Intent,
    /// The write concern, of a command that has one.
    pub(crate) write_concern: Option<&'a WriteConcern>,
    /// False for an unacknowledged write.
    pub(crate) expects_reply: bool,
    pub(crate) implicit_session: ImplicitSession<'a>,
    /// Whether the operation fails if the application's session has ended. Otherwise it is sent without a session.
    pub(crate) requires_session: bool,
    /// What the read concern says about time in a session of the application.
    pub(crate) read_time: ReadTimeRule,
    /// Events show neither the command nor its reply (Command Logging and Monitoring specification, "Security").
    pub(crate) is_sensitive: bool,
}

impl<'a> Properties<'a> {
    /// A command that reads: retryable, causally consistent.
    #[inline]
    pub(crate) fn read(name: &'a str, database: &'a str, preference: &'a ReadPreference) -> Self {
        Self {
            name,
            database,
            criteria: Criteria::Read(preference),
            retry: Retry::Read,
            intent: Intent::Read,
            write_concern: None,
            expects_reply: true,
            implicit_session: ImplicitSession::FromPool,
            requires_session: true,
            read_time: ReadTimeRule::Causal,
            is_sensitive: false,
        }
    }

    /// A command that writes documents: retryable, causally consistent, without a reply if the write concern is
    /// unacknowledged.
    #[inline]
    pub(crate) fn write(name: &'a str, database: &'a str, write_concern: &'a WriteConcern) -> Self {
        Self {
            criteria: Criteria::Writable,
            retry: Retry::Write,
            intent: Intent::Write,
            write_concern: Some(write_concern),
            expects_reply: write_concern.is_acknowledged(),
            ..Self::read(name, database, PRIMARY)
        }
    }

    /// A command that changes databases, collections or indexes: not retryable, and always with a reply. Some have no write
    /// concern.
    pub(crate) fn administration(
        name: &'a str,
        database: &'a str,
        write_concern: impl Into<Option<&'a WriteConcern>>,
    ) -> Self {
        Self {
            criteria: Criteria::Writable,
            retry: Retry::No,
            intent: Intent::Write,
            write_concern: write_concern.into(),
            ..Self::read(name, database, PRIMARY)
        }
    }

    /// A command on an open cursor, for the server that holds it.
    pub(crate) fn of_cursor(
        name: &'a str,
        database: &'a str,
        server: &'a ServerAddress,
        session: Option<&'a ServerSession>,
    ) -> Self {
        Self {
            criteria: Criteria::Address(server),
            retry: Retry::No,
            implicit_session: ImplicitSession::OfCursor(session),
            read_time: ReadTimeRule::None,
            ..Self::read(name, database, PRIMARY)
        }
    }

    /// The same, outside the list of commands that causal consistency orders (Causal Consistency specification).
    pub(crate) fn without_causal_consistency(mut self) -> Self {
        self.read_time = ReadTimeRule::SnapshotOnly;
        self
    }
}
