//! Appends the types and keys of elements.

use super::{capacity, validate};

/// Maximum length of type, key and value that are assembled on the stack. Longer ones are appended in parts.
const PIECE: usize = 64;

/// Appends type and key. The key must not contain a zero byte.
///
/// Always inlined: nearly every key is a literal, so that its length is a constant and the bytes are
/// assembled in registers.
#[inline(always)]
pub(super) fn append_literal_key(out: &mut Vec<u8>, kind: u8, key: &str) {
    append_literal_element(out, kind, key, []);
}

/// [`append_literal_key`] with the value, or with the first bytes of it.
#[inline(always)]
pub(super) fn append_literal_element<const N: usize>(out: &mut Vec<u8>, kind: u8, key: &str, value: [u8; N]) {
    let key = key.as_bytes();
    let mut piece = [0; PIECE];
    let [first, rest @ ..] = &mut piece;
    *first = kind;
    // The zero byte after the key is part of the initial array.
    if let Some((key_place, [_, after @ ..])) = rest.split_at_mut_checked(key.len())
        && let Some(value_place) = after.first_chunk_mut()
    {
        key_place.copy_from_slice(key);
        *value_place = value;
        out.extend_from_slice(piece.get(..key.len() + 2 + N).unwrap_or_default());
    } else {
        append_parts(out, kind, key);
        out.extend_from_slice(&value);
    }
}

/// Maximum length of text that is copied with a constant length.
const SHORT_TEXT: usize = 16;

/// Appends text and the zero byte after it.
///
/// Text of up to 16 bytes is assembled in registers and copied with a constant length, then the surplus is truncated. The
/// function calls no other one before it returns, so that it saves no registers.
#[inline(never)]
pub(super) fn append_text(out: &mut Vec<u8>, text: &str) {
    match short_word(text.as_bytes()) {
        Some(word) if out.capacity() - out.len() > SHORT_TEXT => {
            let end = out.len() + text.len() + 1;
            let mut piece = [0; SHORT_TEXT + 1];
            if let Some(place) = piece.first_chunk_mut() {
                *place = word.to_le_bytes();
            }
            out.extend_from_slice(&piece);
            out.truncate(end);
        }
        _ => append_long_text(out, text),
    }
}

#[inline(never)]
fn append_long_text(out: &mut Vec<u8>, text: &str) {
    capacity::append(out, text.as_bytes());
    out.push(0);
}

/// Appends type and key, for keys known at run time. Returns `false` and appends nothing if the key
/// contains a zero byte.
///
/// A key of up to 16 bytes is assembled in registers and copied with a constant length, then the
/// surplus is truncated: a copy of constant length is cheaper.
#[inline]
pub(super) fn append_key(out: &mut Vec<u8>, kind: u8, key: &str) -> bool {
    let key = key.as_bytes();
    let Some(word) = short_word(key) else {
        let whole = validate::find_zero(key).is_none();
        if whole {
            append_parts(out, kind, key);
        }
        return whole;
    };
    if validate::zero_of_word(word) != key.len() {
        return false;
    }
    let end = out.len() + key.len() + 2;
    let mut piece = [0; 18];
    let [first, rest @ ..] = &mut piece;
    *first = kind;
    if let Some(place) = rest.first_chunk_mut() {
        *place = word.to_le_bytes();
    }
    out.extend_from_slice(&piece);
    out.truncate(end);
    true
}

/// Up to 16 bytes as a little-endian integer.
#[inline]
pub(super) fn short_word(bytes: &[u8]) -> Option<u128> {
    let shift = bytes.len() * 8;
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        // The overlap of the last eight bytes with the first is shifted out.
        let shared = 128_usize.checked_sub(shift)?;
        return Some(u128::from(first) | u128::from(last.unbounded_shr(u32::try_from(shared).ok()?)) << 64);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return Some(u128::from(u64::from(first) | u64::from(last) << (shift - 32)));
    }
    match (bytes.first(), bytes.get(bytes.len() / 2), bytes.last()) {
        (Some(a), Some(b), Some(c)) => {
            let middle = u32::from(*b) << (bytes.len() / 2 * 8);
            Some(u128::from(u32::from(*a) | middle | u32::from(*c) << (shift - 8)))
        }
        _ => Some(0),
    }
}

