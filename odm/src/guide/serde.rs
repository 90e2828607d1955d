//! Models and serde: what serde's attributes mean for a model, and which derives an application needs.
//!
//! A model is stored by the codec of its derive, [`Encode`](crate::codec::Encode) and [`Decode`](crate::codec::Decode), and not by
//! `Serialize` and `Deserialize`. serde has no dates, decimals, ids and UUIDs; the codec writes each of them as the BSON type that it
//! is, at every place of a model.
//!
//! ```
//! use marula::{Document, bson::ObjectId};
//!
//! // Nothing of serde is needed to store it.
//! #[derive(Document)]
//! #[document(collection = "books")]
//! struct Book {
//!     _id: ObjectId,
//!     #[serde(rename = "isbn13")]
//!     isbn: String,
//! }
//! ```
//!
//! A model that is also JSON derives `Serialize` and `Deserialize`: that form is the application's own. With
//! [`json::Plain`](crate::json::Plain) around it, ids and dates of crate bson are plain text; see [Web applications](super::web).
//!
//! # Attributes
//!
//! The attributes of serde are the only source of names and forms, with and without its derives:
//!
//! | attribute | for a model |
//! |---|---|
//! | `rename`, `rename_all`, `rename_all_fields`, `alias` | the stored names; two spellings of one field in a document are an error |
//! | `default`, `skip`, `skip_serializing`, `skip_deserializing`, `skip_serializing_if` | as in serde |
//! | `flatten` | as in serde, without its buffer: dates stay dates. A document has at most one flattened map; a key of the map that is the name of a field, also of a variant that the document does not have, is an error when it is written. A flattened `Option` is `None` if no key of its type is present; otherwise errors are errors |
//! | `tag`, `content`, `untagged`, `other` | as in serde, without its buffer. A variant of an `untagged` enum is first read exactly in the form that it writes: an Int32 is not read as a Double, a date not as text. Variants with `with` and `opaque` take what serde takes, and a struct ignores fields that it does not have: put the most specific variants first |
//! | `transparent`, newtypes | the form of the content |
//! | `with`, `serialize_with`, `deserialize_with` | the functions are called; state the form with `#[document(as = Type)]` or `#[document(opaque)]` |
//! | `from`, `try_from`, `into` | the codec of the other type, which needs `#[derive(Embedded)]` if it is one of the application |
//! | `deny_unknown_fields` | as in serde, also together with `flatten` |
//! | `bound` | replaces the bounds that the derive infers |
//! | `crate`, `expecting`, `borrow` | no meaning |
//! | `remote`, `getter` | a compile error |
//!
//! # Types of other crates
//!
//! | the type | what to do |
//! |---|---|
//! | is in the [list](crate::path::field) | nothing |
//! | has `Display` and `FromStr` | `#[document(as = forms::DisplayText)]`, see [`forms`](crate::forms) |
//! | is converted to one of the application | `#[document(as = …)]` and [`StoredAs`](crate::codec::StoredAs) |
//! | has `Serialize` and `Deserialize` | `#[document(opaque)]`: the form of its `Serialize` |
//!
//! # Types with a `Serialize` of their own
//!
//! A derive does not see a hand-written `Serialize`: the type is stored by its fields, unless it says `#[document(opaque)]`.
//!
//! ```
//! use marula::{Document, Embedded, prelude::*};
//! use serde::{Deserialize, Deserializer, Serialize, Serializer};
//!
//! #[derive(Embedded)]
//! #[document(opaque)]
//! struct Version(u16, u16);
//!
//! impl Serialize for Version {
//!     fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
//!         serializer.collect_str(&format_args!("{}.{}", self.0, self.1))
//!     }
//! }
//!
//! impl<'de> Deserialize<'de> for Version {
//!     fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
//!         let text = String::deserialize(deserializer)?;
//!         let numbers = text.split_once('.').and_then(|(a, b)| Some(Version(a.parse().ok()?, b.parse().ok()?)));
//!         numbers.ok_or_else(|| serde::de::Error::custom("expected two numbers"))
//!     }
//! }
//!
//! #[derive(Document)]
//! #[document(collection = "releases")]
//! struct Release {
//!     _id: i64,
//!     version: Version,
//! }
//!
//! let filter = Release::fields().version().eq(&Version(1, 2));
//! assert_eq!(filter.to_string(), r#"{"version": {"$eq": "1.2"}}"#);
//! ```
//!
//! # What still goes by serde
//!
//! The [driver's collection](crate::Collection::driver) of any type, commands, types with `opaque`, and fields with `opaque` or
//! `with`.
