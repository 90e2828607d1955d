//! Checks one server again and again (Server Monitoring specification, polling).

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use tokio::{sync::Notify, task::AbortHandle};

use super::{settings::MIN_HEARTBEAT_FREQUENCY, shared::Shared};
use crate::{
    Error, Result, ServerAddress,
    connection::{Connection, ConnectionSettings},
    proto::{
        description::{HelloReply, ServerDescription},
        server_selection::RoundTripTime,
    },
    types::deadline::Deadline,
};

/// A monitor holds the deployment weakly, so that it ends when the client is gone.
pub(super) struct Monitor {
    address: ServerAddress,
    topology: Weak<Shared>,
    check_request: Arc<Notify>,
    settings: ConnectionSettings,
    heartbeat_frequency: Duration,
    connection: Option<Connection>,
    round_trip_time: RoundTripTime,
    was_known: bool,
}

impl Monitor {
    /// Starts a monitor on the runtime of the deployment.
    pub(super) fn start(
        topology: &Arc<Shared>,
        address: ServerAddress,
        check_request: Arc<Notify>,
    ) -> AbortHandle {
        let monitor = Self {
            address,
            topology: Arc::downgrade(topology),
            check_request,
            settings: topology.settings.connection.clone(),
            heartbeat_frequency: topology.settings.heartbeat_frequency,
            connection: None,
            round_trip_time: RoundTripTime::default(),
            was_known: false,
        };
        topology.runtime.spawn(monitor.run()).abort_handle()
    }

    async fn run(mut self) {
        loop {
            let started = Instant::now();
            let result = self.check().await;
            let Some(topology) = self.topology.upgrade() else {
                return;
            };
            let failed_first = result.is_err() && std::mem::replace(&mut self.was_known, result.is_ok());
            match result {
                Ok((hello, sample)) => self.report(&topology, hello, sample),
                Err(error) => {
                    self.connection = None;
                    self.round_trip_time.reset();
                    topology.on_check_failed(&self.address, &error);
                }
            }
            drop(topology);
            // One lost socket may only mean that the server closed it: ask again before waiting.
            if !failed_first {
                self.wait(started).await;
            }
        }
    }

    fn report(&mut self, topology: &Arc<Shared>, hello: HelloReply, sample: Duration) {
        self.was_known = true;
        let average = self.round_trip_time.add(sample);
        let description = ServerDescription::from_hello(self.address.clone(), hello, average, Instant::now());
        topology.on_check_succeeded(description);
    }

    /// One check; its time is that of the hello alone.
    async fn check(&mut self) -> Result<(HelloReply, Duration), Error> {
        if let Some(connection) = &mut self.connection {
            let started = Instant::now();
            let deadline = Deadline::after(Some(self.settings.connect_timeout));
            let hello = connection.run_hello(deadline).await?;
            return Ok((hello, started.elapsed()));
        }
        let connection = Connection::establish(&self.address, &self.settings, 0).await?;
        let outcome = (connection.hello().clone(), connection.handshake_time());
        self.connection = Some(connection);
        Ok(outcome)
    }

    /// Until the next heartbeat, or until a check is asked for, but never sooner than the specified minimum.
    async fn wait(&self, last_check: Instant) {
        let heartbeat = tokio::time::Instant::from_std(last_check + self.heartbeat_frequency);
        let asked = self.check_request.notified();
        let _ = tokio::time::timeout_at(heartbeat, asked).await;
        tokio::time::sleep_until((last_check + MIN_HEARTBEAT_FREQUENCY).into()).await;
    }
}
