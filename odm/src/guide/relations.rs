//! Relations: references, loading without one query for each document, joins.
//!
//! # References
//!
//! A field refers to a document of another collection by its id: as a plain id, or as a
//! [`Ref`](crate::Ref), which also names the model. Nothing checks that the document exists.
//!
//! ```
//! use marula::{Document, Ref, prelude::*};
//!
//! #[derive(Document)]
//! #[document(collection = "authors")]
//! struct Author {
//!     #[serde(rename = "_id")]
//!     id: i64,
//!     name: String,
//! }
//!
//! #[derive(Document)]
//! #[document(collection = "posts", index(author))]
//! struct Post {
//!     #[serde(rename = "_id")]
//!     id: i64,
//!     author: Ref<Author>,
//!     reviewer: Option<Ref<Author>>,
//! }
//!
//! let ada = Author { id: 7, name: "Ada".into() };
//! let post = Post { id: 1, author: Ref::to(&ada), reviewer: None };
//! assert_eq!(post.author.id(), &7);
//! // Filters take the reference or the id.
//! assert_eq!(Post::fields().author().eq(7_i64).to_string(), r#"{"author": {"$eq": 7}}"#);
//! ```
//!
//! # Documents with what belongs to them: `with`
//!
//! A query reads each document together with the one that it refers to, with those that refer to it, or with
//! their number. Each relation is one more query for all documents, so that there is no query for each document. The
//! output is a tuple, in the order of the relations.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let newest = orders.find_all().sort(|o| o.created_at().desc());
//! let open = orders.find(|o| o.status().eq(Status::Open));
//! let page = customers
//!     .find(|c| c.country().eq("CH"))
//!     .with_many(newest, |o| o.customer())
//!     .per_parent(3)
//!     .with_count(open, |o| o.customer())
//!     .page(0, 20)
//!     .await?;
//! for (customer, orders, open) in &page.items {
//!     println!("{}: {open} open, the last ones {:?}", customer.email, orders.iter().map(|o| o.id).collect::<Vec<_>>());
//! }
//! // The query of a relation can have relations of its own.
//! let customers = customers.find_all().with_count(&orders, |o| o.customer());
//! for (order, customer) in orders.find_all().with(|o| o.customer(), customers).await? {
//!     let Some((customer, number)) = customer else { continue };
//!     println!("order {} of {}, who has {number}", order.id, customer.email);
//! }
//! # Ok(()) });
//! ```
//!
//! | method | output for each document |
//! |---|---|
//! | [`with`](crate::collection::Find::with) | the document that a field refers to: `Option<T>` |
//! | [`with_each`](crate::collection::Find::with_each) | those that an array refers to: `Vec<Option<T>>` |
//! | [`with_many`](crate::collection::Find::with_many) | those that refer to it: `Vec<T>`, [`per_parent`](crate::relation::FindWith::per_parent) limits them |
//! | [`with_one`](crate::collection::Find::with_one) | the first that refers to it: `Option<T>` |
//! | [`with_count`](crate::collection::Find::with_count) | the number of those that refer to it: `u64` |
//!
//! To filter or sort by fields of the other documents, [join](#joins-on-the-server) them on the server.
//!
//! # To one: `load`
//!
//! [`load`](crate::Collection::load) reads the documents of many references by one query. No
//! document loads another one by itself, so a loop cannot send one query for each element.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let recent = orders.find_all().limit(100).await?;
//! let buyers = customers.load(recent.iter().map(|o| o.customer)).await?;
//! for order in &recent {
//!     let email = buyers.get(&order.customer).map_or("(deleted)", |c| &c.email);
//!     println!("{}: {email}", order.id);
//! }
//! # assert_eq!(buyers.len(), 3);
//! # Ok(()) });
//! ```
//!
//! # To many: `load_by`
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let page = customers.find_all().limit(20).await?;
//! let by_customer = orders.load_by(|o| o.customer(), page.iter().map(|c| c.id)).await?;
//! for customer in &page {
//!     println!("{}: {} orders", customer.email, by_customer.get(&customer.id).map_or(0, Vec::len));
//! }
//! # assert_eq!(by_customer.len(), 3);
//! # Ok(()) });
//! ```
//!
//! # Embed or refer
//!
//! | embed | refer |
//! |---|---|
//! | read and written together with the document | read alone, or by several documents |
//! | a bounded number of elements | an unbounded number: a document has at most 16 MiB |
//! | a state that belongs to a moment, such as the address of an order | a state that must be current everywhere |
//!
//! An array of ids is both: `o.tags().contains(id)` uses an index on the array.
//!
//! # Joins on the server
//!
//! [`Pipeline::lookup`](crate::Pipeline::lookup) joins in an aggregation: to filter or group by
//! fields of the other collection. [`graph_lookup`](crate::Pipeline::graph_lookup) follows
//! references recursively. See [Projections and aggregation](super::aggregation#joins). A
//! [`Ref`](crate::Ref) is joined and compared with the ids of its model:
//!
//! ```
//! use marula::{Document, Pipeline, Ref, Shape, prelude::*};
//!
//! #[derive(Document)]
//! #[document(collection = "customers")]
//! struct Customer {
//!     _id: i64,
//! }
//!
//! #[derive(Document)]
//! #[document(collection = "orders")]
//! struct Order {
//!     _id: i64,
//!     customer: Ref<Customer>,
//! }
//!
//! #[derive(Shape)]
//! struct WithOrders {
//!     #[document(flatten)]
//!     customer: Customer,
//!     orders: Vec<Order>,
//! }
//!
//! let joined = Pipeline::<Customer>::new()
//!     .lookup::<WithOrders>()
//!     .on(|c| c._id(), |o| o.customer());
//! assert!(joined.to_string().contains(r#""foreignField": "customer""#));
//! ```
//!
//! [`Pipeline::join`](crate::Pipeline::join) fills several fields of one shape: a document, an array, a number, a flag, each from
//! its collection, in one command. A joined pipeline can join further documents.
//!
//! ```
//! use marula::aggregate::join;
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! #[derive(Shape)]
//! struct CustomerPage {
//!     #[document(flatten)]
//!     customer: Customer,
//!     latest: Option<Order>,
//!     open: Vec<Order>,
//!     number_of_orders: i64,
//!     has_paid: bool,
//! }
//! let pages = customers.aggregate().limit(20).join(|c| CustomerPageJoins {
//!     latest: join::<Order>()
//!         .on(c.id(), |o| o.customer())
//!         .pipeline(|of_customer| of_customer.sort(|o| o.created_at().desc()))
//!         .one(),
//!     open: join::<Order>()
//!         .on(c.id(), |o| o.customer())
//!         .pipeline(|of_customer| of_customer.match_(|o| o.status().eq(Status::Open)).limit(5))
//!         .many(),
//!     number_of_orders: join::<Order>().on(c.id(), |o| o.customer()).count(),
//!     has_paid: join::<Order>()
//!         .on(c.id(), |o| o.customer())
//!         .pipeline(|of_customer| of_customer.match_(|o| o.status().eq(Status::Paid)))
//!         .exists(),
//! });
//! for page in pages.all().await? {
//!     println!("{}: {} orders", page.customer.email, page.number_of_orders);
//! }
//! # Ok(()) });
//! ```
//!
//! # Deleting
//!
//! MongoDB has no foreign keys. To delete a document and those that refer to it, use a
//! [transaction](super::transactions), or delete the referring ones first, so that an interruption
//! leaves no reference without a document.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! client
//!     .transaction()
//!     .run(async |tx| {
//!         let (orders, customers) = tx.bind((&orders, &customers));
//!         orders.delete_many(|o| o.customer().eq(1)).await?;
//!         customers.delete_by_id(1).required().await
//!     })
//!     .await?;
//! # assert_eq!(orders.estimated_count().await?, 2);
//! # Ok(()) });
//! ```
