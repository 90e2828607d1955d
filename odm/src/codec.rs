//! Stored forms for fields whose type has none of its own, or another one: a module for
//! `#[serde(with = "…")]`, and a type for `#[document(as = …)]`, whose operators the field then has.
//!
//! | module | type | fields | stored as |
//! |---|---|---|---|
//! | [`u128`](mod@u128) | [`U128`] | `u128` | Binary of 16 bytes, in the order of the numbers |
//! | [`i128`](mod@i128) | [`I128`] | `i128` | Binary of 16 bytes, in the order of the numbers |
//! | [`duration`] | [`Millis`] | `Duration` | Int64: milliseconds; more precise ones are an error |
//! | [`uuid_java`] | [`JavaUuid`] | `uuid::Uuid` | Binary, subtype 3, as the Java driver stored UUIDs |
//! | [`uuid_csharp`] | [`CSharpUuid`] | `uuid::Uuid` | Binary, subtype 3, as the C# driver stored UUIDs |
//! | [`uuid_python`] | [`PythonUuid`] | `uuid::Uuid` | Binary, subtype 3, as the Python driver stored UUIDs |
//!
//! Filters and updates take the values of the field's type. Formats for humans, such as JSON, have the
//! form of the type itself. The fields cannot be flattened, or be in enums with `tag` or `untagged`.
//!
//! ```
//! use marula::{Document, codec, prelude::*};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Document, Serialize, Deserialize)]
//! #[document(collection = "transfers")]
//! struct Transfer {
//!     _id: i64,
//!     #[serde(with = "codec::u128")]
//!     #[document(as = codec::U128)]
//!     amount: u128,
//! }
//!
//! let large = Transfer::fields().amount().gt(10_u128.pow(30));
//! # drop(large);
//! ```

use std::time::Duration;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bson::spec::BinarySubtype;
use crate::bson::{Binary, Bson, Document};
use crate::error::ValueError;
use crate::json_schema::{self, OuterTypes};
use crate::path::field::Field;
use crate::path::marker::{HashedKey, IndexKey, KeysetKey, Ordered};
use crate::path::{Mode, Path};
use crate::value::IntoValue;

macro_rules! codecs {
    ($($(#[$doc:meta])* $module:ident $marker:ident $t:ty: $schema:literal, $encode:expr, $stored:ty, $decode:expr;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $marker(());

        impl Field for $marker {
            type Nav<R, M: Mode> = Path<R, $marker, M>;
            fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
                path
            }
            fn json_schema(_outer: &mut OuterTypes) -> Document {
                json_schema::types(&[$schema])
            }
        }
        impl Ordered for $marker {}
        impl KeysetKey for $marker {}
        impl IndexKey for $marker {}
        impl HashedKey for $marker {}

        impl IntoValue<$marker> for $t {
            fn into_value(self) -> Result<Bson, ValueError> {
                $encode(self)
            }
        }
        impl IntoValue<$marker> for &$t {
            fn into_value(self) -> Result<Bson, ValueError> {
                $encode(*self)
            }
        }

        $(#[$doc])*
        pub mod $module {
            use super::*;

            /// Writes the stored form; in a format for humans that of the type itself.
            ///
            /// ```
            /// # #[allow(unused_imports)] use std::time::Duration;
            /// #[derive(serde::Serialize)]
            /// struct Stored {
            #[doc = concat!("    #[serde(serialize_with = \"marula::codec::", stringify!($module), "::serialize\")]")]
            #[doc = concat!("    value: ", stringify!($t), ",")]
            /// }
            /// ```
            ///
            /// # Errors
            /// The value has no stored form.
            pub fn serialize<S: Serializer>(value: &$t, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    return value.serialize(serializer);
                }
                // As an optional value: the encoder stores 16 bytes as a UUID if their `Serialize` has asked
                // whether the format is for humans, and asks each value again.
                serializer.serialize_some(&$encode(*value).map_err(S::Error::custom)?)
            }

            /// Reads the stored form; in a format for humans that of the type itself.
            ///
            /// ```
            /// # #[allow(unused_imports)] use std::time::Duration;
            /// #[derive(serde::Deserialize)]
            /// struct Stored {
            #[doc = concat!("    #[serde(deserialize_with = \"marula::codec::", stringify!($module), "::deserialize\")]")]
            #[doc = concat!("    value: ", stringify!($t), ",")]
            /// }
            /// ```
            ///
            /// # Errors
            /// The stored value has another form.
            pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<$t, D::Error> {
                if deserializer.is_human_readable() {
                    return <$t>::deserialize(deserializer);
                }
                let stored = <$stored>::deserialize(deserializer)?;
                $decode(stored).map_err(D::Error::custom)
            }
        }
    )* };
}

