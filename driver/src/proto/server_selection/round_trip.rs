//! The average of a server's round trip times.

use std::time::Duration;

/// The exponentially weighted moving average, with α = 0.2.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundTripTime {
    average: Option<Duration>,
}

impl RoundTripTime {
    /// Adds a sample and returns the new average.
    pub fn add(&mut self, sample: Duration) -> Duration {
        let average = match self.average {
            None => sample,
            Some(average) => sample.mul_f64(0.2) + average.mul_f64(0.8),
        };
        self.average = Some(average);
        average
    }

    /// Forgets everything, as after a server became unknown.
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
        assert_eq!(times.add(ms(100)), ms(100));
        assert_eq!(times.add(ms(200)), ms(120));
        times.reset();
        assert_eq!(times.add(ms(7)), ms(7));
    }
}
