//! Arithmetic on the four numeric types with the server's widening rules: int, long, double,
//! decimal.

use super::decimal::Decimal;
use bson::Bson;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Number {
    Int(i32),
    Long(i64),
    Double(f64),
    Decimal(Decimal),
}

impl Number {
    /// Returns the number, or `None` for any other type.
    pub(crate) fn from_bson(value: &Bson) -> Option<Number> {
        match value {
            Bson::Int32(value) => Some(Number::Int(*value)),
            Bson::Int64(value) => Some(Number::Long(*value)),
            Bson::Double(value) => Some(Number::Double(*value)),
            Bson::Decimal128(value) => Some(Number::Decimal(Decimal::from_bson(value))),
            _ => None,
        }
    }

    pub(crate) fn to_bson(self) -> Bson {
        match self {
            Number::Int(value) => Bson::Int32(value),
            Number::Long(value) => Bson::Int64(value),
            Number::Double(value) => Bson::Double(value),
            Number::Decimal(value) => Bson::Decimal128(value.to_bson()),
        }
    }

    /// Converts to a decimal. Doubles are rounded to 15 digits, as on the server.
    pub(crate) fn to_decimal(self) -> Decimal {
        match self {
            Number::Int(value) => Decimal::from_i64(i64::from(value)),
            Number::Long(value) => Decimal::from_i64(value),
            Number::Double(value) => Decimal::from_f64(value, 15),
            Number::Decimal(value) => value,
        }
    }

    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Number::Int(value) => f64::from(value),
            Number::Long(value) => value as f64,
            Number::Double(value) => value,
            Number::Decimal(value) => value.to_f64(),
        }
    }

    /// Returns the value as a long if it is integral and in range.
    pub(crate) fn to_exact_i64(self) -> Option<i64> {
        match self {
            Number::Int(value) => Some(i64::from(value)),
            Number::Long(value) => Some(value),
            Number::Double(value) => {
                (value.fract() == 0.0 && (-9.3e18..9.3e18).contains(&value) && in_i64_range(value))
                    .then_some(value as i64)
            }
            Number::Decimal(value) => value.is_integral().then(|| value.truncate_to_i64())?,
        }
    }

    /// Returns the integer part as a long, saturated at the bounds. NaN is 0.
    pub(crate) fn to_saturated_i64(self) -> i64 {
        match self {
            Number::Int(value) => i64::from(value),
            Number::Long(value) => value,
            Number::Double(value) => value as i64,
            Number::Decimal(value) => value.truncate_to_i64().unwrap_or_else(|| value.to_f64() as i64),
        }
    }

    /// Applies an operation in the wider type of the two operands. Returns `None` if a long
    /// overflows.
    fn combine(
        self,
        other: Number,
        longs: fn(i64, i64) -> Option<i64>,
        doubles: fn(f64, f64) -> f64,
        decimals: fn(Decimal, Decimal) -> Decimal,
    ) -> Option<Number> {
        Some(match (self, other) {
            (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
                Number::Decimal(decimals(self.to_decimal(), other.to_decimal()))
            }
            (Number::Double(_), _) | (_, Number::Double(_)) => {
                Number::Double(doubles(self.to_f64(), other.to_f64()))
            }
            (Number::Int(a), Number::Int(b)) => {
                let value = longs(i64::from(a), i64::from(b))?;
                i32::try_from(value).map_or(Number::Long(value), Number::Int)
            }
            (Number::Int(a), Number::Long(b)) => Number::Long(longs(i64::from(a), b)?),
            (Number::Long(a), Number::Int(b)) => Number::Long(longs(a, i64::from(b))?),
            (Number::Long(a), Number::Long(b)) => Number::Long(longs(a, b)?),
        })
    }

    /// Returns `None` if a long overflows.
    pub(crate) fn add(self, other: Number) -> Option<Number> {
        self.combine(other, i64::checked_add, |a, b| a + b, Decimal::add)
    }

    /// Returns `None` if a long overflows.
    pub(crate) fn multiply(self, other: Number) -> Option<Number> {
        self.combine(other, i64::checked_mul, |a, b| a * b, Decimal::multiply)
    }

    /// Returns `None` if a long overflows.
    pub(crate) fn subtract(self, other: Number) -> Option<Number> {
        self.combine(other, i64::checked_sub, |a, b| a - b, |a, b| a.add(b.negate()))
    }

    /// Adds as in aggregation: a long that overflows becomes a double.
    pub(crate) fn add_widening(self, other: Number) -> Number {
        self.add(other)
            .unwrap_or_else(|| Number::Double(self.to_f64() + other.to_f64()))
    }
}

/// Returns whether a double is within the range of a long.
pub(crate) fn in_i64_range(value: f64) -> bool {
    (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(a: impl Into<Bson>, b: impl Into<Bson>) -> Option<Bson> {
        let number = |value: Bson| Number::from_bson(&value).unwrap();
        number(a.into()).add(number(b.into())).map(Number::to_bson)
    }

    #[test]
    fn ints_widen_to_longs() {
        assert_eq!(add(1, 2), Some(Bson::Int32(3)));
        assert_eq!(add(i32::MAX, 1), Some(Bson::Int64(2_147_483_648)));
        assert_eq!(add(1, 2_i64), Some(Bson::Int64(3)));
        assert_eq!(add(i64::MAX, 1), None);
    }

    #[test]
    fn doubles_and_decimals_are_wider_than_integers() {
        assert_eq!(add(1, 0.5), Some(Bson::Double(1.5)));
        let decimal: bson::Decimal128 = "0.2".parse().unwrap();
        assert_eq!(add(1, decimal).unwrap().to_string(), "1.2");
    }

    #[test]
    fn exact_longs() {
        assert_eq!(Number::Double(5.0).to_exact_i64(), Some(5));
        assert_eq!(Number::Double(5.5).to_exact_i64(), None);
        assert_eq!(Number::Double(f64::NAN).to_exact_i64(), None);
        assert_eq!(Number::Double(9.3e18).to_exact_i64(), None);
    }
}
