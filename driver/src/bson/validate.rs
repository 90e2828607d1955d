//! Validation of element types, keys and text: the innermost loops of decoding.

use super::spec::ElementType;

/// Longer text is validated by the standard library, which processes long ASCII text in blocks.
const SHORT_TEXT: usize = 96;

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Sets the high bit of each zero byte. The lowest one is exact; higher ones may be bytes of value
/// 1.
#[inline]
fn zeros(word: u64) -> u64 {
    word.wrapping_sub(LOW_BITS) & !word & HIGH_BITS
}

/// The element types by tag. A table, since the conversion of crate bson is not inlined.
const TYPES: [Option<ElementType>; 256] = types();

#[allow(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn types() -> [Option<ElementType>; 256] {
    const ALL: [ElementType; 21] = [
        ElementType::Double,
        ElementType::String,
        ElementType::EmbeddedDocument,
        ElementType::Array,
        ElementType::Binary,
        ElementType::Undefined,
        ElementType::ObjectId,
        ElementType::Boolean,
        ElementType::DateTime,
        ElementType::Null,
        ElementType::RegularExpression,
        ElementType::DbPointer,
        ElementType::JavaScriptCode,
        ElementType::Symbol,
        ElementType::JavaScriptCodeWithScope,
        ElementType::Int32,
        ElementType::Timestamp,
        ElementType::Int64,
        ElementType::Decimal128,
        ElementType::MinKey,
        ElementType::MaxKey,
    ];
    let mut table = [None; 256];
    let mut index = 0;
    while index < ALL.len() {
        table[ALL[index] as usize] = Some(ALL[index]);
        index += 1;
    }
    table
}

/// The element type with this tag.
#[inline]
pub(super) fn element_type(tag: u8) -> Option<ElementType> {
    *TYPES.get(usize::from(tag))?
}

/// Index of the first zero byte.
#[inline]
pub(super) fn find_zero(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk() {
        let zeros = zeros(u64::from_le_bytes(*word));
        if zeros != 0 {
            return Some(bytes.len() - rest.len() + zeros.trailing_zeros() as usize / 8);
        }
        rest = after;
    }
    let within = rest.iter().position(|byte| *byte == 0)?;
    Some(bytes.len() - rest.len() + within)
}

/// Index of the first byte that JSON strings escape: quotation mark, backslash or control character
/// (RFC 8259, section 7).
pub(super) fn find_escaped(bytes: &[u8]) -> Option<usize> {
    let escaped = |byte: &u8| *byte < b' ' || *byte == b'"' || *byte == b'\\';
    let mut words = bytes.chunks_exact(8);
    for (index, word) in words.by_ref().enumerate() {
        let word = u64::from_le_bytes(*word.first_chunk()?);
        let quotes = zeros(word ^ (LOW_BITS * u64::from(b'"')));
        let backslashes = zeros(word ^ (LOW_BITS * u64::from(b'\\')));
        // Subtracting a space borrows from bytes below it.
        let controls = word.wrapping_sub(LOW_BITS * u64::from(b' ')) & !word & HIGH_BITS;
        let found = quotes | backslashes | controls;
        if found != 0 {
            return Some(index * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let rest = words.remainder();
    Some(bytes.len() - rest.len() + rest.iter().position(escaped)?)
}

/// Index of the lowest zero byte; 16 if there is none.
#[inline]
pub(super) fn zero_of_word(word: u128) -> usize {
    const LOW: u128 = u128::from_le_bytes([0x01; 16]);
    const HIGH: u128 = u128::from_le_bytes([0x80; 16]);
    let zeros = word.wrapping_sub(LOW) & !word & HIGH;
    zeros.trailing_zeros() as usize / 8
}

/// Maximum length of a name compared without searching the end of the key.
const SHORT_NAME: usize = 16;

/// The bytes after the key `name` and its zero byte, if `bytes` starts with it and the name is
/// short ASCII text.
///
/// `None` for a name that contains a zero byte, which is never a key.
#[inline]
pub(super) fn strip_short_key<'de>(bytes: &'de [u8], name: &str) -> Option<&'de [u8]> {
    strip_key::<true>(bytes, name)
}

/// [`strip_short_key`] for a name that is known to contain no zero byte.
#[inline]
pub(super) fn strip_short_plain_key<'de>(bytes: &'de [u8], name: &str) -> Option<&'de [u8]> {
    strip_key::<false>(bytes, name)
}

