//! The stored form of decimals of other crates.

use crate::bson::{Bson, Decimal128};
pub(super) use crate::decimal::Digits;
use crate::error::ValueError;

/// The greatest number of digits of a Decimal128.
pub(super) const MAX_DIGITS: usize = 34;
/// The exponents of a Decimal128 whose digits are an integer.
pub(super) const EXPONENTS: std::ops::RangeInclusive<i64> = -6176..=6111;

impl Digits {
    /// The digits of a stored decimal; `None` for other BSON types.
    pub(super) fn of(stored: &Bson, ty: &str) -> Result<Option<Self>, ValueError> {
        match stored {
            Bson::Decimal128(decimal) => Self::parse(&decimal.to_string())
                .map(Some)
                .ok_or_else(|| ValueError::new(format!("the stored decimal is not a number of type `{ty}`"))),
            _ => Ok(None),
        }
    }

    /// The same number with an exponent that a Decimal128 has: a greater one is replaced by zeros at the
    /// end of the digits, as IEEE 754 clamps it, and a smaller one by fewer of them.
    fn clamped(mut self) -> Option<Self> {
        if self.coefficient == 0 {
            self.exponent = self.exponent.clamp(*EXPONENTS.start(), *EXPONENTS.end());
        }
        while self.exponent > *EXPONENTS.end() {
            self.coefficient = self.coefficient.checked_mul(10)?;
            self.exponent -= 1;
        }
        while self.exponent < *EXPONENTS.start() {
            if !self.coefficient.is_multiple_of(10) {
                return None;
            }
            self.coefficient /= 10;
            self.exponent += 1;
        }
        Some(self)
    }

    /// The stored decimal of the same number. Its digits are these, unless its exponent is clamped.
    pub(super) fn to_stored(self) -> Result<Bson, ValueError> {
        let out_of_range =
            || ValueError::new("the decimal has more digits or a larger exponent than a Decimal128");
        let clamped = self.clamped().ok_or_else(out_of_range)?;
        let digits = clamped.coefficient.to_string();
        if digits.len() > MAX_DIGITS {
            return Err(out_of_range());
        }
        let sign = if clamped.is_negative { "-" } else { "" };
        let text = format!("{sign}{digits}E{}", clamped.exponent);
        text.parse::<Decimal128>()
            .map(Bson::Decimal128)
            .map_err(|_| out_of_range())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_go_both_ways() {
        for text in [
            "0",
            "-0",
            "12.50",
            "-0.001",
            "1E+3",
            "9.999999999999999999999999999999999E+6144",
            "1E-6176",
        ] {
            let digits = Digits::parse(text).unwrap();
            assert_eq!(digits.to_stored().unwrap().to_string(), text, "{digits:?}");
        }
        for text in ["NaN", "Infinity", "-Infinity", ""] {
            assert_eq!(Digits::parse(text), None, "{text}");
        }
        let stored = |coefficient, exponent| {
            let digits = Digits {
                is_negative: false,
                coefficient,
                exponent,
            };
            digits.to_stored().map(|stored| stored.to_string())
        };
        for (coefficient, exponent, text) in [
            (1, 6120, "1.000000000E+6120"),
            (1, 6144, "1.000000000000000000000000000000000E+6144"),
            (0, 9000, "0E+6111"),
            (0, -9000, "0E-6176"),
            (1200, -6178, "1.2E-6175"),
        ] {
            assert_eq!(stored(coefficient, exponent).unwrap(), text);
        }
        for (coefficient, exponent) in [(1, 6145), (12, 6144), (1, i64::MAX), (1, -6177), (1, i64::MIN)] {
            assert!(stored(coefficient, exponent).is_err(), "{coefficient} {exponent}");
        }
        let long = Digits {
            is_negative: false,
            coefficient: 10_u128.pow(34),
            exponent: 0,
        };
        assert!(long.to_stored().is_err());
    }
}
