//! The properties of an operation that the executor needs besides the command and its reply.

use crate::{
    ServerAddress,
    proto::{
        retry::Intent,
        server_selection::Criteria,
        session::{ReadTimeRule, ServerSession, TransactionCommand},
    },
    types::{
        concern::WriteConcern,
        read_preference::{PRIMARY, ReadPreference},
    },
};

/// Which specification of retryable operations applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    /// The operation is not retryable.
    No,
    /// The operation is a retryable read.
    Read,
    /// The operation is a retryable write: the command contains `txnNumber`.
    Write,
}

/// The session of an operation without an explicit session.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ImplicitSession<'a> {
    /// A session of the session pool.
    FromPool,
    /// The implicit session of the cursor, if it has one.
    OfCursor(Option<&'a ServerSession>),
    /// No session: the command is about sessions themselves.
    None,
}

/// The properties of an operation. They do not change after [`prepare`](super::Operation::prepare).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Properties<'a> {
    /// The name of the command, as in events.
    pub(crate) name: &'a str,
    /// The database that the command runs on (`$db`).
    pub(crate) database: &'a str,
    /// The criteria of server selection.
    pub(crate) criteria: Criteria<'a>,
    pub(crate) retry: Retry,
    /// Whether `retryReads` or `retryWrites` determines the retries if the server is overloaded.
    pub(crate) intent: Intent,
    /// The write concern, if the command takes one.
    pub(crate) write_concern: Option<&'a WriteConcern>,
    /// `false` for an unacknowledged write.
    pub(crate) expects_reply: bool,
    pub(crate) implicit_session: ImplicitSession<'a>,
    /// Whether the operation fails if its explicit session has ended. Otherwise it is sent without
    /// a session.
    pub(crate) requires_session: bool,
    /// Whether the read concern contains `afterClusterTime` or `atClusterTime` in an explicit
    /// session.
    pub(crate) read_time: ReadTimeRule,
    /// What the command is to a transaction of its explicit session.
    pub(crate) transaction: TransactionCommand,
}

impl<'a> Properties<'a> {
    /// A read: retryable and causally consistent.
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
            transaction: TransactionCommand::Operation,
        }
    }

    /// A write of documents: retryable and causally consistent. The server does not reply if the
    /// write concern is unacknowledged.
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

    /// A command that changes databases, collections or indexes: not retryable, and always with a
    /// reply. Some of these commands take no write concern.
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

    /// A command on an open cursor, sent to the server that has it.
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

    /// Without causal consistency, for commands that the Causal Consistency specification does not
    /// list.
    #[inline]
    pub(crate) fn without_causal_consistency(mut self) -> Self {
        self.read_time = ReadTimeRule::SnapshotOnly;
        self
    }
}
