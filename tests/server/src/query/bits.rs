//! The bitwise query operators `$bitsAllSet`, `$bitsAllClear`, `$bitsAnySet` and `$bitsAnyClear`.

use crate::error::{Error, Result};
use crate::value::number::Number;
use bson::Bson;

/// Bit positions, and whether all or any of them must be set or clear.
#[derive(Debug, Clone)]
pub(crate) struct Bits {
    positions: Vec<u32>,
    set: bool,
    all: bool,
}

impl Bits {
    /// Parses a bitmask: a non-negative integer, binary data, or an array of positions.
    pub(crate) fn parse(operator: &str, mask: &Bson) -> Result<Bits> {
        let positions = match mask {
            Bson::Array(items) => items
                .iter()
                .map(|item| {
                    Number::from_bson(item)
                        .and_then(Number::to_exact_i64)
                        .and_then(|position| u32::try_from(position).ok())
                        .ok_or_else(|| {
                            Error::bad_value(format!(
                                "Failed to parse bit position. Expected a non-negative number in: {operator}: {item}"
                            ))
                        })
                })
                .collect::<Result<Vec<u32>>>()?,
            Bson::Binary(binary) => {
                (0..binary.bytes.len() as u32 * 8).filter(|position| bit(&binary.bytes, *position)).collect()
            }
            other => {
                let number = Number::from_bson(other)
                    .ok_or_else(|| {
                        Error::bad_value(format!(
                            "{operator} takes an Array, a number, or a BinData but received: {operator}: {other}"
                        ))
                    })?
                    .to_exact_i64()
                    .filter(|number| *number >= 0)
                    .ok_or_else(|| {
                        Error::failed_to_parse(format!("Expected a non-negative integer in: {operator}: {other}"))
                    })?;
                (0..63).filter(|position| number >> position & 1 == 1).collect()
            }
        };
        Ok(Bits {
            positions,
            set: operator.ends_with("Set"),
            all: operator.starts_with("$bitsAll"),
        })
    }

    /// Returns whether a value matches. Values other than integers and binary data never match.
    pub(crate) fn matches(&self, value: &Bson) -> bool {
        let is_set: Box<dyn Fn(u32) -> bool + '_> = match value {
            Bson::Binary(binary) => Box::new(|position| bit(&binary.bytes, position)),
            other => match Number::from_bson(other).and_then(Number::to_exact_i64) {
                // Positions beyond bit 63 have the value of the sign bit.
                Some(number) => Box::new(move |position| number >> position.min(63) & 1 == 1),
                None => return false,
            },
        };
        let mut answers = self
            .positions
            .iter()
            .map(|position| is_set(*position) == self.set);
        if self.all {
            answers.all(|yes| yes)
        } else {
            answers.any(|yes| yes)
        }
    }
}

fn bit(bytes: &[u8], position: u32) -> bool {
    bytes
        .get(position as usize / 8)
        .is_some_and(|byte| byte >> (position % 8) & 1 == 1)
}
