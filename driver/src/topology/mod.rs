//! Knows the deployment: publishes its description, keeps a monitor and a pool per server, and selects servers.
//!
//! Readers load an immutable snapshot from an atomic pointer and never wait. Writers (monitors, failed operations) take one
//! lock, run the machine [`sdam`](crate::proto::sdam), publish the next snapshot and wake the waiting selections. A pool is
//! cleared under the same lock, so nobody can see a healthy description with a dead pool's connections in use.

mod monitor;
mod server;
mod settings;
mod shared;
mod snapshot;

use std::sync::Arc;

use tokio::runtime::Handle;

use crate::{
    Error, ErrorKind, Result, ServerAddress, error::ServerSelectionError, proto::server_selection::Criteria,
    types::deadline::Deadline,
};
pub(crate) use server::SelectedServer;
pub(crate) use settings::TopologySettings;
use shared::Shared;

/// The deployment of one client. Dropping it stops the monitors and closes the pools.
#[derive(Debug)]
pub(crate) struct Topology {
    shared: Arc<Shared>,
}

impl Topology {
    /// Begins to watch the seeds. Must be called within a tokio runtime.
    pub(crate) fn start(settings: TopologySettings) -> Arc<Self> {
        Arc::new(Self {
            shared: Shared::start(settings),
        })
    }

    /// The runtime that does the client's background work.
    pub(crate) fn runtime(&self) -> &Handle {
        &self.shared.runtime
    }

    /// A server that suits, if one is known now.
    pub(crate) fn try_select(
        &self,
        criteria: Criteria<'_>,
        avoid: &[ServerAddress],
    ) -> Option<SelectedServer> {
        self.shared.try_select(criteria, avoid)
    }

    /// Waits for a server that suits, for at most `serverSelectionTimeoutMS`. Dropping the future changes nothing.
    pub(crate) async fn select(
        &self,
        criteria: Criteria<'_>,
        avoid: &[ServerAddress],
        deadline: Deadline,
    ) -> Result<SelectedServer> {
        let settings = &self.shared.settings;
        settings.validate(criteria)?;
        let deadline = Deadline::after(Some(settings.server_selection_timeout)).min(deadline);
        // Subscribed before the first look, so that no change is missed between look and wait.
        let mut changes = self.shared.changes.subscribe();
        loop {
            changes.borrow_and_update();
            if self.shared.is_closed() {
                return Err(Error::new(ErrorKind::Shutdown));
            }
            if let Some(why) = &self.shared.snapshot.load().description.compatibility_error {
                return Err(Error::unsupported(why.clone()));
            }
            if let Some(server) = self.try_select(criteria, avoid) {
                return Ok(server);
            }
            self.shared.request_checks();
            match deadline.run(changes.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(Error::new(ErrorKind::Shutdown)),
                Err(_) => return Err(self.not_found(criteria)),
            }
        }
    }

    fn not_found(&self, criteria: Criteria<'_>) -> Error {
        Error::new(ErrorKind::ServerSelection(ServerSelectionError {
            wanted: criteria.to_string(),
            timeout: self.shared.settings.server_selection_timeout,
            topology: self.shared.snapshot.load().description.to_string(),
        }))
    }

    /// Draws the conclusions from an error on an established connection of that pool generation.
    pub(crate) fn handle_error(&self, server: &SelectedServer, generation: u64, error: &Error) {
        self.shared.handle_error(server.address(), generation, error);
    }

    /// How long servers keep unused sessions; `None` while none is known, or when one has no sessions.
    pub(crate) fn session_timeout(&self) -> Option<std::time::Duration> {
        self.shared.snapshot.load().description.session_timeout
    }

    /// Stops the monitors and closes the pools.
    pub(crate) fn close(&self) {
        self.shared.close();
    }
}

impl Drop for Topology {
    fn drop(&mut self) {
        self.shared.close();
    }
}
