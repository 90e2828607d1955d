//! Hexadecimal and base64 text, which serde forms of some BSON types are made of.

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The value of each byte that is a hexadecimal digit; others have bits that no value has.
const NIBBLES: [u8; 256] = nibbles();

const NO_DIGIT: u8 = 0xF0;

#[allow(
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, which would refuse"
)]
const fn nibbles() -> [u8; 256] {
    let mut table = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 16 {
        table[b"0123456789abcdef"[value] as usize] = value as u8;
        table[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    table
}

fn nibble(digit: u8) -> u8 {
    NIBBLES.get(usize::from(digit)).copied().unwrap_or(NO_DIGIT)
}

/// Decodes exactly `N` bytes of hexadecimal text.
pub(crate) fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != N * 2 {
        return None;
    }
    if let Some(bytes) = from_lower_hex(digits) {
        return Some(bytes);
    }
    let mut bytes = [0; N];
    // What is no digit shows in the end, so that the loop has no branches.
    let mut all = 0;
    for (slot, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        let (high, low) = (nibble(*high), nibble(*low));
        all |= high | low;
        *slot = high << 4 | low;
    }
    (all & NO_DIGIT == 0).then_some(bytes)
}

/// Decodes eight lower-case digits at a time, as crate bson writes them; `None` for all other text and when `N` is not a
/// multiple of four.
#[inline]
fn from_lower_hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    /// A byte in each of the eight bytes of a word.
    const fn all(byte: u8) -> u64 {
        u64::from_le_bytes([byte; 8])
    }
    let (words, []) = digits.as_chunks::<8>() else {
        return None;
    };
    let mut bytes = [0; N];
    let (places, []) = bytes.as_chunks_mut::<4>() else {
        return None;
    };
    for (place, word) in places.iter_mut().zip(words) {
        let word = u64::from_le_bytes(*word);
        // Letters have bit 6, and 'a' ends in 1.
        let values = (word & all(0x0F)) + 9 * (word >> 6 & all(1));
        // Only digits come out again from their values.
        let letters = (values + all(6)) >> 4 & all(1);
        if values & all(0xF0) != 0 || values + all(b'0') + u64::from(b'a' - b'0' - 10) * letters != word {
            return None;
        }
        let [a, _, b, _, c, _, d, _] = (values << 4 | values >> 8).to_le_bytes();
        *place = [a, b, c, d];
    }
    Some(bytes)
}

fn hex_digit(nibble: u8) -> u8 {
    if nibble < 10 {
        b'0' + nibble
    } else {
        b'a' + nibble - 10
    }
}

/// Hexadecimal text held on the stack; `N` is the number of digits.
pub(crate) struct Hex<const N: usize>([u8; N]);

impl<const N: usize> Hex<N> {
    /// The digits of as many of the bytes as fit.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut digits = [b'0'; N];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
            if let [high, low] = pair {
                *high = hex_digit(byte >> 4);
                *low = hex_digit(byte & 15);
            }
        }
        Self(digits)
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

fn sextet(value: u32) -> char {
    let index = usize::try_from(value & 63).unwrap_or_default();
    char::from(BASE64.get(index).copied().unwrap_or(b'='))
}

/// Standard base64 with padding.
pub(crate) fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let (group, digits) = match *chunk {
            [a, b, c] => (u32::from(a) << 16 | u32::from(b) << 8 | u32::from(c), 4),
            [a, b] => (u32::from(a) << 16 | u32::from(b) << 8, 3),
            [a] => (u32::from(a) << 16, 2),
            _ => continue,
        };
        for digit in 0..4 {
            text.push(if digit < digits {
                sextet(group >> (18 - 6 * digit))
            } else {
                '='
            });
        }
    }
    text
}

