//! Mutates well-formed inputs.

use super::Random;

/// Boundary values of lengths and numbers.
const NUMBERS: [i32; 12] = [0, 1, 4, 5, -1, -5, 127, 128, 255, 65_536, i32::MAX, i32::MIN];

/// Tokens of the formats of the parsers.
const PIECES: [&[u8]; 24] = [
    b"%",
    b"%40",
    b"@",
    b":",
    b",",
    b"/",
    b"?",
    b"&",
    b"=",
    b"[::1]",
    b"mongodb+srv://",
    b"\0",
    b"\"$",
    b"{\"$numberDecimal\":\"",
    b"{\"$date\":",
    b"}",
    b"]",
    b"\\u0000",
    b"\\ud800",
    b"1e999",
    b"NaN",
    b"\xff",
    b"\xf0\x9f\x92\xa9",
    b"NumberLong",
];

/// Changes `input` in one to six places, sometimes with a part of `other`.
pub fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..=random.below(6) {
        let at = random.below(input.len() + 1);
        match random.below(9) {
            0 => input.insert(at, random.number() as u8),
            1 if at < input.len() => drop(input.remove(at)),
            2 => input.truncate(at),
            3 | 4 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            5 => {
                let number = random.pick(&NUMBERS).copied().unwrap_or_default();
                if let Some(place) = input.get_mut(at..at + 4) {
                    place.copy_from_slice(&number.to_le_bytes());
                }
            }
            6 => {
                let piece = random.pick(&PIECES).copied().unwrap_or_default();
                input.splice(at..at, piece.iter().copied());
            }
            7 => {
                let start = random.below(other.len() + 1);
                let end = start + random.below(other.len() - start + 1);
                let piece = other.get(start..end).unwrap_or_default().to_vec();
                input.splice(at..at, piece);
            }
            // Repeats a part, which gives deep nesting and many fields.
            _ => {
                let end = (at + random.below(32)).min(input.len());
                let piece = input
                    .get(at..end)
                    .unwrap_or_default()
                    .repeat(1 + random.below(40));
                input.splice(at..at, piece);
            }
        }
    }
    input.truncate(1 << 16);
}
