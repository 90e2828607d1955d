//! Server selection for an operation, with log messages if a subscriber is registered.

use std::time::Duration;

use super::{Executor, OperationState};
use crate::{
    Result, ServerAddress,
    operation::Operation,
    proto::{
        server_selection::{Criteria, Patience},
        session::TransactionCommand,
    },
    telemetry::LoggedSelection,
    topology::SelectedServer,
    types::deadline::Deadline,
};

/// What a server is selected for.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The name of the command.
    pub(super) operation: &'a str,
    pub(super) operation_id: i64,
    pub(super) criteria: Criteria<'a>,
    /// Deprioritized servers: used only if no other is suitable.
    pub(super) avoid: &'a [ServerAddress],
    pub(super) patience: Patience,
}

impl Executor {
    /// A suitable server, if one is known. `None` also while selections are logged:
    /// [`select`](Self::select) does that.
    pub(super) fn select_at_once(
        &self,
        criteria: Criteria<'_>,
        avoid: &[ServerAddress],
    ) -> Option<SelectedServer> {
        if self.settings.selection_log.is_wanted() {
            return None;
        }
        self.topology.try_select(criteria, avoid)
    }

    /// A server for the next command of an operation. Waits for one until the deadline. A command of
    /// a transaction is sent to the mongos that its session is pinned to, or else to a writable
    /// server. The abort after an operation whose future was dropped does not wait for a mongos that is not
    /// available: it is sent to another, with the `recoveryToken`, as it would be after an error of the
    /// operation ("When to unpin", 2).
    pub(super) async fn select_for<O: Operation>(
        &self,
        operation: &O,
        state: &OperationState<'_>,
        deadline: Option<Deadline>,
    ) -> Result<SelectedServer> {
        let properties = operation.properties();
        let pinned = state.pinned_mongos();
        let criteria = match (state.transaction, &pinned) {
            (None, _) => properties.criteria,
            (Some(_), None) => Criteria::Writable,
            (Some(TransactionCommand::Abort), Some(address))
                if state.is_lost()
                    && self
                        .topology
                        .try_select(Criteria::Address(address), &[])
                        .is_none() =>
            {
                Criteria::Writable
            }
            (Some(_), Some(address)) => Criteria::Address(address),
        };
        let wanted = Wanted {
            operation: properties.name,
            operation_id: state.scope.id,
            criteria,
            avoid: state.avoid(),
            patience: operation.patience(),
        };
        if state.transaction.is_some()
            && let Some(server) = self.select_at_once(criteria, state.avoid())
        {
            return Ok(server);
        }
        self.select(wanted, deadline.unwrap_or(Deadline::NEVER)).await
    }

    /// A suitable server. If the operation waits for one: until the deadline, for at most
    /// `serverSelectionTimeoutMS`.
    async fn select(&self, wanted: Wanted<'_>, deadline: Deadline) -> Result<SelectedServer> {
        let log = &self.settings.selection_log;
        match log.begin(wanted.operation, wanted.operation_id, wanted.criteria) {
            Some(logged) => self.select_with_events(&logged, wanted, deadline).await,
            None => self.wait_for_server(wanted, deadline, |_| {}).await,
        }
    }

    async fn wait_for_server(
        &self,
        wanted: Wanted<'_>,
        deadline: Deadline,
        on_wait: impl FnOnce(Option<Duration>),
    ) -> Result<SelectedServer> {
        let patience = wanted.patience;
        self.topology
            .select(wanted.criteria, wanted.avoid, patience, deadline, on_wait)
            .await
    }

    async fn select_with_events(
        &self,
        logged: &LoggedSelection,
        wanted: Wanted<'_>,
        deadline: Deadline,
    ) -> Result<SelectedServer> {
        let topology = || self.topology.description();
        logged.started(&topology());
        let selected = match self.topology.try_select(wanted.criteria, wanted.avoid) {
            Some(server) => Ok(server),
            None => {
                let on_wait = |remaining| logged.waiting(&topology(), remaining);
                self.wait_for_server(wanted, deadline, on_wait).await
            }
        };
        match &selected {
            Ok(server) => logged.succeeded(&topology(), server.address()),
            Err(error) => logged.failed(&topology(), error),
        }
        selected
    }
}