fn from_sextet(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

/// Appends the bytes of padded standard base64 to `out`; `None` when the text is not that.
pub(crate) fn append_base64(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(4) {
        return None;
    }
    let body = match digits {
        [body @ .., b'=', b'='] | [body @ .., b'='] => body,
        _ => digits,
    };
    out.reserve(body.len() / 4 * 3 + 2);
    for chunk in body.chunks(4) {
        let mut group = 0;
        for digit in chunk {
            group = group << 6 | from_sextet(*digit)?;
        }
        let [_, a, b, c] = (group << (6 * (4 - chunk.len()))).to_be_bytes();
        match chunk.len() {
            4 => out.extend_from_slice(&[a, b, c]),
            3 => out.extend_from_slice(&[a, b]),
            2 => out.push(a),
            _ => return None,
        }
    }
    Some(())
}

/// Decimal digits held on the stack, for the keys of arrays.
///
/// ```
/// use marula_driver::bson::IndexKey;
///
/// assert_eq!(IndexKey::new(1204).as_str(), "1204");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct IndexKey {
    digits: [u8; 20],
    start: usize,
}

impl IndexKey {
    /// The key of the array element at `index`.
    #[inline]
    #[must_use]
    pub fn new(index: usize) -> Self {
        let mut digits = [b'0'; 20];
        let mut rest = index;
        let mut start = digits.len();
        for slot in digits.iter_mut().rev() {
            *slot = b'0' + u8::try_from(rest % 10).unwrap_or_default();
            rest /= 10;
            start -= 1;
            if rest == 0 {
                break;
            }
        }
        Self { digits, start }
    }

    /// The digits as bytes.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.digits.get(self.start..).unwrap_or_default()
    }

    /// The digits as text.
    #[inline]
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_round_trips_at_every_remainder() {
        for len in 0..70_u8 {
            let bytes: Vec<u8> = (0..len).map(|i| i.wrapping_mul(37)).collect();
            let mut back = Vec::new();
            append_base64(&to_base64(&bytes), &mut back).unwrap();
            assert_eq!(back, bytes);
        }
        assert_eq!(to_base64(b"light w"), "bGlnaHQgdw==");
    }

    #[test]
    fn base64_rejects_what_it_never_writes() {
        for text in ["A", "AA", "AAA", "A===", "====", "AA=A", "A\u{e9}A"] {
            assert!(append_base64(text, &mut Vec::new()).is_none(), "{text}");
        }
    }

    #[test]
    fn hex_round_trips() {
        assert_eq!(Hex::<6>::new(&[0x0a, 0xff, 0x31]).as_str(), "0aff31");
        assert_eq!(from_hex::<3>("0AfF31"), Some([0x0a, 0xff, 0x31]));
        assert_eq!(from_hex::<3>("0aff3"), None);
        assert_eq!(from_hex::<1>("g0"), None);
        for byte in 0..=u8::MAX {
            let value = char::from(byte)
                .to_digit(16)
                .and_then(|value| u8::try_from(value).ok());
            assert_eq!(nibble(byte), value.unwrap_or(NO_DIGIT), "{byte}");
            let text = format!("0{}", char::from(byte));
            assert_eq!(from_hex::<1>(&text), value.map(|value| [value]), "{byte}");
        }
    }

    #[test]
    fn long_hex_takes_any_case_and_nothing_else() {
        let (lower, upper) = ("0123456789abcdefdeadbeef", "0123456789ABCDEFdeadBEEF");
        let bytes = [
            0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xde, 0xad, 0xbe, 0xef,
        ];
        assert_eq!(from_lower_hex(lower.as_bytes()), Some(bytes));
        assert_eq!(from_lower_hex::<12>(upper.as_bytes()), None);
        assert_eq!((from_hex(lower), from_hex(upper)), (Some(bytes), Some(bytes)));
        for place in 0..24 {
            for byte in 0..128_u8 {
                let digit = char::from(byte);
                let (before, after) = lower.split_at(place);
                let text = format!("{before}{digit}{}", &after[1..]);
                let digit = digit.to_digit(16).and_then(|value| u8::try_from(value).ok());
                let mut expected = bytes;
                if let (Some(value), Some(slot)) = (digit, expected.get_mut(place / 2)) {
                    *slot = if place % 2 == 0 {
                        *slot & 0x0F | value << 4
                    } else {
                        *slot & 0xF0 | value
                    };
                }
                assert_eq!(
                    from_hex::<12>(&text),
                    digit.map(|_| expected),
                    "{byte} at {place}"
                );
            }
        }
    }

    #[test]
    fn index_keys_are_decimal() {
        for index in [0, 9, 10, 99, 100, 65_536, usize::MAX] {
            assert_eq!(IndexKey::new(index).as_str(), index.to_string());
        }
    }
}
