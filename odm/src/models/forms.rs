//! Stored forms for fields whose type has none of its own, or another one: types for `#[document(as = …)]`, whose operators the field
//! then has.
//!
//! | type | fields | stored as |
//! |---|---|---|
//! | [`U128`] | `u128` | Binary of 16 bytes, in the order of the numbers |
//! | [`I128`] | `i128` | Binary of 16 bytes, in the order of the numbers |
//! | [`Millis`] | `Duration` | Int64: milliseconds; more precise ones are an error |
//! | [`JavaUuid`] | `uuid::Uuid` | Binary, subtype 3, as the Java driver stored UUIDs |
//! | [`CSharpUuid`] | `uuid::Uuid` | Binary, subtype 3, as the C# driver stored UUIDs |
//! | [`PythonUuid`] | `uuid::Uuid` | Binary, subtype 3, as the Python driver stored UUIDs |
//! | [`DisplayText`] | types with `Display` and `FromStr` | String |
//! | `String` | dates and decimals of other crates | String, in the form of their `Serialize` |
//!
//! Filters and updates take the values of the field's type; for the last two they take text, in the form in which it is stored. An application adds a form by
//! [`StoredAs`]. An `Option` or a `Vec` is stored as one of the form: `as = Option<U128>`.
//!
//! ```
//! use marula::{Document, forms, prelude::*};
//!
//! #[derive(Document)]
//! #[document(collection = "transfers")]
//! struct Transfer {
//!     _id: i64,
//!     #[document(as = forms::U128)]
//!     amount: u128,
//! }
//!
//! let large = Transfer::fields().amount().gt(10_u128.pow(30));
//! # drop(large);
//! ```

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use uuid::Uuid;

use crate::{
    base::{
        bson::{
            Binary, Bson, DecodeError, Document, EncodeError,
            spec::{BinarySubtype, ElementType},
        },
        error::ValueError,
    },
    form::json_schema::{self, OuterTypes},
    path::{
        Mode, Path,
        field::Field,
        marker::{HashedKey, IndexKey, KeysetKey, ListItem, Ordered},
    },
    term::encryption::{EncryptedValue, EqualityValue, RangeValue},
    values::{
        codec::{self, Decode, Encode, StoredAs, Value, Writer},
        value::IntoValue,
    },
};

macro_rules! forms {
    ($($(#[$doc:meta])* $form:ident $t:ty: $schema:literal;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $form($t);

        impl StoredAs<$t> for $form {
            fn store(value: &$t) -> Result<Self, EncodeError> {
                Ok($form(*value))
            }
            fn load(self) -> Result<$t, DecodeError> {
                Ok(self.0)
            }
        }

        impl Field for $form {
            type Nav<R, M: Mode> = Path<R, $form, M>;
            fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
                path
            }
            fn json_schema(_outer: &mut OuterTypes) -> Document {
                json_schema::types(&[$schema])
            }
        }
        impl Ordered for $form {}
        impl KeysetKey for $form {}
        impl IndexKey for $form {}
        impl ListItem for $form {}
        impl HashedKey for $form {}

        impl IntoValue<$form> for $t {
            fn into_value(self) -> Result<Bson, ValueError> {
                codec::to_bson(&$form(self))
            }
        }
        impl IntoValue<$form> for &$t {
            fn into_value(self) -> Result<Bson, ValueError> {
                codec::to_bson(&$form(*self))
            }
        }
        impl IntoValue<Option<$form>> for $t {
            fn into_value(self) -> Result<Bson, ValueError> {
                IntoValue::<$form>::into_value(self)
            }
        }
        impl IntoValue<Option<$form>> for &$t {
            fn into_value(self) -> Result<Bson, ValueError> {
                IntoValue::<$form>::into_value(self)
            }
        }
    )* };
}

forms! {
    /// A `u128`: 16 bytes, the most significant first.
    U128 u128: "binData";
    /// An `i128`: 16 bytes, the most significant first, with the sign inverted, so that negative numbers
    /// come first.
    I128 i128: "binData";
    /// A `Duration` of whole milliseconds.
    Millis Duration: "long";
    /// A UUID as the Java driver stored it: the bytes of each half in reverse.
    JavaUuid Uuid: "binData";
    /// A UUID as the C# driver stored it: the bytes of the first three groups in reverse.
    CSharpUuid Uuid: "binData";
    /// A UUID as the Python driver stored it: with its bytes in their order.
    PythonUuid Uuid: "binData";
}

