//! Vectors and their similarity.

use super::index::Similarity;
use crate::value::number::Number;
use bson::Bson;
use bson::spec::BinarySubtype;

/// The elements of an array of numbers, or of a binary vector of `float32`, `int8` or packed bits.
pub(crate) fn parse(value: &Bson) -> Option<Vec<f64>> {
    match value {
        Bson::Array(items) => items
            .iter()
            .map(|item| Number::from_bson(item).map(Number::to_f64))
            .collect(),
        Bson::Binary(binary) if binary.subtype == BinarySubtype::Vector => match binary.bytes.as_slice() {
            [0x27, 0, floats @ ..] if floats.len() % 4 == 0 => Some(
                floats
                    .chunks_exact(4)
                    .map(|bytes| f64::from(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])))
                    .collect(),
            ),
            [0x03, 0, bytes @ ..] => Some(bytes.iter().map(|byte| f64::from(byte.cast_signed())).collect()),
            [0x10, padding @ 0..=7, bytes @ ..] => {
                let bits = bytes
                    .iter()
                    .flat_map(|byte| (0..8).map(move |place| byte << place & 0x80 != 0));
                let count = (bytes.len() * 8).saturating_sub(usize::from(*padding));
                Some(bits.take(count).map(|bit| f64::from(u8::from(bit))).collect())
            }
            _ => None,
        },
        _ => None,
    }
}

/// The score of two vectors of the same length, from 0 to 1 for normalized vectors.
pub(crate) fn score(similarity: Similarity, one: &[f64], other: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    match similarity {
        Similarity::DotProduct => f64::midpoint(1.0, dot(one, other)),
        Similarity::Cosine => {
            let lengths = (dot(one, one) * dot(other, other)).sqrt();
            let cosine = if lengths == 0.0 {
                0.0
            } else {
                dot(one, other) / lengths
            };
            f64::midpoint(1.0, cosine)
        }
        Similarity::Euclidean => {
            let squares = one.iter().zip(other).map(|(a, b)| (a - b) * (a - b));
            1.0 / (1.0 + squares.sum::<f64>().sqrt())
        }
    }
}
