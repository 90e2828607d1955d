//! The order and the times of the attempts to connect to the addresses of a host (Happy Eyeballs,
//! [RFC 8305]).
//!
//! A host can have IPv4 and IPv6 addresses, and connections of one family may be dropped without an
//! error. Therefore the next attempt starts when an attempt fails, or 250 ms after the start of the
//! previous one while that is still pending. The address families alternate, beginning with that of
//! the first address: the resolver has sorted the addresses by the preference of the system.
//!
//! [RFC 8305]: https://www.rfc-editor.org/rfc/rfc8305

// Only the address types of `std::net` are used, no sockets.
use core::net::SocketAddr;
use std::{
    collections::{BTreeSet, VecDeque},
    io,
    time::{Duration, Instant},
};

/// The time between the starts of two attempts (RFC 8305, section 8: "Connection Attempt Delay").
pub const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// The maximum number of addresses of a host that are tried.
pub const MAX_ADDRESSES: usize = 32;

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Start an attempt to connect to this address, in addition to the pending ones.
    Attempt(SocketAddr),
    /// Wait for the pending attempts, at most until this time.
    WaitUntil(Instant),
    /// Wait for the pending attempts.
    Wait,
    /// All attempts failed.
    GiveUp,
}

/// The attempts to connect to one host.
#[derive(Debug)]
pub struct ConnectionAttempts {
    waiting: VecDeque<SocketAddr>,
    running: Vec<SocketAddr>,
    /// When the next attempt starts. `None`: immediately.
    due: Option<Instant>,
    failures: Vec<(SocketAddr, io::Error)>,
}

impl ConnectionAttempts {
    /// The attempts for a host with these addresses, in the order of preference.
    pub fn new(addresses: impl IntoIterator<Item = SocketAddr>) -> Self {
        Self {
            waiting: alternate(addresses),
            running: Vec::new(),
            due: None,
            failures: Vec::new(),
        }
    }

    /// Returns the next step. To be called after each attempt and each wait.
    pub fn next(&mut self, now: Instant) -> Step {
        let Some(address) = self.waiting.front().copied() else {
            return if self.running.is_empty() {
                Step::GiveUp
            } else {
                Step::Wait
            };
        };
        if let Some(due) = self.due.filter(|due| now < *due)
            && !self.running.is_empty()
        {
            return Step::WaitUntil(due);
        }
        self.waiting.pop_front();
        self.running.push(address);
        self.due = now.checked_add(ATTEMPT_DELAY);
        Step::Attempt(address)
    }

    /// An attempt failed: the next one starts immediately.
    pub fn failed(&mut self, address: SocketAddr, error: io::Error) {
        self.running.retain(|running| *running != address);
        self.failures.push((address, error));
        self.due = None;
    }

    /// The error after [`Step::GiveUp`]: the failures of all addresses. The kind is that of the
    /// last failure, ignoring those that only mean that this machine has no route for an address
    /// family.
    pub fn into_error(self) -> io::Error {
        let mut failures = self.failures;
        if failures.len() == 1
            && let Some((_, only)) = failures.pop()
        {
            // Keeps the error number of the operating system.
            return only;
        }
        let kinds = failures.iter().rev().map(|(_, error)| error.kind());
        let kind = kinds
            .clone()
            .find(|kind| !means_no_route(*kind))
            .or(kinds.clone().next());
        match kind {
            Some(kind) => io::Error::new(kind, list(&failures)),
            None => io::Error::new(io::ErrorKind::NotFound, "the host name has no address"),
        }
    }

    /// The error after a timeout: the addresses that did not answer, and the failures.
    pub fn into_timeout(self, limit: Duration) -> io::Error {
        let silent: Vec<String> = self.running.iter().map(ToString::to_string).collect();
        let mut text = match silent.as_slice() {
            [] => format!("no connection within connectTimeoutMS ({limit:?})"),
            silent => format!(
                "no answer from {} within connectTimeoutMS ({limit:?})",
                silent.join(", ")
            ),
        };
        if !self.failures.is_empty() {
            text = format!("{text}; {}", list(&self.failures));
        }
        io::Error::new(io::ErrorKind::TimedOut, text)
    }
}

/// Removes duplicates and alternates the address families (RFC 8305, section 4).
fn alternate(addresses: impl IntoIterator<Item = SocketAddr>) -> VecDeque<SocketAddr> {
    let mut seen = BTreeSet::new();
    let mut addresses = addresses.into_iter().filter(|address| seen.insert(*address));
    let Some(first) = addresses.next() else {
        return VecDeque::new();
    };
    let (same, other): (Vec<_>, Vec<_>) = addresses.partition(|address| address.is_ipv6() == first.is_ipv6());
    let (mut same, mut other) = (same.into_iter(), other.into_iter());
    let mut sorted = VecDeque::from([first]);
    while sorted.len() < MAX_ADDRESSES {
        let next = match sorted.len() % 2 {
            1 => other.next().or_else(|| same.next()),
            _ => same.next().or_else(|| other.next()),
        };
        match next {
            Some(address) => sorted.push_back(address),
            None => break,
        }
    }
    sorted
}

fn means_no_route(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{AddrNotAvailable, HostUnreachable, NetworkUnreachable};
    matches!(kind, AddrNotAvailable | HostUnreachable | NetworkUnreachable)
}

