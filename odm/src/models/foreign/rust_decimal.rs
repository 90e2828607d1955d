//! `rust_decimal::Decimal`.

use rust_decimal::Decimal;

use super::digits::{Digits, StoredDecimal};
use super::kinds::decimal_type;
use crate::base::{bson::Decimal128, error::ValueError};

/// A `Decimal` has a coefficient of 96 bits.
const LIMIT: u128 = 1 << 96;

// The average has up to 34 digits.
decimal_type!(Decimal, average Decimal128);

impl StoredDecimal for Decimal {
    const TYPE: &'static str = "rust_decimal::Decimal";

    #[inline]
    fn to_digits(&self) -> Result<Digits, ValueError> {
        Ok(Digits {
            is_negative: self.is_sign_negative(),
            coefficient: self.mantissa().unsigned_abs(),
            exponent: -i64::from(self.scale()),
        })
    }

    fn from_digits(digits: Digits) -> Result<Self, ValueError> {
        match digits.as_they_are() {
            Some(decimal) => Ok(decimal),
            None => digits.rescaled(),
        }
    }
}

impl Digits {
    /// The `Decimal` with exactly these digits. `None` if there is none.
    fn as_they_are(self) -> Option<Decimal> {
        let scale = u32::try_from(-self.exponent).ok()?;
        let number = i128::try_from(self.coefficient).ok()?;
        let mut decimal = Decimal::try_from_i128_with_scale(number, scale).ok()?;
        decimal.set_sign_negative(self.is_negative);
        Some(decimal)
    }

    /// The `Decimal` of the same number with other digits: without zeros at the end that a `Decimal` has no place for, or with
    /// zeros instead of an exponent.
    #[cold]
    fn rescaled(mut self) -> Result<Decimal, ValueError> {
        let inexact = || {
            ValueError::new(
                "the stored decimal has more digits than a `rust_decimal::Decimal`; use `marula::bson::Decimal128` for the field",
            )
        };
        if self.coefficient == 0 {
            self.exponent = self.exponent.clamp(-i64::from(Decimal::MAX_SCALE), 0);
        }
        let is_too_long = |digits: Self| {
            digits.exponent < -i64::from(Decimal::MAX_SCALE)
                || (digits.exponent < 0 && digits.coefficient >= LIMIT)
        };
        while is_too_long(self) && self.coefficient.is_multiple_of(10) {
            self.coefficient /= 10;
            self.exponent += 1;
        }
        if self.exponent > 0 {
            let zeros = u32::try_from(self.exponent).ok();
            let factor = zeros.and_then(|zeros| 10_u128.checked_pow(zeros));
            let coefficient = factor.and_then(|factor| self.coefficient.checked_mul(factor));
            self.coefficient = coefficient.ok_or_else(inexact)?;
            self.exponent = 0;
        }
        self.as_they_are().ok_or_else(inexact)
    }
}
