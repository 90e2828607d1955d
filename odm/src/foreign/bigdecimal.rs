//! `bigdecimal::BigDecimal`.

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::{BigInt, Sign};

use super::digits::{Digits, MAX_DIGITS};
use super::kinds::decimal_type;
use crate::bson::Bson;
use crate::error::ValueError;
use crate::form::Converted;

decimal_type!(BigDecimal, average BigDecimal);

impl Converted for BigDecimal {
    fn to_stored(&self) -> Result<Bson, ValueError> {
        let too_long = || ValueError::new(format!("the decimal has more than {MAX_DIGITS} digits"));
        let is_too_long = self.digits() > MAX_DIGITS as u64;
        let (number, scale) = if is_too_long {
            self.normalized().into_bigint_and_scale()
        } else {
            (self.clone()).into_bigint_and_scale()
        };
        Digits {
            is_negative: number.sign() == Sign::Minus,
            coefficient: u128::try_from(number.magnitude()).map_err(|_| too_long())?,
            exponent: scale.checked_neg().ok_or_else(too_long)?,
        }
        .to_stored()
    }

    fn from_stored(stored: &Bson) -> Result<Option<Self>, ValueError> {
        let Some(digits) = Digits::of(stored, "bigdecimal::BigDecimal")? else {
            return Ok(None);
        };
        let number = BigInt::from(digits.coefficient);
        let number = if digits.is_negative { -number } else { number };
        Ok(Some(BigDecimal::new(number, -digits.exponent)))
    }
}