codecs! {
    /// A `u128`: 16 bytes, the most significant first.
    u128 U128 u128: "binData",
        |n: u128| sixteen(BinarySubtype::Generic, n.to_be_bytes()),
        Binary, |b| Ok::<_, String>(u128::from_be_bytes(bytes(&b, BinarySubtype::Generic)?));
    /// An `i128`: 16 bytes, the most significant first, with the sign inverted, so that negative numbers
    /// come first.
    i128 I128 i128: "binData",
        |n: i128| sixteen(BinarySubtype::Generic, (n ^ i128::MIN).to_be_bytes()),
        Binary, |b| Ok::<_, String>(i128::from_be_bytes(bytes(&b, BinarySubtype::Generic)?) ^ i128::MIN);
    /// A `Duration` of whole milliseconds.
    duration Millis Duration: "long",
        millis,
        i64, |n: i64| u64::try_from(n).map(Duration::from_millis).map_err(|_| "a duration is not negative".to_owned());
    /// A UUID as the Java driver stored it: the bytes of each half in reverse.
    uuid_java JavaUuid uuid::Uuid: "binData",
        |id: uuid::Uuid| sixteen(BinarySubtype::UuidOld, java(id.into_bytes())),
        Binary, |b| bytes(&b, BinarySubtype::UuidOld).map(|b| uuid::Uuid::from_bytes(java(b)));
    /// A UUID as the C# driver stored it: the bytes of the first three groups in reverse.
    uuid_csharp CSharpUuid uuid::Uuid: "binData",
        |id: uuid::Uuid| sixteen(BinarySubtype::UuidOld, id.to_bytes_le()),
        Binary, |b| bytes(&b, BinarySubtype::UuidOld).map(uuid::Uuid::from_bytes_le);
    /// A UUID as the Python driver stored it: with its bytes in their order.
    uuid_python PythonUuid uuid::Uuid: "binData",
        |id: uuid::Uuid| sixteen(BinarySubtype::UuidOld, id.into_bytes()),
        Binary, |b| bytes(&b, BinarySubtype::UuidOld).map(uuid::Uuid::from_bytes);
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of all encoders")]
fn sixteen(subtype: BinarySubtype, bytes: [u8; 16]) -> Result<Bson, ValueError> {
    Ok(Bson::Binary(Binary {
        subtype,
        bytes: bytes.to_vec(),
    }))
}

fn bytes(binary: &Binary, subtype: BinarySubtype) -> Result<[u8; 16], String> {
    match <[u8; 16]>::try_from(&binary.bytes[..]) {
        Ok(bytes) if binary.subtype == subtype => Ok(bytes),
        _ => Err(format!(
            "expected 16 bytes of subtype {:?}, found {} of subtype {:?}",
            subtype,
            binary.bytes.len(),
            binary.subtype
        )),
    }
}

/// The bytes of each half in reverse.
fn java(mut bytes: [u8; 16]) -> [u8; 16] {
    let (first, second) = bytes.split_at_mut(8);
    first.reverse();
    second.reverse();
    bytes
}

fn millis(duration: Duration) -> Result<Bson, ValueError> {
    if !duration.subsec_nanos().is_multiple_of(1_000_000) {
        return Err(ValueError::new(
            "the duration is not a whole number of milliseconds",
        ));
    }
    i64::try_from(duration.as_millis())
        .map(Bson::Int64)
        .map_err(|_| ValueError::new("the duration has more milliseconds than an Int64"))
}
