//! Fields of the types [`Bson`] and [`Document`] that are read as they are stored: for
//! `#[serde(with = "marula_driver::bson::exact")]` (`marula::bson::exact` with the ODM).
//!
//! Crate bson deserializes a document with a key such as `$oid`, `$date` or `$uuid` as [Extended
//! JSON], because serde does not state which format it reads from. MongoDB stores documents with
//! such keys, and BSON gives the keys no meaning. Without this module a field of type [`Bson`] or
//! [`Document`] whose value is `{"$date": 5}` is read as a date, and written back as one, or cannot be
//! read.
//!
//! A document as a whole, such as the results of a `Collection<Document>`, is always read as it is
//! stored. So are [`RawDocumentBuf`](super::RawDocumentBuf) and [`RawBson`](super::RawBson), also as
//! fields.
//!
//! ```
//! use marula_driver::bson::{Bson, Document, doc, from_slice, to_vec};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Setting {
//!     #[serde(with = "marula_driver::bson::exact")]
//!     value: Bson,
//!     #[serde(with = "marula_driver::bson::exact")]
//!     rules: Document,
//!     // `default`, since serde does not treat an optional field with a function as optional.
//!     #[serde(with = "marula_driver::bson::exact", default)]
//!     previous: Option<Bson>,
//!     #[serde(with = "marula_driver::bson::exact")]
//!     history: Vec<Bson>,
//! }
//!
//! let bytes = to_vec(&doc! {
//!     "value": { "$date": 5 },
//!     "rules": { "$oid": "any" },
//!     "history": [{ "$date": 5 }, 7],
//! })?;
//! let setting: Setting = from_slice(&bytes)?;
//! assert_eq!(setting.value, Bson::from(doc! { "$date": 5 }));
//! assert_eq!(setting.rules, doc! { "$oid": "any" });
//! assert_eq!(setting.previous, None);
//! assert_eq!(setting.history, [Bson::from(doc! { "$date": 5 }), Bson::from(7)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The module has no effect in the types that serde reads from a buffer (fields of a type that is
//! `flatten`ed, `untagged` or has a `tag`), and for other formats: there the values are read as without
//! it. A document with such fields can be read as a [`RawDocumentBuf`](super::RawDocumentBuf), and a
//! named field of that type, or of [`RawBson`](super::RawBson), can replace a flattened one.
//!
//! The trait [`Exact`] lists the containers. For another one, such as `VecDeque` or an array of a fixed
//! length, implement it for a type of your own by that of `Vec`, or read a `Vec`.
//!
//! [Extended JSON]: https://github.com/mongodb/specifications/blob/master/source/extended-json/extended-json.md

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

use super::{Bson, Document, de, markers};

/// Reads a value as it is stored; see the [module](self).
///
/// # Errors
/// If the value does not have the form of `T`.
pub fn deserialize<'de, T: Exact, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::deserialize_exact(deserializer)
}

/// Writes a value as its [`Serialize`] implementation does, which is exact.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<T: Serialize + ?Sized, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.serialize(serializer)
}

/// The types that [`deserialize`] reads: [`Bson`], [`Document`], and options, boxes, lists and maps of
/// them.
pub trait Exact: Sized {
    /// Reads a value as it is stored.
    ///
    /// # Errors
    /// If the value does not have the form of the type.
    fn deserialize_exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

impl Exact for Bson {
    fn deserialize_exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Stored;

        impl<'de> Visitor<'de> for Stored {
            type Value = Bson;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a BSON value")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, parts: A) -> Result<Bson, A::Error> {
                de::read_stored_parts(parts)
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Bson, D::Error> {
                Bson::deserialize(deserializer)
            }
        }

        deserializer.deserialize_newtype_struct(markers::STORED_VALUE, Stored)
    }
}

impl Exact for Document {
    fn deserialize_exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Stored;

        impl<'de> Visitor<'de> for Stored {
            type Value = Document;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a document")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, parts: A) -> Result<Document, A::Error> {
                match de::read_stored_parts(parts)? {
                    Bson::Document(document) => Ok(document),
                    _ => Err(serde::de::Error::custom("expected a document")),
                }
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<Document, D::Error> {
                Document::deserialize(deserializer)
            }
        }

        deserializer.deserialize_newtype_struct(markers::STORED_DOCUMENT, Stored)
    }
}

/// Reads an inner value.
struct Inner<T>(PhantomData<T>);

impl<'de, T: Exact> DeserializeSeed<'de> for Inner<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::deserialize_exact(deserializer)
    }
}

impl<T: Exact> Exact for Box<T> {
    fn deserialize_exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize_exact(deserializer).map(Self::new)
    }
}

impl<T: Exact> Exact for Option<T> {
    fn deserialize_exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Nullable<T>(PhantomData<T>);

        impl<'de, T: Exact> Visitor<'de> for Nullable<T> {
            type Value = Option<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or null")
            }

            fn visit_none<E: serde::de::Error>(self) -> Result<Option<T>, E> {
                Ok(None)
            }

            fn visit_unit<E: serde::de::Error>(self) -> Result<Option<T>, E> {
                Ok(None)
            }

            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<T>, D::Error> {
                T::deserialize_exact(deserializer).map(Some)
            }
        }

        deserializer.deserialize_option(Nullable(PhantomData))
    }
}

impl<T: Exact> Exact for Vec<T> {
    fn deserialize_exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List<T>(PhantomData<T>);

        impl<'de, T: Exact> Visitor<'de> for List<T> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Vec<T>, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = array.next_element_seed(Inner(PhantomData))? {
                    values.push(value);
                }
                Ok(values)
            }
        }

        deserializer.deserialize_seq(List(PhantomData))
    }
}

/// Collects the fields of a document into the map `M`.
struct Fields<K, T, M>(PhantomData<(K, T, M)>);

impl<'de, K: Deserialize<'de>, T: Exact, M: Default + Extend<(K, T)>> Visitor<'de> for Fields<K, T, M> {
    type Value = M;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<M, A::Error> {
        let mut map = M::default();
        while let Some(key) = fields.next_key::<K>()? {
            let value = fields.next_value_seed(Inner(PhantomData))?;
            map.extend([(key, value)]);
        }
        Ok(map)
    }
}

impl<K, T, S> Exact for HashMap<K, T, S>
where
    K: for<'a> Deserialize<'a> + Eq + Hash,
    T: Exact,
    S: BuildHasher + Default,
{
    fn deserialize_exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields(PhantomData::<(K, T, Self)>))
    }
}

impl<K: for<'a> Deserialize<'a> + Ord, T: Exact> Exact for BTreeMap<K, T> {
    fn deserialize_exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields(PhantomData::<(K, T, Self)>))
    }
}
