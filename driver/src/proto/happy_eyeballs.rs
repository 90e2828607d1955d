//! Which of a host's addresses to try, and when (Happy Eyeballs, RFC 8305).
//!
//! A host has addresses of two families, and one of them may lead nowhere without anybody saying so. So the next address is
//! tried while the one before is still silent, a quarter of a second later, or at once when it fails. Families alternate,
//! beginning with that of the first address: whoever resolved the name has sorted them by what the system prefers.

// Addresses alone, without the sockets of `std::net`.
use core::net::SocketAddr;
use std::{
    collections::{BTreeSet, VecDeque},
    io,
    time::{Duration, Instant},
};

/// `Connection Attempt Delay` of RFC 8305: the time before the next attempt starts.
pub const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// The most addresses of a host that are tried.
pub const MAX_ADDRESSES: usize = 32;

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Begin to connect to this address, beside the attempts under way.
    Attempt(SocketAddr),
    /// Wait for the attempts under way, until then at most.
    WaitUntil(Instant),
    /// Wait for the attempts under way.
    Wait,
    /// All attempts failed.
    GiveUp,
}

/// The attempts to connect to one host.
#[derive(Debug)]
pub struct ConnectionAttempts {
    waiting: VecDeque<SocketAddr>,
    running: Vec<SocketAddr>,
    /// When the next one is due; `None`: at once.
    due: Option<Instant>,
    failures: Vec<(SocketAddr, io::Error)>,
}

impl ConnectionAttempts {
    /// Of a host with these addresses, in the order of preference.
    pub fn new(addresses: impl IntoIterator<Item = SocketAddr>) -> Self {
        Self {
            waiting: alternate(addresses),
            running: Vec::new(),
            due: None,
            failures: Vec::new(),
        }
    }

    /// Goes on. To be asked again after each attempt and each wait.
    pub fn next(&mut self, now: Instant) -> Step {
        let Some(address) = self.waiting.front().copied() else {
            return match self.running.is_empty() {
                true => Step::GiveUp,
                false => Step::Wait,
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

    /// Why there is no connection, after [`Step::GiveUp`]: every failure by its address. The kind is that of the last one,
    /// those apart that say no more than that this machine has no way to a family of addresses.
    pub fn into_error(self) -> io::Error {
        let mut failures = self.failures;
        if failures.len() == 1
            && let Some((_, only)) = failures.pop()
        {
            // With the number of the operating system.
            return only;
        }
        let kinds = failures.iter().rev().map(|(_, error)| error.kind());
        let kind = kinds
            .clone()
            .find(|kind| !is_no_way(*kind))
            .or(kinds.clone().next());
        match kind {
            Some(kind) => io::Error::new(kind, list(&failures)),
            None => io::Error::new(io::ErrorKind::NotFound, "the host name has no address"),
        }
    }

    /// The error after a timeout: the addresses without answer, and the failures before.
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

/// Each address once, the families in turn.
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

fn is_no_way(kind: io::ErrorKind) -> bool {
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
    fn families_alternate_from_the_first() {
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
    fn silence_brings_in_the_next_after_the_delay() {
        let start = Instant::now();
        let mut attempts = ConnectionAttempts::new([v6(1), v4(1), v4(2)]);
        assert_eq!(attempts.next(start), Step::Attempt(v6(1)));
        assert_eq!(attempts.next(start), Step::WaitUntil(start + ATTEMPT_DELAY));
        let early = start + ATTEMPT_DELAY - MS;
        assert_eq!(attempts.next(early), Step::WaitUntil(start + ATTEMPT_DELAY));
        let second = start + ATTEMPT_DELAY;
        assert_eq!(attempts.next(second), Step::Attempt(v4(1)));
        assert_eq!(attempts.next(second), Step::WaitUntil(second + ATTEMPT_DELAY));
        // Called late: the next waits from then on.
        let third = second + 3 * ATTEMPT_DELAY;
        assert_eq!(attempts.next(third), Step::Attempt(v4(2)));
        assert_eq!(attempts.next(third), Step::Wait, "nothing is left to begin");
    }

    #[test]
    fn failure_brings_it_in_at_once() {
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
    fn one_failure_stays_what_it_is() {
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
    fn a_timeout_lists_silence_and_failures() {
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
