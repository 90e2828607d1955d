//! The derive macros of marula: `Document` for the documents of a collection, `Embedded` for the
//! types inside.
//!
//! Each has three steps: `parse` reads the attributes, `model` resolves names and defaults and
//! checks combinations, and `expand` generates code. Errors of all steps are reported together.
//! Code is generated in spite of errors, so that one mistake causes one error.

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

mod case;
mod code;
mod codec;
mod derive;
mod diagnostics;
mod expand;
mod model;
mod parse;
mod plain;
mod symbol;

/// Implements `marula::Model` for a struct with named fields, or an enum: the documents of a collection.
///
/// The derive writes and reads documents by a codec of its own (`marula::codec`); the type needs no `Serialize` and no
/// `Deserialize`. The attributes of serde determine the names and the forms, as its own derives understand them: `rename`,
/// `rename_all`, `alias`, `default`, `skip`, `skip_serializing_if`, `flatten`, `tag`, `content`, `untagged`, `transparent`, `with`,
/// `from`, `into`, `deny_unknown_fields` and the others; see the page `marula::guide::serde`. One field must be stored as `_id`.
///
/// The type can have type parameters and constant parameters. A type parameter in a stored field
/// implements `marula::Field` and is stored; one that is only in `PhantomData`, which is not stored, can be
/// any type. All models of one generic type have the same collection, except for handles by
/// `Collection::named`.
///
/// ```
/// use marula::{Document, bson::DateTime};
/// use uuid::Uuid;
///
/// #[derive(Document)]
/// #[serde(rename_all = "camelCase")]
/// #[document(collection = "orders", index(customer_id, -created_at))]
/// struct Order {
///     #[serde(rename = "_id")]
///     id: Uuid,
///     customer_id: Uuid,
///     created_at: DateTime,
/// }
/// ```
///
/// # Enums
///
/// An enum with `#[serde(tag = "…")]` stores the documents of all its variants in one collection. Each variant has
/// named fields, and all have the same id: a field of one name and one type that is stored as `_id`.
///
/// ```
/// use marula::bson::ObjectId;
/// use marula::{Document, Model, prelude::*};
///
/// #[derive(Document)]
/// #[serde(tag = "kind", rename_all = "lowercase")]
/// #[document(collection = "vehicles", index(truck.load), index(car.plate, unique, partial(car.plate > "")))]
/// enum Vehicle {
///     Car { _id: ObjectId, plate: String },
///     Truck { _id: ObjectId, load: i64 },
/// }
///
/// let v = Vehicle::fields();
/// assert_eq!(v.is_car().to_string(), r#"{"kind": {"$eq": "car"}}"#);
/// assert_eq!(
///     v.truck().load().gt(5).to_string(),
///     r#"{"load": {"$gt": 5}, "kind": {"$eq": "truck"}}"#
/// );
/// let truck = Vehicle::Truck { _id: Vehicle::new_id(), load: 7 };
/// assert!(v._id().eq(truck.id()).to_string().starts_with(r#"{"_id""#));
/// ```
///
/// The accessors are those of an `Embedded` enum, and that of the id. Paths in attributes begin with the
/// accessor of a variant. An index contains the documents of all variants, so `unique` usually needs a
/// `partial` filter. `index` and `unique` on fields, `soft_delete`, `version`, `created_at` and `updated_at` are for
/// structs.
///
/// # Attributes of the type
///
/// | `#[document(…)]` | meaning |
/// |---|---|
/// | `collection = "name"` | the name of the collection; required |
/// | `index(…)`, `search_index(…)`, `vector_search_index(…)` | an index, see below; may be repeated |
/// | `shard_key(country, hashed(user))` | the shard key of the collection, also with `unique`: fields without arrays, of which one can be hashed; see the guide page `schema` |
/// | `soft_delete = field` | deletes write the time to this field, an `Option` of a date such as `DateTime`, and the operations of `Collection`, also lookups and unions of this model, find only documents where it is null; see `marula::SoftDelete` |
/// | `validate = path` | a function from `&Self` to `Result<(), E>` that runs before inserts, replacements and saves, or `garde` or `validator`; may be repeated |
/// | `hooks` | the type implements `marula::Hooks` |
/// | `kind = "click"` | the value of the field `kind` in the documents of the model, in a collection with others; see [Kinds](#kinds) |
/// | `schema_version(2, upgrade = path)` | the version of the documents, and the function that upgrades older ones; also `field = "name"`; see `marula::Versioned` |
/// | `skip_none` | a field that is `None` is left out, and not stored as null; see below |
/// | `crate = path` | the path of `marula`, if imported under another name; default: `::marula` |
///
/// # Attributes of fields
///
/// | `#[document(…)]` | meaning |
/// |---|---|
/// | `id` | this field is the id; default: the field that is stored as `_id` |
/// | `id = object_id` | new ids are `ObjectId`s; the default for fields of this type |
/// | `id = uuid_v7`, `id = uuid_v4` | new ids are UUIDs; default for UUIDs: version 7 |
/// | `id = manual` | the application sets ids; the default for other types |
/// | `index`, `unique` | an ascending index on this field, without options or with `unique` |
/// | `version` | every write increments this field (`i32`, `i64`, `u32`), see below |
/// | `created_at` | inserts set this date to the current time |
/// | `updated_at` | inserts, updates, replacements and saves set this date to the current time |
/// | `as = Type` | the field is stored in the form of `Type`, and has its operators and values |
/// | `opaque` | the field has no typed paths: its operators take references to values, and `Bson` |
/// | `skip_none`, `skip_none = false` | the field is left out, or stored as null, if it is `None`, whatever the type's attribute says |
/// | `encrypted`, `encrypted(equality)`, … | the field is encrypted by the client (feature `encryption`), and can be queried as the kind of queries says; see `marula::encryption` |
///
/// A type with encrypted fields is not `opaque`: the values would be stored as they are. A conversion of `as` can store them as they
/// are, too.
/// `marula::encryption` lists what is checked, and what cannot be found.
///
/// `skip_none` is for fields of the type `Option`, as far as the name of the type shows, and adds `skip_serializing_if`. An update to
/// `None` by `set` removes such a field, and `set_on_insert` leaves it out; `set_null`, and a stage of a pipeline, set it to null. A
/// missing field is `None` whatever the type's `default` is. A unique and sparse index on a field of the model that is stored as null is
/// a compile error, since every document would be in it.
///
/// Dates and decimals of other crates need no attribute: with the features `chrono`, `time`, `jiff`,
/// `rust_decimal` and `bigdecimal` of marula their types are stored as BSON dates and Decimal128, and
/// `std::time::SystemTime` is without a feature; see `marula::Field`.
///
/// ```
/// use std::time::SystemTime;
///
/// use marula::Document;
///
/// #[derive(Document)]
/// #[document(collection = "jobs", index(due, ttl = "1h"))]
/// struct Job {
///     _id: marula::bson::ObjectId,
///     due: SystemTime,
/// }
/// ```
///
/// Another type is stored as a type that implements `marula::codec::StoredAs` for it: one of `marula::forms`, or one of the
/// application. The field has the operators and the values of this type:
///
/// ```
/// use std::time::Duration;
///
/// use marula::bson::{DecodeError, EncodeError, ObjectId};
/// use marula::codec::StoredAs;
/// use marula::{Document, Embedded, prelude::*};
///
/// #[derive(Document)]
/// #[document(collection = "jobs")]
/// struct Job {
///     _id: ObjectId,
///     #[document(as = Seconds)]
///     limit: Duration,
/// }
///
/// #[derive(Embedded)]
/// struct Seconds(i64);
///
/// impl StoredAs<Duration> for Seconds {
///     fn store(value: &Duration) -> Result<Self, EncodeError> {
///         let seconds = i64::try_from(value.as_secs());
///         seconds.map(Seconds).map_err(|_| EncodeError::new("the duration has more seconds than an Int64"))
///     }
///
///     fn load(self) -> Result<Duration, DecodeError> {
///         let seconds = u64::try_from(self.0);
///         seconds.map(Duration::from_secs).map_err(|_| DecodeError::new("a duration is not negative"))
///     }
/// }
///
/// assert_eq!(Job::fields().limit().gt(60).to_string(), r#"{"limit": {"$gt": 60}}"#);
/// ```
///
/// A field with `#[serde(with = "…")]` is written and read by the functions of the module, and `as` states the form that they
/// write, which nothing checks; or the field is `opaque`.
///
/// A type with a `Serialize` of its own is stored by its fields all the same, unless it derives `Embedded` with
/// `#[document(opaque)]` on the type: then what its `Serialize` writes is stored, and its fields have no paths.
///
/// `opaque` stores what the type's `Serialize` writes for binary formats (`is_human_readable` is `false`). A date of `chrono`, `time` or `jiff` is then a compile error, because its
/// `Serialize` writes text, which no date operator reads as a date: remove `opaque`; to store text, use `as = String`. A derive has
/// only the name of a type: a type alias of such a date, and one inside of an opaque type, is stored as text.
///
/// # Kinds
///
/// Models of one kind each share a collection. `kind = "click"` is the value of the field `kind` in the documents of the model, which
/// the struct does not have; `kind("click", field = "type")` gives the field another name.
///
/// ```
/// use marula::{Document, Pipeline, prelude::*};
///
/// #[derive(Document)]
/// #[document(collection = "events", kind = "click", index(user))]
/// struct Click {
///     _id: i64,
///     user: i64,
///     x: i32,
/// }
///
/// #[derive(Document)]
/// #[document(collection = "events", kind = "view", index(user))]
/// struct View {
///     _id: i64,
///     user: i64,
///     page: String,
/// }
/// ```
///
/// Every write stores the kind, and an update cannot change it. Every filter, pipeline, join and change stream of a `Collection<Click>` has the
/// condition `kind: "click"`; `estimated_count` has none, and counts the documents of all kinds. A document of another kind, which only
/// stages in BSON can return, is an error of decoding. A validator of `json_schema`, a unique index and a TTL index hold for the documents
/// of the kind only; for the latter two a schema adds the kind to `partialFilterExpression`. Register all kinds of a collection with one
/// schema, and give indexes of the same keys names of their own: what no registered model declares is obsolete.
///
/// Documents that were stored before the model had a kind are not found, also by `migrate`: first set the field, by a model of the
/// collection without `kind` or by `driver()`.
///
/// # Options of the collection
///
/// Applied by `marula::schema`. Options that are not declared are not compared with existing ones.
///
/// | attribute | meaning |
/// |---|---|
/// | `json_schema`, `json_schema(level = "moderate", action = "warn")` | a validator with `Model::json_schema`; levels `off`, `strict`, `moderate`; actions `error`, `warn`, `error_and_log` |
/// | `capped(size = 1_048_576, max = 1000)` | a capped collection, by bytes and documents; deletions need MongoDB 5.0, soft deletion 5.3 |
/// | `timeseries(time = at, meta = sensor, granularity = "minutes", ttl = "30d")` | a time series (MongoDB 5.0+); only `time` is required, and both are fields of the document itself. It has no unique, text or TTL indexes, no validator, images or encrypted fields, and its documents are not changed one by one: `version`, `updated_at`, `soft_delete`, `update_one`, `replace`, `save` and upserts do not compile |
/// | `clustered`, `clustered(ttl = "1h")` | documents in the order of `_id` (MongoDB 5.3+) |
/// | `collation(locale = "en", strength = 2)` | the default collation of queries and indexes |
/// | `pre_and_post_images` | change streams can contain documents before and after changes (MongoDB 6.0+) |
///
/// # Concerns and the read preference
///
/// Those of the collections that `Database::collection` returns, in place of those of the database.
/// `with_read_concern` and the other methods of a collection replace them. `Client::bulk` does not use them.
///
/// | attribute | meaning |
/// |---|---|
/// | `read_concern = "majority"` | `local`, `available`, `majority`, `linearizable` or `snapshot` |
/// | `write_concern = "majority"`, `write_concern = 2` | the majority, or this number of members, has the write before it is acknowledged |
/// | `read_preference = "secondary_preferred"` | `primary`, `primary_preferred`, `secondary`, `secondary_preferred` or `nearest` |
///
/// # Maintained fields
///
/// ```
/// use marula::{Document, bson::DateTime};
///
/// #[derive(Document)]
/// #[document(collection = "articles", soft_delete = deleted_at, validate = Article::check)]
/// struct Article {
///     _id: i64,
///     title: String,
///     #[document(version)]
///     version: i64,
///     #[document(created_at)]
///     created_at: DateTime,
///     #[document(updated_at)]
///     updated_at: DateTime,
///     deleted_at: Option<DateTime>,
/// }
///
/// impl Article {
///     fn check(&self) -> Result<(), &'static str> {
///         if self.title.is_empty() { Err("the title is empty") } else { Ok(()) }
///     }
/// }
/// ```
///
/// The times are those of the client's clock, in milliseconds. An insert stores them in place of the
/// values of the struct. An upsert sets `created_at` by `$setOnInsert`. A replacement stores
/// `created_at` as the struct has it; a save keeps the stored one. An update by operators that changes a maintained
/// field itself is sent as it is; a stage of a pipeline that sets one, or that creates a new document, such as
/// `$replaceWith`, is refused. The types are
/// `DateTime`, `SystemTime`, the times of the crates of marula's features, and `Option` of these.
///
/// With `version`, a replacement or save is performed only if the stored document has the version of
/// the struct, and stores the next one. Otherwise the call, or the write of a bulk write, fails with a
/// `VersionConflict`: the document was changed or deleted since it was read. Only a document of version 0
/// is inserted by a save or an upsert. Only `save(&mut document)` and
/// `save_changes(&before, &mut after)` write the new version, and the times, to the struct. Updates by operators increment the version and do not compare it. A write concern of `w: 0`
/// does not report conflicts reliably.
///
/// `validate = garde` and `validate = validator` call the derives of these crates (features `garde` and
/// `validator` of marula). `Error::invalid_fields` then returns the paths of the invalid fields.
///
/// # Indexes
///
/// `index(…)` lists the keys of an index in order, and its options. Keys are paths of Rust fields,
/// not stored names: `address.city`, and `lines.sku` for the elements of an array.
///
/// | key | kind |
/// |---|---|
/// | `path`, `-path` | ascending, descending |
/// | `text(path)`, `text(path, weight = 10)` | text, with a weight from 1 to 99999; default: 1 |
/// | `geo(path)` | `2dsphere` |
/// | `hashed(path)` | hashed; at most one, and not with `unique` |
/// | `wildcard`, `wildcard(path)` | all fields of the document, or below the path; not `unique` |
///
/// A collection can have one text index.
///
/// | option | meaning |
/// |---|---|
/// | `unique` | reject a document with the key of another one |
/// | `sparse` | do not index documents without the keys |
/// | `hidden` | hide the index from the query planner (MongoDB 4.4+) |
/// | `name = "…"` | the name; default: from keys and directions, such as `email_1` |
/// | `renamed_from = "…"` | the previous name; an equal index with this name is kept |
/// | `ttl = "30d"` | delete documents this time after the date in the only key |
/// | `collation(locale = "en", strength = 2)` | the collation for comparing strings |
/// | `partial(status == Status::Open && total > 0)` | index only documents that match; null or missing: `partial(deleted_at == None)` |
/// | `language = "…"` | the language of a text index; default: `english` |
/// | `language_override = "…"` | the stored field with the language; default: `language` |
///
/// `ttl` is a whole number with the unit `s`, `m`, `h`, `d` or `w`, at most 2147483647 s.
/// `collation` requires `locale`; the other options are `strength`, `case_level`, `case_first`,
/// `numeric_ordering`, `alternate`, `max_variable`, `normalization` and `backwards`. `partial`
/// allows `==`, `>`, `>=`, `<`, `<=`, `exists()`, `type_is(…)` and `is_in(…)`, joined by `&&` and
/// `||`, and cannot be combined with `sparse`. Indexes are not created automatically; see `marula::schema`.
///
/// # Search indexes
///
/// `search_index(name = "titles", string(title, analyzer = "lucene.english"), number(year))` maps fields, and
/// `search_index(dynamic)` all; see `marula::index::SearchIndex`. The mappings are `string`, `autocomplete`,
/// `token`, `number`, `date`, `boolean`, `object_id`, `uuid`, `geo`, and `document` and `embedded_documents`
/// with `dynamic`. `vector_search_index(name = "plots", vector(plot, dimensions = 1536, similarity = "cosine",
/// quantization = "scalar"), filter(year))` has vectors and filters. The default name is `default`. Schema
/// plans add the field of `soft_delete` to the filters, by which searches leave out deleted documents.
#[proc_macro_derive(Document, attributes(document, serde))]
pub fn document(input: TokenStream) -> TokenStream {
    derive::stored(parse_macro_input!(input as DeriveInput), true)
}

