//! [`Database`].

use std::{sync::Arc, time::Duration};

use super::{
    Client, Collection,
    command::InSession,
    cursor::CursorTimeoutOptions,
    transaction::{BoundTransaction, Membership},
};
use crate::{
    Result,
    execution::{CallName, Executor, admit, refuse_bound, start_timeout},
    types::{
        concern::{ReadConcern, WriteConcern},
        read_preference::ReadPreference,
        timeout::{TimeLimit, Timeout, TimeoutSource},
    },
};

/// A handle to a database. Clones are cheap. Creating a handle sends nothing.
///
/// [Actions](crate::action) use the concerns, the read preference and the timeout of the handle
/// unless they set their own. Commands run with [`run_command`](Self::run_command) use only the
/// timeout.
///
/// ```no_run
/// # async fn run() -> marula_driver::Result<()> {
/// use marula_driver::{Client, bson::doc};
/// let client = Client::connect("mongodb://localhost").await?;
/// let reply = client.database("admin").run_command(doc! { "ping": 1 }).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Database {
    inner: Arc<DatabaseInner>,
}

#[derive(Clone, Debug)]
struct DatabaseInner {
    client: Client,
    name: String,
    concerns: Concerns,
}

/// The concerns, the read preference and the timeout of operations that do not set their own. Databases inherit
/// them from the client, collections from the database.
#[derive(Clone, Debug, Default)]
pub(crate) struct Concerns {
    pub(crate) read_concern: ReadConcern,
    pub(crate) write_concern: WriteConcern,
    pub(crate) read_preference: ReadPreference,
    /// `timeoutMS`.
    pub(crate) timeout: Option<TimeLimit>,
    /// Whether the operations of the handle are parts of a call or a stream that a shutdown waits
    /// for.
    pub(crate) is_part: bool,
    /// The transaction of the calls.
    pub(crate) membership: Membership,
}

impl Concerns {
    /// The session of an action, unless it sets another one.
    #[inline]
    pub(crate) fn session(&self) -> InSession<'_> {
        self.membership.transaction().map(BoundTransaction::session)
    }

    /// To be called when a call begins that has this session.
    ///
    /// # Errors
    /// The handle is bound to a transaction that the call cannot be part of, or the call is outside of a strict
    /// transaction.
    #[inline]
    pub(crate) fn check_outside(
        &self,
        executor: &Executor,
        session: InSession<'_>,
        call: CallName<'_>,
    ) -> Result<()> {
        if session.is_some() {
            return Ok(());
        }
        match &self.membership {
            Membership::Any if self.is_part => Ok(()),
            Membership::Any => executor.check_outside(call),
            Membership::Bound(_) => Err(refuse_bound(call)),
            #[cfg(feature = "encryption")]
            Membership::Outside => Ok(()),
        }
    }

    /// The time limits of a cursor, whose operation has the option `own`.
    pub(super) fn cursor_timeout(&self, own: Option<Duration>, is_closing: bool) -> CursorTimeoutOptions {
        CursorTimeoutOptions {
            own,
            inherited: self.timeout,
            is_closing,
            is_part: self.is_part,
            ..CursorTimeoutOptions::default()
        }
    }

    /// Names the setting of a time limit: the commands of GridFS have, as their own option, what is left
    /// of that of the call.
    pub(super) fn of_part(&self, own: Option<Duration>, timeout: Timeout) -> Timeout {
        if self.is_part && own.is_some() {
            timeout.with_source(TimeoutSource::GridFs)
        } else {
            timeout
        }
    }
}

impl Database {
    pub(crate) fn new(client: &Client, name: &str, concerns: Concerns) -> Self {
        Self {
            inner: Arc::new(DatabaseInner {
                client: client.clone(),
                name: name.to_owned(),
                concerns,
            }),
        }
    }

    pub(crate) fn concerns(&self) -> &Concerns {
        &self.inner.concerns
    }

    /// The time limits of a cursor, whose operation has the option `own`.
    ///
    /// # Errors
    /// The errors of [`Concerns::check_outside`].
    pub(super) fn cursor_timeout(
        &self,
        operation: &'static str,
        session: InSession<'_>,
        own: Option<Duration>,
    ) -> Result<CursorTimeoutOptions> {
        self.check_outside(operation, session)?;
        Ok(self.inner.concerns.cursor_timeout(own, self.is_closing()))
    }

