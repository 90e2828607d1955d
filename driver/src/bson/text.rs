//! Hexadecimal and base64 text, which Extended JSON and some serde shapes of BSON types are made
//! of, and the keys of arrays.

use base64::engine::{Engine as _, general_purpose::STANDARD};

/// Decodes exactly `N` bytes of hexadecimal text of either case.
pub(crate) fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if let Some(bytes) = from_lower_hex(text.as_bytes()) {
        return Some(bytes);
    }
    let mut bytes = [0; N];
    hex::decode_to_slice(text, &mut bytes).ok()?;
    Some(bytes)
}

/// Decodes eight lower-case digits at a time. `None` for other text, and if `N` is not a multiple
/// of four.
///
/// Crate bson serializes every ObjectId as such text. Crate hex decodes digit by digit, which takes
/// 200 instructions more per ObjectId: 2 % of an `insert_one`.
#[inline]
fn from_lower_hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    /// The byte in each of the eight bytes of a word.
    const fn all(byte: u8) -> u64 {
        u64::from_le_bytes([byte; 8])
    }
    if digits.len() != N * 2 {
        return None;
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
        // Letters have bit 6 set, and the low bits of 'a' are 1.
        let values = (word & all(0x0F)) + 9 * (word >> 6 & all(1));
        // Encoded again, only digits yield the same word.
        let letters = (values + all(6)) >> 4 & all(1);
        if values & all(0xF0) != 0 || values + all(b'0') + u64::from(b'a' - b'0' - 10) * letters != word {
            return None;
        }
        let [a, _, b, _, c, _, d, _] = (values << 4 | values >> 8).to_le_bytes();
        *place = [a, b, c, d];
    }
    Some(bytes)
}

/// Lower-case hexadecimal text on the stack; `N` is the number of digits.
pub(crate) struct Hex<const N: usize>([u8; N]);

impl<const N: usize> Hex<N> {
    /// The digits of `bytes`, of which there must be `N / 2`; otherwise all digits are zero.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut digits = [b'0'; N];
        let _ = hex::encode_to_slice(bytes, &mut digits);
        Self(digits)
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// Standard base64 with padding (RFC 4648, section 4).
pub(crate) fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Appends the bytes of padded standard base64 to `out`; `None` if the text is malformed.
pub(crate) fn append_base64(text: &str, out: &mut Vec<u8>) -> Option<()> {
    STANDARD.decode_vec(text, out).ok()
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
    fn malformed_base64_is_rejected() {
        for text in [
            "A", "AA", "AAA", "A===", "====", "AA=A", "A\u{e9}A", "Zg", "Zg=", "Z===", "Zh==", "Zm9=",
            "Zm 9", "Zg==Zg==", "Z-_v", "Zm9vé", "Zm9v\n",
        ] {
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
            let text = format!("0{}", char::from(byte));
            assert_eq!(from_hex::<1>(&text), value.map(|value| [value]), "{byte}");
        }
    }

    #[test]
    fn hexadecimal_digits_have_either_case() {
        assert_eq!(from_hex::<3>("00aBFf"), Some([0, 0xab, 0xff]));
        for text in ["", "00aBF", "00aBFfff", "00aBFg", "+1ffff", "é0000"] {
            assert_eq!(from_hex::<3>(text), None, "{text}");
        }
    }

    #[test]
    fn every_digit_of_an_object_id_is_checked() {
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
