//! How often a cursor that has nothing at the moment asks for more.

use std::time::{Duration, Instant};

/// Between a getMore that returned nothing and the next one.
const SHORTEST: Duration = Duration::from_millis(10);
/// The same after many of them. Less than a server waits for data by itself (1 s), so that a cursor that awaits data is never
/// asked later than its server answers.
const LONGEST: Duration = Duration::from_millis(500);

/// Keeps getMore commands apart while they return nothing, so that neither the network nor a processor is kept busy by them.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When the last getMore was sent.
    sent: Option<Instant>,
    /// Empty batches since the last document.
    empty: u32,
}

impl Pace {
    /// A getMore is sent.
    pub(super) fn sent(&mut self, now: Instant) {
        self.sent = Some(now);
    }

    /// Its batch has arrived.
    pub(super) fn received(&mut self, is_empty: bool) {
        self.empty = if is_empty { self.empty.saturating_add(1) } else { 0 };
    }

    /// How long to wait before the next getMore, if at all. What the server took for its answer counts.
    pub(super) fn pause(&self, now: Instant) -> Option<Duration> {
        let doublings = self.empty.checked_sub(1)?;
        let interval = SHORTEST
            .saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX))
            .min(LONGEST);
        let passed = now.saturating_duration_since(self.sent?);
        interval.checked_sub(passed).filter(|pause| !pause.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pauses when each getMore takes `answer` and its batch is empty or not.
    fn pauses(answer: Duration, batches: &[bool]) -> Vec<Duration> {
        let mut now = Instant::now();
        let mut pace = Pace::default();
        let mut pauses = Vec::new();
        for is_empty in batches {
            let pause = pace.pause(now).unwrap_or_default();
            pauses.push(pause);
            now += pause;
            pace.sent(now);
            now += answer;
            pace.received(*is_empty);
        }
        pauses
    }

    #[test]
    fn the_time_between_empty_batches_doubles_up_to_its_limit() {
        let millis = |pauses: Vec<Duration>| pauses.iter().map(Duration::as_millis).collect::<Vec<_>>();
        let at_once = pauses(Duration::ZERO, &[true; 10]);
        assert_eq!(millis(at_once), [0, 10, 20, 40, 80, 160, 320, 500, 500, 500]);
        let slow = pauses(Duration::from_millis(100), &[true; 7]);
        assert_eq!(millis(slow), [0, 0, 0, 0, 0, 60, 220]);
        let many = pauses(Duration::ZERO, &[true; 100]);
        assert_eq!(many.last(), Some(&LONGEST));
    }

    #[test]
    fn a_document_ends_the_pauses() {
        let pauses = pauses(Duration::ZERO, &[true, true, false, false, true, true]);
        assert_eq!(
            pauses.iter().map(Duration::as_millis).collect::<Vec<_>>(),
            [0, 10, 20, 0, 0, 10]
        );
    }

    #[test]
    fn a_server_that_awaits_data_is_asked_again_at_once() {
        let pauses = pauses(Duration::from_secs(1), &[true; 20]);
        assert!(pauses.iter().all(Duration::is_zero), "{pauses:?}");
    }
}
