//! When and how a server is checked ([Server Monitoring]).
//!
//! The owner of a [`Monitor`] calls [`poll`](Monitor::poll), performs the returned step, and
//! reports the result. A server that supports streaming is checked continuously: it replies when
//! its state changes, or after `heartbeatFrequencyMS`. Any other server is polled every
//! `heartbeatFrequencyMS`.
//!
//! [Server Monitoring]:
//! https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-monitoring.md

mod monitor;

use std::time::{Duration, Instant};

pub use monitor::Monitor;

use crate::proto::description::TopologyVersion;

/// `minHeartbeatFrequencyMS`: the minimum time between two checks, except while streaming.
pub const MIN_HEARTBEAT_FREQUENCY: Duration = Duration::from_millis(500);

/// The options of a monitor.
#[derive(Clone, Copy, Debug)]
pub struct MonitorSettings {
    /// Whether to use the streaming protocol if the server supports it: `false` for
    /// `serverMonitoringMode=poll`, and for `auto` on a FaaS platform.
    pub streaming: bool,
    /// `heartbeatFrequencyMS`
    pub heartbeat_frequency: Duration,
    /// `connectTimeoutMS`. Zero means no limit.
    pub connect_timeout: Duration,
}

impl MonitorSettings {
    /// The time limit of a check. `None`: no limit. The limit of a handshake includes opening the
    /// socket; that of an awaitable check includes `heartbeatFrequencyMS` ("connectTimeoutMS").
    pub fn timeout(&self, check: Check) -> Option<Duration> {
        if self.connect_timeout.is_zero() {
            return None;
        }
        Some(match check {
            Check::Handshake | Check::Hello => self.connect_timeout,
            Check::Await(_) | Check::Next => self.connect_timeout.saturating_add(self.heartbeat_frequency),
        })
    }
}

/// One check of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Open a connection. Its handshake is the check.
    Handshake,
    /// Send a hello without `topologyVersion` (polling).
    Hello,
    /// Send a hello with `topologyVersion`, `maxAwaitTimeMS` (`heartbeatFrequencyMS`) and
    /// `exhaustAllowed` (streaming).
    Await(TopologyVersion),
    /// Read the next reply of a server that set `moreToCome`.
    Next,
}

impl Check {
    /// Whether the check is awaitable (`awaited` in heartbeat events).
    pub fn is_awaited(self) -> bool {
        matches!(self, Self::Await(_) | Self::Next)
    }

    /// Whether the duration of the check is a round-trip time.
    pub fn is_round_trip(self) -> bool {
        !self.is_awaited()
    }
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Perform this check and report with [`handle_answer`](Monitor::handle_answer),
    /// [`handle_failure`](Monitor::handle_failure) or
    /// [`handle_cancellation`](Monitor::handle_cancellation).
    Check(Check),
    /// Wait until this time or until a check is requested. `None`: until a check is requested.
    Wait(Option<Instant>),
}

/// The part of a reply that the monitor needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// `topologyVersion`. A server that sends it supports streaming.
    pub topology_version: Option<TopologyVersion>,
    /// `moreToCome`: another reply follows without a request.
    pub more_to_come: bool,
}

#[cfg(test)]
mod tests;
