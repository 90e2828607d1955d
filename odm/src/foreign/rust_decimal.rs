//! `rust_decimal::Decimal`.

use rust_decimal::Decimal;

use super::digits::{Digits, StoredDecimal};
use super::kinds::decimal_type;
use crate::bson::Decimal128;
use crate::error::ValueError;

/// A `Decimal` has a coefficient of 96 bits.
const LIMIT: u128 = 1 << 96;

// The average has up to 34 digits.
decimal_type!(Decimal, average Decimal128);

impl StoredDecimal for Decimal {
    const TYPE: &'static str = "rust_decimal::Decimal";

    fn to_digits(&self) -> Result<Digits, ValueError> {
        Ok(Digits {
            is_negative: self.is_sign_negative(),
            coefficient: self.mantissa().unsigned_abs(),
            exponent: -i64::from(self.scale()),
        })
    }

    fn from_digits(digits: Digits) -> Result<Self, ValueError> {
        let inexact = || {
            ValueError::new(
                "the stored decimal has more digits than a `rust_decimal::Decimal`; use `marula::bson::Decimal128` for the field",
            )
        };
        let Digits {
            is_negative,
            mut coefficient,
            mut exponent,
        } = digits;
        if coefficient == 0 {
            exponent = exponent.clamp(-i64::from(Decimal::MAX_SCALE), 0);
        }
        // Zeros at the end that a `Decimal` has no place for.
        let is_too_long = |coefficient, exponent| {
            exponent < -i64::from(Decimal::MAX_SCALE) || (exponent < 0 && coefficient >= LIMIT)
        };
        while is_too_long(coefficient, exponent) && coefficient.is_multiple_of(10) {
            coefficient /= 10;
            exponent += 1;
        }
        if exponent > 0 {
            let factor = u32::try_from(exponent)
                .ok()
                .and_then(|exponent| 10_u128.checked_pow(exponent));
            coefficient = factor
                .and_then(|factor| coefficient.checked_mul(factor))
                .ok_or_else(inexact)?;
            exponent = 0;
        }
        let scale = u32::try_from(-exponent).map_err(|_| inexact())?;
        let number = i128::try_from(coefficient).map_err(|_| inexact())?;
        let mut decimal = Decimal::try_from_i128_with_scale(number, scale).map_err(|_| inexact())?;
        decimal.set_sign_negative(is_negative);
        Ok(decimal)
    }
}
