//! Numbers of any BSON type: "drivers MUST be able to handle existing GridFS files where the length
//! and chunkSize fields might have been stored using a different numeric data type".

use crate::bson::{Bson, RawBsonRef};

/// The largest integer up to which a Double represents all integers.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// The value of a number without a fraction, of any type.
pub(super) fn integer(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(number) => Some(i64::from(*number)),
        Bson::Int64(number) => Some(*number),
        Bson::Double(number) => from_double(*number),
        Bson::Decimal128(number) => from_double(number.to_string().parse().ok()?),
        _ => None,
    }
}

/// As [`integer`].
pub(super) fn raw_integer(value: RawBsonRef<'_>) -> Option<i64> {
    match value {
        RawBsonRef::Int32(number) => Some(i64::from(number)),
        RawBsonRef::Int64(number) => Some(number),
        RawBsonRef::Double(number) => from_double(number),
        RawBsonRef::Decimal128(number) => from_double(number.to_string().parse().ok()?),
        _ => None,
    }
}

fn from_double(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() <= MAX_EXACT).then_some(number as i64)
}
