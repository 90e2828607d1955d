//! Runs the checks of one server ([`monitoring`](crate::proto::monitoring)).

use std::{
    future::pending,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use tokio::{sync::watch::Receiver, task::AbortHandle};

use super::{
    round_trip::{Meter, RoundTrips},
    shared::Shared,
    watch::{MonitorConnection, Watch},
};
use crate::{
    Error, Result, ServerAddress,
    connection::{Connection, ConnectionSettings},
    proto::{
        description::{HelloReply, ServerDescription},
        monitoring::{self, Answer, Check, MonitorSettings, Step},
    },
    types::{cancellation::run_until_cancelled, deadline::Deadline},
};

/// The monitor of one server. It holds the deployment weakly, so that it ends with the client.
pub(super) struct Monitor {
    address: ServerAddress,
    topology: Weak<Shared>,
    watch: Arc<Watch>,
    settings: MonitorSettings,
    connection_settings: ConnectionSettings,
    machine: monitoring::Monitor,
    connection: Option<Connection>,
    /// The number of the connection, or of the last one.
    connection_id: u32,
}

/// Why a rest ended.
enum Woken {
    Time,
    Request,
    Cancellation,
}

impl Monitor {
    /// Starts a monitor on the runtime of the deployment: one task, which owns its connections.
    pub(super) fn start(topology: &Arc<Shared>, address: ServerAddress, watch: Arc<Watch>) -> AbortHandle {
        let settings = topology.settings.monitor();
        let connection_settings = topology.settings.connection.for_monitors();
        let meter = Meter {
            address: address.clone(),
            settings: connection_settings.clone(),
            heartbeat_frequency: settings.heartbeat_frequency,
        };
        let monitor = Self {
            address,
            topology: Arc::downgrade(topology),
            watch,
            settings,
            connection_settings,
            machine: monitoring::Monitor::new(settings),
            connection: None,
            connection_id: 0,
        };
        let work = async move {
            let trips = RoundTrips::default();
            // Boxed: both are large, and a future that joins others holds them twice.
            run_until_cancelled(Box::pin(monitor.run(&trips)), Box::pin(meter.run(&trips))).await;
        };
        topology.runtime.spawn(work).abort_handle()
    }

    async fn run(mut self, trips: &RoundTrips) {
        let mut cancellations = self.watch.cancellations();
        loop {
            // One that came while an outcome was reported is not lost.
            if cancellations.has_changed().unwrap_or(false) {
                cancellations.mark_unchanged();
                self.handle_cancellation(trips);
            }
            let goes_on = match self.machine.poll(Instant::now()) {
                Step::Check(check) => self.run_check(check, trips, &mut cancellations).await,
                Step::Wait(until) => {
                    match self.rest(until, &mut cancellations).await {
                        Woken::Time => {}
                        Woken::Request => self.machine.request_check(),
                        Woken::Cancellation => self.handle_cancellation(trips),
                    }
                    true
                }
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Runs a check and reports its outcome. Returns `false` if the deployment no longer exists.
    async fn run_check(
        &mut self,
        check: Check,
        trips: &RoundTrips,
        cancellations: &mut Receiver<()>,
    ) -> bool {
        self.announce(check);
        let watch = Arc::clone(&self.watch);
        let checked = async {
            let outcome = self.check(check).await;
            // A check that is requested after this reply was received is the next one.
            watch.forget_request();
            outcome
        };
        let outcome = run_until_cancelled(next(cancellations), checked).await;
        let Some(topology) = self.topology.upgrade() else {
            return false;
        };
        match outcome {
            Some(Ok((hello, time))) => self.report(&topology, check, hello, time, trips),
            Some(Err(error)) => self.report_failure(&topology, &error, trips),
            // An operation found the server unreachable, or its state changed; this check would only find it out
            // later.
            None => {
                self.watch.failed(&Error::protocol("the check was cancelled"));
                self.handle_cancellation(trips);
            }
        }
        true
    }

    /// Emits `ServerHeartbeatStarted`, before a connection is opened for the check.
    fn announce(&mut self, check: Check) {
        if self.connection.is_none() {
            self.connection_id = self.connection_id.wrapping_add(1);
        }
        let connection = self.connection.as_ref();
        self.watch.started(
            check.is_awaited(),
            MonitorConnection {
                driver_id: self.connection_id,
                server_id: connection.and_then(Connection::server_connection_id),
            },
        );
    }

    /// One check, and the time from asking to the answer.
    async fn check(&mut self, check: Check) -> Result<(HelloReply, Duration), Error> {
        let deadline = Deadline::after(self.settings.timeout(check));
        let started = Instant::now();
        let hello = match (check, &mut self.connection) {
            (Check::Hello, Some(connection)) => connection.run_hello(deadline).await?,
            (Check::Await(known), Some(connection)) => {
                let limit = self.settings.heartbeat_frequency;
                connection.await_hello(known, limit, deadline).await?
            }
            (Check::Next, Some(connection)) => connection.next_hello(deadline).await?,
            (Check::Handshake, _) | (_, None) => {
                // Boxed, since it is large and rare.
                let establish = Connection::establish(&self.address, &self.connection_settings);
                let connection = Box::pin(establish).await?;
                let outcome = (connection.hello().clone(), connection.handshake_time());
                self.connection = Some(connection);
                return Ok(outcome);
            }
        };
        Ok((hello, started.elapsed()))
    }

    fn report(
        &mut self,
        topology: &Shared,
        check: Check,
        hello: HelloReply,
        time: Duration,
        trips: &RoundTrips,
    ) {
        let mut more_to_come = false;
        if let Some(connection) = &self.connection {
            more_to_come = connection.is_streaming();
            let server_id = connection.server_connection_id();
            self.watch.succeeded(time, server_id, connection.hello_reply());
        }
        if check.is_round_trip() {
            if topology.is_unknown(&self.address) {
                // An operation found a change of the state of the server: the earlier times are cleared.
                trips.reset();
            }
            trips.add(time);
        }
        let answer = Answer {
            topology_version: hello.topology_version,
            more_to_come,
        };
        self.machine.handle_answer(answer, Instant::now());
        self.set_streaming(self.machine.is_streaming(), trips);
        let (average, minimum) = trips.current();
        let description = ServerDescription::from_hello(self.address.clone(), hello, average, Instant::now())
            .with_minimum_round_trip_time(minimum);
        topology.on_check_succeeded(description);
    }

    fn report_failure(&mut self, topology: &Shared, error: &Error, trips: &RoundTrips) {
        self.connection = None;
        self.watch.failed(error);
        self.machine.handle_failure(error.is_network(), Instant::now());
        trips.reset();
        self.set_streaming(false, trips);
        topology.on_check_failed(&self.address, error);
    }

    /// The server is Unknown, so that its round trip times are cleared (Server Selection specification,
    /// "Round Trip Times and the Latency Window").
    fn handle_cancellation(&mut self, trips: &RoundTrips) {
        self.connection = None;
        self.machine.handle_cancellation(Instant::now());
        trips.reset();
        self.set_streaming(false, trips);
    }

    fn set_streaming(&self, is_streaming: bool, trips: &RoundTrips) {
        trips.set_streaming(is_streaming);
        self.watch.set_awaiting(is_streaming);
    }

    async fn rest(&self, until: Option<Instant>, cancellations: &mut Receiver<()>) -> Woken {
        let woken = async {
            let requested = self.watch.requested();
            match until {
                None => requested.await,
                Some(until) => {
                    let time = tokio::time::timeout_at(until.into(), requested).await;
                    if time.is_err() {
                        return Woken::Time;
                    }
                }
            }
            Woken::Request
        };
        run_until_cancelled(next(cancellations), woken)
            .await
            .unwrap_or(Woken::Cancellation)
    }
}

/// Completes with the next cancellation.
async fn next(cancellations: &mut Receiver<()>) {
    if cancellations.changed().await.is_err() {
        // The sender is dropped with the server handle, which also aborts this task.
        pending::<()>().await;
    }
}
