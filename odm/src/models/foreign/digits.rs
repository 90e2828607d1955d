//! The stored form of decimals of other crates.

pub(super) use crate::base::decimal::Digits;
use crate::{
    base::{
        bson::{Decimal128, DecodeError, ElementType},
        decimal::EXPONENTS,
        error::ValueError,
    },
    values::codec::{Decode, Value},
};

/// A type that is stored as a Decimal128.
pub(crate) trait StoredDecimal: Sized {
    /// The name of the type in messages.
    const TYPE: &'static str;

    /// The digits of the number.
    ///
    /// # Errors
    /// It has more of them than a Decimal128.
    fn to_digits(&self) -> Result<Digits, ValueError>;

    /// The number with these digits.
    ///
    /// # Errors
    /// The type cannot represent it.
    fn from_digits(digits: Digits) -> Result<Self, ValueError>;
}

/// The stored decimal.
///
/// # Errors
/// The number has more digits than a Decimal128.
pub(super) fn store<T: StoredDecimal>(value: &T) -> Result<Decimal128, ValueError> {
    value.to_digits()?.to_stored()
}

/// The value of a stored decimal.
///
/// # Errors
/// It is NaN or infinity, or the type cannot represent it.
pub(super) fn load<T: StoredDecimal>(stored: &Decimal128) -> Result<T, ValueError> {
    let digits = Digits::of(stored).ok_or_else(|| {
        ValueError::new(format!(
            "the stored decimal is not a number of type `{}`",
            T::TYPE
        ))
    })?;
    T::from_digits(digits)
}

/// Reads a stored decimal, or a whole number of another type, which a shell stores for `5`.
#[inline]
pub(super) fn read(value: &Value<'_>) -> Result<Decimal128, DecodeError> {
    match value.kind() {
        ElementType::Int32 | ElementType::Int64 if !value.is_exact() => read_integer(value),
        _ => Decimal128::decode(value),
    }
}

#[cold]
fn read_integer(value: &Value<'_>) -> Result<Decimal128, DecodeError> {
    let number = i64::decode(value)?;
    let digits = Digits {
        is_negative: number < 0,
        coefficient: number.unsigned_abs().into(),
        exponent: 0,
    };
    digits.exact().ok_or_else(|| value.mismatch("a decimal"))
}

impl Digits {
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
    #[inline]
    pub(super) fn to_stored(self) -> Result<Decimal128, ValueError> {
        match self.exact() {
            Some(stored) => Ok(stored),
            None => self.to_clamped(),
        }
    }

    #[cold]
    fn to_clamped(self) -> Result<Decimal128, ValueError> {
        self.clamped().and_then(Digits::exact).ok_or_else(|| {
            ValueError::new("the decimal has more digits or a larger exponent than a Decimal128")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_clamped() {
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
