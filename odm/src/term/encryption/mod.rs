//! Queryable Encryption of fields: `#[document(encrypted)]` (feature `encryption`, MongoDB 7.0+).
//!
//! The values of an encrypted field are encrypted by the client with a data key of the field. The server stores
//! and compares them without the key. The attribute says which queries the field is indexed for:
//!
//! | `#[document(…)]` | operators of the path | types of the field |
//! |---|---|---|
//! | `encrypted` | [`exists`], [`is_missing`] | every type of the table below |
//! | `encrypted(equality)` | also [`eq`], [`ne`], [`is_in`], [`not_in`] | all but `f32`, `f64`, decimals, documents and arrays |
//! | `encrypted(range(min = 0, max = 200))` | also [`gt`], [`gte`], [`lt`], [`lte`], [`between`] (MongoDB 8.0+) | numbers and dates |
//! | `encrypted(prefix(min = 2, max = 10))` | [`starts_with`] (MongoDB 9.0+) | `String` |
//! | `encrypted(suffix(min = 2, max = 10))` | [`ends_with`] (MongoDB 9.0+) | `String` |
//! | `encrypted(substring(max_length = 60, min = 2, max = 10))` | [`contains_text`] (MongoDB 9.0+) | `String` |
//!
//! Updates set and remove encrypted fields ([`set`], [`unset`]), also by the document that contains them. All other operators,
//! sorts, groups and expressions do not compile, because the server cannot evaluate them; a comparison of the document that
//! contains an encrypted field is an error before anything is sent.
//!
//! ```
//! # #[cfg(feature = "encryption")]
//! # mod example {
//! use marula::{Document, Model, bson::ObjectId, prelude::*};
//!
//! #[derive(Document)]
//! #[document(collection = "patients")]
//! struct Patient {
//!     _id: ObjectId,
//!     name: String,
//!     #[document(encrypted(equality, contention = 4))]
//!     ssn: String,
//!     #[document(encrypted(range(min = 0, max = 200, sparsity = 1, trim_factor = 6)))]
//!     age: i32,
//!     #[document(encrypted)]
//!     #[serde(skip_serializing_if = "Option::is_none")]
//!     notes: Option<String>,
//! }
//!
//! # pub(crate) fn run() {
//! let p = Patient::fields();
//! let filter = p.ssn().eq("457-55-5462") & p.age().between(18, 65);
//! assert_eq!(
//!     filter.to_string(),
//!     r#"{"ssn": {"$eq": "457-55-5462"}, "age": {"$gte": 18, "$lte": 65}}"#
//! );
//! # }
//! # }
//! # #[cfg(feature = "encryption")]
//! # example::run();
//! ```
//!
//! # Options
//!
//! | option | of | meaning |
//! |---|---|---|
//! | `contention = 4` | every kind of queries | a higher factor makes inserts of equal values faster and queries slower; default: 8 |
//! | `min = …`, `max = …` | `range` | the smallest and the largest value, also of filters: expressions of the field's type; default: those of the type |
//! | `precision = 2` | `range` of `f64` and decimals | the digits after the point that are compared; requires `min` and `max`, which require it |
//! | `sparsity = 1` | `range` | a lower number makes queries faster and the collection larger; default: 2 |
//! | `trim_factor = 6` | `range` | a higher factor makes inserts faster; default: that of libmongocrypt |
//! | `min = 2`, `max = 10` | `prefix`, `suffix`, `substring` | the lengths of the searched text, in characters; required |
//! | `max_length = 60` | `substring` | the longest stored string, in characters; required |
//! | `case_sensitive`, `diacritic_sensitive` | queries of strings | compare letter case, and diacritics; default: neither |
//! | `preview` | queries of strings | the query types of MongoDB 8.2, such as `prefixPreview` |
//!
//! `prefix` and `suffix` can be combined; all other kinds of queries exclude one another.
//!
//! # Types
//!
//! A field is encrypted if all its values have one BSON type: integers, `f32`, `f64`, `bool`, `String`, `char`,
//! `ObjectId`, `DateTime`, `Timestamp`, `Decimal128`, `Binary`, `Regex`, UUIDs, the dates and decimals of the other
//! crates, enums of unit variants, newtypes of these, and, without queries, embedded documents and arrays.
//!
//! Null cannot be encrypted. An `Option` needs `#[document(skip_none)]`, so that `None` is not stored;
//! filters take the value inside, and [`unset`] removes it.
//!
//! An embedded document can have encrypted fields, with the path `address.street`. The server does not encrypt `_id`
//! and fields inside of arrays, maps, enums and `opaque` values; such models do not compile, or a schema plan rejects them with
//! [`SchemaError::InvalidEncryption`](crate::SchemaError::InvalidEncryption). Indexes, partial filters and search indexes
//! cannot use encrypted fields.
//!
//! # What is found
//!
//! A value of an encrypted field is sent only where it is encrypted. What would send it as it is does not compile, or is an error
//! before anything is sent:
//!
//! | where the value is | what is checked |
//! |---|---|
//! | documents, updates, filters of the model | the client encrypts, and knows the collection with all encrypted fields of the model. A document that contains an encrypted value is not compared |
//! | filters of a pipeline | also that no stage before has changed the documents: only `match_`, `sort`, `limit`, `skip` and `sample` leave them as they are. A lookup, a union and a graph lookup begin with the stored documents of their own model. A type that [`assume`](crate::Pipeline::assume) states counts as changed |
//! | filters, stages and update pipelines in BSON | they are [`Unchecked`] documents. Without automatic encryption such a filter names no encrypted field nevertheless, stages of updates are not sent at all, and raw stages of pipelines are not examined, not even `$match` |
//! | expressions in BSON ([`Expr::raw`](crate::Expr::raw)) | none with documents that have encrypted fields, unless [`Expr::unchecked`](crate::Expr::unchecked) states that they contain no value of one |
//! | values of expressions ([`lit`](crate::expr::lit)) whose type has encrypted fields, stages of updates that set one | an error with every client, because the values of expressions are not encrypted |
//! | filters of change events | no condition on an encrypted value, with every client |
//! | a field with `opaque` | its type has no encrypted fields, and neither has a type that is named in it as an argument, such as that of an `Arc`, a tuple or a map |
//! | a field with `as` | `Type` has as many encrypted fields as the field's type and each type that is named in it, or none and only known fields (a derived type, or arrays and maps of it), or is a scalar |
//! | an alias without arguments, such as `type Shared = Arc<Mutex<Address>>` | pointers and cells of the standard library (`Arc`, `Rc`, `Weak`, `Cell`, `RefCell`, `OnceCell`, `LazyCell`, `Mutex`, `RwLock`, `OnceLock`, `LazyLock`, `Reverse`, `Wrapping`, `Saturating`) around a type with typed paths, a pointer around a cell, and cells around one another; the values of arrays, maps and all other types with `IntoIterator` that are of this kind |
//!
//! Not found, because neither the derives nor the types show it:
//!
//! - a type with encrypted fields inside of an `opaque` type that does not derive [`Embedded`](derive@crate::Embedded) and does not
//!   name it as an argument: `struct Mine(Address)`, `Box<dyn Trait>`. Derive `Embedded` for the outer type, or encrypt the whole field;
//! - an alias of a cell, a lock or a tuple that is not of the kinds above, such as `type Shared = arc_swap::ArcSwap<Address>`,
//!   `once_cell::sync::OnceCell<Address>` or `parking_lot::Mutex<Address>`. If the field has this type without an alias, its argument
//!   is found;
//! - an alias of a cell around a pointer to a cell, and of an `Option`, an array or a map around one inside of another type:
//!   `type A = Mutex<Arc<Mutex<Address>>>`, `Arc<Option<Mutex<Address>>>`, `Arc<Mutex<Vec<Rc<Address>>>>`,
//!   `BTreeMap<i32, Vec<Mutex<Address>>>`. `Box<Address>`, `Box<Mutex<Address>>`, `Option<Mutex<Address>>`, `Vec<Mutex<Address>>` and
//!   `Arc<Mutex<Option<Address>>>` are found, and so are the arguments of all these types without an alias;
//! - what a conversion to the type of `as`, or a function of `serde(with = "…")`, makes of the value: a scalar can be the text of the value, a document
//!   without encrypted fields can have all its values, and one with them can have the value in another field than the encrypted one;
//! - a value whose *whole field* is encrypted, such as a `String`, as a value of an expression or of another field: its type says
//!   nothing of the field;
//! - two models of one collection of which only one declares the fields as encrypted;
//! - [`Unchecked`] documents and expressions: the application states that they contain no value of an encrypted field. The commands of a
//!   client with automatic encryption are analyzed, those of another client are not;
//! - a raw stage that reads an encrypted collection, such as a `$lookup`, in a pipeline of a model without encrypted fields, JavaScript
//!   in `$where` of such a pipeline, and raw values of fields of type `Bson` or `Document`;
//! - an expression that compares a document around an encrypted field with another one: it compares what is stored;
//! - calls of the [driver's collection](crate::Collection::driver), and commands, with a client that does not encrypt.
//!
//! # Set-up
//!
//! A [schema](crate::schema) creates the collection and the data keys, and
//! [`Model::encrypted_fields`](crate::Model::encrypted_fields) is what the collection is created with; see the
//! [guide](crate::guide::encryption). Documents are written and read by a client with automatic encryption,
//! `Client::with_auto_encryption`. With another client inserts, replacements, saves and upserts, and filters and updates
//! of encrypted fields, also filters of pipelines, fail with [`Error::Encode`](crate::Error::Encode) before anything is sent, and
//! documents cannot be decoded, because their values are `Binary`. A client with automatic encryption that does not know the
//! collection, or one that a pipeline joins, as encrypted rejects every typed call with `EncryptionError::NotEncrypted`.
//!
//! [`exists`]: EncryptedPath::exists
//! [`is_missing`]: EncryptedPath::is_missing
//! [`eq`]: EncryptedPath::eq
//! [`ne`]: EncryptedPath::ne
//! [`is_in`]: EncryptedPath::is_in
//! [`not_in`]: EncryptedPath::not_in
//! [`gt`]: EncryptedPath::gt
//! [`gte`]: EncryptedPath::gte
//! [`lt`]: EncryptedPath::lt
//! [`lte`]: EncryptedPath::lte
//! [`between`]: EncryptedPath::between
//! [`starts_with`]: EncryptedPath::starts_with
//! [`ends_with`]: EncryptedPath::ends_with
//! [`contains_text`]: EncryptedPath::contains_text
//! [`set`]: EncryptedPath::set
//! [`unset`]: EncryptedPath::unset

pub(crate) mod checks;
pub(crate) mod fields;
mod path;
mod query;
mod unchecked;
mod value;

pub use path::EncryptedPath;
pub use query::{
    Equality, EqualityQueries, Prefix, PrefixAndSuffix, PrefixQueries, Range, RangeQueries, Substring,
    SubstringQueries, Suffix, SuffixQueries, Unindexed,
};
pub use unchecked::Unchecked;
pub use value::{EncryptedField, EncryptedValue, EqualityValue, RangeValue, StringValue};