/// Implements `marula::Field`, the typed paths, for a struct or an enum inside of documents, and
/// `marula::Embedded` if it is stored as a document.
///
/// The type is written and read by a codec of its own, as for `Document`. The attributes of the type are `#[document(opaque)]`,
/// `#[document(skip_none)]` and `#[document(crate = path)]`, those of its fields are `opaque`, `skip_none`, `encrypted` and
/// `as = Type`, as for `Document`.
///
/// A struct with one unnamed field is stored as its field, and has the operators and the values of its
/// type: `email().eq("a@b.c")`; in an `Option`, `Some("a@b.c")`. As an id it has the id sources of its
/// type. For the operators of an array dereference the path: `(*o.tags()).contains("new")`. Further
/// fields must be `PhantomData` or skipped; structs that store more unnamed fields are not supported.
///
/// Type parameters and constant parameters are as for `Document`, so that an id can have a type for each
/// model:
///
/// ```
/// use std::marker::PhantomData;
///
/// use marula::bson::ObjectId;
/// use marula::{Document, Embedded, Model, prelude::*};
///
/// #[derive(Embedded)]
/// struct Id<D>(ObjectId, PhantomData<fn() -> D>);
///
/// #[derive(Document)]
/// #[document(collection = "customers")]
/// struct Customer {
///     _id: Id<Customer>,
/// }
///
/// #[derive(Document)]
/// #[document(collection = "orders")]
/// struct Order {
///     _id: Id<Order>,
///     customer: Id<Customer>,
/// }
///
/// let customer: Id<Customer> = Customer::new_id();
/// let filter = Order::fields().customer().eq(customer);
/// assert!(filter.to_string().starts_with(r#"{"customer""#));
/// ```
///
/// A newtype of a parameter, `struct Wrapper<T>(T)`, takes only its own values; the dereferenced path takes
/// those of `T`: `(*o.total()).eq(1)`.
///
/// # Enums
///
/// An enum of unit variants is one value: `status().eq(Status::Open)`. Other enums follow their
/// serde representation:
///
/// ```
/// use marula::{Document, Embedded, prelude::*};
///
/// #[derive(Embedded)]
/// #[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
/// enum Payment {
///     CreditCard { last_four: String },
///     Cash,
/// }
///
/// #[derive(Document)]
/// #[document(collection = "orders")]
/// struct Order {
///     _id: i64,
///     payment: Payment,
/// }
///
/// let o = Order::fields();
/// assert_eq!(
///     o.payment().credit_card().last_four().eq("4242").to_string(),
///     r#"{"payment.lastFour": {"$eq": "4242"}, "payment.kind": {"$eq": "credit_card"}}"#
/// );
/// assert_eq!(o.payment().is_cash().to_string(), r#"{"payment.kind": {"$eq": "cash"}}"#);
/// ```
///
/// A variant with named fields, or with one unnamed field, has an accessor with its name in
/// snake_case. Filters on its fields match this variant only, and updates of them change only
/// values of this variant. Every variant of an enum with data has an `is_…()` filter.
///
/// A variant without a tag (`untagged`, `other`) cannot be recognized in a stored value: it has no
/// `is_…()` filter, and filters on its fields and updates of them fail with `InvalidFilter` and
/// `InvalidUpdate`. Sorts and indexes can use its fields, which they share with other variants that
/// store the same names.
#[proc_macro_derive(Embedded, attributes(document, serde))]
pub fn embedded(input: TokenStream) -> TokenStream {
    derive::stored(parse_macro_input!(input as DeriveInput), false)
}