/// Appends type and key in parts.
#[inline(never)]
fn append_parts(out: &mut Vec<u8>, kind: u8, key: &[u8]) {
    out.reserve(key.len() + 2);
    out.push(kind);
    out.extend_from_slice(key);
    out.push(0);
}

/// The decimal key of the current array element, incremented digit by digit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counter {
    /// The digits, then at least one zero byte.
    digits: [u8; Self::WIDTH],
    len: usize,
    index: usize,
}

impl Counter {
    const WIDTH: usize = 8;

    /// Starts at index 0.
    #[inline]
    pub(super) fn new() -> Self {
        let mut digits = [0; Self::WIDTH];
        digits[0] = b'0';
        Self {
            digits,
            len: 1,
            index: 0,
        }
    }

    /// The current index.
    #[inline]
    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Increments the index.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.index += 1;
        match self.digits.get_mut(self.len - 1) {
            Some(last) if *last < b'9' => *last += 1,
            _ => self.carry(),
        }
    }

    #[inline(never)]
    fn carry(&mut self) {
        let digits = super::IndexKey::new(self.index);
        self.len = digits.as_bytes().len();
        self.digits = [0; Self::WIDTH];
        for (slot, digit) in self.digits.iter_mut().zip(digits.as_bytes()) {
            *slot = *digit;
        }
    }

    /// Appends type and key of the current element.
    #[inline]
    pub(super) fn append(&self, out: &mut Vec<u8>, kind: u8) {
        if self.len >= Self::WIDTH {
            return append_parts(out, kind, super::IndexKey::new(self.index).as_bytes());
        }
        // All digits are copied and the surplus is truncated: a copy of constant length is cheaper.
        let start = out.len();
        let [a, b, c, d, e, f, g, h] = self.digits;
        out.extend_from_slice(&[kind, a, b, c, d, e, f, g, h]);
        out.truncate(start + self.len + 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(key: &str) -> Vec<u8> {
        [&[5], key.as_bytes(), &[0]].concat()
    }

    #[test]
    fn short_and_long_keys_give_the_same_form() {
        for len in 0..2 * PIECE {
            let key: String = ('a'..='z').cycle().take(len).collect();
            let mut out = vec![9];
            append_literal_key(&mut out, 5, &key);
            assert_eq!(out, [vec![9], parts(&key)].concat(), "{len}");
            append_literal_element(&mut out, 5, &key, [1, 2, 3]);
            let with_value = [parts(&key), vec![1, 2, 3]].concat();
            assert_eq!(out, [vec![9], parts(&key), with_value].concat(), "{len}");
        }
    }

    #[test]
    fn text_of_any_length_is_appended_to_a_buffer_of_any_capacity() {
        for len in 0..40 {
            let text: String = ('a'..='z').cycle().take(len).collect();
            for capacity in 0..40 {
                let mut out = Vec::with_capacity(capacity);
                append_text(&mut out, &text);
                assert_eq!(out, [text.as_bytes(), &[0]].concat(), "{len} {capacity}");
            }
        }
    }

    #[test]
    fn keys_of_any_length_are_appended() {
        for len in 0..40 {
            let key: String = ('a'..='z').cycle().take(len).collect();
            let mut out = vec![9];
            assert!(append_key(&mut out, 5, &key));
            assert_eq!(out, [vec![9], parts(&key)].concat(), "{len}");
            for at in 0..len {
                let mut broken = key.clone();
                broken.replace_range(at..=at, "\0");
                assert!(!append_key(&mut out, 5, &broken));
            }
            assert_eq!(out.len(), len + 3);
        }
    }

    #[test]
    fn counted_keys_are_decimal() {
        let mut counter = Counter::new();
        for index in 0..100_100 {
            assert_eq!(counter.index(), index);
            let mut out = Vec::new();
            counter.append(&mut out, 5);
            assert_eq!(out, parts(&index.to_string()));
            counter.advance();
        }
    }

    #[test]
    fn keys_wider_than_the_counter_are_written_whole() {
        for index in [9_999_998_usize, 99_999_998, 999_999_999_998] {
            let mut counter = Counter {
                index,
                ..Counter::new()
            };
            counter.carry();
            for index in index..index + 5 {
                let mut out = Vec::new();
                counter.append(&mut out, 5);
                assert_eq!(out, parts(&index.to_string()));
                counter.advance();
            }
        }
    }
}
