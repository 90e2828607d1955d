//! Chooses the server of an operation, and tells of the steps if somebody wants to know.

use std::time::Duration;

use super::Executor;
use crate::{
    Result, ServerAddress,
    proto::{
        event::{EventListener, SelectionStep, ServerSelectionEvent},
        server_selection::Criteria,
    },
    topology::SelectedServer,
    types::deadline::Deadline,
};

/// For whom a server is chosen.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The command's name.
    pub(super) operation: &'a str,
    pub(super) operation_id: i64,
    pub(super) criteria: Criteria<'a>,
    /// Servers to be used only if no other suits.
    pub(super) avoid: &'a [ServerAddress],
}

impl Executor {
    /// A server that suits, if one is known and nobody wants to know how it is chosen. Else ask with
    /// [`select`](Self::select).
    pub(super) fn select_at_once(
        &self,
        criteria: Criteria<'_>,
        avoid: &[ServerAddress],
    ) -> Option<SelectedServer> {
        match self.selection_listener() {
            Some(_) => None,
            None => self.topology.try_select(criteria, avoid),
        }
    }

    /// A server that suits, waiting for one if need be.
    pub(super) async fn select(&self, wanted: Wanted<'_>) -> Result<SelectedServer> {
        match self.selection_listener() {
            Some(listener) => self.select_with_events(listener, wanted).await,
            None => self.wait_for_server(wanted, |_| {}).await,
        }
    }

    fn selection_listener(&self) -> Option<&EventListener<ServerSelectionEvent>> {
        let listener = self.settings.selection_listener.as_ref();
        listener.filter(|listener| listener.is_interested())
    }

    async fn wait_for_server(
        &self,
        wanted: Wanted<'_>,
        on_wait: impl FnOnce(Option<Duration>),
    ) -> Result<SelectedServer> {
        self.topology
            .select(wanted.criteria, wanted.avoid, Deadline::NEVER, on_wait)
            .await
    }

    async fn select_with_events(
        &self,
        listener: &EventListener<ServerSelectionEvent>,
        wanted: Wanted<'_>,
    ) -> Result<SelectedServer> {
        let emit = |step| {
            listener.emit(&ServerSelectionEvent {
                operation: wanted.operation.to_owned(),
                operation_id: wanted.operation_id,
                selector: wanted.criteria.to_string(),
                topology: self.topology.description(),
                step,
            });
        };
        emit(SelectionStep::Started);
        let selected = match self.topology.try_select(wanted.criteria, wanted.avoid) {
            Some(server) => Ok(server),
            None => {
                self.wait_for_server(wanted, |remaining| emit(SelectionStep::Waiting { remaining }))
                    .await
            }
        };
        emit(match &selected {
            Ok(server) => SelectionStep::Succeeded {
                address: server.address().clone(),
            },
            Err(failure) => SelectionStep::Failed {
                failure: failure.clone(),
            },
        });
        selected
    }
}
