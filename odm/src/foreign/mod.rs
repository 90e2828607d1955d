//! Dates and decimals of the standard library and of other crates as fields without an attribute,
//! each behind the feature with the name of its crate.
//!
//! | type | feature | stored as |
//! |---|---|---|
//! | [`SystemTime`](std::time::SystemTime) | | Date; not before 1970 |
//! | `chrono::DateTime<Utc>` | `chrono` | Date |
//! | `chrono::NaiveDate` | `chrono` | Date: midnight in UTC |
//! | `time::OffsetDateTime` | `time` | Date; read with the offset of UTC |
//! | `time::Date` | `time` | Date: midnight in UTC |
//! | `jiff::Timestamp` | `jiff` | Date |
//! | `jiff::civil::Date` | `jiff` | Date: midnight in UTC |
//! | `rust_decimal::Decimal` | `rust_decimal` | Decimal128 |
//! | `bigdecimal::BigDecimal` | `bigdecimal` | Decimal128 |
//!
//! A BSON date has milliseconds: a more precise time is stored as the millisecond in which it is. A
//! value that the other type cannot represent is an error that names the field, in both directions:
//! nothing is rounded. Other formats, such as JSON, use the `Serialize` and `Deserialize` of the
//! type itself.
//!
//! These types have the operators of [`bson::DateTime`](crate::bson::DateTime) and
//! [`bson::Decimal128`](crate::bson::Decimal128), and accept their values.
//!
//! A value inside of a type with `#[serde(into = "…")]`, and inside of a type that does not derive
//! [`Embedded`](derive@crate::Embedded), is stored as its `Serialize` writes it.

mod date;
mod kinds;
mod system_time;

#[cfg(feature = "chrono")]
mod chrono;
#[cfg(feature = "jiff")]
mod jiff;
#[cfg(feature = "time")]
mod time;

#[cfg(feature = "bigdecimal")]
mod bigdecimal;
#[cfg(any(feature = "bigdecimal", feature = "rust_decimal"))]
mod digits;
#[cfg(feature = "rust_decimal")]
mod rust_decimal;
