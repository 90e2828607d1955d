//! Addition, multiplication, division, remainder and rounding of decimals.

use super::super::digits;
use super::{Decimal, MAX_DIGITS, MAX_EXPONENT, MIN_EXPONENT};
use std::cmp::Ordering;

impl Decimal {
    pub(crate) fn add(self, other: Decimal) -> Decimal {
        let (a, b) = match (self, other) {
            (Decimal::NaN, _) | (_, Decimal::NaN) => return Decimal::NaN,
            (Decimal::Infinity { negative: a }, Decimal::Infinity { negative: b }) => {
                return if a == b { self } else { Decimal::NaN };
            }
            (Decimal::Infinity { .. }, _) => return self,
            (_, Decimal::Infinity { .. }) => return other,
            (
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
            ) => ((sa, ca, ea), (sb, cb, eb)),
        };
        if a.1 == 0 && b.1 == 0 {
            return round(a.0 && b.0, &[], a.2.min(b.2));
        }
        // Digits far below the last retained digit of the other number only affect rounding: limit
        // the alignment.
        let (high, low) = if a.2 >= b.2 { (a, b) } else { (b, a) };
        let gap = (high.2 - low.2) as usize;
        let (low_digits, low_exponent) = if high.1 != 0 && gap > 80 {
            (if low.1 == 0 { Vec::new() } else { vec![1] }, high.2 - 80)
        } else {
            (digits::from_u128(low.1), low.2)
        };
        let high_digits = digits::shift(&digits::from_u128(high.1), (high.2 - low_exponent) as usize);
        if high.0 == low.0 {
            return round(high.0, &digits::add(&high_digits, &low_digits), low_exponent);
        }
        match digits::compare(&high_digits, &low_digits) {
            Ordering::Equal => round(false, &[], low_exponent),
            Ordering::Greater => round(high.0, &digits::subtract(&high_digits, &low_digits), low_exponent),
            Ordering::Less => round(low.0, &digits::subtract(&low_digits, &high_digits), low_exponent),
        }
    }

    pub(crate) fn multiply(self, other: Decimal) -> Decimal {
        match (self, other) {
            (Decimal::NaN, _) | (_, Decimal::NaN) => Decimal::NaN,
            (
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
            ) => {
                let product = digits::multiply(&digits::from_u128(ca), &digits::from_u128(cb));
                round(sa != sb, &product, ea + eb)
            }
            _ if self.is_zero() || other.is_zero() => Decimal::NaN,
            _ => Decimal::Infinity {
                negative: self.is_negative() != other.is_negative(),
            },
        }
    }

    /// Division by zero yields an infinity or NaN.
    pub(crate) fn divide(self, other: Decimal) -> Decimal {
        let negative = self.is_negative() != other.is_negative();
        let ((ca, ea), (cb, eb)) = match (self, other) {
            (Decimal::NaN, _) | (_, Decimal::NaN) => return Decimal::NaN,
            (Decimal::Infinity { .. }, Decimal::Infinity { .. }) => return Decimal::NaN,
            (Decimal::Infinity { .. }, _) => return Decimal::Infinity { negative },
            (_, Decimal::Infinity { .. }) => return round(negative, &[], MIN_EXPONENT),
            (
                Decimal::Finite {
                    coefficient: ca,
                    exponent: ea,
                    ..
                },
                Decimal::Finite {
                    coefficient: cb,
                    exponent: eb,
                    ..
                },
            ) => ((ca, ea), (cb, eb)),
        };
        if cb == 0 {
            return if ca == 0 {
                Decimal::NaN
            } else {
                Decimal::Infinity { negative }
            };
        }
        if ca == 0 {
            return round(negative, &[], ea - eb);
        }
        // Enough digits for a quotient of 34 digits and a remainder that determines the rounding.
        let scale = 2 * MAX_DIGITS + 4;
        let (mut quotient, rest) = digits::divide(
            &digits::shift(&digits::from_u128(ca), scale),
            &digits::from_u128(cb),
        );
        let mut exponent = ea - eb - scale as i32;
        if rest.is_empty() {
            // An exact quotient has the exponent nearest to the ideal exponent.
            while exponent < ea - eb && quotient.last() == Some(&0) {
                quotient.pop();
                exponent += 1;
            }
        } else {
            quotient.push(1);
            exponent -= 1;
        }
        round(negative, &quotient, exponent)
    }

