//! The time limit of an operation ([Client Side Operations Timeout]).
//!
//! [Client Side Operations Timeout]:
//! https://github.com/mongodb/specifications/blob/master/source/client-side-operations-timeout/client-side-operations-timeout.md

use std::time::Duration;

use super::{Executor, ExplicitSession, OperationState, SessionHandle};
use crate::{
    Error, Result,
    operation::Operation,
    proto::timeout::{MaxTime, max_time_ms},
    topology::SelectedServer,
    types::{
        deadline::Deadline,
        timeout::{TimeLimit, Timeout},
    },
};

/// Starts the time limit of an operation. `own` is the option of the operation, `inherited` that of
/// its collection, database, client or session.
///
/// # Errors
/// The session has the time limit of a transaction of the convenient API, which includes the
/// operation, and the operation sets its own ("Validation and Overrides").
pub(crate) fn start_timeout(
    own: Option<Duration>,
    session: Option<&SessionHandle>,
    inherited: Option<TimeLimit>,
) -> Result<Timeout> {
    if let Some(session) = session {
        let of_transaction = timeout_of_session(own, session)?;
        if of_transaction.is_set() {
            return Ok(of_transaction);
        }
    }
    Ok(Timeout::start_with(own, inherited))
}

/// Starts the time limit of an abort: that of the transaction of the convenient API again from its
/// beginning, so that the server does not keep the transaction ("withTransaction refreshes the
/// timeout for abortTransaction"), or else of the session.
///
/// # Errors
/// As [`start_timeout`].
pub(crate) fn start_abort_timeout(own: Option<Duration>, session: &ExplicitSession) -> Result<Timeout> {
    timeout_of_session(own, session)?;
    let inherited = session.lock().abort_timeout();
    Ok(Timeout::start_with(own, inherited))
}

/// The time limit of the transaction of the convenient API that runs in the session. Unset outside of
/// one. `own` is the option of the operation.
fn timeout_of_session(own: Option<Duration>, session: &ExplicitSession) -> Result<Timeout> {
    let timeout = session.lock().timeout();
    if timeout.is_set() && own.is_some() {
        return Err(Error::invalid_argument(
            "the time limit of the transaction includes this operation; remove the timeout of the operation",
        ));
    }
    Ok(timeout)
}

/// As [`Timeout::report`]. `is_set`: whether the operation has `timeoutMS`. The future of an
/// operation that needs only this is smaller.
pub(crate) fn report(is_set: bool, error: Error) -> Error {
    if is_set && error.is_timeout() {
        error.into_timeout()
    } else {
        error
    }
}

impl Timeout {
    /// The error to return: one of the kind [`Timeout`](crate::ErrorKind::Timeout) if `timeoutMS`
    /// is set and `error` is that of a time limit ("Errors").
    pub(crate) fn report(self, error: Error) -> Error {
        report(self.is_set(), error)
    }

    /// `maxTimeMS` of a command that is written now.
    ///
    /// # Errors
    /// The reply cannot arrive in time.
    pub(super) fn max_time_ms(self, rule: MaxTime, server: &SelectedServer) -> Result<Option<i64>> {
        max_time_ms(rule, self.remaining(), server.min_round_trip()).map_err(|_| self.too_late())
    }

    /// Checks that the reply to a command can arrive in time.
    ///
    /// # Errors
    /// It cannot. The command must not be sent.
    pub(super) fn check(self, server: &SelectedServer) -> Result<()> {
        match self.remaining() {
            Some(left) if left <= server.min_round_trip() => Err(self.too_late()),
            _ => Ok(()),
        }
    }

    #[cold]
    fn too_late(self) -> Error {
        Error::timed_out(if self.has_expired() {
            "before the command was sent"
        } else {
            "before the command was sent: the time left is not longer than the round trip time of the server"
        })
    }
}

/// The error with the name and the namespace of the operation.
#[cold]
pub(super) fn named<O: Operation>(operation: &O, error: Error) -> Error {
    let properties = operation.properties();
    error.with_operation(properties.name, properties.database, operation.collection())
}

impl OperationState<'_> {
    /// The error names the operation. It is a timeout if the time limit of the operation has expired; see [`Timeout::report`].
    #[cold]
    pub(super) fn report<O: Operation>(&self, operation: &O, error: Error) -> Error {
        let error = self.timeout.report(named(operation, error));
        let in_transaction = self
            .explicit
            .is_some_and(|session| session.lock().timeout().is_set());
        error.with_time_limit(in_transaction, self.timeout.source())
    }
}

impl Executor {
    /// `computedServerSelectionTimeout`, which limits server selection and check-out together.
    /// `None` without `timeoutMS`: both have limits of their own.
    pub(super) fn selection_deadline(&self, timeout: Timeout) -> Option<Deadline> {
        timeout
            .is_set()
            .then(|| timeout.selection(self.settings.server_selection_timeout))
    }
}
