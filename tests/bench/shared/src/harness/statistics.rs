//! Percentiles and scores, by the rules of the specifications.

use std::time::Duration;

use serde::Serialize;

/// The percentiles that are recorded.
pub const PERCENTILES: [u8; 8] = [10, 25, 50, 75, 90, 95, 98, 99];

/// A percentile of times: the element `int(N × p / 100) − 1` of the sorted ones, or the first where that is before it. `None`
/// when there are none.
#[must_use]
pub fn percentile(sorted: &[Duration], percent: u8) -> Option<Duration> {
    let place = (sorted.len() * usize::from(percent) / 100).saturating_sub(1);
    sorted.get(place).copied()
}

/// Megabytes (of a million bytes) a second.
#[must_use]
pub fn score(bytes: u64, median: Duration) -> f64 {
    bytes as f64 / 1e6 / median.as_secs_f64().max(1e-9)
}

/// What the measured phases of a task took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Times {
    /// Each iteration, in their order.
    pub seconds: Vec<f64>,
    /// Pairs of a percentile and its time.
    pub percentiles: Vec<(u8, f64)>,
    /// The 50th percentile.
    pub median: f64,
    /// Megabytes a second, by the median.
    pub score: f64,
}

impl Times {
    /// Of the times of iterations that are scored by so many bytes each; `None` when there are none.
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
    fn percentiles_follow_the_rule() {
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
    fn few_times_have_percentiles_too() {
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
