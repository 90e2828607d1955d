//! Delays between getMore commands of a tailable cursor that return nothing.

use std::time::{Duration, Instant};

/// The delay after the first empty batch.
const MIN_DELAY: Duration = Duration::from_millis(10);
/// The maximum delay. Less than the time that a server waits for data by default (1 s), so that a
/// cursor with `awaitData` is not delayed.
const MAX_DELAY: Duration = Duration::from_millis(500);

/// Delays the getMore commands of a cursor while they return nothing, to limit the load on the
/// network and the processor.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    /// When the last getMore was sent.
    sent: Option<Instant>,
    /// Number of empty batches since the last document.
    empty: u32,
}

impl Backoff {
    /// A getMore is being sent.
    pub(super) fn sent(&mut self, now: Instant) {
        self.sent = Some(now);
    }

    /// A batch was received.
    pub(super) fn received(&mut self, is_empty: bool) {
        self.empty = if is_empty { self.empty.saturating_add(1) } else { 0 };
    }

    /// The remaining delay before the next getMore, if any. The time until the reply is part of the
    /// delay.
    pub(super) fn delay(&self, now: Instant) -> Option<Duration> {
        let doublings = self.empty.checked_sub(1)?;
        let interval = MIN_DELAY
            .saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX))
            .min(MAX_DELAY);
        let passed = now.saturating_duration_since(self.sent?);
        interval.checked_sub(passed).filter(|delay| !delay.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The delays if each getMore takes `answer` and its batch is empty or not.
    fn delays(answer: Duration, batches: &[bool]) -> Vec<Duration> {
        let mut now = Instant::now();
        let mut backoff = Backoff::default();
        let mut delays = Vec::new();
        for is_empty in batches {
            let delay = backoff.delay(now).unwrap_or_default();
            delays.push(delay);
            now += delay;
            backoff.sent(now);
            now += answer;
            backoff.received(*is_empty);
        }
        delays
    }

    #[test]
    fn the_delay_doubles_up_to_its_limit() {
        let millis = |delays: Vec<Duration>| delays.iter().map(Duration::as_millis).collect::<Vec<_>>();
        let at_once = delays(Duration::ZERO, &[true; 10]);
        assert_eq!(millis(at_once), [0, 10, 20, 40, 80, 160, 320, 500, 500, 500]);
        let slow = delays(Duration::from_millis(100), &[true; 7]);
        assert_eq!(millis(slow), [0, 0, 0, 0, 0, 60, 220]);
        let many = delays(Duration::ZERO, &[true; 100]);
        assert_eq!(many.last(), Some(&MAX_DELAY));
    }

    #[test]
    fn a_document_resets_the_delay() {
        let delays = delays(Duration::ZERO, &[true, true, false, false, true, true]);
        assert_eq!(
            delays.iter().map(Duration::as_millis).collect::<Vec<_>>(),
            [0, 10, 20, 0, 0, 10]
        );
    }

    #[test]
    fn nothing_is_delayed_if_the_server_awaits_data() {
        let delays = delays(Duration::from_secs(1), &[true; 20]);
        assert!(delays.iter().all(Duration::is_zero), "{delays:?}");
    }
}
