//! `bigdecimal::BigDecimal`.

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::{BigInt, Sign};

use super::digits::{Digits, StoredDecimal};
use super::kinds::decimal_type;
use crate::base::{decimal::MAX_DIGITS, error::ValueError};

decimal_type!(BigDecimal, average BigDecimal);

impl StoredDecimal for BigDecimal {
    const TYPE: &'static str = "bigdecimal::BigDecimal";

    fn to_digits(&self) -> Result<Digits, ValueError> {
        let too_long = || ValueError::new(format!("the decimal has more than {MAX_DIGITS} digits"));
        let is_too_long = self.digits() > u64::from(MAX_DIGITS);
        let (number, scale) = if is_too_long {
            self.normalized().into_bigint_and_scale()
        } else {
            (self.clone()).into_bigint_and_scale()
        };
        Ok(Digits {
            is_negative: number.sign() == Sign::Minus,
            coefficient: u128::try_from(number.magnitude()).map_err(|_| too_long())?,
            exponent: scale.checked_neg().ok_or_else(too_long)?,
        })
    }

    fn from_digits(digits: Digits) -> Result<Self, ValueError> {
        let number = BigInt::from(digits.coefficient);
        let number = if digits.is_negative { -number } else { number };
        Ok(BigDecimal::new(number, -digits.exponent))
    }
}
