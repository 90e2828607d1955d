//! Coming from the crate `mongodb`: a table of both APIs.
//!
//! The driver below the ODM, [`driver`](crate::driver), is close to the official crate: fluent
//! actions that are awaited, `doc!`, cursors that are streams, `ClientOptions`. The ODM adds
//! models.
//!
//! | `mongodb` | `marula` |
//! |---|---|
//! | `Client::with_uri_str(uri).await` | [`marula::connect(uri).await`](crate::connect()) |
//! | `client.database("shop")` | the same |
//! | `db.collection::<Order>("orders")` | `db.collection::<Order>()`; the name is in the model; [`named`](crate::Collection::named) |
//! | `doc! { "status": "open", "total": { "$gt": 5 } }` | `\|o\| o.status().eq(Status::Open) & o.total().gt(5)` |
//! | `coll.find(doc).await?` → `Cursor` | `coll.find(filter).await?` → `Vec`; [`stream`](crate::collection::Find::stream) → `Stream` |
//! | `coll.find_one(doc).await?` | [`find_one(filter).await?`](crate::Collection::find_one); [`find_by_id`](crate::Collection::find_by_id) |
//! | `.sort(doc! { "created": -1 })` | `.sort(\|o\| o.created().desc())` |
//! | `.projection(doc! { "total": 1 })` | [`.select::<Summary>()`](crate::collection::Find::select) |
//! | `coll.clone_with_type::<T>()` | `select`, or a second model with the same collection |
//! | `coll.insert_one(&order).await?` | the same; duplicate keys are [`Error::Duplicate`](crate::Error::Duplicate) |
//! | `coll.update_one(filter, doc! { "$inc": { "n": 1 } })` | `coll.update_one(filter, \|o\| o.n().inc(1))` |
//! | `"lines.$[l].qty"` with `array_filters` | `o.lines().filtered_positional(\|l\| …).qty()` |
//! | `coll.replace_one(doc! { "_id": id }, &order)` | [`replace(&order)`](crate::Collection::replace), [`save(&mut order)`](crate::Collection::save) |
//! | `coll.delete_many(doc! {})` | [`delete_all()`](crate::Collection::delete_all); an empty filter is an error |
//! | `coll.count_documents(doc)` | [`count(filter)`](crate::Collection::count) |
//! | `coll.distinct("tags", doc)` → `Vec<Bson>` | `distinct(\|o\| o.tags().any(), filter)` → `Vec<String>` |
//! | `coll.aggregate(vec![doc! {…}])` → `Document` | [`aggregate()`](crate::Collection::aggregate) with stages → shapes |
//! | `coll.create_index(IndexModel::builder()…)` | `#[document(index(…))]` and [`Schema::sync`](crate::schema::Schema::sync) |
//! | `client.start_session()`, `session.start_transaction()` | [`client.transaction().run(..)`](crate::Client::transaction), [`start_transaction`](crate::Client::start_transaction) |
//! | `.session(&mut session)` | the same; in a transaction [`tx.bind(&orders)`](crate::driver::ClientSession::bind), a handle that needs no session |
//! | `coll.watch()` → `ChangeStreamEvent<T>` | [`watch()`](crate::Collection::watch), with typed filters |
//! | `ErrorKind::Write(WriteFailure::WriteError(e)) if e.code == 11000` | [`Error::Duplicate { index, key, .. }`](crate::Error::Duplicate) |
//! | `client.shutdown().await` | the same, with a deadline and what had not ended |
//! | `bson::DateTime`, `bson::oid::ObjectId` | [`bson::DateTime`](crate::bson::DateTime), [`bson::ObjectId`](crate::bson::ObjectId) |
//! | `#[serde(with = "bson::serde_helpers::…")]` for dates and UUIDs | not needed; features `chrono`, `time`, `jiff` |
//!
//! # Step by step
//!
//! A program can use both crates at the same time, and the ODM works on collections that exist. In
//! a program that already uses [`driver`](crate::driver), a typed collection is a view of a
//! driver's collection:
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let raw = client.driver().database("shop").collection::<marula::bson::Document>("orders");
//! let typed = Collection::<Order>::from_driver(&raw);
//! assert_eq!(typed.count(|o| o.total().gt(100)).await?, 2);
//!
//! // And back, for what has no typed form.
//! let names = typed.driver().find_one(doc! { "total": 300 }).await?;
//! # assert!(names.is_some());
//! # Ok(()) });
//! ```
//!
//! Each typed value opens downwards: [`Filter::raw`](crate::Filter::raw) and
//! [`Filter::into_document`](crate::Filter::into_document), [`Update::raw`](crate::Update::raw) and
//! [`Update::compile`](crate::Update::compile),
//! [`Pipeline::stage_raw`](crate::Pipeline::stage_raw),
//! [`Find::into_driver`](crate::collection::Find::into_driver),
//! [`Collection::driver`](crate::Collection::driver).
//!
//! # Differences in stored data
//!
//! - `uuid::Uuid` is stored as Binary subtype 4. If a program has stored another form (Binary
//!   subtype 0, text), convert the data, or use a field of type [`Binary`](crate::bson::Binary) or
//!   `String`.
//! - `chrono::DateTime<Utc>` is stored as a BSON date. A date that was stored as text is an
//!   error: convert the data, or store the field as text by `#[document(as = String)]`.
//! - `u32` and larger unsigned integers are stored as Int64; a `u64` above `i64::MAX` is an error.
//! - `None` is stored as null unless the field or the model has `#[document(skip_none)]`; `is_null` matches both.