/// Implements `marula::Patch` for a struct with named fields: changes to a document of a model, given by
/// `#[document(of = Model)]`. The struct is an update, as are references to it.
///
/// ```
/// use marula::{Document, Embedded, Patch, Patched, prelude::*};
///
/// #[derive(Embedded)]
/// struct Address {
///     city: String,
/// }
///
/// #[derive(Document)]
/// #[document(collection = "people")]
/// struct Person {
///     _id: i64,
///     name: String,
///     email: Option<String>,
///     address: Address,
/// }
///
/// #[derive(Patch)]
/// #[document(of = Person)]
/// struct PersonPatch {
///     name: Option<String>,
///     email: Patched<String>,
///     #[document(path = address.city)]
///     city: Option<String>,
/// }
///
/// let patch = PersonPatch { name: None, email: Patched::Null, city: Some("Bern".to_owned()) };
/// let update = r#"{"$set": {"email": null, "address.city": "Bern"}}"#;
/// assert_eq!(patch.to_update().to_string(), update);
///
/// # async fn run(people: marula::Collection<Person>, patch: PersonPatch) -> marula::Result<()> {
/// people.update_by_id(1, |_| &patch).required().await?;
/// # Ok(()) }
/// ```
///
/// # Attributes
///
/// | `#[document(…)]` | meaning |
/// |---|---|
/// | `of = Model` | on the struct: the model; required |
/// | `crate = path` | on the struct: the path of `marula`, if imported under another name |
/// | `path = a.b` | on a field: the Rust names of the changed field; default: the name of the field |
///
/// A field is an `Option`, whose `None` changes nothing, or for an `Option` in the model a `marula::Patched`, which can also
/// be null. The compiler checks the names, the paths and the types against the model. The id and maintained fields are a compile
/// error. The struct can derive `Deserialize`; see the module `marula::patch`.
#[proc_macro_derive(Patch, attributes(document, serde))]
pub fn patch(input: TokenStream) -> TokenStream {
    derive::input(
        &parse_macro_input!(input as DeriveInput),
        parse::input::Derive::Patch,
    )
}

