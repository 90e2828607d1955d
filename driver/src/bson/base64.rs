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
    let mut bytes = Vec::with_capacity(groups.len() * 3);
    for group in whole {
        let word = read_group(group)?;
        bytes.extend_from_slice(word.to_be_bytes().get(1..)?);
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
    group
        .iter()
        .try_fold(0, |word, letter| Some(word << 6 | base64_digit(*letter)?))
}

fn base64_digit(letter: u8) -> Option<u32> {
    Some(u32::from(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
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
