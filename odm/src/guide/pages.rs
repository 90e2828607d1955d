//! Pages: by number and by token.
//!
//! # By token
//!
//! [`keyset`](crate::collection::Find::keyset) reads the documents after the last one of the
//! previous page. It is as fast for the thousandth page as for the first, and documents that are
//! inserted meanwhile do not move the others. `_id` is added to the sort, so that the order is
//! complete.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let first = orders.find_all().keyset(|o| o.created_at().desc(), None, 2).await?;
//! assert_eq!(first.items.iter().map(|o| o.id).collect::<Vec<_>>(), [3, 2]);
//!
//! // `next` and `previous` are opaque tokens for the links of a page.
//! let token = first.next.expect("another page");
//! let second = orders.find_all().keyset(|o| o.created_at().desc(), Some(&token), 2).await?;
//! assert_eq!((second.items.len(), second.next), (1, None));
//!
//! let back = second.previous.expect("the page before");
//! let again = orders.find_all().keyset(|o| o.created_at().desc(), Some(&back), 2).await?;
//! assert_eq!(again.items, first.items);
//! # Ok(()) });
//! ```
//!
//! - The keys are fields of a type that the server orders completely: numbers, strings, `bool`, dates,
//!   ids, and enums of unit variants, in the order of their stored names; also an `Option`, a field in an
//!   `Option`, and an entry of a map. A field in an array or an enum variant, an enum with data, and `f32`
//!   and `f64` (because of NaN) do not compile.
//! - Null and a missing value are equal, and before all values: first in ascending order, last in
//!   descending order.
//! - All pages of a list need the same filter and the same sort. A token of another sort, or one
//!   that a client has changed to something malformed, is
//!   [`Error::InvalidPageToken`](crate::Error::InvalidPageToken): reply with a client error.
//! - An index on the fields that the filter compares for equality, then the keys, then `_id` serves the
//!   query without a sort in memory: `index(customer, -created_at, id)`.
//!   [`declared_index`](crate::collection::Find::declared_index) says whether one is declared, of a query with the same sort and an
//!   ascending `_id` at its end, which the pages add.
//! - `sort`, `limit` and `skip` that are set before `keyset` are replaced by those of the page.
//!
//! # Tokens that clients cannot read
//!
//! A token contains the values of the sort keys in one document: a client can decode it, and can make
//! one that starts at other values. With a [`TokenKey`](crate::TokenKey) tokens are encrypted and
//! authenticated, and bound to the collection, the sort and a context, such as the user:
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! # let secret = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
//! let key = TokenKey::from_base64(secret)?; // `openssl rand -base64 32`, the same in all processes
//!
//! let query = |user: i64| orders.find_all().token_key(&key.context(format!("user {user}")));
//! let first = query(17).keyset(|o| o.note().asc(), None, 2).await?;
//! let second = query(17).keyset(|o| o.note().asc(), first.next.as_deref(), 2).await?;
//! assert_eq!(second.items.len(), 1);
//!
//! let foreign = query(18).keyset(|o| o.note().asc(), first.next.as_deref(), 2).await;
//! assert!(matches!(foreign, Err(Error::InvalidPageToken)));
//! # Ok(()) });
//! ```
//!
//! - A token of another key or context, and one that was issued without a key, is
//!   [`Error::InvalidPageToken`](crate::Error::InvalidPageToken).
//! - [`with_previous`](crate::TokenKey::with_previous) accepts the tokens of an earlier key.
//! - A token does not expire, and it is not bound to the filter: give the filter of each page the conditions that
//!   the user must not leave, or use a [scoped](crate::Collection::scoped) handle.
//!
//! # Keys that a request selects
//!
//! Keys that a request selects are [`KeysetSort`](crate::KeysetSort)s:
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::{KeysetSort, SortNames};
//!
//! let o = Order::fields();
//! let names = SortNames::<KeysetSort<Order>>::new()
//!     .allow("created", o.created_at().asc())
//!     .allow("total", o.total().asc());
//! let keys = names.parse("-total")?;
//! let page = orders.find_all().keyset(|_| keys, None, 10).await?;
//! assert_eq!(page.items[0].total, 300);
//! # Ok(()) });
//! ```
//!
//! # By number
//!
//! [`page`](crate::collection::Find::page) reads a page by its number, from 0, and counts all
//! matching documents. The server reads and skips the pages before it: for short lists.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let page = orders.find(|o| o.total().gt(0)).sort(|o| o.status().asc()).page(1, 2).await?;
//! assert_eq!((page.total, page.pages(), page.items.len()), (3, 2, 1));
//! # Ok(()) });
//! ```
//!
//! `_id` is added to the sort, so that pages do not overlap, unless a declared unique index has only keys of the
//! sort.
//!
//! # Everything
//!
//! To process all documents use [`stream`](crate::collection::Find::stream): it reads batches, and
//! holds one in memory.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! let mut all = orders.find_all().sort(|o| o.id().asc()).batch_size(500).stream().await?;
//! let mut sum = 0;
//! while let Some(order) = all.try_next().await? {
//!     sum += order.total;
//! }
//! assert_eq!(sum, 600);
//! # Ok(()) });
//! ```