/// Implements `marula::Insert` for a struct with named fields, of which a document of a model is made, given by
/// `#[document(of = Model)]`. `Collection::insert` stores the document and returns it.
///
/// ```
/// use marula::{Document, Insert, bson::{DateTime, ObjectId}, prelude::*};
///
/// #[derive(Document)]
/// #[document(collection = "people")]
/// struct Person {
///     _id: ObjectId,
///     name: String,
///     email: Option<String>,
///     #[document(created_at)]
///     created_at: DateTime,
/// }
///
/// #[derive(Insert)]
/// #[document(of = Person)]
/// struct NewPerson {
///     name: String,
///     email: Option<String>,
/// }
///
/// # async fn run(people: marula::Collection<Person>, new: NewPerson) -> marula::Result<()> {
/// let stored: Person = people.insert(new).await?;
/// # Ok(()) }
/// ```
///
/// # Attributes
///
/// | `#[document(…)]` | meaning |
/// |---|---|
/// | `of = Model` | on the struct: the model; required |
/// | `crate = path` | on the struct: the path of `marula`, if imported under another name |
/// | `path = name` | on a field: the Rust name of the field of the model; default: the name of the field |
///
/// The compiler checks the names and the types of the fields against the model, and that all required fields are present: those
/// that are not an `Option` and have no default of serde. The id is required if the model has no source of ids of its type, and
/// may be given otherwise. Maintained fields are a compile error.
#[proc_macro_derive(Insert, attributes(document, serde))]
pub fn insert(input: TokenStream) -> TokenStream {
    derive::input(
        &parse_macro_input!(input as DeriveInput),
        parse::input::Derive::Insert,
    )
}

