//! The deployment of a client: publishes its description, runs a monitor and a pool per server, and
//! selects servers ([Server Discovery and Monitoring], [Server Selection]).
//!
//! Readers load an immutable snapshot from an atomic pointer and never wait. Writers (monitors,
//! failed operations, handshakes) take a lock, run the state machine [`sdam`](crate::proto::sdam),
//! publish the next snapshot and wake waiting selections. Pools are cleared under the same lock, so
//! no reader sees a healthy description with connections of a cleared pool.
//!
//! [Server Discovery and Monitoring]:
//! https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-discovery-and-monitoring.md
//! [Server Selection]:
//! https://github.com/mongodb/specifications/blob/master/source/server-selection/server-selection.md

mod cluster_clock;
mod monitor;
mod round_trip;
mod runtime_end;
mod server;
mod settings;
mod shared;
mod snapshot;
mod srv_poller;
mod warm_up;
mod watch;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::runtime::Handle;

use crate::{
    Error, ErrorKind, NetworkPhase, PoolError, Result, ServerAddress,
    error::{SelectionEnd, ServerSelectionError},
    proto::{
        cmap::ConnectionKey,
        description::{ServerDescription, ServerType, TopologyDescription, TopologyType},
        server_selection::{Criteria, Patience},
    },
    types::deadline::Deadline,
};
pub(crate) use cluster_clock::ClusterClock;
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
    /// Starts to monitor the seeds. Must be called within a tokio runtime.
    pub(crate) fn start(settings: TopologySettings) -> Arc<Self> {
        Arc::new(Self {
            shared: Shared::start(settings),
        })
    }

    /// The runtime of the background tasks of the client.
    pub(crate) fn runtime(&self) -> &Handle {
        &self.shared.runtime
    }

    /// The newest `$clusterTime` of the deployment.
    pub(crate) fn clock(&self) -> &Arc<ClusterClock> {
        &self.shared.clock
    }

    /// A suitable server, if one is known now.
    pub(crate) fn try_select(
        &self,
        criteria: Criteria<'_>,
        avoid: &[ServerAddress],
    ) -> Option<SelectedServer> {
        self.shared.try_select(criteria, avoid)
    }

    /// Waits for a suitable server: as `patience` says, until the deadline, and for at most
    /// `serverSelectionTimeoutMS`. `on_wait` is called at most once, with the remaining time. The future can be dropped at any time.
    pub(crate) async fn select(
        &self,
        criteria: Criteria<'_>,
        avoid: &[ServerAddress],
        patience: Patience,
        deadline: Deadline,
        on_wait: impl FnOnce(Option<Duration>),
    ) -> Result<SelectedServer> {
        let settings = &self.shared.settings;
        let began = Instant::now();
        let deadline = Deadline::after(Some(settings.server_selection_timeout)).min(deadline);
        let timeout = deadline.remaining().unwrap_or_default();
        let mut on_wait = Some(on_wait);
        // Subscribed before the first selection, so that no change is missed.
        let mut changes = self.shared.changes.subscribe();
        loop {
            changes.borrow_and_update();
            if let Some(server) = self.select_valid(criteria, avoid)? {
                return Ok(server);
            }
            if self.shared.has_left(criteria) {
                return Err(self.not_found(criteria, Duration::ZERO, SelectionEnd::ServerLeft));
            }
            let gives_up = match patience {
                Patience::None => true,
                Patience::UntilFailedCheck => self.shared.has_failed_since(criteria, began),
                Patience::UntilDeadline => false,
            };
            if gives_up {
                return Err(self.not_found(criteria, Duration::ZERO, SelectionEnd::Unavailable));
            }
            if let Some(on_wait) = on_wait.take() {
                on_wait(deadline.remaining());
            }
            self.shared.request_checks();
            match deadline.run(changes.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(Error::new(ErrorKind::Shutdown)),
                Err(_) => return Err(self.not_found(criteria, timeout, SelectionEnd::TimedOut)),
            }
        }
    }

    /// A suitable server, if one is known now.
    ///
    /// # Errors
    /// No wait can find one.
    fn select_valid(
        &self,
        criteria: Criteria<'_>,
        avoid: &[ServerAddress],
    ) -> Result<Option<SelectedServer>> {
        if self.shared.is_closed() {
            return Err(Error::new(ErrorKind::Shutdown));
        }
        {
            let description = &self.shared.snapshot.load().description;
            if let Some(why) = &description.compatibility_error {
                return Err(Error::unsupported(why.clone()));
            }
            self.shared.settings.validate(description, criteria)?;
        }
        Ok(self.try_select(criteria, avoid))
    }

    /// `timeout` is zero if the operation did not wait.
    fn not_found(&self, criteria: Criteria<'_>, timeout: Duration, end: SelectionEnd) -> Error {
        let description = self.description();
        let cause = description.servers.values().find_map(ServerDescription::cause);
        Error::new(ErrorKind::ServerSelection(ServerSelectionError {
            wanted: criteria.to_string(),
            timeout,
            topology: description.to_string(),
            cause: cause.cloned().map(Box::new),
            summary: description.with_outlines_of_causes().to_string() + &self.unresolved(&description),
            end,
        }))
    }

    /// The host name that could not be resolved, for the end of an error text: if there is no other, or if no member of the
    /// replica set is known and only the members name it. Empty otherwise.
    fn unresolved(&self, description: &TopologyDescription) -> String {
        let is_unresolved = |server: &&ServerDescription| {
            matches!(
                server.cause().map(Error::kind),
                Some(ErrorKind::Network(error)) if error.phase() == NetworkPhase::Resolve
            )
        };
        let servers = &description.servers;
        let Some(ServerAddress::Tcp { host, .. }) = servers
            .values()
            .find(is_unresolved)
            .map(ServerDescription::address)
        else {
            return String::new();
        };
        let is_given =
            |seed: &ServerAddress| matches!(seed, ServerAddress::Tcp { host: seed, .. } if seed == host);
        let settings = &self.shared.settings;
        if settings.seeds.iter().any(is_given) {
            return match servers.len() {
                1 => format!("; check the host name {host} of the connection string"),
                _ => String::new(),
            };
        }
        let is_replica_set = matches!(
            description.kind,
            TopologyType::ReplicaSetNoPrimary | TopologyType::ReplicaSetWithPrimary
        );
        if !is_replica_set || servers.values().any(|server| server.kind != ServerType::Unknown) {
            return String::new();
        }
        let advice = match (settings.srv.is_none(), settings.seeds.as_slice()) {
            (true, [_]) => ": directConnection=true uses the given host only",
            _ => "",
        };
        format!("; the replica set configuration names the host {host}, which could not be resolved{advice}")
    }

    /// Whether the deployment is closed: no operation can succeed.
    pub(crate) fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// The error of a closed pool: [`Shutdown`](ErrorKind::Shutdown) if the whole deployment is closed, and
    /// not only its server.
    pub(crate) fn closed_error(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Pool(PoolError::Closed { .. }) if self.is_closed() => Error::new(ErrorKind::Shutdown),
            _ => error,
        }
    }

    /// The current description.
    pub(crate) fn description(&self) -> Arc<TopologyDescription> {
        Arc::clone(&self.shared.snapshot.load().description)
    }

    /// Handles an error of an operation on an established connection.
    pub(crate) fn handle_error(&self, server: &SelectedServer, key: ConnectionKey, error: &Error) {
        self.shared.handle_error(server.address(), key, error);
    }

    /// Whether the server is a standalone.
    pub(crate) fn is_standalone(&self, server: &SelectedServer) -> bool {
        let snapshot = self.shared.snapshot.load();
        let server = snapshot.description.servers.get(server.address());
        server.is_some_and(|server| server.server_type() == ServerType::Standalone)
    }

    /// `logicalSessionTimeoutMinutes` of the deployment. `None`: no data-bearing server is known,
    /// or one does not support sessions.
    pub(crate) fn session_timeout(&self) -> Option<Duration> {
        let snapshot = self.shared.snapshot.load();
        if snapshot.description.kind == TopologyType::LoadBalanced {
            // Behind a load balancer sessions are always supported (Load Balancer specification,
            // "Session Support").
            return Some(Duration::MAX);
        }
        snapshot.description.session_timeout
    }

    /// The hosts of the deployment.
    #[cfg(feature = "internals")]
    pub(crate) fn hosts(&self) -> Vec<ServerAddress> {
        self.shared.snapshot.load().servers.keys().cloned().collect()
    }

    /// The description as text, as errors show it.
    #[cfg(feature = "internals")]
    pub(crate) fn describe(&self) -> String {
        self.shared.snapshot.load().description.to_string()
    }

    /// Notified when the description changes.
    #[cfg(feature = "internals")]
    pub(crate) fn changes(&self) -> tokio::sync::watch::Receiver<()> {
        self.shared.changes.subscribe()
    }

    /// The user of the connections.
    #[cfg(any(feature = "internals", feature = "encryption"))]
    pub(crate) fn login(&self) -> Option<&crate::connection::LoginSettings> {
        self.shared.settings.connection.login.as_ref()
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
