//! Coming from Mongoose: a table of both APIs.
//!
//! | Mongoose | `marula` |
//! |---|---|
//! | `new Schema({ … })`, `model('Order', schema)` | a struct with [`#[derive(Document)]`](derive@crate::Document) |
//! | `type`, `required`, `default` | the Rust type, `Option`, `#[serde(default)]` |
//! | `enum: ['open', 'paid']` | an enum with [`#[derive(Embedded)]`](derive@crate::Embedded) |
//! | `discriminatorKey` | `#[serde(tag = "kind")]` on an enum |
//! | subdocuments | [`Embedded`](derive@crate::Embedded) structs |
//! | `Mixed` | [`Bson`](crate::bson::Bson), [`Document`](crate::bson::Document), `#[document(opaque)]` |
//! | `timestamps: true` | `#[document(created_at)]`, `#[document(updated_at)]` |
//! | `versionKey`, `optimisticConcurrency` | `#[document(version)]` |
//! | `validate` | `#[document(validate = path)]` |
//! | `pre('save')`, `post('init')` | [`Hooks`](crate::Hooks): `before_insert`, `before_replace`, `after_load` |
//! | virtuals, methods, statics | Rust methods |
//! | `index: true`, `unique: true`, `schema.index(…)` | `#[document(index)]`, `#[document(unique)]`, `#[document(index(…))]` |
//! | `autoIndex`, `syncIndexes()` | [`Schema::sync`](crate::schema::Schema::sync) with a mode |
//! | `Order.find({ status: 'open' })` | `orders.find(\|o\| o.status().eq(Status::Open))` |
//! | `.findById(id)`, `.orFail()` | [`find_by_id`](crate::Collection::find_by_id), `.required()` |
//! | `.select('total')` | [`.select::<Total>()`](crate::collection::Find::select), a checked struct |
//! | `.lean()` | always: documents are plain structs |
//! | `.sort('-created')`, from a request | `.sort(\|o\| o.created().desc())`, [`SortNames`](crate::SortNames) |
//! | `.populate('customer')` | [`customers.load(ids)`](crate::Collection::load), [`join`](crate::Pipeline::join) |
//! | `ref: 'Customer'` | [`Ref<Customer>`](crate::Ref) |
//! | `.cursor()` | [`stream`](crate::collection::Find::stream) |
//! | `doc.save()` | [`orders.save(&mut order)`](crate::Collection::save) |
//! | `Order.create(…)`, `insertMany` | [`insert_one`](crate::Collection::insert_one), [`insert_many`](crate::Collection::insert_many) |
//! | `findOneAndUpdate(…, { new: true, upsert: true })` | [`find_one_and_update`](crate::Collection::find_one_and_update)`.returning_new().upsert(true)` |
//! | `bulkWrite([…])` | [`bulk()`](crate::Collection::bulk) |
//! | `mongoose-delete` | `#[document(soft_delete = deleted_at)]` |
//! | `mongoose-paginate` | [`page`](crate::collection::Find::page), [`keyset`](crate::collection::Find::keyset) |
//! | `connection.transaction(fn)` | [`client.transaction().run(..)`](crate::Client::transaction) |
//! | `Order.watch()` | [`watch`](crate::Collection::watch) |
//! | `aggregate([…])` | [`aggregate()`](crate::Collection::aggregate) |
//! | `mongoose.set('debug', true)` | feature `tracing`; `Display` of filters and updates |
//! | `mongodb-memory-server` | `marula-test-server`, in the process of the test |
//!
//! # What differs
//!
//! - There is no global connection. A [`Client`](crate::Client) is a value of the application.
//! - There are no documents with hidden state: a struct does not know whether it was changed.
//!   `save` replaces the document; to change single fields use `update_by_id`.
//! - Nothing is loaded implicitly. `load` sends one query for all references of a list.
//! - A query with an unknown field does not compile; Mongoose's `strictQuery` removes it, which
//!   finds everything.
//! - Validation runs for whole documents (`insert`, `replace`, `save`). Updates by operators are
//!   checked by types; for other rules declare `#[document(json_schema)]`, which the server checks
//!   for every write.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! // Mongoose: Order.findByIdAndUpdate(1, { $set: { status: 'paid' } }, { new: true }).orFail()
//! let paid = orders
//!     .find_one_and_update(|o| o.id().eq(1), |o| o.status().set(Status::Paid))
//!     .returning_new()
//!     .required()
//!     .await?;
//! assert_eq!(paid.status, Status::Paid);
//! # Ok(()) });
//! ```
