//! Percentiles and scores, as the specifications define them.

use std::time::Duration;

use serde::Serialize;

/// The percentiles in the report.
pub const PERCENTILES: [u8; 8] = [10, 25, 50, 75, 90, 95, 98, 99];

/// A percentile of sorted times: the element `int(N × p / 100) − 1`, but at least the first. `None`
/// if there are none.
#[must_use]
pub fn percentile(sorted: &[Duration], percent: u8) -> Option<Duration> {
    let index = (sorted.len() * usize::from(percent) / 100).saturating_sub(1);
    sorted.get(index).copied()
}

/// Megabytes (1,000,000 bytes) per second.
#[must_use]
pub fn score(bytes: u64, median: Duration) -> f64 {
    bytes as f64 / 1e6 / median.as_secs_f64().max(1e-9)
}

/// The durations of the measured phases of a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Times {
    /// The duration of each iteration, in seconds.
    pub seconds: Vec<f64>,
    /// Pairs of a percentile and its duration in seconds.
    pub percentiles: Vec<(u8, f64)>,
    /// The 50th percentile.
    pub median: f64,
    /// Megabytes per second, by the median.
    pub score: f64,
}

impl Times {
    /// From the durations of iterations of `bytes` bytes each; `None` if there are none.
    #[must_use]
    pub fn of(times: &[Duration], bytes: u64) -> Option<Self> {
        let mut sorted = times.to_vec();
        sorted.sort_unstable();
        let median = percentile(&sorted, 50)?;
        let percentiles = PERCENTILES.iter().filter_map(|percent| {
            let time = percentile(&sorted, *percent)?;
            Some((*percent, time.as_secs_f64()))
        });
        Some(Self {
            percentiles: percentiles.collect(),
            seconds: times.iter().map(Duration::as_secs_f64).collect(),
            median: median.as_secs_f64(),
            score: score(bytes, median),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(times: impl IntoIterator<Item = u64>) -> Vec<Duration> {
        times.into_iter().map(Duration::from_secs).collect()
    }

    #[test]
    fn percentiles_are_as_specified() {
        let hundred = seconds(1..=100);
        for percent in PERCENTILES {
            assert_eq!(
                percentile(&hundred, percent),
                Some(Duration::from_secs(percent.into()))
            );
        }
        let ten = seconds(1..=10);
        let of_ten = |percent| percentile(&ten, percent).unwrap().as_secs();
        assert_eq!([10, 25, 50, 75, 99].map(of_ten), [1, 2, 5, 7, 9]);
    }

    #[test]
    fn percentiles_of_few_times() {
        let one = seconds([7]);
        assert_eq!(percentile(&one, 10), Some(one[0]));
        assert_eq!(percentile(&one, 99), Some(one[0]));
        assert_eq!(percentile(&[], 50), None);
    }

    #[test]
    fn a_score_is_megabytes_by_the_median() {
        let times = Times::of(&seconds([4, 1, 2, 8]), 10_000_000).unwrap();
        assert_eq!((times.median, times.score), (2.0, 5.0));
        assert_eq!(times.seconds, [4.0, 1.0, 2.0, 8.0]);
        assert_eq!(times.percentiles[0], (10, 1.0));
        assert_eq!(Times::of(&[], 1), None);
    }
}