/// Implements `marula::Shape` for a struct with named fields that a stage of an aggregation
/// creates, and generates the structs that stages take. It includes all that `Embedded` implements.
///
/// ```
/// use marula::expr::*;
/// use marula::{Document, Pipeline, Shape, prelude::*};
///
/// # #[derive(Document)]
/// # #[document(collection = "orders")]
/// # struct Order { _id: i64, customer: i64, total: i64 }
/// #[derive(Shape)]
/// struct Totals {
///     #[serde(rename = "_id")]
///     customer: i64,
///     revenue: i64,
/// }
///
/// let totals = Pipeline::<Order>::new()
///     .group(|o| TotalsGroup { customer: expr(o.customer()), revenue: sum(o.total()) });
/// assert_eq!(
///     totals.to_string(),
///     r#"[{"$group": {"_id": "$customer", "revenue": {"$sum": "$total"}}}]"#
/// );
/// ```
///
/// For a struct `Totals` and its fields of types `T` it generates, with the same visibility:
///
/// | struct | for a struct with | fields | used by |
/// |---|---|---|---|
/// | `TotalsExpr<R>` | no flattened field | `Expr<R, T>` | `project`, inner documents |
/// | `TotalsGroup<R>` | a field stored as `_id` | `Expr<R, T>` for `_id`, otherwise `Acc<R, T>` | `group` |
/// | `TotalsGroup<R>` | no field stored as `_id` | `Acc<R, T>` | `group_all` |
/// | `TotalsFacets<S>` | only fields of type `Vec<T>` | `Pipeline<S, T>` | `facet` |
/// | `TotalsAdded<R>` | a flattened field | `Expr<R, T>` of the others | `add_fields` |
/// | `TotalsJoins<R>` | a flattened field | `Join<R, T>` of the others | `join` |
///
/// No other item of the module can have these names.
///
/// With one flattened field and one other field of type `Vec<T>` the struct is also the result of
/// `lookup` and `graph_lookup`. `T` is the stored type: that of `#[document(as = Type)]` if it is
/// given.
///
/// # Flattened fields
///
/// A shape that contains the documents of the stage before flattens them by `#[document(flatten)]`.
/// An added field is not in a flattened map of the documents.
///
/// ```
/// use marula::expr::*;
/// use marula::{Document, Pipeline, Shape, prelude::*};
///
/// #[derive(Document)]
/// #[document(collection = "orders")]
/// struct Order {
///     _id: uuid::Uuid,
///     total: i64,
/// }
///
/// #[derive(Shape)]
/// struct Taxed {
///     #[document(flatten)]
///     order: Order,
///     tax: f64,
/// }
///
/// let _taxed = Pipeline::<Order>::new().add_fields(|o| TaxedAdded { tax: o.total() * 0.08 });
/// ```
///
/// # Attributes
///
/// The names are those of serde's attributes. The attributes are those of `Embedded`. With `Document`
/// on the same struct it implements only the additions, so that results can be written by
/// `merge_into`.
#[proc_macro_derive(Shape, attributes(document, serde))]
pub fn shape(input: TokenStream) -> TokenStream {
    derive::shape(parse_macro_input!(input as DeriveInput))
}

