//! Knows the deployment: publishes its description, keeps a monitor and a pool per server, and selects servers.
//!
//! Readers load an immutable snapshot from an atomic pointer and never wait. Writers (monitors, failed operations) take one
//! lock, run the machine [`sdam`](crate::proto::sdam), publish the next snapshot and wake the waiting selections. A pool is
//! cleared under the same lock, so nobody can see a healthy description with a dead pool's connections in use.

mod monitor;
mod round_trip;
mod server;
mod settings;
mod shared;
mod snapshot;
mod srv_poller;
mod watch;

use std::{sync::Arc, time::Duration};

use tokio::runtime::Handle;

use crate::{
    Error, ErrorKind, Result, ServerAddress,
    error::ServerSelectionError,
    proto::{
        cmap::ConnectionKey,
        description::{ServerDescription, ServerType, TopologyDescription, TopologyType},
        server_selection::Criteria,
    },
    types::deadline::Deadline,
};
pub(crate) use server::SelectedServer;
pub(crate) use settings::TopologySettings;
use shared::Shared;
pub(crate) use srv_poller::SrvPollerSettings;

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

    /// Waits for a server that suits, for at most `serverSelectionTimeoutMS`. Dropping the future changes nothing. `on_wait` is
    /// called at most once, with the time that is left.
    pub(crate) async fn select(
        &self,
        criteria: Criteria<'_>,
        avoid: &[ServerAddress],
        deadline: Deadline,
        on_wait: impl FnOnce(Option<Duration>),
    ) -> Result<SelectedServer> {
        let settings = &self.shared.settings;
        let deadline = Deadline::after(Some(settings.server_selection_timeout)).min(deadline);
        let mut on_wait = Some(on_wait);
        // Subscribed before the first look, so that no change is missed between look and wait.
        let mut changes = self.shared.changes.subscribe();
        loop {
            changes.borrow_and_update();
            if self.shared.is_closed() {
                return Err(Error::new(ErrorKind::Shutdown));
            }
            {
                let description = &self.shared.snapshot.load().description;
                if let Some(why) = &description.compatibility_error {
                    return Err(Error::unsupported(why.clone()));
                }
                settings.validate(description, criteria)?;
            }
            if let Some(server) = self.try_select(criteria, avoid) {
                return Ok(server);
            }
            if self.shared.has_left(criteria) {
                return Err(self.not_found(criteria, Duration::ZERO));
            }
            if let Some(on_wait) = on_wait.take() {
                on_wait(deadline.remaining());
            }
            self.shared.request_checks();
            match deadline.run(changes.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(Error::new(ErrorKind::Shutdown)),
                Err(_) => return Err(self.not_found(criteria, settings.server_selection_timeout)),
            }
        }
    }

    /// `timeout` is zero when there is nothing to wait for.
    fn not_found(&self, criteria: Criteria<'_>, timeout: Duration) -> Error {
        let description = self.description();
        let cause = description.servers.values().find_map(ServerDescription::cause);
        Error::new(ErrorKind::ServerSelection(ServerSelectionError {
            wanted: criteria.to_string(),
            timeout,
            topology: description.to_string(),
            cause: cause.cloned().map(Box::new),
            summary: description.with_outlines_of_causes().to_string(),
        }))
    }

    /// The deployment as it is known now.
    pub(crate) fn description(&self) -> Arc<TopologyDescription> {
        Arc::clone(&self.shared.snapshot.load().description)
    }

    /// Draws the conclusions from an error on an established connection.
    pub(crate) fn handle_error(&self, server: &SelectedServer, key: ConnectionKey, error: &Error) {
        self.shared.handle_error(server.address(), key, error);
    }

    /// Whether the server is known to be on its own.
    pub(crate) fn is_standalone(&self, server: &SelectedServer) -> bool {
        let snapshot = self.shared.snapshot.load();
        let server = snapshot.description.servers.get(server.address());
        server.is_some_and(|server| server.server_type() == ServerType::Standalone)
    }

    /// How long servers keep unused sessions; `None` while none is known, or when one has no sessions.
    pub(crate) fn session_timeout(&self) -> Option<Duration> {
        let snapshot = self.shared.snapshot.load();
        if snapshot.description.kind == TopologyType::LoadBalanced {
            // Nobody knows what the servers behind it do; they always have sessions.
            return Some(Duration::MAX);
        }
        snapshot.description.session_timeout
    }

    /// The hosts that the deployment consists of now.
    #[cfg_attr(
        not(feature = "internals"),
        expect(dead_code, reason = "for tests, through `internals`")
    )]
    pub(crate) fn hosts(&self) -> Vec<ServerAddress> {
        self.shared.snapshot.load().servers.keys().cloned().collect()
    }

    /// The deployment in words.
    #[cfg_attr(
        not(feature = "internals"),
        expect(dead_code, reason = "for tests, through `internals`")
    )]
    pub(crate) fn describe(&self) -> String {
        self.shared.snapshot.load().description.to_string()
    }

    /// Tells that something of the deployment changed.
    #[cfg_attr(
        not(feature = "internals"),
        expect(dead_code, reason = "for tests, through `internals`")
    )]
    pub(crate) fn changes(&self) -> tokio::sync::watch::Receiver<()> {
        self.shared.changes.subscribe()
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

#[cfg(test)]
mod tests;
