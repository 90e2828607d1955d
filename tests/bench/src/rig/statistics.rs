//! Median and range of several runs.

use serde::Serialize;

/// Median, minimum and maximum of several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Spread {
    /// `None` if there are no values.
    pub(super) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let upper = *values.get(middle)?;
        let median = if values.len() % 2 == 1 {
            upper
        } else {
            f64::midpoint(*values.get(middle - 1)?, upper)
        };
        Some(Self { median, min, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_computed() {
        let spread = |values: &[f64]| Spread::of(values.to_vec()).map(|s| (s.median, s.min, s.max));
        assert_eq!(spread(&[3.0, 1.0, 9.0]), Some((3.0, 1.0, 9.0)));
        assert_eq!(spread(&[4.0, 1.0, 2.0, 9.0]), Some((3.0, 1.0, 9.0)));
        assert_eq!(spread(&[]), None);
    }
}
