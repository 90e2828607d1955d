//! Decimal128: decoding, exact comparison, and arithmetic rounded to 34 digits, half to even, as
//! specified by IEEE 754.

use super::digits;
use arithmetic::round;
use bson::Decimal128;
use std::cmp::Ordering;

mod arithmetic;

const MAX_DIGITS: usize = 34;
const MAX_EXPONENT: i32 = 6111;
const MIN_EXPONENT: i32 = -6176;
const MAX_COEFFICIENT: u128 = 9_999_999_999_999_999_999_999_999_999_999_999;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decimal {
    NaN,
    Infinity {
        negative: bool,
    },
    Finite {
        negative: bool,
        coefficient: u128,
        exponent: i32,
    },
}

impl Decimal {
    /// Decodes the binary integer decimal encoding. A coefficient of more than 34 digits is zero.
    pub(crate) fn from_bson(value: &Decimal128) -> Decimal {
        let bits = u128::from_le_bytes(value.bytes());
        let negative = bits >> 127 == 1;
        let combination = (bits >> 122) & 0b1_1111;
        match combination {
            0b1_1111 => return Decimal::NaN,
            0b1_1110 => return Decimal::Infinity { negative },
            _ => {}
        }
        let (exponent, coefficient) = if combination >> 3 == 0b11 {
            ((bits >> 111) & 0x3fff, 0)
        } else {
            ((bits >> 113) & 0x3fff, bits & ((1 << 113) - 1))
        };
        let coefficient = if coefficient > MAX_COEFFICIENT {
            0
        } else {
            coefficient
        };
        Decimal::Finite {
            negative,
            coefficient,
            exponent: exponent as i32 + MIN_EXPONENT,
        }
    }

    pub(crate) fn to_bson(self) -> Decimal128 {
        let bits = match self {
            Decimal::NaN => 0b1_1111 << 122,
            Decimal::Infinity { negative } => (u128::from(negative) << 127) | (0b1_1110 << 122),
            Decimal::Finite {
                negative,
                coefficient,
                exponent,
            } => (u128::from(negative) << 127) | (((exponent - MIN_EXPONENT) as u128) << 113) | coefficient,
        };
        Decimal128::from_bytes(bits.to_le_bytes())
    }

    pub(crate) fn from_i64(value: i64) -> Decimal {
        Decimal::Finite {
            negative: value < 0,
            coefficient: u128::from(value.unsigned_abs()),
            exponent: 0,
        }
    }

    /// Rounds a double to a number of significant digits: 15 for conversions, 34 for comparison and
    /// addition. Zero has no decimal places; with 34 digits, trailing zeros of the fraction are
    /// removed.
    pub(crate) fn from_f64(value: f64, significant: usize) -> Decimal {
        if value.is_nan() {
            return Decimal::NaN;
        }
        let negative = value.is_sign_negative();
        if value.is_infinite() {
            return Decimal::Infinity { negative };
        }
        if value == 0.0 {
            return round(negative, &[], 0);
        }
        let decimal = Decimal::parse(&format!("{value:.*e}", significant - 1)).unwrap_or(Decimal::NaN);
        if significant < MAX_DIGITS {
            return decimal;
        }
        match decimal {
            Decimal::Finite {
                negative,
                mut coefficient,
                mut exponent,
            } => {
                while exponent < 0 && coefficient.is_multiple_of(10) {
                    coefficient /= 10;
                    exponent += 1;
                }
                Decimal::Finite {
                    negative,
                    coefficient,
                    exponent,
                }
            }
            other => other,
        }
    }