macro_rules! sixteen_bytes {
    ($($form:ident: $subtype:ident, |$value:ident| $bytes:expr, |$read:ident| $from:expr;)*) => { $(
        impl Encode for $form {
            fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
                let $value = self.0;
                out.binary(BinarySubtype::$subtype, &$bytes)
            }
        }
        impl<'de> Decode<'de> for $form {
            fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
                let $read = bytes(&Binary::decode(value)?, BinarySubtype::$subtype)?;
                Ok($form($from))
            }
        }
    )* };
}

sixteen_bytes! {
    U128: Generic, |n| n.to_be_bytes(), |b| u128::from_be_bytes(b);
    I128: Generic, |n| (n ^ i128::MIN).to_be_bytes(), |b| i128::from_be_bytes(b) ^ i128::MIN;
    JavaUuid: UuidOld, |id| java(id.into_bytes()), |b| Uuid::from_bytes(java(b));
    CSharpUuid: UuidOld, |id| id.to_bytes_le(), |b| Uuid::from_bytes_le(b);
    PythonUuid: UuidOld, |id| id.into_bytes(), |b| Uuid::from_bytes(b);
}

fn bytes(binary: &Binary, subtype: BinarySubtype) -> Result<[u8; 16], DecodeError> {
    match <[u8; 16]>::try_from(&binary.bytes[..]) {
        Ok(bytes) if binary.subtype == subtype => Ok(bytes),
        _ => Err(DecodeError::new(format!(
            "expected 16 bytes of subtype {:?}, found {} of subtype {:?}",
            subtype,
            binary.bytes.len(),
            binary.subtype
        ))),
    }
}

/// The bytes of each half in reverse.
fn java(mut bytes: [u8; 16]) -> [u8; 16] {
    let (first, second) = bytes.split_at_mut(8);
    first.reverse();
    second.reverse();
    bytes
}

impl Encode for Millis {
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        if !self.0.subsec_nanos().is_multiple_of(1_000_000) {
            return Err(EncodeError::new(
                "the duration is not a whole number of milliseconds",
            ));
        }
        match i64::try_from(self.0.as_millis()) {
            Ok(millis) => millis.encode(out),
            Err(_) => Err(EncodeError::new(
                "the duration has more milliseconds than an Int64",
            )),
        }
    }
}

impl EncryptedValue for Millis {
    const BSON_TYPE: &'static str = "long";
}
impl EqualityValue for Millis {}
impl RangeValue for Millis {
    const HAS_FRACTION: bool = false;
}

impl<'de> Decode<'de> for Millis {
    fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
        match u64::try_from(i64::decode(value)?) {
            Ok(millis) => Ok(Millis(Duration::from_millis(millis))),
            Err(_) => Err(DecodeError::new("a duration is not negative")),
        }
    }
}

/// The text of a value: that of its `Display`, which its `FromStr` reads, such as a `url::Url` or an `IpAddr`. Filters and updates
/// take text.
///
/// ```
/// use std::net::IpAddr;
///
/// use marula::{Document, forms::DisplayText, prelude::*};
///
/// #[derive(Document)]
/// #[document(collection = "logins")]
/// struct Login {
///     _id: i64,
///     #[document(as = DisplayText)]
///     from: IpAddr,
/// }
///
/// let local = Login::fields().from().eq("127.0.0.1");
/// assert_eq!(local.to_string(), r#"{"from": {"$eq": "127.0.0.1"}}"#);
/// ```
#[derive(Clone, Debug)]
pub struct DisplayText(String);

impl<T: Display + FromStr<Err: Display>> StoredAs<T> for DisplayText {
    fn store(value: &T) -> Result<Self, EncodeError> {
        Ok(DisplayText(value.to_string()))
    }

    fn load(self) -> Result<T, DecodeError> {
        self.0
            .parse()
            .map_err(|error: T::Err| DecodeError::new(error.to_string()))
    }
}

impl Encode for DisplayText {
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        out.string(&self.0)
    }
}

impl<'de> Decode<'de> for DisplayText {
    fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
        // The kind is checked, so that a number in the database is not read by its digits.
        match value.kind() {
            ElementType::String => String::decode(value).map(DisplayText),
            _ => Err(value.mismatch("a string")),
        }
    }
}

impl ListItem for DisplayText {}

impl Field for DisplayText {
    type Nav<R, M: Mode> = Path<R, String, M>;
    fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
        path.into_type()
    }
    fn json_schema(outer: &mut OuterTypes) -> Document {
        String::json_schema(outer)
    }
}
