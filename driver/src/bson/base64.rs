//! Base64 with padding, and hexadecimal digits: how bytes stand in texts.

use std::fmt::{self, Write};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes `bytes` in base 64, padded with `=`.
pub(crate) fn write_base64(bytes: &[u8], out: &mut dyn Write) -> fmt::Result {
    // Written in lumps: a call of the writer for each letter would take most of the time.
    let mut lump = [b'='; 64];
    for part in bytes.chunks(48) {
        let mut filled = 0;
        for (slots, chunk) in lump.chunks_exact_mut(4).zip(part.chunks(3)) {
            let word = chunk
                .iter()
                .zip([16_u32, 8, 0])
                .fold(0_u32, |word, (byte, shift)| word | u32::from(*byte) << shift);
            for (place, (slot, shift)) in slots.iter_mut().zip([18_u32, 12, 6, 0]).enumerate() {
                let index = usize::try_from(word >> shift & 63).unwrap_or_default();
                *slot = match ALPHABET.get(index) {
                    Some(letter) if place <= chunk.len() => *letter,
                    _ => b'=',
                };
            }
            filled += 4;
        }
        let text = lump.get(..filled).and_then(|lump| std::str::from_utf8(lump).ok());
        out.write_str(text.ok_or(fmt::Error)?)?;
    }
    Ok(())
}

/// The text of `bytes` in base 64, padded with `=`.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_base64(bytes, &mut text);
    text
}

/// The bytes of a text in base 64; `None` when a letter, the length or the padding is wrong.
pub(crate) fn read_base64(text: &str) -> Option<Vec<u8>> {
    let (groups, rest) = text.as_bytes().as_chunks::<4>();
    let (last, whole) = match (groups.split_last(), rest) {
        (_, [_, ..]) => return None,
        (None, []) => return Some(Vec::new()),
        (Some(split), []) => split,
    };
    // With room for the last group, but without its bytes yet.
    let mut bytes = Vec::with_capacity(groups.len() * 3);
    bytes.resize(whole.len() * 3, 0);
    for (place, group) in bytes.as_chunks_mut().0.iter_mut().zip(whole) {
        let [_, a, b, c] = read_group(group)?.to_be_bytes();
        *place = [a, b, c];
    }
    let (digits, kept) = match last {
        [a, b, b'=', b'='] => ([*a, *b, b'A', b'A'], 1),
        [a, b, c, b'='] => ([*a, *b, *c, b'A'], 2),
        other => (*other, 3),
    };
    let word = read_group(&digits)?.to_be_bytes();
    // Bits that no byte takes must be zero, so that one value has one text.
    if word.get(1 + kept..)?.iter().any(|byte| *byte != 0) {
        return None;
    }
    bytes.extend_from_slice(word.get(1..=kept)?);
    Some(bytes)
}

fn read_group(group: &[u8; 4]) -> Option<u32> {
    let [a, b, c, d] =
        group.map(|letter| u32::from(VALUES.get(usize::from(letter)).copied().unwrap_or(NO_DIGIT)));
    // What is no digit shows in the end, so that there is one branch for all four.
    let valid = (a | b | c | d) & u32::from(NO_DIGIT) == 0;
    valid.then_some(a << 18 | b << 12 | c << 6 | d)
}

/// The value of each letter; what is none has a bit that no value has.
const VALUES: [u8; 256] = values();

const NO_DIGIT: u8 = 0x40;

#[allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "evaluated by the compiler, which would refuse"
)]
const fn values() -> [u8; 256] {
    let mut table = [NO_DIGIT; 256];
    let mut value = 0;
    while value < ALPHABET.len() {
        table[ALPHABET[value] as usize] = value as u8;
        value += 1;
    }
    table
}

/// Exactly `N` bytes from pairs of hexadecimal digits of either case.
pub(crate) fn read_hex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else {
        return None;
    };
    let mut bytes = [0; N];
    if pairs.len() != N {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = hex_digit(*high)? << 4 | hex_digit(*low)?;
    }
    Some(bytes)
}

/// The value of one hexadecimal digit.
pub(crate) fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// Writes `bytes` as lower-case hexadecimal digits.
pub(crate) fn write_hex(bytes: &[u8], out: &mut dyn Write) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(bytes: &[u8]) -> String {
        let mut text = String::new();
        write_base64(bytes, &mut text).unwrap();
        text
    }

    #[test]
    fn base64_goes_both_ways() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encoded(bytes.as_bytes()), text);
            assert_eq!(read_base64(text).unwrap(), bytes.as_bytes());
        }
        for len in [47_usize, 48, 49, 95, 96, 97, 300] {
            let bytes: Vec<u8> = (0..=255).cycle().take(len).collect();
            assert_eq!(read_base64(&encoded(&bytes)).unwrap(), bytes);
        }
    }

    #[test]
    fn wrong_base64_is_refused() {
        for text in [
            "Zg", "Zg=", "Z===", "====", "Zh==", "Zm9=", "Zm 9", "Zg==Zg==", "Z-_v", "Zm9vé", "Zm9v\n",
        ] {
            assert_eq!(read_base64(text), None, "{text}");
        }
    }

    #[test]
    fn hexadecimal_digits_have_either_case() {
        assert_eq!(read_hex::<3>("00aBFf"), Some([0, 0xab, 0xff]));
        for text in ["", "00aBF", "00aBFfff", "00aBFg", "+1ffff", "é0000"] {
            assert_eq!(read_hex::<3>(text), None, "{text}");
        }
    }
}
