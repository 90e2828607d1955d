//! The average and the minimum round trip time of a server (Server Selection, "Calculation of
//! Average Round Trip Times"; Client Side Operations Timeout, "Minimum RTT").

use std::time::Duration;

/// The number of samples for the minimum.
const SAMPLES: usize = 10;

/// An exponentially weighted moving average with α = 0.2, and the minimum of the last ten samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundTripTime {
    average: Option<Duration>,
    /// A ring buffer: the next sample replaces the oldest.
    last: [Duration; SAMPLES],
    count: usize,
}

impl RoundTripTime {
    /// Continues from an average, without samples.
    #[cfg(any(test, feature = "internals"))]
    pub fn from_average(average: Option<Duration>) -> Self {
        Self {
            average,
            ..Self::default()
        }
    }

    /// Adds a sample and returns the new average.
    pub fn add(&mut self, sample: Duration) -> Duration {
        let average = match self.average {
            None => sample,
            Some(average) => sample.mul_f64(0.2) + average.mul_f64(0.8),
        };
        self.average = Some(average);
        if let Some(oldest) = self.last.get_mut(self.count % SAMPLES) {
            *oldest = sample;
        }
        // Beyond two rounds, only the position in the ring matters.
        self.count = match self.count + 1 {
            full if full == 2 * SAMPLES => SAMPLES,
            count => count,
        };
        average
    }

    /// The average. `None` before the first sample.
    pub fn average(&self) -> Option<Duration> {
        self.average
    }

    /// The minimum of the last ten samples. Zero while there are fewer than two.
    pub fn minimum(&self) -> Duration {
        if self.count < 2 {
            return Duration::ZERO;
        }
        self.last
            .iter()
            .take(self.count)
            .min()
            .copied()
            .unwrap_or_default()
    }

    /// Removes all samples, after the server became Unknown.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_follows_slowly() {
        let ms = Duration::from_millis;
        let mut times = RoundTripTime::default();
        assert_eq!(times.average(), None);
        assert_eq!(times.add(ms(100)), ms(100));
        assert_eq!(times.add(ms(200)), ms(120));
        assert_eq!(RoundTripTime::from_average(times.average()).add(ms(120)), ms(120));
        times.reset();
        assert_eq!(times.add(ms(7)), ms(7));
    }

    #[test]
    fn the_minimum_is_that_of_the_last_ten() {
        let ms = Duration::from_millis;
        let mut times = RoundTripTime::default();
        times.add(ms(1));
        assert_eq!(times.minimum(), Duration::ZERO, "one sample is too few");
        for n in 2..=10 {
            times.add(ms(n));
            assert_eq!(times.minimum(), ms(1));
        }
        for n in 11..100 {
            times.add(ms(n));
            assert_eq!(times.minimum(), ms(n - 9), "the oldest of ten");
        }
        times.reset();
        times.add(ms(5));
        assert_eq!(times.minimum(), Duration::ZERO);
    }
}
