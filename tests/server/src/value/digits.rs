//! Unsigned integers of any length as decimal digits, most significant first, without leading
//! zeros. Decimal128 arithmetic is exact on these and rounded once.

use std::cmp::Ordering;

/// Removes leading zeros. Zero is the empty list.
pub(super) fn trim(mut digits: Vec<u8>) -> Vec<u8> {
    let zeros = digits.iter().take_while(|digit| **digit == 0).count();
    digits.drain(..zeros);
    digits
}

pub(super) fn from_u128(value: u128) -> Vec<u8> {
    trim(value.to_string().bytes().map(|byte| byte - b'0').collect())
}

/// Converts to an integer. The number must have at most 38 digits.
pub(super) fn to_u128(digits: &[u8]) -> u128 {
    digits
        .iter()
        .fold(0, |value, digit| value * 10 + u128::from(*digit))
}

/// Multiplies by a power of ten.
pub(super) fn shift(digits: &[u8], zeros: usize) -> Vec<u8> {
    if digits.is_empty() {
        return Vec::new();
    }
    let mut shifted = digits.to_vec();
    shifted.resize(digits.len() + zeros, 0);
    shifted
}

pub(super) fn compare(left: &[u8], right: &[u8]) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

pub(super) fn add(left: &[u8], right: &[u8]) -> Vec<u8> {
    let mut sum = Vec::with_capacity(left.len().max(right.len()) + 1);
    let (mut left, mut right) = (left.iter().rev(), right.iter().rev());
    let mut carry = 0;
    loop {
        let (a, b) = (left.next(), right.next());
        if a.is_none() && b.is_none() {
            break;
        }
        let digit = a.copied().unwrap_or(0) + b.copied().unwrap_or(0) + carry;
        sum.push(digit % 10);
        carry = digit / 10;
    }
    sum.push(carry);
    sum.reverse();
    trim(sum)
}

/// `left` must not be less than `right`.
pub(super) fn subtract(left: &[u8], right: &[u8]) -> Vec<u8> {
    let mut difference = Vec::with_capacity(left.len());
    let mut right = right.iter().rev();
    let mut borrow = 0;
    for a in left.iter().rev() {
        let taken = right.next().copied().unwrap_or(0) + borrow;
        borrow = u8::from(*a < taken);
        difference.push(*a + 10 * borrow - taken);
    }
    difference.reverse();
    trim(difference)
}

pub(super) fn multiply(left: &[u8], right: &[u8]) -> Vec<u8> {
    let mut product = vec![0_u32; left.len() + right.len()];
    for (i, a) in left.iter().rev().enumerate() {
        for (j, b) in right.iter().rev().enumerate() {
            product[i + j] += u32::from(*a) * u32::from(*b);
        }
    }
    let mut carry = 0;
    for digit in &mut product {
        let value = *digit + carry;
        *digit = value % 10;
        carry = value / 10;
    }
    product.reverse();
    trim(product.into_iter().map(|digit| digit as u8).collect())
}

/// Returns quotient and remainder. `divisor` must not be zero.
pub(super) fn divide(dividend: &[u8], divisor: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut quotient = Vec::with_capacity(dividend.len());
    let mut remainder: Vec<u8> = Vec::new();
    for digit in dividend {
        remainder.push(*digit);
        remainder = trim(remainder);
        let mut times = 0;
        while compare(&remainder, divisor) != Ordering::Less {
            remainder = subtract(&remainder, divisor);
            times += 1;
        }
        quotient.push(times);
    }
    (trim(quotient), remainder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_agrees_with_integers() {
        for (a, b) in [
            (0_u128, 7_u128),
            (999, 1),
            (123_456_789, 987),
            (10_u128.pow(18), 3),
        ] {
            let (x, y) = (from_u128(a), from_u128(b));
            assert_eq!(to_u128(&add(&x, &y)), a + b);
            assert_eq!(to_u128(&multiply(&x, &y)), a * b);
            let (quotient, remainder) = divide(&x, &y);
            assert_eq!((to_u128(&quotient), to_u128(&remainder)), (a / b, a % b));
            if a >= b {
                assert_eq!(to_u128(&subtract(&x, &y)), a - b);
            }
        }
    }
}
