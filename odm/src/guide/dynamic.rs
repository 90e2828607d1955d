//! Dynamic filters and PATCH: conditions, sorts and updates that a request selects.
//!
//! # Conditions from optional parameters
//!
//! ```
//! # use marula_guide::*;
//! #[derive(Default, Deserialize)]
//! struct Query {
//!     status: Option<Status>,
//!     customer: Option<i64>,
//!     minimum: Option<i64>,
//!     text: Option<String>,
//! }
//!
//! fn filter(query: &Query) -> Filter<Order> {
//!     let o = Order::fields();
//!     // `None` adds no condition.
//!     Filter::default()
//!         .and(query.status.map(|s| o.status().eq(s)))
//!         .and(query.customer.map(|c| o.customer().eq(c)))
//!         .and(query.minimum.map(|m| o.total().gte(m)))
//!         // `contains_text` escapes what the user typed.
//!         .and(query.text.as_deref().map(|t| o.note().contains_text(t)))
//! }
//!
//! let query = Query { customer: Some(7), text: Some("a.b".into()), ..Query::default() };
//! assert_eq!(
//!     filter(&query).to_string(),
//!     r#"{"customer": {"$eq": 7}, "note": {"$regex": "a\\.b"}}"#
//! );
//! assert_eq!(filter(&Query::default()).to_string(), "{}");
//! ```
//!
//! [`Filter::default`](crate::Filter) has no conditions, and adds none to others, also as the start of `|=`
//! and [`or`](crate::Filter::or). A list of alternatives that can be empty starts with
//! [`Filter::nothing`](crate::Filter::nothing), or is [`Filter::any`](crate::Filter::any): no document matches
//! then, whereas reads with `Filter::default` return every document.
//!
//! The same with `&=`, and with lists: [`Filter::all_some`](crate::Filter::all_some),
//! [`Filter::any`](crate::Filter::any).
//!
//! ```
//! # use marula_guide::*;
//! let o = Order::fields();
//! let mut filter = Filter::default();
//! for tag in ["new", "gift"] {
//!     filter &= o.tags().contains(tag);
//! }
//! let either = Filter::any([1, 2].map(|customer| o.customer().eq(customer)));
//! filter &= either;
//! assert_eq!(
//!     filter.to_string(),
//!     concat!(
//!         r#"{"$and": [{"tags": {"$eq": "new"}}, {"tags": {"$eq": "gift"}}, "#,
//!         r#"{"$or": [{"customer": {"$eq": 1}}, {"customer": {"$eq": 2}}]}]}"#
//!     )
//! );
//! ```
//!
//! # Writes reject a filter without conditions
//!
//! A forgotten parameter does not delete a collection: a filter that was combined from no
//! conditions is an error of every write. [`Filter::everything`](crate::Filter::everything),
//! [`delete_all`](crate::Collection::delete_all) and [`update_all`](crate::Collection::update_all)
//! state the intention. Start with [`Filter::default`](crate::Filter), not with `everything`.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let status = None::<Status>;
//! let condition = Filter::default().and(status.map(|s| Order::fields().status().eq(s)));
//! let error = orders.filter(condition).delete_many().await.unwrap_err();
//! assert!(matches!(error, Error::InvalidFilter { .. }));
//! assert_eq!(orders.delete_all().await?, 3);
//! # Ok(()) });
//! ```
//!
//! # A range over any field
//!
//! Generic functions name the marker traits of [`path::marker`](crate::path::marker):
//!
//! ```
//! # use marula_guide::*;
//! use marula::path::{Read, marker::Ordered};
//! use marula::{AsPath, IntoValue};
//!
//! fn range<A, V>(field: &A, from: Option<V>, to: Option<V>) -> Filter<Order>
//! where
//!     A: AsPath<Root = Order, Value: Ordered, Mode = Read>,
//!     V: IntoValue<A::Value>,
//! {
//!     Filter::all_some([from.map(|v| field.gte(v)), to.map(|v| field.lt(v))])
//! }
//!
//! let filter = range(&Order::fields().total(), Some(100), None);
//! assert_eq!(filter.to_string(), r#"{"total": {"$gte": 100}}"#);
//! ```
//!
//! # Sorts by name
//!
//! [`SortNames`](crate::SortNames) is the list of sorts that a request may select. Other names are
//! [`Error::UnknownSort`](crate::Error::UnknownSort).
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::{Sort, SortNames};
//!
//! let o = Order::fields();
//! let names = SortNames::<Sort<Order>>::new()
//!     .allow("created", o.created_at().asc())
//!     .allow("total", o.total().asc());
//! let keys = names.parse("-total,created")?; // ?sort=-total,created
//! let first = orders.find_all().sort(|_| keys).first().await?;
//! assert_eq!(first.map(|o| o.total), Some(300));
//! assert!(matches!(names.parse("password"), Err(Error::UnknownSort { .. })));
//! # Ok(()) });
//! ```
//!
//! In a `match` the arms have one type after [`erased`](crate::SortKey::erased).
//!
//! # Filters by name
//!
//! [`FilterNames`](crate::filter::FilterNames) is the list of filters that a request may select, with the comparisons of each. Values
//! are read as the type of the field. Other names are [`Error::UnknownFilter`](crate::Error::UnknownFilter).
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::filter::{FilterNames, FilterOperator::*};
//!
//! let o = Order::fields();
//! let names = FilterNames::new()
//!     .allow("status", o.status(), [Equal, In])
//!     .allow("total", o.total(), [GreaterOrEqual, Less])
//!     .allow("tag", o.tags().any(), [Equal])
//!     .ignore("sort");
//! // ?status=open&total[gte]=200&sort=-total
//! let filter = names.parse("status=open&total%5Bgte%5D=200&sort=-total")?;
//! assert_eq!(orders.filter(filter).find().await?.len(), 2);
//! assert!(matches!(names.parse("total[gte]=many"), Err(Error::InvalidFilterValue { .. })));
//! # Ok(()) });
//! ```
//!
//! # PATCH
//!
//! A struct with [`#[derive(Patch)]`](derive@crate::Patch) is an update of the fields that are present. The compiler checks
//! its fields against the model. [`Patched`](crate::Patched) distinguishes a field that is absent from one that is null.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::{Patch, Patched};
//!
//! #[derive(Patch, serde::Deserialize)]
//! #[document(of = Order)]
//! #[serde(deny_unknown_fields)]
//! struct OrderPatch {
//!     status: Option<Status>,
//!     note: Patched<String>,
//! }
//!
//! let patch: OrderPatch = serde_json::from_str(r#"{"status": "paid", "note": null}"#)?;
//! assert_eq!(patch.to_update().to_string(), r#"{"$set": {"status": "paid", "note": null}}"#);
//! orders.update_by_id(1, |o| (&patch, o.tags().push("changed"))).required().await?;
//!
//! // An empty update is an error of the call, unless `allow_empty` permits it: then the document is only read.
//! let patch: OrderPatch = serde_json::from_str("{}")?;
//! assert!(patch.is_empty());
//! orders.update_by_id(1, |_| &patch).allow_empty().required().await?;
//! # Ok(()) });
//! ```
//!
//! For operators other than `set`, a tuple of `Option<Update>` is an update of what is present:
//! `(body.add_tag.map(|tag| o.tags().add_to_set(tag)), body.points.map(|points| o.total().inc(points)))`.
//!
//! A patch of a field in an `Option`, such as `p.address().city().set(..)`, creates an incomplete `address` if
//! there is none, and the document cannot be read any more. Add `p.address().is_not_null()` to the filter, or
//! set the whole value; see [Parents that are missing](super::updates#parents-that-are-missing).
