//! The monitor of one server.

use std::time::Instant;

use super::{Answer, Check, MIN_HEARTBEAT_FREQUENCY, MonitorSettings, Step};
use crate::proto::description::TopologyVersion;

/// Decides when to check a server, and how. At most one check runs at a time.
#[derive(Clone, Copy, Debug)]
pub struct Monitor {
    settings: MonitorSettings,
    phase: Phase,
    link: Link,
    /// What the last check said; `None` when it failed, or when the server cannot stream.
    version: Option<TopologyVersion>,
    /// Whether the last check was answered.
    known: bool,
    requested: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The next check is due whatever the time.
    Due,
    Checking(Check),
    /// The last check ended then.
    Resting(Instant),
}

/// The connection of the monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    None,
    Idle,
    /// The server goes on answering.
    Streaming,
}

impl Monitor {
    /// A monitor whose first check is due.
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

    /// What to do now. While a check runs, that is it.
    pub fn poll(&mut self, now: Instant) -> Step {
        match self.phase {
            Phase::Checking(check) => return Step::Check(check),
            Phase::Due => {}
            Phase::Resting(since) => {
                let rest = match self.requested {
                    true => MIN_HEARTBEAT_FREQUENCY,
                    false => self.settings.heartbeat_frequency.max(MIN_HEARTBEAT_FREQUENCY),
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

    /// Somebody needs to know the server's state soon. A check that runs says it; else the next one comes as soon as
    /// [`MIN_HEARTBEAT_FREQUENCY`] allows.
    pub fn request_check(&mut self) {
        self.requested = true;
    }

    /// The server answered the check, and is known.
    pub fn handle_answer(&mut self, answer: Answer, now: Instant) {
        self.known = true;
        self.requested = false;
        self.version = answer.topology_version;
        self.link = match answer.more_to_come {
            true => Link::Streaming,
            false => Link::Idle,
        };
        self.phase = match self.is_streaming() {
            true => Phase::Due,
            false => Phase::Resting(now),
        };
    }

    /// The check failed: the connection must be closed, the server is unknown, and its round trip times are void. A lost
    /// connection (`network`) of a server that was known may mean no more than that: then the next check is due at once.
    pub fn handle_failure(&mut self, network: bool, now: Instant) {
        let retry = network && self.known;
        self.requested = false;
        self.lose(match retry {
            true => Phase::Due,
            false => Phase::Resting(now),
        });
    }

    /// An operation lost its connection to the server: the monitor's must be closed too, and with it ends a check that runs.
    /// Whoever requested a check meanwhile waits for the next one, since this one tells nothing.
    pub fn handle_cancellation(&mut self, now: Instant) {
        self.lose(match self.phase {
            Phase::Resting(since) => Phase::Resting(since),
            Phase::Due | Phase::Checking(_) => Phase::Resting(now),
        });
    }

    fn lose(&mut self, phase: Phase) {
        self.known = false;
        self.version = None;
        self.link = Link::None;
        self.phase = phase;
    }

    /// Whether the server answers when it has news. Only then its round trip time is measured apart, on a connection of its
    /// own, every `heartbeatFrequencyMS`.
    pub fn is_streaming(&self) -> bool {
        self.settings.streaming && (self.version.is_some() || self.link == Link::Streaming)
    }
}
