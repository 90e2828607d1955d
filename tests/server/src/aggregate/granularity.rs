//! The `granularity` of `$bucketAuto`: series of preferred numbers, to which boundaries are rounded.

use crate::error::{Error, Result};

/// A series of preferred numbers.
#[derive(Debug, Clone)]
pub(super) enum Granularity {
    PowersOfTwo,
    /// The numbers of one decade.
    Decade(Vec<f64>),
}

const R20: [f64; 20] = [
    100.0, 112.0, 125.0, 140.0, 160.0, 180.0, 200.0, 224.0, 250.0, 280.0, 315.0, 355.0, 400.0, 450.0, 500.0,
    560.0, 630.0, 710.0, 800.0, 900.0,
];

const R80: [f64; 80] = [
    100.0, 103.0, 106.0, 109.0, 112.0, 115.0, 118.0, 122.0, 125.0, 128.0, 132.0, 136.0, 140.0, 145.0, 150.0,
    155.0, 160.0, 165.0, 170.0, 175.0, 180.0, 185.0, 190.0, 195.0, 200.0, 206.0, 212.0, 218.0, 224.0, 230.0,
    236.0, 243.0, 250.0, 258.0, 265.0, 272.0, 280.0, 290.0, 300.0, 307.0, 315.0, 325.0, 335.0, 345.0, 355.0,
    365.0, 375.0, 387.0, 400.0, 412.0, 425.0, 437.0, 450.0, 462.0, 475.0, 487.0, 500.0, 515.0, 530.0, 545.0,
    560.0, 580.0, 600.0, 615.0, 630.0, 650.0, 670.0, 690.0, 710.0, 730.0, 750.0, 775.0, 800.0, 825.0, 850.0,
    875.0, 900.0, 925.0, 950.0, 975.0,
];

const E24: [f64; 24] = [
    10.0, 11.0, 12.0, 13.0, 15.0, 16.0, 18.0, 20.0, 22.0, 24.0, 27.0, 30.0, 33.0, 36.0, 39.0, 43.0, 47.0,
    51.0, 56.0, 62.0, 68.0, 75.0, 82.0, 91.0,
];

/// Every `step`th number of a series.
fn every(step: usize, series: &[f64]) -> Granularity {
    Granularity::Decade(series.iter().step_by(step).copied().collect())
}

/// The series E48, E96 and E192, which are rounded powers of ten with one exception.
fn exponential(count: u32) -> Granularity {
    let numbers = (0..count).map(|index| {
        let number = (100.0 * 10_f64.powf(f64::from(index) / f64::from(count))).round();
        if number == 919.0 { 920.0 } else { number }
    });
    Granularity::Decade(numbers.collect())
}

impl Granularity {
    pub(super) fn parse(name: &str) -> Result<Granularity> {
        Ok(match name {
            "POWERSOF2" => Granularity::PowersOfTwo,
            "1-2-5" => Granularity::Decade(vec![10.0, 20.0, 50.0]),
            "R5" => Granularity::Decade(vec![10.0, 16.0, 25.0, 40.0, 63.0]),
            "R10" => every(2, &R20),
            "R20" => every(1, &R20),
            "R40" => every(2, &R80),
            "R80" => every(1, &R80),
            "E6" => every(4, &E24),
            "E12" => every(2, &E24),
            "E24" => every(1, &E24),
            "E48" => exponential(48),
            "E96" => exponential(96),
            "E192" => exponential(192),
            _ => {
                return Err(Error::new(
                    40257,
                    format!("Unknown rounding granularity '{name}'"),
                ));
            }
        })
    }

    /// The least number of the series that is greater; 0 for 0.
    pub(super) fn above(&self, number: f64) -> f64 {
        if number == 0.0 {
            return 0.0;
        }
        match self {
            Granularity::PowersOfTwo => 2_f64.powf(number.log2().floor() + 1.0),
            Granularity::Decade(series) => {
                let (mut decade, scale) = decade(number, series);
                decade
                    .find(|preferred| *preferred > number)
                    .unwrap_or(series[0] * (scale * 10.0))
            }
        }
    }

    /// The greatest number of the series that is less; 0 for 0.
    pub(super) fn below(&self, number: f64) -> f64 {
        if number == 0.0 {
            return 0.0;
        }
        match self {
            Granularity::PowersOfTwo => 2_f64.powf(number.log2().ceil() - 1.0),
            Granularity::Decade(series) => {
                let (decade, scale) = decade(number, series);
                decade
                    .filter(|preferred| *preferred < number)
                    .last()
                    .unwrap_or(series[series.len() - 1] * (scale / 10.0))
            }
        }
    }
}

/// The numbers of the decade that contains a number, and their factor.
fn decade(number: f64, series: &[f64]) -> (impl Iterator<Item = f64> + use<'_>, f64) {
    let mut scale = 1.0;
    while number >= series[0] * scale * 10.0 {
        scale *= 10.0;
    }
    while number < series[0] * scale && scale > 1e-300 {
        scale /= 10.0;
    }
    (series.iter().map(move |preferred| preferred * scale), scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_to_the_next_preferred_number() {
        let rounded = |name: &str, number: f64| {
            let series = Granularity::parse(name).unwrap();
            (series.below(number), series.above(number))
        };
        assert_eq!(rounded("R5", 41.0), (40.0, 63.0));
        assert_eq!(rounded("R5", 63.0), (40.0, 100.0));
        assert_eq!(rounded("R20", 0.0), (0.0, 0.0));
        assert_eq!(rounded("1-2-5", 7.0), (5.0, 10.0));
        assert_eq!(rounded("POWERSOF2", 8.0), (4.0, 16.0));
        assert_eq!(rounded("POWERSOF2", 5.0), (4.0, 8.0));
        assert_eq!(rounded("E24", 14.0), (13.0, 15.0));
        assert_eq!(rounded("R80", 101.0), (100.0, 103.0));
        assert_eq!(rounded("E192", 919.0), (909.0, 920.0));
        assert_eq!(rounded("E6", 0.0007), (0.00068, 0.001));
        assert_eq!(rounded("E192", 1.0).0, 0.988);
        assert_eq!(Granularity::parse("R7").unwrap_err().code, 40257);
    }
}