    fn check_outside(&self, operation: &'static str, session: InSession<'_>) -> Result<()> {
        let call = CallName {
            operation,
            database: self.name(),
            collection: None,
        };
        self.inner
            .concerns
            .check_outside(self.client().executor(), session, call)
    }

    /// The session of an action, unless it sets another one.
    pub(super) fn session(&self) -> InSession<'_> {
        self.inner.concerns.session()
    }

    /// The same database with another transaction.
    pub(super) fn bound_to(&self, transaction: &BoundTransaction) -> Self {
        self.with(|concerns| concerns.membership = Membership::Bound(transaction.clone()))
    }

    /// The transaction that the handle is [bound](crate::ClientSession::bind) to.
    #[must_use]
    pub fn transaction(&self) -> Option<&BoundTransaction> {
        self.inner.concerns.membership.transaction()
    }

    /// Whether operations of the handle are refused, because the client shuts down.
    fn is_closing(&self) -> bool {
        !self.inner.concerns.is_part && self.client().executor().is_closing()
    }

    /// A handle for the commands of a call or a stream that a shutdown waits for.
    pub(super) fn as_part(&self) -> Self {
        self.with(|concerns| concerns.is_part = true)
    }

    /// Starts the time limit of an operation whose own option is `own`.
    ///
    /// # Errors
    /// The client shuts down, and the operation is not part of a transaction; or the errors of [`Concerns::check_outside`].
    pub(crate) fn start_timeout(
        &self,
        operation: &'static str,
        own: Option<Duration>,
        session: InSession<'_>,
    ) -> Result<Timeout> {
        self.check_outside(operation, session)?;
        admit(self.is_closing(), session)?;
        let timeout = start_timeout(own, session, self.inner.concerns.timeout)?;
        Ok(self.inner.concerns.of_part(own, timeout))
    }

    /// The name of the database.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The client that the handle was created from.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// A handle to a collection with the document type `T`, and with the concerns and the read
    /// preference of this handle. Nothing is sent, and the collection need not exist. The name is
    /// not validated: the server rejects commands on an invalid name with code 73
    /// (`InvalidNamespace`).
    #[must_use]
    pub fn collection<T>(&self, name: &str) -> Collection<T> {
        Collection::new(self, name)
    }

    /// A handle to the database with this name of the same client, with the same concerns, read
    /// preference and timeout.
    #[must_use]
    pub fn with_name(&self, name: &str) -> Self {
        let mut inner = DatabaseInner::clone(&self.inner);
        name.clone_into(&mut inner.name);
        Self {
            inner: Arc::new(inner),
        }
    }

    fn with(&self, change: impl FnOnce(&mut Concerns)) -> Self {
        let mut inner = DatabaseInner::clone(&self.inner);
        change(&mut inner.concerns);
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Returns a handle to the same database with this read concern. Default: that of the client.
    /// Collections that were created from this handle do not change.
    #[must_use]
    pub fn with_read_concern(&self, concern: ReadConcern) -> Self {
        self.with(|concerns| concerns.read_concern = concern)
    }

    /// Returns a handle to the same database with this write concern. Default: that of the client.
    /// Collections that were created from this handle do not change.
    #[must_use]
    pub fn with_write_concern(&self, concern: WriteConcern) -> Self {
        self.with(|concerns| concerns.write_concern = concern)
    }

    /// Returns a handle to the same database with this read preference. Default: that of the
    /// client. Collections that were created from this handle do not change.
    #[must_use]
    pub fn with_read_preference(&self, preference: ReadPreference) -> Self {
        self.with(|concerns| concerns.read_preference = preference)
    }

    /// Returns a handle to the same database with this timeout (`timeoutMS`) of each operation; see
    /// [`ClientOptions::timeout`](crate::options::ClientOptions::timeout). `Duration::ZERO` means no
    /// limit. Default: that of the client. Collections that were created from this handle do not
    /// change.
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        self.with(|concerns| concerns.timeout = Some(TimeLimit::of(timeout, TimeoutSource::Database)))
    }
}
