//! When and how one server is checked (Server Monitoring specification), without a socket and without a clock.
//!
//! The owner of a [`Monitor`] asks it what to do ([`poll`](Monitor::poll)), does it, and tells it what came of it. Between
//! two checks a server that can stream is not left alone for a moment: it answers the next hello when its state changes, or
//! after `heartbeatFrequencyMS`, without being asked again. Any other server is asked every `heartbeatFrequencyMS`.

mod monitor;

use std::time::{Duration, Instant};

pub use monitor::Monitor;

use crate::proto::description::TopologyVersion;

/// Checks of one server are at least this far apart (`minHeartbeatFrequencyMS`), unless the server streams.
pub const MIN_HEARTBEAT_FREQUENCY: Duration = Duration::from_millis(500);

/// What a monitor goes by.
#[derive(Clone, Copy, Debug)]
pub struct MonitorSettings {
    /// Whether to stream where the server can: not with `serverMonitoringMode=poll`, and with `auto` not on a FaaS platform.
    pub streaming: bool,
    /// `heartbeatFrequencyMS`
    pub heartbeat_frequency: Duration,
    /// `connectTimeoutMS`; zero means no limit.
    pub connect_timeout: Duration,
}

impl MonitorSettings {
    /// How long the answer to this check may take; `None` means for ever. A handshake shares its time with the opening of the
    /// socket.
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
    /// Open a connection: its handshake is the check.
    Handshake,
    /// Send a hello that is answered at once.
    Hello,
    /// Send a hello that is answered once the server's state is no longer this one, or when `maxAwaitTimeMS`, which is
    /// `heartbeatFrequencyMS`, is over. Allow the server to go on answering (`exhaustAllowed`).
    Await(TopologyVersion),
    /// Read the next answer of a server that goes on answering.
    Next,
}

impl Check {
    /// Whether the server answers only when it has news (`awaited` in heartbeat events).
    pub fn is_awaited(self) -> bool {
        matches!(self, Self::Await(_) | Self::Next)
    }

    /// Whether the time of the answer is a round trip time.
    pub fn is_round_trip(self) -> bool {
        !self.is_awaited()
    }
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Do this check, and report with [`handle_answer`](Monitor::handle_answer), [`handle_failure`](Monitor::handle_failure)
    /// or [`handle_cancellation`](Monitor::handle_cancellation).
    Check(Check),
    /// Nothing until then, or until a check is requested; `None` means until one is requested.
    Wait(Option<Instant>),
}

/// What of an answer matters to its monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The state of the server; one that has it can stream.
    pub topology_version: Option<TopologyVersion>,
    /// Another answer follows without being asked for.
    pub more_to_come: bool,
}

#[cfg(test)]
mod tests;