    /// Parses a number such as `-1.50E+3`, `Infinity` or `NaN`. Returns `None` for any other
    /// string.
    pub(crate) fn parse(text: &str) -> Option<Decimal> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        match rest.to_ascii_lowercase().as_str() {
            "nan" => return Some(Decimal::NaN),
            "inf" | "infinity" => return Some(Decimal::Infinity { negative }),
            _ => {}
        }
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut all = Vec::with_capacity(whole.len() + fraction.len());
        for byte in whole.bytes().chain(fraction.bytes()) {
            all.push(byte.is_ascii_digit().then(|| byte - b'0')?);
        }
        let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        Some(round(negative, &digits::trim(all), exponent))
    }

    /// Returns whether the value is zero with any exponent and sign.
    pub(crate) fn is_zero(self) -> bool {
        matches!(self, Decimal::Finite { coefficient: 0, .. })
    }

    /// The nearest double.
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Decimal::NaN => f64::NAN,
            Decimal::Infinity { negative: true } => f64::NEG_INFINITY,
            Decimal::Infinity { negative: false } => f64::INFINITY,
            Decimal::Finite {
                negative,
                coefficient,
                exponent,
            } => {
                let sign = if negative { "-" } else { "" };
                format!("{sign}{coefficient}e{exponent}")
                    .parse()
                    .unwrap_or(f64::NAN)
            }
        }
    }

    /// The integer part, or `None` if it is out of range.
    pub(crate) fn truncate_to_i64(self) -> Option<i64> {
        let Decimal::Finite {
            negative,
            coefficient,
            exponent,
        } = self
        else {
            return None;
        };
        let magnitude = if exponent >= 0 {
            if coefficient == 0 {
                0
            } else {
                coefficient.checked_mul(10_u128.checked_pow(exponent as u32)?)?
            }
        } else {
            10_u128
                .checked_pow(exponent.unsigned_abs())
                .map_or(0, |power| coefficient / power)
        };
        let magnitude = i128::try_from(magnitude).ok()?;
        i64::try_from(if negative { -magnitude } else { magnitude }).ok()
    }

    /// Returns whether the value has no fractional part.
    pub(crate) fn is_integral(self) -> bool {
        match self {
            Decimal::Finite {
                coefficient,
                exponent,
                ..
            } if exponent < 0 => {
                coefficient == 0
                    || 10_u128
                        .checked_pow(exponent.unsigned_abs())
                        .is_some_and(|power| coefficient.is_multiple_of(power))
            }
            Decimal::Finite { .. } => true,
            _ => false,
        }
    }

    pub(crate) fn negate(self) -> Decimal {
        match self {
            Decimal::NaN => Decimal::NaN,
            Decimal::Infinity { negative } => Decimal::Infinity { negative: !negative },
            Decimal::Finite {
                negative,
                coefficient,
                exponent,
            } => Decimal::Finite {
                negative: !negative,
                coefficient,
                exponent,
            },
        }
    }

    /// Returns whether the sign bit is set.
    pub(crate) fn is_negative(self) -> bool {
        match self {
            Decimal::NaN => false,
            Decimal::Infinity { negative } | Decimal::Finite { negative, .. } => negative,
        }
    }

    /// Compares values. As in the server's sort order, NaN is less than all other numbers and equal
    /// to itself.
    pub(crate) fn compare(self, other: Decimal) -> Ordering {
        let rank = |value: Decimal| match value {
            Decimal::NaN => 0,
            Decimal::Infinity { negative: true } => 1,
            Decimal::Finite { .. } => 2,
            Decimal::Infinity { negative: false } => 3,
        };
        let (
            Decimal::Finite {
                negative: sa,
                coefficient: ca,
                exponent: ea,
            },
            Decimal::Finite {
                negative: sb,
                coefficient: cb,
                exponent: eb,
            },
        ) = (self, other)
        else {
            return rank(self).cmp(&rank(other));
        };
        match (ca, cb) {
            (0, 0) => return Ordering::Equal,
            (0, _) => return if sb { Ordering::Greater } else { Ordering::Less },
            (_, 0) => return if sa { Ordering::Less } else { Ordering::Greater },
            _ => {}
        }
        if sa != sb {
            return if sa { Ordering::Less } else { Ordering::Greater };
        }
        let (a, b) = (digits::from_u128(ca), digits::from_u128(cb));
        let magnitude = (a.len() as i32 + ea).cmp(&(b.len() as i32 + eb)).then_with(|| {
            let length = a.len().max(b.len());
            digits::shift(&a, length - a.len()).cmp(&digits::shift(&b, length - b.len()))
        });
        if sa { magnitude.reverse() } else { magnitude }
    }
}

#[cfg(test)]
mod tests;