fn list(failures: &[(SocketAddr, io::Error)]) -> String {
    let texts: Vec<String> = failures
        .iter()
        .map(|(address, error)| format!("{address}: {error}"))
        .collect();
    texts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use io::ErrorKind::{ConnectionRefused, NetworkUnreachable, TimedOut};

    fn v4(last: u8) -> SocketAddr {
        ([192, 0, 2, last], 27017).into()
    }

    fn v6(last: u16) -> SocketAddr {
        ([0x2001, 0xdb8, 0, 0, 0, 0, 0, last], 27017).into()
    }

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn families_alternate_beginning_with_the_first() {
        let order = |addresses: &[SocketAddr]| Vec::from(alternate(addresses.iter().copied()));
        let (a, b, c, x, y) = (v6(1), v6(2), v6(3), v4(1), v4(2));
        assert_eq!(order(&[a, b, c, x, y]), [a, x, b, y, c]);
        assert_eq!(order(&[x, a, b, c]), [x, a, b, c]);
        assert_eq!(order(&[x, y, a]), [x, a, y]);
        assert_eq!(order(&[x, x, a, x]), [x, a], "each once");
        assert_eq!(order(&[]), []);
        let many: Vec<_> = (0..=255).map(v4).chain((0..255).map(v6)).collect();
        let tried = order(&many);
        assert_eq!(tried.len(), MAX_ADDRESSES);
        assert_eq!(tried.iter().filter(|address| address.is_ipv6()).count(), 16);
    }

    #[test]
    fn the_next_attempt_starts_after_the_delay() {
        let start = Instant::now();
        let mut attempts = ConnectionAttempts::new([v6(1), v4(1), v4(2)]);
        assert_eq!(attempts.next(start), Step::Attempt(v6(1)));
        assert_eq!(attempts.next(start), Step::WaitUntil(start + ATTEMPT_DELAY));
        let early = start + ATTEMPT_DELAY - MS;
        assert_eq!(attempts.next(early), Step::WaitUntil(start + ATTEMPT_DELAY));
        let second = start + ATTEMPT_DELAY;
        assert_eq!(attempts.next(second), Step::Attempt(v4(1)));
        assert_eq!(attempts.next(second), Step::WaitUntil(second + ATTEMPT_DELAY));
        // Called late: the delay starts at the time of the call.
        let third = second + 3 * ATTEMPT_DELAY;
        assert_eq!(attempts.next(third), Step::Attempt(v4(2)));
        assert_eq!(attempts.next(third), Step::Wait, "nothing is left to begin");
    }

    #[test]
    fn the_next_attempt_starts_when_one_fails() {
        let start = Instant::now();
        let mut attempts = ConnectionAttempts::new([v6(1), v4(1), v4(2)]);
        assert_eq!(attempts.next(start), Step::Attempt(v6(1)));
        attempts.failed(v6(1), NetworkUnreachable.into());
        assert_eq!(attempts.next(start + MS), Step::Attempt(v4(1)));
        let due = start + MS + ATTEMPT_DELAY;
        assert_eq!(attempts.next(start + MS), Step::WaitUntil(due));
        assert_eq!(attempts.next(due), Step::Attempt(v4(2)));
        attempts.failed(v4(1), ConnectionRefused.into());
        assert_eq!(attempts.next(due), Step::Wait);
        attempts.failed(v4(2), NetworkUnreachable.into());
        assert_eq!(attempts.next(due), Step::GiveUp);
        let error = attempts.into_error();
        assert_eq!(
            error.kind(),
            ConnectionRefused,
            "the machine's lack of a route says less"
        );
        let text = error.to_string();
        for address in [v6(1), v4(1), v4(2)] {
            assert!(text.contains(&address.to_string()), "{text}");
        }
    }

    #[test]
    fn a_single_failure_is_returned_unchanged() {
        let mut attempts = ConnectionAttempts::new([v4(1)]);
        assert_eq!(attempts.next(Instant::now()), Step::Attempt(v4(1)));
        attempts.failed(v4(1), io::Error::from_raw_os_error(111));
        assert_eq!(attempts.into_error().raw_os_error(), Some(111));
        assert_eq!(ConnectionAttempts::new([]).next(Instant::now()), Step::GiveUp);
        assert!(
            ConnectionAttempts::new([])
                .into_error()
                .to_string()
                .contains("no address")
        );
        let mut unreachable = ConnectionAttempts::new([v6(1), v6(2)]);
        for address in [v6(1), v6(2)] {
            assert_eq!(unreachable.next(Instant::now()), Step::Attempt(address));
            unreachable.failed(address, NetworkUnreachable.into());
        }
        assert_eq!(unreachable.into_error().kind(), NetworkUnreachable);
    }

    #[test]
    fn a_timeout_lists_pending_and_failed_addresses() {
        let start = Instant::now();
        let mut attempts = ConnectionAttempts::new([v6(1), v4(1)]);
        attempts.next(start);
        attempts.failed(v6(1), ConnectionRefused.into());
        attempts.next(start);
        let error = attempts.into_timeout(7 * MS);
        assert_eq!(error.kind(), TimedOut);
        let text = error.to_string();
        assert!(
            text.starts_with(
                "no answer from 192.0.2.1:27017 within connectTimeoutMS (7ms); [2001:db8::1]:27017: "
            ),
            "{text}"
        );
    }
}
