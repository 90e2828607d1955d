//! Checks one server again and again (Server Monitoring specification, polling).

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use tokio::task::AbortHandle;

use super::{
    settings::MIN_HEARTBEAT_FREQUENCY,
    shared::Shared,
    watch::{MonitorConnection, Watch},
};
use crate::{
    Error, ErrorKind, Result, ServerAddress,
    connection::{Connection, ConnectionSettings},
    proto::{
        description::{HelloReply, ServerDescription},
        server_selection::RoundTripTime,
    },
    types::{deadline::Deadline, race::unless},
};

/// A monitor holds the deployment weakly, so that it ends when the client is gone.
pub(super) struct Monitor {
    address: ServerAddress,
    topology: Weak<Shared>,
    watch: Arc<Watch>,
    settings: ConnectionSettings,
    heartbeat_frequency: Duration,
    connection: Option<Connection>,
    /// The number of the connection, or of the last one.
    connection_id: u32,
    round_trip_time: RoundTripTime,
    was_known: bool,
}

impl Monitor {
    /// Starts a monitor on the runtime of the deployment.
    pub(super) fn start(topology: &Arc<Shared>, address: ServerAddress, watch: Arc<Watch>) -> AbortHandle {
        let monitor = Self {
            address,
            topology: Arc::downgrade(topology),
            watch,
            settings: topology.settings.connection.for_monitors(),
            heartbeat_frequency: topology.settings.heartbeat_frequency,
            connection: None,
            connection_id: 0,
            round_trip_time: RoundTripTime::default(),
            was_known: false,
        };
        topology.runtime.spawn(monitor.run()).abort_handle()
    }

    async fn run(mut self) {
        loop {
            let started = Instant::now();
            let cancellation = Arc::clone(&self.watch.cancellation).notified_owned();
            self.announce();
            let outcome = unless(cancellation, self.check()).await;
            let Some(topology) = self.topology.upgrade() else {
                return;
            };
            let again = match outcome {
                Some(Ok((hello, sample))) => {
                    self.report(&topology, hello, sample);
                    false
                }
                Some(Err(error)) => self.report_failure(&topology, &error),
                // An operation found the server unreachable; this check would only find it out later.
                None => {
                    self.connection = None;
                    self.round_trip_time.reset();
                    self.was_known = false;
                    self.watch.failed(&Error::protocol("the check was cancelled"));
                    false
                }
            };
            drop(topology);
            if !again {
                self.wait(started).await;
            }
        }
    }

    /// Tells that a check begins, before a socket is opened for it.
    fn announce(&mut self) {
        if self.connection.is_none() {
            self.connection_id = self.connection_id.wrapping_add(1);
        }
        self.watch.started(MonitorConnection {
            driver_id: self.connection_id,
            server_id: self
                .connection
                .as_ref()
                .and_then(Connection::server_connection_id),
        });
    }

    fn report(&mut self, topology: &Arc<Shared>, hello: HelloReply, sample: Duration) {
        self.was_known = true;
        if let Some(connection) = &self.connection {
            let server_id = connection.server_connection_id();
            self.watch.succeeded(sample, server_id, connection.hello_reply());
        }
        let average = self.round_trip_time.add(sample);
        let description = ServerDescription::from_hello(self.address.clone(), hello, average, Instant::now())
            .with_minimum_round_trip_time(self.round_trip_time.minimum());
        topology.on_check_succeeded(description);
    }

    /// Returns whether to check again at once: one lost socket may only mean that the server closed it.
    fn report_failure(&mut self, topology: &Arc<Shared>, error: &Error) -> bool {
        self.connection = None;
        self.round_trip_time.reset();
        self.watch.failed(error);
        topology.on_check_failed(&self.address, error);
        std::mem::take(&mut self.was_known) && matches!(error.kind(), ErrorKind::Network(_))
    }

    /// One check; its time is that of the hello alone.
    async fn check(&mut self) -> Result<(HelloReply, Duration), Error> {
        if let Some(connection) = &mut self.connection {
            let started = Instant::now();
            let deadline = Deadline::after(Some(self.settings.connect_timeout));
            let hello = connection.run_hello(deadline).await?;
            return Ok((hello, started.elapsed()));
        }
        let connection = Connection::establish(&self.address, &self.settings).await?;
        let outcome = (connection.hello().clone(), connection.handshake_time());
        self.connection = Some(connection);
        Ok(outcome)
    }

    /// Until the next heartbeat, or until a check is asked for, but never sooner than the specified minimum.
    async fn wait(&self, last_check: Instant) {
        let heartbeat = tokio::time::Instant::from_std(last_check + self.heartbeat_frequency);
        let asked = self.watch.check_request.notified();
        let _ = tokio::time::timeout_at(heartbeat, asked).await;
        tokio::time::sleep_until((last_check + MIN_HEARTBEAT_FREQUENCY).into()).await;
    }
}
