//! A Decimal128 as its digits and its exponent.

use std::cmp::Ordering;

use crate::bson::Decimal128;

/// A finite decimal number: `±coefficient · 10^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digits {
    pub(crate) is_negative: bool,
    pub(crate) coefficient: u128,
    pub(crate) exponent: i64,
}

impl Digits {
    /// Parses the text form of a finite Decimal128, such as `-12.50` and `1E+3`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (digits, exponent) = match text.split_once(['E', 'e']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let coefficient = format!("{whole}{fraction}").parse::<u128>().ok()?;
        Some(Digits {
            is_negative,
            coefficient,
            exponent: exponent - i64::try_from(fraction.len()).ok()?,
        })
    }

    /// The sign of the number: zero has none.
    fn sign(self) -> i8 {
        match (self.coefficient, self.is_negative) {
            (0, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        }
    }

    /// Compares two numbers other than zero without their signs.
    fn compare_sizes(self, other: Self) -> Option<Ordering> {
        let magnitude =
            |digits: Self| Some(i64::from(digits.coefficient.checked_ilog10()?) + digits.exponent);
        let by_magnitude = magnitude(self)?.cmp(&magnitude(other)?);
        if by_magnitude.is_ne() {
            return Some(by_magnitude);
        }
        let exponent = self.exponent.min(other.exponent);
        let scaled = |digits: Self| {
            let zeros = u32::try_from(digits.exponent - exponent).ok()?;
            digits.coefficient.checked_mul(10_u128.checked_pow(zeros)?)
        };
        Some(scaled(self)?.cmp(&scaled(other)?))
    }
}

/// Compares two finite decimals as numbers. `None` for NaN and infinity.
pub(crate) fn compare(a: &Decimal128, b: &Decimal128) -> Option<Ordering> {
    let a = Digits::parse(&a.to_string())?;
    let b = Digits::parse(&b.to_string())?;
    match (a.sign(), b.sign()) {
        (0, 0) => Some(Ordering::Equal),
        (1, 1) => a.compare_sizes(b),
        (-1, -1) => b.compare_sizes(a),
        (a, b) => Some(a.cmp(&b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(a: &str, b: &str) -> Option<Ordering> {
        compare(&a.parse().unwrap(), &b.parse().unwrap())
    }

    #[test]
    fn decimals_are_compared_as_numbers() {
        let ascending = [
            "-9.999999999999999999999999999999999E+6144",
            "-1E+3",
            "-999.9999999999999999999999999999999",
            "-12.5",
            "-1E-6176",
            "0",
            "1E-6176",
            "0.001",
            "0.0010000000000000000000000000000001",
            "1",
            "1.000000000000000000000000000000001",
            "9.99",
            "10",
            "1E+3",
            "1000.000000000000000000000000000001",
            "9999999999999999999999999999999999",
            "1E+34",
            "9.999999999999999999999999999999999E+6144",
        ];
        for (n, a) in ascending.iter().enumerate() {
            for (m, b) in ascending.iter().enumerate() {
                assert_eq!(compared(a, b), Some(n.cmp(&m)), "{a} {b}");
            }
        }
        for (a, b) in [
            ("1.0", "1"),
            ("1E+3", "1000"),
            ("-12.50", "-12.5"),
            ("0", "-0"),
            ("0E+10", "0.000"),
            ("1E+33", "1000000000000000000000000000000000"),
        ] {
            assert_eq!(compared(a, b), Some(Ordering::Equal), "{a} {b}");
        }
        for text in ["NaN", "Infinity", "-Infinity"] {
            assert_eq!(compared(text, "1"), None);
            assert_eq!(compared("1", text), None);
        }
    }
}
