//! Modelling: names, ids, embedded documents, enums, values of other crates, generics, stored forms.
//!
//! The complete lists are at the derives [`Document`](derive@crate::Document) and
//! [`Embedded`](derive@crate::Embedded), and in [`path::field`](crate::path::field).
//!
//! # Names
//!
//! Names follow serde: `rename`, `rename_all`, `rename_all_fields`, `flatten`, `skip`, `default`,
//! `alias`. The accessor has the name of the Rust field, the path that of the database.
//!
//! ```
//! use marula::{Document, Embedded, prelude::*};
//!
//! #[derive(Embedded)]
//! struct Audit {
//!     created_by: String,
//! }
//!
//! #[derive(Document)]
//! #[serde(rename_all = "camelCase")]
//! #[document(collection = "articles")]
//! struct Article {
//!     #[serde(rename = "_id")]
//!     id: i64,
//!     word_count: i32,
//!     #[serde(rename = "by")]
//!     author: String,
//!     // The fields of `Audit` are stored beside the others.
//!     #[serde(flatten)]
//!     audit: Audit,
//! }
//!
//! let a = Article::fields();
//! let filter = a.word_count().gt(500) & a.author().eq("Ada") & a.audit().created_by().eq("import");
//! assert_eq!(
//!     filter.to_string(),
//!     r#"{"wordCount": {"$gt": 500}, "by": {"$eq": "Ada"}, "created_by": {"$eq": "import"}}"#
//! );
//! ```
//!
//! A field that was added later needs `#[serde(default)]` or an `Option`, so that older documents
//! can be read. A renamed field can be read under its old name with `#[serde(alias = "old")]`, and
//! is written under the new one. **Filters, sorts, updates and indexes use the new name only**: they do not find
//! the values of documents that have the old one. Rename the field in all documents
//! ([cookbook](super::cookbook#rename-a-field-in-all-documents)), or migrate them with
//! [`schema_version`](crate::Versioned).
//!
//! # Ids
//!
//! The id is the field that is stored as `_id`. [`Model::new_id`](crate::Model::new_id) generates
//! ids by the source that the model declares; see [`id`](crate::id).
//!
//! ```
//! use marula::{Document, Embedded, bson::ObjectId, prelude::*};
//! use uuid::Uuid;
//!
//! // A newtype has the operators, values and id sources of the type inside.
//! #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Embedded)]
//! struct OrderId(Uuid);
//!
//! #[derive(Document)]
//! #[document(collection = "orders")]
//! struct Order {
//!     #[serde(rename = "_id")]
//!     #[document(id = uuid_v7)] // ordered by time
//!     id: OrderId,
//! }
//!
//! #[derive(Document)]
//! #[document(collection = "customers")]
//! struct Customer {
//!     // `None` until the document is inserted: `insert_one(&mut c)` and `save(&mut c)` set it.
//!     #[serde(rename = "_id")]
//!     id: Option<ObjectId>,
//! }
//!
//! let order = Order { id: Order::new_id() };
//! assert_eq!(order.id.0.get_version_num(), 7);
//! # let _ = Customer { id: None };
//! ```
//!
//! An id can also be a string, a number or an embedded struct: then the application sets it.
//!
//! # Enums
//!
//! An enum of unit variants is one value. An enum with data follows its serde representation. A
//! variant has an accessor, and a filter on its fields also requires the variant.
//!
//! ```
//! use marula::{Document, Embedded, prelude::*};
//!
//! #[derive(Embedded)]
//! #[serde(tag = "kind", rename_all = "snake_case")]
//! enum Payment {
//!     Card { last4: String },
//!     Transfer { iban: String },
//!     Cash,
//! }
//!
//! #[derive(Document)]
//! #[document(collection = "invoices")]
//! struct Invoice {
//!     _id: i64,
//!     payment: Payment,
//! }
//!
//! let i = Invoice::fields();
//! assert_eq!(
//!     i.payment().card().last4().eq("4242").to_string(),
//!     r#"{"payment.last4": {"$eq": "4242"}, "payment.kind": {"$eq": "card"}}"#
//! );
//! assert_eq!(i.payment().is_cash().to_string(), r#"{"payment.kind": {"$eq": "cash"}}"#);
//! ```
//!
//! # Several kinds of documents in one collection
//!
//! An enum, as above, is read with all its variants. To read and write one kind alone, give each a model with a
//! [kind](derive@crate::Document#kinds): its collection finds only the documents with it.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! #[derive(Debug, PartialEq, Document)]
//! #[document(collection = "events", kind = "click")]
//! struct Click {
//!     _id: i64,
//!     x: i32,
//! }
//!
//! #[derive(Debug, PartialEq, Document)]
//! #[document(collection = "events", kind = "view")]
//! struct View {
//!     _id: i64,
//!     page: String,
//! }
//!
//! let (clicks, views) = (db.collection::<Click>(), db.collection::<View>());
//! clicks.insert_one(&Click { _id: 1, x: 7 }).await?;
//! views.insert_one(&View { _id: 2, page: "/".to_owned() }).await?;
//! assert_eq!(clicks.find_all().await?, [Click { _id: 1, x: 7 }]);
//! assert_eq!(views.count(|v| v.page().ne("")).await?, 1);
//! # Ok(()) });
//! ```
//!
//! # Maps, options, recursion
//!
//! ```
//! use std::collections::HashMap;
//!
//! use marula::{Document, Embedded, prelude::*};
//!
//! #[derive(Embedded)]
//! struct Comment {
//!     author: String,
//!     replies: Vec<Comment>,
//! }
//!
//! #[derive(Document)]
//! #[document(collection = "posts")]
//! struct Post {
//!     _id: i64,
//!     labels: HashMap<String, String>,
//!     pinned: Option<Box<Comment>>,
//!     comments: Vec<Comment>,
//! }
//!
//! let p = Post::fields();
//! assert_eq!(p.labels().entry("lang").eq("de").to_string(), r#"{"labels.lang": {"$eq": "de"}}"#);
//! assert_eq!(p.pinned().author().eq("Ada").to_string(), r#"{"pinned.author": {"$eq": "Ada"}}"#);
//! assert_eq!(
//!     p.comments().replies().author().eq("Ada").to_string(),
//!     r#"{"comments.replies.author": {"$eq": "Ada"}}"#
//! );
//! ```
//!
//! The keys of a map are `String`, integers, `bool`, `char`, UUIDs, ObjectIds, enums without contents, or newtypes of these
//! ([`MapKey`](crate::codec::MapKey)); [`entry`](crate::PathOps::entry) takes a key of the map's type.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use marula::{Document, Embedded, prelude::*};
//!
//! #[derive(PartialEq, Eq, PartialOrd, Ord, Embedded)]
//! #[serde(rename_all = "snake_case")]
//! enum Channel {
//!     Web,
//!     Shop,
//! }
//!
//! #[derive(Document)]
//! #[document(collection = "sales")]
//! struct Sales {
//!     _id: i64,
//!     by_channel: BTreeMap<Channel, i64>,
//!     by_year: BTreeMap<u16, i64>,
//! }
//!
//! let s = Sales::fields();
//! assert_eq!(s.by_channel().entry(Channel::Web).gt(5).to_string(), r#"{"by_channel.web": {"$gt": 5}}"#);
//! assert_eq!(s.by_year().entry(2_024).inc(1).to_string(), r#"{"$inc": {"by_year.2024": 1}}"#);
//! ```
//!
//! A key of a map that contains a dot or starts with `$` is stored, and read with the whole map; no filter and
//! no update reaches its entry ([`entry`](crate::PathOps::entry) is an error). Do not use such keys for data
//! that is queried; a `Vec` of structs with key and value has no such limit.
//!
//! `None` is stored as null, as serde's derives write it. With `#[document(skip_none)]` on the type or on a field it is left out
//! instead: `inc` and `push` then create the value, a sparse index does not contain the document, and `set(None)` removes the field.
//! `#[document(skip_none = false)]` on a field keeps null. An embedded type has an attribute of its own, and a field whose type is an
//! alias of an `Option` is stored as null. Both are read as `None`, and `is_null` matches both; a flattened `Option` of a
//! type of which no field is stored is read as `None`, too.
//!
//! ```
//! use marula::{Document, prelude::*};
//!
//! #[derive(Document)]
//! #[document(collection = "users", skip_none, index(email, unique, sparse))]
//! struct User {
//!     _id: i64,
//!     email: Option<String>,
//!     visits: Option<i64>,
//! }
//!
//! let u = User::fields();
//! assert_eq!(u.visits().set(None::<i64>).to_string(), r#"{"$unset": {"visits": ""}}"#);
//! ```
//!
//! # Dates, decimals, UUIDs
//!
//! [`bson::DateTime`](crate::bson::DateTime), [`bson::Decimal128`](crate::bson::Decimal128),
//! `uuid::Uuid` and `SystemTime` are stored as the BSON type. With the features `chrono`, `time`,
//! `jiff`, `rust_decimal` and `bigdecimal` the types of these crates are, too, at every place of a
//! model, and filters take their values. JSON keeps the form of the type's own `Serialize`, such as
//! RFC 3339. With the feature `serde_json`, a field of type `serde_json::Value` has any value that JSON has, for example
//! the body of a webhook, and `payload().entry("kind")` is a path into it.
//!
//! ```
//! # #[cfg(all(feature = "chrono", feature = "rust_decimal"))]
//! # mod example {
//! use marula::{Document, prelude::*};
//!
//! #[derive(Document)]
//! #[document(collection = "invoices", index(due, ttl = "365d"))]
//! struct Invoice {
//!     _id: i64,
//!     due: chrono::DateTime<chrono::Utc>,
//!     total: rust_decimal::Decimal,
//! }
//!
//! type Time = chrono::DateTime<chrono::Utc>;
//!
//! fn overdue(now: Time, minimum: rust_decimal::Decimal) -> marula::Filter<Invoice> {
//!     let i = Invoice::fields();
//!     i.due().lt(now) & i.total().gte(minimum)
//! }
//! # }
//! ```
//!
//! A BSON date has milliseconds: more precise times are truncated, also those in filters. A decimal that
//! Decimal128 cannot represent exactly is an error; it is not rounded.
//!
//! # Other types
//!
//! `#[document(as = Type)]` stores a field as another type, which implements [`StoredAs`](crate::codec::StoredAs) for the type of the
//! field. The module [`forms`](crate::forms) has such types for `u128`, `i128`, `Duration`, legacy UUIDs, and for everything with
//! `Display` and `FromStr`. `#[document(opaque)]` on a field stores what the type's `Serialize` writes, and so it does on a type of the
//! application with a `Serialize` of its own (`#[derive(Embedded)] #[document(opaque)]`). The operators then take a reference to a
//! value, or its stored form as [`Bson`](crate::bson::Bson). The form is the one for binary formats: an `IpAddr` is not text then, but
//! it is with `as = forms::DisplayText`.
//!
//! ```
//! use std::net::IpAddr;
//! use std::time::Duration;
//!
//! use marula::{Document, forms, prelude::*};
//!
//! #[derive(Document)]
//! #[document(collection = "jobs")]
//! struct Job {
//!     _id: i64,
//!     #[document(as = forms::Millis)]
//!     limit: Duration,
//!     #[document(as = forms::DisplayText)]
//!     host: IpAddr,
//!     // No paths to its parts.
//!     #[document(opaque)]
//!     payload: serde_json_like::Value,
//! }
//! # mod serde_json_like {
//! #     #[derive(serde::Serialize, serde::Deserialize)]
//! #     pub struct Value { text: String }
//! # }
//!
//! let j = Job::fields();
//! let filter = j.limit().gt(Duration::from_secs(60)) & j.host().starts_with("10.");
//! assert_eq!(filter.to_string(), r#"{"limit": {"$gt": 60000}, "host": {"$regex": "^10\\."}}"#);
//! ```
//!
//! # Values of any type
//!
//! A field of the type [`Bson`](crate::bson::Bson) or [`bson::Document`](crate::bson::Document) contains any value, and is read as it is
//! stored, also with keys such as `$date`.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use marula::bson::Bson;
//! use marula::{Document, prelude::*};
//!
//! #[derive(Document)]
//! #[document(collection = "answers")]
//! struct Answer {
//!     _id: i64,
//!     value: Bson,
//!     details: BTreeMap<String, Bson>,
//! }
//!
//! let a = Answer::fields();
//! assert_eq!(a.value().eq(5).to_string(), r#"{"value": {"$eq": 5}}"#);
//! assert_eq!(a.details().entry("unit").eq("kg").to_string(), r#"{"details.unit": {"$eq": "kg"}}"#);
//! ```
//!
//! # Generic models and generic code
//!
//! ```
//! use marula::{Collection, Database, Document, Embedded, Model, prelude::*};
//!
//! #[derive(Document)]
//! #[document(collection = "events", index(tenant))]
//! struct Envelope<T> {
//!     _id: i64,
//!     tenant: String,
//!     payload: T,
//! }
//!
//! #[derive(Embedded)]
//! struct Login {
//!     user: String,
//! }
//!
//! let e = Envelope::<Login>::fields();
//! assert_eq!(e.payload().user().eq("ada").to_string(), r#"{"payload.user": {"$eq": "ada"}}"#);
//!
//! // The same operations for every model.
//! struct Repository<D>(Collection<D>);
//!
//! impl<D: Model> Repository<D> {
//!     fn new(db: &Database) -> Self {
//!         Repository(db.collection())
//!     }
//!
//!     async fn get(&self, id: &D::Id) -> marula::Result<D> {
//!         self.0.find_by_id(D::id_ref(id)).required().await
//!     }
//! }
//! ```
//!
//! # Maintained fields
//!
//! `version`, `created_at`, `updated_at`, `soft_delete`, `validate` and `hooks` are attributes; see
//! [maintained fields](derive@crate::Document#maintained-fields), [`SoftDelete`](crate::SoftDelete)
//! and [`Hooks`](crate::Hooks).
