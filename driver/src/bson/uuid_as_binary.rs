//! `uuid::Uuid` in flattened structs and in tagged or untagged enums, with `#[serde(with = "…")]`.
//!
//! Serde buffers the content of such types in a form that `uuid::Uuid` does not read; see the
//! [module](super#flattened-fields-and-tagged-enums). For fields of type `Uuid`, `Option<Uuid>` or
//! `Vec<Uuid>`. The stored form is the same as without this module: Binary subtype 4, and text in
//! human-readable formats such as JSON.
//!
//! Accepted forms:
//!
//! | read | Binary subtype 4 | String with the text of a UUID | other types and subtypes |
//! |---|---|---|---|
//! | from BSON, not through serde's buffer | yes | no | no |
//! | from BSON, through serde's buffer | yes | yes | no |
//! | from a human-readable format | – | yes | no |
//!
//! Serde's buffer does not state which format it was filled from, and holds map keys and values in
//! the same form. A String is therefore accepted in flattened structs and in tagged and untagged
//! enums.
//!
//! # Stored as a String
//!
//! Serde also buffers some values before it writes them: the tuple and struct variants of an
//! externally tagged enum (serde's default) that is flattened, or that is the content of a newtype
//! variant of an internally tagged enum. The buffer requests the human-readable form, so that a
//! `uuid::Uuid` is stored as a String there, with this module and without it. Use
//! [`Uuid`](super::Uuid) for Binary subtype 4.
//!
//! ```
//! use marula_driver::bson::{from_slice, to_vec, uuid_as_binary};
//! use serde::{Deserialize, Serialize};
//! use uuid::Uuid;
//!
//! #[derive(Serialize, Deserialize, PartialEq, Debug)]
//! #[serde(tag = "kind")]
//! enum Payment {
//!     Invoice {
//!         #[serde(with = "uuid_as_binary")]
//!         number: Uuid,
//!     },
//! }
//!
//! let payment = Payment::Invoice { number: Uuid::from_u128(7) };
//! assert_eq!(from_slice::<Payment>(&to_vec(&payment)?)?, payment);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};
use uuid::Uuid;

use super::{Binary, BinarySubtype, Bson};

/// Serializes UUIDs as their own `Serialize` does: Binary subtype 4 in BSON, with [one
/// exception](self#stored-as-a-string).
///
/// # Errors
/// Those of the serializer.
pub fn serialize<T: UuidField, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.serialize(serializer)
}

/// Deserializes UUIDs from Binary subtype 4, and from text in human-readable formats and [serde's
/// buffer](self).
///
/// # Errors
/// If the value is of another type or subtype.
pub fn deserialize<'de, T: UuidField, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::read(deserializer)
}

/// The types that this module serializes.
pub trait UuidField: Serialize + sealed::Read {}

mod sealed {
    use serde::Deserializer;

    pub trait Read: Sized {
        fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
    }
}

/// A UUID read by way of a [`Bson`], in which the subtype is known.
struct Stored(Uuid);

impl<'de> Deserialize<'de> for Stored {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let human_readable = deserializer.is_human_readable();
        let uuid = match Bson::deserialize(deserializer)? {
            Bson::Binary(Binary {
                subtype: BinarySubtype::Uuid,
                bytes,
            }) => Uuid::from_slice(&bytes).ok(),
            Bson::String(text) if human_readable => Uuid::try_parse(&text).ok(),
            _ => None,
        };
        uuid.map(Stored)
            .ok_or_else(|| D::Error::custom("expected a UUID, which is Binary subtype 4"))
    }
}

impl sealed::Read for Uuid {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Stored::deserialize(deserializer).map(|stored| stored.0)
    }
}

impl sealed::Read for Option<Uuid> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Option::<Stored>::deserialize(deserializer)?;
        Ok(stored.map(|stored| stored.0))
    }
}

impl sealed::Read for Vec<Uuid> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Vec::<Stored>::deserialize(deserializer)?;
        Ok(stored.into_iter().map(|stored| stored.0).collect())
    }
}

impl UuidField for Uuid {}
impl UuidField for Option<Uuid> {}
impl UuidField for Vec<Uuid> {}