/// Implements `marula::Projection` for a struct with named fields that is read from a part of a
/// stored type, given by `#[document(of = Type)]`. It includes all that `Embedded` implements, except
/// for values in filters and updates.
///
/// ```
/// use marula::expr::gt;
/// use marula::{Document, Embedded, Pipeline, Projection, prelude::*};
///
/// #[derive(Embedded)]
/// struct Address {
///     city: String,
/// }
///
/// #[derive(Document)]
/// #[document(collection = "people")]
/// struct Person {
///     _id: i64,
///     name: String,
///     age: i32,
///     address: Option<Address>,
/// }
///
/// #[derive(Projection)]
/// #[document(of = Person)]
/// struct Summary {
///     _id: i64,
///     name: String,
///     #[document(path = address.city)]
///     city: Option<String>,
///     #[document(expr = |p| gt(p.age(), 17))]
///     is_adult: bool,
/// }
///
/// let summaries = Pipeline::<Person>::new().select::<Summary>();
/// assert!(summaries.to_string().contains(r#""name": 1, "city": "$address.city""#));
/// ```
///
/// # Attributes
///
/// | `#[document(…)]` | meaning |
/// |---|---|
/// | `of = Type` | on the struct: the stored type; required |
/// | `crate = path` | on the struct: the path of `marula`, if imported under another name |
/// | `path = a.b` | on a field: the Rust names of the stored field; default: the name of the field |
/// | `expr = \|o\| …` | on a field: an expression; the closure takes the fields of the stored type |
/// | `as = Type`, `opaque` | on a field: as for `Document` |
///
/// A field has the type of the stored field, an `Option` of it, a projection of it, or a `Vec` of
/// projections of its elements. Behind an `Option` it must be an `Option`.
///
/// Fields whose names and paths are those of the stored type are included; all other fields are
/// expressions, which in a `find` require MongoDB 4.4.
#[proc_macro_derive(Projection, attributes(document, serde))]
pub fn projection(input: TokenStream) -> TokenStream {
    derive::projection(parse_macro_input!(input as DeriveInput))
}
