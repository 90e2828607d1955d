//! Dates, decimals and JSON of the standard library and of other crates as fields; see
//! [`path::field`](crate::path::field).

mod date;
mod kinds;
mod system_time;

#[cfg(feature = "chrono")]
mod chrono;
#[cfg(feature = "jiff")]
mod jiff;
#[cfg(feature = "time")]
mod time;

#[cfg(feature = "serde_json")]
mod json;

#[cfg(feature = "bigdecimal")]
mod bigdecimal;
#[cfg(any(feature = "bigdecimal", feature = "rust_decimal"))]
mod digits;
#[cfg(feature = "rust_decimal")]
mod rust_decimal;
