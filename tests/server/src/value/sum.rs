//! The compensated summation of `$sum` and `$avg`: numbers of all types are added with about 107
//! bits of precision and rounded once, at the end. The additions are Knuth's 2Sum and Dekker's
//! Fast2Sum, as in MongoDB.

use super::decimal::Decimal;
use super::number::Number;
use bson::Bson;

/// A running sum and the widest numeric type added to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sum {
    /// The double nearest to the sum of all numbers except decimals.
    high: f64,
    /// The rounding error of `high`.
    low: f64,
    /// The uncompensated sum, which is correct for infinities and NaN.
    plain: f64,
    decimal: Decimal,
    widest: Width,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Width {
    Int,
    Long,
    Double,
    Decimal,
}

/// Returns the double nearest to `a + b` and the rounding error. Requires `|b| <= |a|`.
fn fast_two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// Returns the double nearest to `a + b` and the rounding error.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let a_part = sum - b;
    let b_part = sum - a_part;
    (sum, (a - a_part) + (b - b_part))
}

impl Sum {
    /// A sum of zero with type int.
    pub(crate) fn new() -> Sum {
        Sum {
            high: 0.0,
            low: 0.0,
            plain: 0.0,
            decimal: Decimal::from_i64(0),
            widest: Width::Int,
        }
    }

    pub(crate) fn add(&mut self, number: Number) {
        let width = match number {
            Number::Int(value) => {
                self.add_double(f64::from(value));
                Width::Int
            }
            Number::Long(value) => {
                // Both halves of 32 bits are exact as doubles.
                let upper = value >> 32 << 32;
                self.add_double((value - upper) as f64);
                self.add_double(upper as f64);
                Width::Long
            }
            Number::Double(value) => {
                self.add_double(value);
                Width::Double
            }
            Number::Decimal(value) => {
                self.decimal = self.decimal.add(value);
                Width::Decimal
            }
        };
        self.widest = self.widest.max(width);
    }

    fn add_double(&mut self, value: f64) {
        self.plain += value;
        let (value, low) = fast_two_sum(value, self.low);
        let (high, rest) = two_sum(self.high, value);
        self.high = high;
        self.low = low + rest;
    }

    /// The sum in the widest type added. An int out of range becomes a long, a long out of range a
    /// double.
    pub(crate) fn total(&self) -> Bson {
        match (self.widest, self.as_long()) {
            (Width::Decimal, _) => Number::Decimal(self.as_decimal()).to_bson(),
            (Width::Int, Some(long)) => i32::try_from(long).map_or(Bson::Int64(long), Bson::Int32),
            (Width::Long, Some(long)) => Bson::Int64(long),
            _ => Bson::Double(self.as_double()),
        }
    }

    /// The sum divided by `count`: a decimal if a decimal was added, otherwise a double.
    pub(crate) fn mean(&self, count: u64) -> Bson {
        if self.widest == Width::Decimal {
            let count = Decimal::from_i64(i64::try_from(count).unwrap_or(i64::MAX));
            Number::Decimal(self.as_decimal().divide(count)).to_bson()
        } else {
            Bson::Double(self.as_double() / count as f64)
        }
    }

    fn as_double(&self) -> f64 {
        if self.high.is_nan() { self.plain } else { self.high }
    }

    fn as_decimal(&self) -> Decimal {
        let doubles = if self.high.is_finite() {
            Decimal::from_f64(self.high, 34).add(Decimal::from_f64(self.low, 34))
        } else {
            Decimal::from_f64(self.plain, 34)
        };
        self.decimal.add(doubles)
    }

    fn as_long(&self) -> Option<i64> {
        // The limit is beyond the range of a long and within that of an i128.
        let whole = self.high.is_finite() && self.high.abs() < 1e30;
        whole
            .then(|| (self.high as i128).checked_add(self.low.round() as i128))
            .flatten()
            .and_then(|sum| i64::try_from(sum).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(values: &[Bson]) -> Sum {
        let mut sum = Sum::new();
        for value in values {
            sum.add(Number::from_bson(value).unwrap());
        }
        sum
    }

    fn decimal(text: &str) -> Bson {
        Bson::Decimal128(text.parse().unwrap())
    }

    #[test]
    fn doubles_are_rounded_once() {
        assert_eq!(sum(&vec![Bson::Double(0.1); 10]).total(), Bson::Double(1.0));
        // The rounding error only affects later additions, as on the server.
        assert_eq!(
            sum(&[1e100.into(), 1.0.into(), (-1e100).into()]).total(),
            Bson::Double(0.0)
        );
        assert_eq!(
            sum(&[1e100.into(), 1.0.into(), (-1e100).into(), 1.0.into()]).total(),
            Bson::Double(2.0)
        );
        assert_eq!(
            sum(&[0.1.into(), 0.2.into(), 0.3.into()]).total(),
            Bson::Double(0.6)
        );
    }

    #[test]
    fn infinities_and_nan_are_preserved() {
        assert_eq!(
            sum(&[f64::INFINITY.into(), 1.0.into()]).total(),
            Bson::Double(f64::INFINITY)
        );
        assert_eq!(
            sum(&[1e308.into(), 1e308.into()]).total(),
            Bson::Double(f64::INFINITY)
        );
        let Bson::Double(nan) = sum(&[f64::INFINITY.into(), f64::NEG_INFINITY.into()]).total() else {
            panic!("not a double");
        };
        assert!(nan.is_nan());
    }

    #[test]
    fn integers_widen_if_the_final_sum_is_out_of_range() {
        assert_eq!(
            sum(&[i32::MAX.into(), 1.into()]).total(),
            Bson::Int64(2_147_483_648)
        );
        // Out of range in between, in range at the end.
        assert_eq!(
            sum(&[i64::MAX.into(), 1.into(), (-1).into()]).total(),
            Bson::Int64(i64::MAX)
        );
        assert_eq!(
            sum(&[i64::MAX.into(), 1.into()]).total(),
            Bson::Double(9_223_372_036_854_775_808.0)
        );
        assert_eq!(sum(&[i64::MIN.into(), 0.into()]).total(), Bson::Int64(i64::MIN));
        assert_eq!(
            sum(&[i64::MIN.into(), (-1).into()]).total(),
            Bson::Double(-9_223_372_036_854_775_808.0)
        );
    }

    #[test]
    fn doubles_are_added_to_decimals_at_full_precision() {
        assert_eq!(sum(&[decimal("1.50"), 2.into()]).total().to_string(), "3.50");
        assert_eq!(
            sum(&[decimal("0"), 0.1.into()]).total().to_string(),
            "0.1000000000000000055511151231257827"
        );
        assert_eq!(sum(&[decimal("1"), 2.into()]).mean(2).to_string(), "1.5");
    }
}
