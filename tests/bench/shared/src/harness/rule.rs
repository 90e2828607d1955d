//! The rule for the number of iterations of a task.

use std::time::Duration;

use crate::harness::task::Suite;

/// The end of the iterations of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Minimum total duration of the measured phases.
    pub at_least: Duration,
    /// Number of iterations that is sufficient after the minimum duration.
    pub iterations: usize,
    /// Maximum total duration of the measured phases.
    pub at_most: Duration,
}

impl Rule {
    /// The rule of the specification.
    #[must_use]
    pub const fn of(suite: Suite) -> Self {
        match suite {
            Suite::Driver => Self::new(60, 100, 300),
            Suite::Odm => Self::new(30, 10, 60),
        }
    }

    /// At most 3 iterations or 1 second.
    #[must_use]
    pub const fn quick() -> Self {
        Self::new(0, 3, 1)
    }

    /// At most 100 iterations or the given number of seconds.
    #[must_use]
    pub const fn seconds(seconds: u64) -> Self {
        Self::new(0, 100, seconds)
    }

    const fn new(at_least: u64, iterations: usize, at_most: u64) -> Self {
        Self {
            at_least: Duration::from_secs(at_least),
            iterations,
            at_most: Duration::from_secs(at_most),
        }
    }

    /// Whether a number of iterations with the total duration `total` is sufficient.
    #[must_use]
    pub fn is_enough(&self, iterations: usize, total: Duration) -> bool {
        total >= self.at_most || (total >= self.at_least && iterations >= self.iterations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_end_as_specified() {
        let rule = Rule::of(Suite::Driver);
        let enough = |iterations, seconds| rule.is_enough(iterations, Duration::from_secs(seconds));
        assert!(!enough(100, 59), "the minimum is not reached");
        assert!(enough(100, 60));
        assert!(!enough(99, 299));
        assert!(enough(99, 300) && enough(1, 301), "the maximum ends it");
        assert!(!Rule::of(Suite::Odm).is_enough(9, Duration::from_secs(59)));
        assert!(Rule::of(Suite::Odm).is_enough(10, Duration::from_secs(30)));
    }

    #[test]
    fn iterations_end_after_the_given_seconds() {
        let rule = Rule::seconds(5);
        assert!(!rule.is_enough(99, Duration::from_secs(4)));
        assert!(rule.is_enough(100, Duration::from_secs(4)));
        assert!(rule.is_enough(1, Duration::from_secs(5)));
    }

    #[test]
    fn quick_iterations_end_early() {
        let rule = Rule::quick();
        assert!(!rule.is_enough(2, Duration::from_millis(999)));
        assert!(rule.is_enough(3, Duration::ZERO));
        assert!(rule.is_enough(1, Duration::from_secs(1)));
    }
}
