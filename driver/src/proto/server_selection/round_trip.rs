//! Averages of a server's round trip times.

use std::{collections::VecDeque, time::Duration};

/// How many samples the minimum looks at.
const WINDOW: usize = 10;

/// The exponentially weighted average, with α = 0.2, and the minimum of the last ten samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundTripTime {
    average: Option<Duration>,
    recent: VecDeque<Duration>,
}

impl RoundTripTime {
    /// Adds a sample and returns the new average.
    pub(crate) fn add(&mut self, sample: Duration) -> Duration {
        let average = match self.average {
            None => sample,
            Some(average) => sample.mul_f64(0.2) + average.mul_f64(0.8),
        };
        self.average = Some(average);
        if self.recent.len() == WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back(sample);
        average
    }

    /// The least of the last ten samples; zero while there are fewer than two.
    pub(crate) fn minimum(&self) -> Duration {
        if self.recent.len() < 2 {
            return Duration::ZERO;
        }
        self.recent.iter().min().copied().unwrap_or_default()
    }

    /// Forgets everything, as after a server became unknown.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_follows_slowly_and_the_minimum_forgets() {
        let ms = Duration::from_millis;
        let mut times = RoundTripTime::default();
        assert_eq!(times.add(ms(100)), ms(100));
        assert_eq!(times.minimum(), Duration::ZERO);
        assert_eq!(times.add(ms(200)), ms(120));
        assert_eq!(times.minimum(), ms(100));
        for _ in 0..10 {
            times.add(ms(50));
        }
        assert_eq!(times.minimum(), ms(50));
        times.reset();
        assert_eq!(times.add(ms(7)), ms(7));
    }
}