#[inline]
fn strip_key<'de, const MAY_HAVE_ZEROS: bool>(bytes: &'de [u8], name: &str) -> Option<&'de [u8]> {
    let name = name.as_bytes();
    if *bytes.get(name.len())? != 0 {
        return None;
    }
    let (key, after) = (bytes.get(..name.len())?, bytes.get(name.len() + 1..)?);
    same_short_key::<MAY_HAVE_ZEROS>(key, name).then_some(after)
}

/// Whether two texts of the same length are equal, short, and free of zero bytes. May return
/// `false` for text that is not ASCII. Calls no other function, so that callers keep their state in
/// registers.
#[inline]
fn same_short_key<const MAY_HAVE_ZEROS: bool>(key: &[u8], name: &[u8]) -> bool {
    // Two words, which may overlap, cover all bytes.
    if let (Some([left, left_end]), Some([right, right_end])) = (two_words(key), two_words(name)) {
        return key.len() <= SHORT_NAME
            && left == right
            && left_end == right_end
            && (!MAY_HAVE_ZEROS || plain([left, left_end]));
    }
    if let (Some(left), Some(right)) = (two_halves(key), two_halves(name)) {
        return left == right && (!MAY_HAVE_ZEROS || plain([left]));
    }
    // Up to three bytes: the first, the middle and the last.
    match (key.first(), key.get(key.len() / 2), key.last()) {
        (Some(a), Some(b), Some(c)) => {
            name.first() == Some(a)
                && name.get(name.len() / 2) == Some(b)
                && name.last() == Some(c)
                && (!MAY_HAVE_ZEROS || plain([u64::from_le_bytes([*a, *b, *c, 1, 1, 1, 1, 1])]))
        }
        _ => true,
    }
}

/// Whether the words contain no zero byte. May return `false` if they contain bytes above 0x80.
#[inline]
fn plain<const N: usize>(words: [u64; N]) -> bool {
    let borrowed = words.into_iter().map(|word| word.wrapping_sub(LOW_BITS));
    borrowed.fold(0, |all, word| all | word) & HIGH_BITS == 0
}

/// The first and the last eight bytes. `None` for fewer than eight.
#[inline]
fn two_words(bytes: &[u8]) -> Option<[u64; 2]> {
    let first = u64::from_le_bytes(*bytes.first_chunk()?);
    let last = u64::from_le_bytes(*bytes.last_chunk()?);
    Some([first, last])
}

/// Four to eight bytes as one word: the first four and the last four. `None` for fewer than four.
#[inline]
fn two_halves(bytes: &[u8]) -> Option<u64> {
    let first = u32::from_le_bytes(*bytes.first_chunk()?);
    let last = u32::from_le_bytes(*bytes.last_chunk()?);
    Some(u64::from(first) | u64::from(last) << 32)
}