    /// Rounds half to even or towards zero to exactly `places` decimal places (negative: left of
    /// the decimal point). Returns NaN if the result needs more than 34 digits.
    pub(crate) fn quantize(self, places: i32, truncate: bool) -> Decimal {
        let Decimal::Finite {
            negative,
            coefficient,
            exponent,
        } = self
        else {
            return self;
        };
        let all = digits::from_u128(coefficient);
        let kept = if exponent >= -places {
            digits::shift(&all, (exponent + places) as usize)
        } else {
            drop_digits(&all, (-places - exponent) as usize, truncate)
        };
        if kept.len() > MAX_DIGITS {
            return Decimal::NaN;
        }
        round(negative, &kept, -places)
    }

    /// The remainder of truncated division, which has the sign of the dividend.
    pub(crate) fn remainder(self, divisor: Decimal) -> Decimal {
        match (self, divisor) {
            (Decimal::NaN | Decimal::Infinity { .. }, _) | (_, Decimal::NaN) => Decimal::NaN,
            (_, Decimal::Infinity { .. }) => self,
            _ if divisor.is_zero() => Decimal::NaN,
            (
                Decimal::Finite {
                    negative,
                    coefficient: ca,
                    exponent: ea,
                },
                Decimal::Finite {
                    coefficient: cb,
                    exponent: eb,
                    ..
                },
            ) => {
                let exponent = ea.min(eb);
                let aligned = |coefficient: u128, own: i32| {
                    digits::shift(&digits::from_u128(coefficient), (own - exponent) as usize)
                };
                let (_, rest) = digits::divide(&aligned(ca, ea), &aligned(cb, eb));
                round(negative, &rest, exponent)
            }
        }
    }
}

/// Removes the last `count` digits. Rounds half to even unless `truncate` is set.
fn drop_digits(all: &[u8], count: usize, truncate: bool) -> Vec<u8> {
    if count > all.len() {
        return Vec::new();
    }
    let (kept, dropped) = all.split_at(all.len() - count);
    let half = match dropped.first() {
        Some(first) => first.cmp(&5).then_with(|| {
            if dropped[1..].iter().any(|digit| *digit != 0) {
                Ordering::Greater
            } else {
                Ordering::Equal
            }
        }),
        None => Ordering::Less,
    };
    let up = match half {
        Ordering::Greater => true,
        Ordering::Equal => kept.last().is_some_and(|digit| digit % 2 == 1),
        Ordering::Less => false,
    };
    if up && !truncate {
        digits::add(kept, &[1])
    } else {
        kept.to_vec()
    }
}

/// Normalizes coefficient and exponent: rounds to 34 digits, overflows to infinity, underflows to
/// zero.
pub(super) fn round(negative: bool, all: &[u8], exponent: i32) -> Decimal {
    let mut kept = all.to_vec();
    let mut exponent = exponent;
    let excess = kept
        .len()
        .saturating_sub(MAX_DIGITS)
        .max((MIN_EXPONENT - exponent).max(0) as usize);
    if excess > 0 {
        kept = drop_digits(&kept, excess, false);
        exponent += excess as i32;
        if kept.len() > MAX_DIGITS {
            kept.pop();
            exponent += 1;
        }
    }
    if kept.is_empty() {
        return Decimal::Finite {
            negative,
            coefficient: 0,
            exponent: exponent.clamp(MIN_EXPONENT, MAX_EXPONENT),
        };
    }
    while exponent > MAX_EXPONENT && kept.len() < MAX_DIGITS {
        kept.push(0);
        exponent -= 1;
    }
    if exponent > MAX_EXPONENT {
        return Decimal::Infinity { negative };
    }
    Decimal::Finite {
        negative,
        coefficient: digits::to_u128(&kept),
        exponent,
    }
}
