//! Queries: filters, arrays, sorts, and the methods that read.
//!
//! # Filters
//!
//! A filter is an expression over the fields of the model. `&`, `|` and `!` combine conditions. All
//! operators are in [`FilterOps`](crate::FilterOps). `Display` prints what is sent.
//!
//! ```
//! # use marula_guide::*;
//! let o = Order::fields();
//! let filter = o.status().is_in([Status::Open, Status::Paid])
//!     & (o.total().gte(100) | o.tags().contains("vip"))
//!     & !o.note().contains_text("test");
//! assert_eq!(
//!     filter.to_string(),
//!     concat!(
//!         r#"{"status": {"$in": ["open", "paid"]}, "#,
//!         r#""$or": [{"total": {"$gte": 100}}, {"tags": {"$eq": "vip"}}], "#,
//!         r#""$nor": [{"note": {"$regex": "test"}}]}"#
//!     )
//! );
//! ```
//!
//! A filter is a value: it can be stored, cloned, returned from a function and sent to another
//! thread.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! fn open() -> Filter<Order> {
//!     Order::fields().status().eq(Status::Open)
//! }
//!
//! let count = orders.filter(open()).count().await?;
//! let large = orders.find(|o| open() & o.total().gt(250)).await?;
//! assert_eq!((count, large.len()), (3, 1));
//! # Ok(()) });
//! ```
//!
//! # Arrays
//!
//! | condition | filter |
//! |---|---|
//! | an element is equal to a value | `o.tags().contains("vip")` |
//! | an element of scalars matches | `o.scores().any().gt(90)` |
//! | the field of an element matches | `o.lines().sku().eq("tea")` |
//! | **one** element matches all conditions | `o.lines().elem_match(\|l\| l.sku().eq("tea") & l.qty().gt(1))` |
//! | all values are in the array | `o.tags().all(["a", "b"])` |
//! | the number of elements | `o.tags().size(0)` |
//! | the element at an index | `o.lines().nth(0).sku().eq("tea")` |
//!
//! Two conditions without `elem_match` can match two different elements:
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let two = orders.count(|o| o.lines().sku().eq("cup") & o.lines().qty().eq(2)).await?;
//! let one = orders.count(|o| o.lines().elem_match(|l| l.sku().eq("cup") & l.qty().eq(2))).await?;
//! assert_eq!((two, one), (3, 0));
//! # Ok(()) });
//! ```
//!
//! # Null and missing
//!
//! `is_null` matches null and missing fields, both of which are read as `None`. `is_missing` and
//! `exists` distinguish them. A comparison by order with `None` is rejected, because the server
//! compares null only with null.
//!
//! ```
//! # use marula_guide::*;
//! let o = Order::fields();
//! assert_eq!(o.note().is_null().to_string(), r#"{"note": {"$eq": null}}"#);
//! assert_eq!(o.note().is_not_null().to_string(), r#"{"note": {"$ne": null}}"#);
//! assert_eq!(o.note().is_missing().to_string(), r#"{"note": {"$exists": false}}"#);
//! assert_eq!(o.note().eq("x").to_string(), o.note().eq(Some("x")).to_string());
//! ```
//!
//! # Reading
//!
//! | method | result |
//! |---|---|
//! | `find(..).await`, [`all`](crate::collection::Find::all) | a `Vec` of all documents |
//! | [`stream`](crate::collection::Find::stream) | a `Stream`, in batches |
//! | [`first`](crate::collection::Find::first) | the first one, or `None` |
//! | [`one`](crate::collection::Find::one) | the only one; an error for none or several |
//! | [`find_one`](crate::Collection::find_one), [`find_by_id`](crate::Collection::find_by_id) | `Option`; with `.required()` the document, or [`NotFound`](crate::Error::NotFound) |
//! | [`count`](crate::Collection::count), [`exists`](crate::Collection::exists) | a number, a `bool` |
//! | [`distinct`](crate::Collection::distinct) | the values of a field |
//! | [`page`](crate::collection::Find::page), [`keyset`](crate::collection::Find::keyset) | see [Pages](super::pages) |
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let newest = orders.find_all().sort(|o| (o.created_at().desc(), o.id().asc())).first().await?;
//! assert_eq!(newest.map(|o| o.id), Some(3));
//!
//! let mut stream = orders.find(|o| o.total().gt(0)).batch_size(100).stream().await?;
//! while let Some(order) = stream.try_next().await? {
//!     println!("{}", order.total);
//! }
//!
//! let skus: Vec<String> = orders.distinct(|o| o.lines().sku(), |_| Filter::everything()).await?;
//! assert_eq!(skus, ["cup", "tea"]);
//! # Ok(()) });
//! ```
//!
//! # Options
//!
//! Every option of the server's command has a setter: `.hint(..)`, `.collation(..)`,
//! `.comment(..)`, `.session(..)`, `.timeout(..)`. Concerns and the read preference are options of
//! the handle.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::driver::options::{ReadPreference, ReadPreferenceMode};
//! let anywhere = orders.with_read_preference(ReadPreference::new(ReadPreferenceMode::Nearest));
//! let count = anywhere.count(|o| o.customer().eq(1)).comment("nightly report").await?;
//! assert_eq!(count, 1);
//! # Ok(()) });
//! ```
//!
//! # Raw conditions
//!
//! Conditions without a typed form are [`Filter::raw`](crate::Filter::raw),
//! [`Filter::expr`](crate::Filter::expr) and [`raw_condition`](crate::FilterOps::raw_condition).
//! They combine with typed ones.
//!
//! ```
//! # use marula_guide::*;
//! let filter = Order::fields().total().gt(0) & Filter::raw(doc! { "$where": "this.total > 1" });
//! assert_eq!(filter.to_string(), r#"{"total": {"$gt": 0}, "$where": "this.total > 1"}"#);
//! ```
