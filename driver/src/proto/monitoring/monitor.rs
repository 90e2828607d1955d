//! The state machine of the monitor of one server.

use std::time::Instant;

use super::{Answer, Check, MIN_HEARTBEAT_FREQUENCY, MonitorSettings, Step};
use crate::proto::description::TopologyVersion;

/// Determines when and how a server is checked. At most one check runs at a time.
#[derive(Clone, Copy, Debug)]
pub struct Monitor {
    settings: MonitorSettings,
    phase: Phase,
    link: Link,
    /// `topologyVersion` of the last reply. `None` if the check failed or the server does not
    /// support streaming.
    version: Option<TopologyVersion>,
    /// Whether the last check succeeded.
    known: bool,
    requested: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The next check is due immediately.
    Due,
    Checking(Check),
    /// Waiting since the end of the last check.
    Waiting(Instant),
}

/// The connection of the monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    None,
    Idle,
    /// The server streams replies.
    Streaming,
}

impl Monitor {
    /// A monitor whose first check is due immediately.
    pub fn new(settings: MonitorSettings) -> Self {
        Self {
            settings,
            phase: Phase::Due,
            link: Link::None,
            version: None,
            known: false,
            requested: false,
        }
    }

    /// The step to perform now. While a check runs, that check.
    pub fn poll(&mut self, now: Instant) -> Step {
        match self.phase {
            Phase::Checking(check) => return Step::Check(check),
            Phase::Due => {}
            Phase::Waiting(since) => {
                let rest = if self.requested {
                    MIN_HEARTBEAT_FREQUENCY
                } else {
                    self.settings.heartbeat_frequency.max(MIN_HEARTBEAT_FREQUENCY)
                };
                let due = since.checked_add(rest);
                if due.is_none_or(|due| now < due) {
                    return Step::Wait(due);
                }
            }
        }
        self.requested = false;
        let check = self.next_check();
        self.phase = Phase::Checking(check);
        Step::Check(check)
    }

    fn next_check(&self) -> Check {
        match (self.link, self.version) {
            (Link::None, _) => Check::Handshake,
            (Link::Streaming, _) => Check::Next,
            (Link::Idle, Some(version)) if self.settings.streaming => Check::Await(version),
            (Link::Idle, _) => Check::Hello,
        }
    }

    /// Requests an immediate check. A running check satisfies the request; otherwise the next one
    /// starts after [`MIN_HEARTBEAT_FREQUENCY`].
    pub fn request_check(&mut self) {
        self.requested = true;
    }

    /// The check succeeded.
    pub fn handle_answer(&mut self, answer: Answer, now: Instant) {
        self.known = true;
        self.requested = false;
        self.version = answer.topology_version;
        self.link = if answer.more_to_come {
            Link::Streaming
        } else {
            Link::Idle
        };
        self.phase = if self.is_streaming() {
            Phase::Due
        } else {
            Phase::Waiting(now)
        };
    }

    /// The check failed: the connection must be closed, the server is Unknown and its round trip
    /// times are reset. After a network error of a server that was known, the next check is due
    /// immediately ("Network or command error during server check").
    pub fn handle_failure(&mut self, network: bool, now: Instant) {
        let retry = network && self.known;
        self.requested = false;
        self.disconnect(if retry { Phase::Due } else { Phase::Waiting(now) });
    }

    /// An operation had a network error: the connection of the monitor must be closed, which
    /// cancels a running check ("hello or legacy hello Cancellation"). The next check satisfies a
    /// request made meanwhile.
    pub fn handle_cancellation(&mut self, now: Instant) {
        self.disconnect(match self.phase {
            Phase::Waiting(since) => Phase::Waiting(since),
            Phase::Due | Phase::Checking(_) => Phase::Waiting(now),
        });
    }

    fn disconnect(&mut self, phase: Phase) {
        self.known = false;
        self.version = None;
        self.link = Link::None;
        self.phase = phase;
    }

    /// Whether the server streams replies. The round-trip time is then measured on a separate
    /// connection ("Measuring RTT").
    pub fn is_streaming(&self) -> bool {
        self.settings.streaming && (self.version.is_some() || self.link == Link::Streaming)
    }
}
