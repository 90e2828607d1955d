//! A Decimal128 as its digits and its exponent.

use std::cmp::Ordering;

use crate::base::bson::Decimal128;

/// A finite decimal number: `±coefficient · 10^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digits {
    pub(crate) is_negative: bool,
    pub(crate) coefficient: u128,
    pub(crate) exponent: i64,
}

/// The bias of the exponent in the bits of a Decimal128.
const BIAS: i64 = 6176;
/// The number of bits of the coefficient.
const COEFFICIENT_BITS: u32 = 113;
/// The greatest number of digits of a Decimal128.
pub(crate) const MAX_DIGITS: u32 = 34;
const MAX_COEFFICIENT: u128 = 10_u128.pow(MAX_DIGITS) - 1;
/// The exponents of a Decimal128 whose coefficient is an integer.
#[cfg(any(test, feature = "bigdecimal", feature = "rust_decimal"))]
pub(crate) const EXPONENTS: std::ops::RangeInclusive<i64> = -BIAS..=6111;

impl Digits {
    /// The digits of a finite Decimal128, from its bits in the binary integer encoding of IEEE 754-2008. `None` for NaN and
    /// infinity. A coefficient that is too large is 0, as the standard defines it.
    #[inline]
    pub(crate) fn of(decimal: &Decimal128) -> Option<Self> {
        let bits = u128::from_le_bytes(decimal.bytes());
        // The five bits after the sign.
        let combination = (bits >> 122) & 0b1_1111;
        let (exponent, coefficient) = match combination {
            0b1_1110 | 0b1_1111 => return None,
            // The coefficient has an implicit prefix, with which it is above the maximum.
            0b1_1000.. => (bits >> 111, 0),
            _ => (bits >> COEFFICIENT_BITS, bits & ((1 << COEFFICIENT_BITS) - 1)),
        };
        let exponent = i64::try_from(exponent & 0x3fff).ok()?;
        Some(Digits {
            is_negative: bits >> 127 == 1,
            coefficient: if coefficient > MAX_COEFFICIENT {
                0
            } else {
                coefficient
            },
            exponent: exponent - BIAS,
        })
    }

    /// The digits without zeros at the end, which are equal for equal numbers.
    pub(crate) fn shortest(self) -> String {
        let (mut coefficient, mut exponent) = (self.coefficient, self.exponent);
        while coefficient != 0 && coefficient % 10 == 0 {
            (coefficient, exponent) = (coefficient / 10, exponent + 1);
        }
        let sign = if self.is_negative { "-" } else { "" };
        format!("{sign}{coefficient}e{exponent}")
    }

    /// The number, if it is an integer of 64 bits.
    pub(crate) fn whole(self) -> Option<i64> {
        let (mut coefficient, mut exponent) = (i128::try_from(self.coefficient).ok()?, self.exponent);
        while exponent < 0 && coefficient % 10 == 0 && coefficient != 0 {
            (coefficient, exponent) = (coefficient / 10, exponent + 1);
        }
        if coefficient == 0 {
            return Some(0);
        }
        let power = u32::try_from(exponent).ok()?;
        let number = coefficient.checked_mul(10_i128.checked_pow(power)?)?;
        i64::try_from(if self.is_negative { -number } else { number }).ok()
    }

    /// The Decimal128 with exactly these digits. `None` if there is none.
    #[cfg(any(test, feature = "bigdecimal", feature = "rust_decimal"))]
    #[inline]
    pub(crate) fn exact(self) -> Option<Decimal128> {
        if self.coefficient > MAX_COEFFICIENT || !EXPONENTS.contains(&self.exponent) {
            return None;
        }
        let sign = u128::from(self.is_negative) << 127;
        let exponent = u128::try_from(self.exponent + BIAS).ok()? << COEFFICIENT_BITS;
        Some(Decimal128::from_bytes(
            (sign | exponent | self.coefficient).to_le_bytes(),
        ))
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
    let (a, b) = (Digits::of(a)?, Digits::of(b)?);
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

    /// Parses the text form of a finite Decimal128, such as `-12.50` and `1E+3`.
    fn parsed(text: &str) -> Digits {
        let is_negative = text.starts_with('-');
        let text = text.trim_start_matches('-');
        let (digits, exponent) = text.split_once('E').unwrap_or((text, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        Digits {
            is_negative,
            coefficient: format!("{whole}{fraction}").parse().unwrap(),
            exponent: exponent.parse::<i64>().unwrap() - i64::try_from(fraction.len()).unwrap(),
        }
    }

    #[test]
    fn bits_are_those_of_the_text() {
        for text in [
            "0",
            "-0",
            "0E+6111",
            "0E-6176",
            "12.50",
            "-0.001",
            "1E+3",
            "1E-6176",
            "-9999999999999999999999999999999999",
            "9.999999999999999999999999999999999E+6144",
        ] {
            let decimal: Decimal128 = text.parse().unwrap();
            let digits = Digits::of(&decimal).unwrap();
            assert_eq!(digits, parsed(text), "{text}");
            assert_eq!(digits.exact().unwrap(), decimal, "{text}");
        }
        for text in ["NaN", "Infinity", "-Infinity"] {
            assert_eq!(Digits::of(&text.parse().unwrap()), None, "{text}");
        }
    }

    #[test]
    fn random_numbers_have_the_bits_of_their_text() {
        let mut random = 1_u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            u128::from(random >> 32)
        };
        for _ in 0..10_000 {
            let size = 10_u128.pow(u32::try_from(next() % 35).unwrap());
            let digits = Digits {
                is_negative: next() % 2 == 1,
                coefficient: (next() << 96 | next() << 64 | next() << 32 | next()) % size,
                exponent: i64::try_from(next() % 12_288).unwrap() - BIAS,
            };
            let sign = if digits.is_negative { "-" } else { "" };
            let text = format!("{sign}{}E{}", digits.coefficient, digits.exponent);
            let decimal: Decimal128 = text.parse().unwrap();
            assert_eq!(digits.exact().unwrap(), decimal, "{text}");
            assert_eq!(Digits::of(&decimal), Some(digits), "{text}");
        }
    }

    #[test]
    fn a_coefficient_that_is_too_large_is_zero() {
        let above = (6176_u128 << COEFFICIENT_BITS) | (MAX_COEFFICIENT + 1);
        let prefixed = (0b11_u128 << 125) | (6176 << 111) | 5;
        for bits in [above, prefixed] {
            let decimal = Decimal128::from_bytes(bits.to_le_bytes());
            let zero = Digits {
                is_negative: false,
                coefficient: 0,
                exponent: 0,
            };
            assert_eq!(Digits::of(&decimal), Some(zero), "{decimal}");
        }
    }

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
