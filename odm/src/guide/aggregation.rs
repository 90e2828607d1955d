//! Projections and aggregation: parts of documents, pipelines, shapes.
//!
//! # Projections
//!
//! A [`Projection`](derive@crate::Projection) is a smaller view of a model. The derive checks its
//! names and types against the model. `select` reads it instead of the document, in every method
//! that reads.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::Projection;
//!
//! #[derive(Debug, PartialEq, Deserialize, Projection)]
//! #[document(of = Order)]
//! struct Summary {
//!     #[serde(rename = "_id")]
//!     id: i64,
//!     total: i64,
//! }
//!
//! let all: Vec<Summary> = orders.find_all().sort(|o| o.total().desc()).select::<Summary>().await?;
//! assert_eq!(all[0], Summary { id: 3, total: 300 });
//!
//! let one = orders.find_by_id(1).select::<Summary>().required().await?;
//! assert_eq!(one.total, 100);
//! # Ok(()) });
//! ```
//!
//! The filter and the sort still use all fields of the model. `path` reads a nested field and
//! `expr` a computed one; see [`Projection`](derive@crate::Projection).
//!
//! # Sums of a query
//!
//! For one number of the documents of a query no pipeline is needed: `sum`, `avg`, `min` and `max` compute it on the server.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let open: i64 = orders.find(|o| o.status().eq(Status::Open)).sum(|o| o.total()).await?;
//! let average: Option<f64> = orders.find_all().avg(|o| o.total()).await?;
//! assert_eq!((open, average), (600, Some(200.0)));
//! # Ok(()) });
//! ```
//!
//! # Groups
//!
//! [`Collection::aggregate`](crate::Collection::aggregate) starts a [`Pipeline`](crate::Pipeline).
//! Each stage takes a closure over the fields that the previous one returns. A stage that creates
//! documents of a new form takes the struct that [`Shape`](derive@crate::Shape) generates:
//! `…Group`, `…Expr`, `…Added`, `…Facets`, `…Joins`.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::{Shape, expr::*};
//!
//! #[derive(Debug, PartialEq, Shape)]
//! struct ByStatus {
//!     #[serde(rename = "_id")]
//!     status: Status,
//!     orders: i64,
//!     revenue: i64,
//!     average: f64,
//! }
//!
//! let by_status = orders
//!     .aggregate()
//!     .match_(|o| o.total().gt(0))
//!     .group(|o| ByStatusGroup {
//!         status: expr(o.status()), // the key
//!         orders: count(),
//!         revenue: sum(o.total()),
//!         average: avg(o.total()),
//!     })
//!     .sort(|s| s.revenue().desc())
//!     .all()
//!     .await?;
//! let open = ByStatus { status: Status::Open, orders: 3, revenue: 600, average: 200.0 };
//! assert_eq!(by_status, [open]);
//! # Ok(()) });
//! ```
//!
//! The types follow the server: the sum of `i32` is `i64`, an average is `f64`, and of optional
//! fields `Option<f64>`. The average of a `rust_decimal::Decimal` is a `Decimal128`, which can have more digits;
//! [`retype`](crate::expr::Acc::retype) reads it as the type of the field.
//!
//! # Elements of arrays
//!
//! After [`unwind`](crate::Pipeline::unwind) the closures also take the element:
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::{Shape, expr::*};
//!
//! #[derive(Shape)]
//! struct Sold {
//!     #[serde(rename = "_id")]
//!     sku: String,
//!     pieces: i64,
//! }
//!
//! let best = orders
//!     .aggregate()
//!     .unwind(|o| o.lines())
//!     .group(|_, line| SoldGroup { sku: expr(line.sku()), pieces: sum(line.qty()) })
//!     .sort(|s| s.pieces().desc())
//!     .first()
//!     .await?;
//! assert_eq!(best.map(|s| (s.sku, s.pieces)), Some(("tea".to_owned(), 6)));
//! # Ok(()) });
//! ```
//!
//! Without `unwind`, the functions on arrays compute within one document:
//! [`sum_of`](crate::expr::sum_of), [`map`](crate::expr::map), [`filter`](crate::expr::filter),
//! [`any_of`](crate::expr::any_of).
//!
//! # Computed fields
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::{Shape, expr::*};
//!
//! // A shape that flattens the documents adds fields to them.
//! #[derive(Shape)]
//! struct WithPieces {
//!     #[document(flatten)]
//!     order: Order,
//!     pieces: i64,
//! }
//!
//! let large = orders
//!     .aggregate()
//!     .add_fields(|o| WithPiecesAdded { pieces: sum_of(o.lines(), |l| expr::<_, i32>(l.qty())) })
//!     .match_(|w| w.pieces().gte(3) & w.order().total().gt(100))
//!     .all()
//!     .await?;
//! assert_eq!(large.len(), 2);
//! # Ok(()) });
//! ```
//!
//! # Joins
//!
//! [`lookup`](crate::Pipeline::lookup) reads the documents of another collection into an array. The
//! types of both fields must agree.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::Shape;
//!
//! #[derive(Shape)]
//! struct WithCustomers {
//!     #[document(flatten)]
//!     order: Order,
//!     customers: Vec<Customer>,
//! }
//!
//! let joined = orders
//!     .aggregate()
//!     .lookup::<WithCustomers>()
//!     .on(|o| o.customer(), |c| c.id())
//!     .match_(|w| w.customers().country().eq("CH"))
//!     .all()
//!     .await?;
//! assert_eq!(joined[0].customers[0].email, "1@example.com");
//! # Ok(()) });
//! ```
//!
//! To load the customers of a page, [`Collection::load`](crate::Collection::load) is shorter; see
//! [Relations](super::relations).
//!
//! # Other stages
//!
//! `facet`, `bucket`, `window`, `densify`, `fill`, `union_with`, `geo_near`,
//! `merge_into` and `out` have examples at [`Pipeline`](crate::Pipeline); for searches see [Search](super::search). A stage
//! without a method is added by [`stage_raw`](crate::Pipeline::stage_raw), and
//! [`assume`](crate::Pipeline::assume) states the type after it:
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::aggregate::Count;
//!
//! let count = orders
//!     .aggregate()
//!     .stage_raw(doc! { "$match": { "total": { "$gt": 100 } } })
//!     .stage_raw(doc! { "$count": "count" })
//!     .assume::<Count>()
//!     .first()
//!     .await?;
//! assert_eq!(count.map(|c| c.count), Some(2));
//! # Ok(()) });
//! ```