/// The bytes as text, if they are valid UTF-8.
#[inline]
pub(super) fn utf8(bytes: &[u8]) -> Option<&str> {
    // Three times as fast as the standard library, which validates unaligned short text byte by
    // byte.
    if bytes.len() <= SHORT_TEXT
        && let Ok(text) = ascii::AsAsciiStr::as_ascii_str(bytes)
    {
        return Some(text.as_str());
    }
    std::str::from_utf8(bytes).ok()
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "a failed index is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn tags_match_crate_bson() {
        for tag in 0..=u8::MAX {
            assert_eq!(element_type(tag), ElementType::from(tag), "{tag:x}");
        }
    }

    #[test]
    fn the_first_zero_is_found_wherever_it_is() {
        for len in 0..40 {
            assert_eq!(find_zero(&vec![1; len]), None, "{len}");
            for at in 0..len {
                let mut bytes = vec![1; len];
                bytes[at] = 0;
                bytes[len - 1] = 0;
                assert_eq!(find_zero(&bytes), Some(at), "{at} of {len}");
            }
        }
        assert_eq!(find_zero(&[0x80, 0xff, 1, 1, 0x81, 0, 1, 0]), Some(5));
    }

    #[test]
    fn the_first_escaped_byte_is_found_wherever_it_is() {
        let escaped = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
        for byte in 0..=u8::MAX {
            for at in 0..20 {
                let mut bytes = *b"every letter is clean";
                bytes[at] = byte;
                assert_eq!(
                    find_escaped(&bytes),
                    escaped(byte).then_some(at),
                    "{byte} at {at}"
                );
                bytes[20] = b'"';
                let first = if escaped(byte) { at } else { 20 };
                assert_eq!(find_escaped(&bytes), Some(first), "{byte} at {at}, then a mark");
            }
        }
    }

    #[test]
    fn the_zero_byte_of_a_word_is_the_first() {
        assert_eq!(zero_of_word(u128::MAX), 16);
        for at in 0..16 {
            let mut bytes = [1; 16];
            bytes[at] = 0;
            bytes[15] = 0;
            assert_eq!(zero_of_word(u128::from_le_bytes(bytes)), at);
        }
    }

    #[test]
    fn a_key_is_stripped_only_if_it_is_the_whole_key() {
        for name in [
            "",
            "a",
            "ab",
            "abc",
            "four",
            "seventh",
            "eighthly",
            "ninthkeys",
            "sixteen letters.",
        ] {
            let bytes = [name.as_bytes(), b"\0rest"].concat();
            assert_eq!(strip_short_key(&bytes, name), Some(&b"rest"[..]), "{name}");
            assert_eq!(
                strip_short_key(name.as_bytes(), name),
                None,
                "{name} without its end"
            );
            assert_eq!(strip_short_key(&bytes, &format!("{name}x")), None);
            for at in 0..name.len() {
                let mut other = bytes.clone();
                other[at] ^= 1;
                assert_eq!(strip_short_key(&other, name), None, "{name} changed at {at}");
                assert_eq!(strip_short_key(&bytes, &name[..at]), None, "a prefix of {name}");
            }
        }
        assert_eq!(strip_short_key(b"seventeen letters\0", "seventeen letters"), None);
    }

    #[test]
    fn a_name_with_a_zero_byte_never_matches() {
        for name in [
            "\0",
            "a\0b",
            "seven\0s",
            "eight\0ly",
            "a\0word and more",
            "in the en\0d",
        ] {
            let bytes = [name.as_bytes(), b"\0rest"].concat();
            assert_eq!(strip_short_key(&bytes, name), None, "{name:?}");
        }
    }

    #[test]
    fn text_is_validated_as_by_the_standard_library() {
        for len in [0, 1, 7, 8, 31, 33, SHORT_TEXT, SHORT_TEXT + 1, 300] {
            let ascii = vec![b'x'; len];
            assert_eq!(utf8(&ascii), std::str::from_utf8(&ascii).ok());
            for at in 0..len {
                for wrong in [0x80, 0xff, 0xc3] {
                    let mut bytes = ascii.clone();
                    bytes[at] = wrong;
                    assert_eq!(utf8(&bytes), None, "{wrong:x} at {at} of {len}");
                    if let Some(next) = bytes.get_mut(at + 1) {
                        *next = 0xa9;
                        assert_eq!(utf8(&bytes).is_some(), wrong == 0xc3);
                    }
                }
            }
        }
    }
}
