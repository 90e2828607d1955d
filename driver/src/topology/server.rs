//! The handle of one server: pool, monitor, and the number of operations in progress.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::task::AbortHandle;

use super::watch::Watch;
use crate::{
    Result, ServerAddress,
    pool::{CheckingOut, Pool, PooledConnection},
    proto::description::{HelloReply, ServerDescription, TopologyType},
    types::deadline::Deadline,
};

/// The state of the deployment for one server. Dropping it ends the monitor;
/// [`close`](Self::close) closes the pool.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) address: ServerAddress,
    pub(super) pool: Arc<Pool>,
    /// The connection between the monitor and this handle.
    pub(super) watch: Arc<Watch>,
    /// None for a load balancer, which is not checked.
    monitor: Option<AbortHandle>,
    running: AtomicUsize,
}

impl Server {
    pub(super) fn new(
        address: ServerAddress,
        pool: Arc<Pool>,
        watch: Arc<Watch>,
        monitor: Option<AbortHandle>,
    ) -> Arc<Self> {
        Arc::new(Self {
            address,
            pool,
            watch,
            monitor,
            running: AtomicUsize::new(0),
        })
    }

    /// The number of operations in progress (`operationCount` of the Server Selection
    /// specification).
    pub(super) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Stops the monitor and closes the pool. The events are emitted by `Pool::settle`.
    pub(super) fn close(&self) {
        self.watch.close();
        self.stop_monitor();
        self.pool.close_without_events();
    }

    fn stop_monitor(&self) {
        if let Some(monitor) = &self.monitor {
            monitor.abort();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop_monitor();
    }
}

/// A round trip time in whole microseconds: small enough to be part of every selection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTripMicros(u32);

impl RoundTripMicros {
    /// The minimum round trip time of the server.
    pub(super) fn minimum_of(server: &ServerDescription) -> Self {
        let micros = server.minimum_round_trip_time.unwrap_or_default().as_micros();
        Self(u32::try_from(micros).unwrap_or(u32::MAX))
    }
}

/// A selected server. The operation counts as in progress while the value lives.
#[derive(Debug)]
pub(crate) struct SelectedServer {
    server: Arc<Server>,
    /// In microseconds.
    min_round_trip: u32,
    topology: TopologyType,
    is_primary_required: bool,
}

impl SelectedServer {
    /// `min_round_trip`: of the server's description in the same snapshot.
    pub(super) fn new(
        server: &Arc<Server>,
        min_round_trip: RoundTripMicros,
        topology: TopologyType,
        is_primary_required: bool,
    ) -> Self {
        server.running.fetch_add(1, Ordering::Relaxed);
        Self {
            server: Arc::clone(server),
            min_round_trip: min_round_trip.0,
            topology,
            is_primary_required,
        }
    }

    /// Whether it was selected for an aggregate with `$out` or `$merge` by a primary read preference, because there are
    /// older servers than 5.0.
    pub(crate) fn is_primary_required(&self) -> bool {
        self.is_primary_required
    }

    /// The minimum round trip time, at the time of the selection (Client Side Operations Timeout,
    /// "Command Execution"). Zero if it is not known.
    pub(crate) fn min_round_trip(&self) -> Duration {
        Duration::from_micros(self.min_round_trip.into())
    }

    pub(crate) fn address(&self) -> &ServerAddress {
        &self.server.address
    }

    /// Whether the topology type is Single.
    pub(crate) fn is_direct(&self) -> bool {
        self.topology == TopologyType::Single
    }

    /// Whether it is a load balancer, behind which each connection may lead to another server.
    pub(crate) fn is_load_balancer(&self) -> bool {
        self.topology == TopologyType::LoadBalanced
    }

    /// The session timeout of the server, by the hello reply of a connection. `None` if the server
    /// does not support sessions. Behind a load balancer sessions are always supported and never
    /// pruned, regardless of `logicalSessionTimeoutMinutes` (Load Balancer specification, "Session
    /// Support" and "Session Expiration").
    pub(crate) fn session_timeout(&self, hello: &HelloReply) -> Option<Duration> {
        if self.is_load_balancer() {
            Some(Duration::MAX)
        } else {
            hello.session_timeout()
        }
    }

    /// Whether the server is a mongos of a sharded cluster.
    pub(crate) fn is_router(&self) -> bool {
        self.topology == TopologyType::Sharded
    }

    /// Checks out an available connection without waiting.
    pub(crate) fn try_check_out(&self, now: Instant) -> Option<PooledConnection> {
        self.server.pool.try_check_out(now)
    }

    /// Checks out a connection; waits in the WaitQueue if needed, until `deadline`, or for
    /// `waitQueueTimeoutMS` without one.
    pub(crate) async fn check_out(&self, deadline: Option<Deadline>) -> Result<PooledConnection> {
        self.server.pool.check_out(deadline).await
    }

    /// The check-out, if it is one from the pool of this server that has not failed, and whose connection is usable.
    pub(crate) fn accept_check_out(&self, checking_out: CheckingOut) -> Option<CheckingOut> {
        checking_out.usable(&self.server.pool)
    }

    /// Begins a check-out without waiting.
    pub(crate) fn begin_check_out(&self) -> Result<CheckingOut> {
        self.server.pool.begin_check_out()
    }
}

impl Drop for SelectedServer {
    fn drop(&mut self) {
        self.server.running.fetch_sub(1, Ordering::Relaxed);
    }
}
