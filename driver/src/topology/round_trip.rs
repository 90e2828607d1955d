//! Measures the round trip time of a server in streaming mode, where the time until a reply to the
//! monitor is not a round trip.

use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::{
    Result, ServerAddress,
    connection::{Connection, ConnectionSettings},
    proto::server_selection::RoundTripTime,
    types::{
        cancellation::run_until_cancelled,
        deadline::Deadline,
        lock::{Inner, InnerGuard},
    },
};

/// The round trip times of a server. Its monitor and its meter add to them; only the monitor resets
/// them.
#[derive(Debug, Default)]
pub(super) struct RoundTrips {
    times: Inner<RoundTripTime>,
    /// Whether the server streams.
    streaming: watch::Sender<bool>,
}

impl RoundTrips {
    fn lock(&self) -> InnerGuard<'_, RoundTripTime> {
        self.times.lock()
    }

    pub(super) fn add(&self, sample: Duration) {
        self.lock().add(sample);
    }

    /// Average and minimum.
    pub(super) fn current(&self) -> (Duration, Duration) {
        let times = self.lock();
        (times.average().unwrap_or_default(), times.minimum())
    }

    pub(super) fn reset(&self) {
        self.lock().reset();
    }

    /// Says whether the meter is needed.
    pub(super) fn set_streaming(&self, streaming: bool) {
        self.streaming
            .send_if_modified(|before| std::mem::replace(before, streaming) != streaming);
    }
}

/// Asks a server for nothing but an answer.
pub(super) struct Meter {
    pub(super) address: ServerAddress,
    pub(super) settings: ConnectionSettings,
    pub(super) heartbeat_frequency: Duration,
}

impl Meter {
    /// Measures while the server streams, and has no connection while it does not. Never ends.
    pub(super) async fn run(self, trips: &RoundTrips) {
        let mut streaming = trips.streaming.subscribe();
        // The sender lives as long as `trips`, so neither wait can fail.
        while streaming.wait_for(|now| *now).await.is_ok() {
            let stopped = async {
                let _ = streaming.wait_for(|now| !*now).await;
            };
            run_until_cancelled(stopped, self.measure(trips)).await;
        }
    }

    async fn measure(&self, trips: &RoundTrips) {
        let mut connection = None;
        loop {
            // Errors are ignored: the monitor detects failures by its own checks.
            match self.sample(&mut connection).await {
                Ok(sample) => trips.add(sample),
                Err(_) => connection = None,
            }
            tokio::time::sleep(self.heartbeat_frequency).await;
        }
    }

    async fn sample(&self, connection: &mut Option<Connection>) -> Result<Duration> {
        if let Some(connection) = connection {
            let started = Instant::now();
            let deadline = Deadline::after(Some(self.settings.connect_timeout));
            connection.run_hello(deadline).await?;
            return Ok(started.elapsed());
        }
        // Boxed, since it is large and rare.
        let opened = Box::pin(Connection::establish(&self.address, &self.settings)).await?;
        let sample = opened.handshake_time();
        *connection = Some(opened);
        Ok(sample)
    }
}
