//! Web applications with axum: statuses of errors, JSON of requests and responses, streams.
//!
//! # Errors
//!
//! A handler returns [`Error`](crate::Error) by `?`. One type of the application converts it to a
//! status. The mapping:
//!
//! | error | status |
//! |---|---|
//! | [`is_not_found`](crate::Error::is_not_found) | 404 |
//! | [`is_duplicate`](crate::Error::is_duplicate) | 409, with the fields of the index in [`Duplicate`](crate::Error::Duplicate) |
//! | [`is_version_conflict`](crate::Error::is_version_conflict) | 409, or 412 with `If-Match` |
//! | [`is_validation`](crate::Error::is_validation) | 422 |
//! | [`InvalidPageToken`](crate::Error::InvalidPageToken), [`UnknownSort`](crate::Error::UnknownSort), [`UnknownFilter`](crate::Error::UnknownFilter), [`InvalidFilterValue`](crate::Error::InvalidFilterValue) | 400 |
//! | [`InvalidArgument`](crate::Error::InvalidArgument) | 400 if the argument comes from the request, such as a page size of 0; otherwise 500 |
//! | [`is_unavailable`](crate::Error::is_unavailable), [`is_timeout`](crate::Error::is_timeout) | 503 with `Retry-After` |
//! | others | 500; the text goes to the log, not to the client |
//!
//! The predicates hold for bulk writes, too, if at least one of their writes failed for the reason. Several can hold for one
//! bulk write.
//!
//! `{error}` prints the error without its causes, as is usual for `std::error::Error`. `{error:#}` prints the
//! causes, too: which index of a plan failed, which document could not be upgraded, what the server replied.
//!
//! ```
//! use axum::http::{StatusCode, header};
//! use axum::response::{IntoResponse, Response};
//! use marula::Error;
//!
//! pub struct ApiError(Error);
//!
//! impl From<Error> for ApiError {
//!     fn from(error: Error) -> Self {
//!         ApiError(error)
//!     }
//! }
//!
//! impl IntoResponse for ApiError {
//!     fn into_response(self) -> Response {
//!         let error = self.0;
//!         match &error {
//!             _ if error.is_not_found() => (StatusCode::NOT_FOUND, "not found").into_response(),
//!             Error::Duplicate { key, .. } => {
//!                 let fields: Vec<_> = key.iter().flat_map(|key| key.keys()).cloned().collect();
//!                 let text = format!("already in use: {}", fields.join(", "));
//!                 (StatusCode::CONFLICT, text).into_response()
//!             }
//!             _ if error.is_duplicate() || error.is_version_conflict() => {
//!                 (StatusCode::CONFLICT, "created or changed by another request").into_response()
//!             }
//!             Error::Validation { source, .. } => {
//!                 (StatusCode::UNPROCESSABLE_ENTITY, source.to_string()).into_response()
//!             }
//!             _ if error.is_validation() => StatusCode::UNPROCESSABLE_ENTITY.into_response(),
//!             // The handlers pass page sizes from requests.
//!             Error::InvalidPageToken
//!             | Error::UnknownSort { .. }
//!             | Error::UnknownFilter { .. }
//!             | Error::InvalidFilterValue { .. }
//!             | Error::InvalidArgument { .. } => {
//!                 (StatusCode::BAD_REQUEST, error.to_string()).into_response()
//!             }
//!             _ if error.is_unavailable() || error.is_timeout() => {
//!                 let retry = [(header::RETRY_AFTER, "5")];
//!                 (StatusCode::SERVICE_UNAVAILABLE, retry, "try again later").into_response()
//!             }
//!             _ => {
//!                 // The text can contain names of collections and stored values.
//!                 eprintln!("{error:#}");
//!                 StatusCode::INTERNAL_SERVER_ERROR.into_response()
//!             }
//!         }
//!     }
//! }
//! # let not_found = Error::NotFound { collection: "shop.orders".into() };
//! # assert_eq!(ApiError(not_found).into_response().status(), StatusCode::NOT_FOUND);
//! ```
//!
//! # Handlers
//!
//! A [`Collection`](crate::Collection) is a state: clones are cheap and share the connections. For a
//! transaction `orders.database().client()` is its [`Client`](crate::Client).
//!
//! ```
//! # use marula_guide::*;
//! use axum::Json;
//! use axum::extract::{Path, State};
//! # struct ApiError(Error);
//! # impl From<Error> for ApiError { fn from(error: Error) -> Self { ApiError(error) } }
//! # impl axum::response::IntoResponse for ApiError {
//! #     fn into_response(self) -> axum::response::Response { self.0.to_string().into_response() }
//! # }
//!
//! async fn show(
//!     State(orders): State<Collection<Order>>,
//!     Path(id): Path<i64>,
//! ) -> Result<Json<Order>, ApiError> {
//!     Ok(Json(orders.find_by_id(id).required().await?))
//! }
//!
//! fn router(orders: Collection<Order>) -> axum::Router {
//!     axum::Router::new().route("/orders/{id}", axum::routing::get(show)).with_state(orders)
//! }
//! ```
//!
//! # JSON
//!
//! A model has the JSON of its `Serialize` and `Deserialize`, which are optional: documents are stored
//! without them. The ids and dates of the module [`bson`](crate::bson) serialize to Extended JSON, such as
//! `{"$oid": "…"}`. With [`Plain`](crate::json::Plain) around the value they are text, as web clients expect,
//! in responses and in requests:
//!
//! ```
//! use axum::Json;
//! use axum::extract::State;
//! # use marula::{Collection, Document, Insert};
//! use marula::bson::{DateTime, ObjectId};
//! use marula::json::Plain;
//! # use serde::{Deserialize, Serialize};
//! # struct ApiError(marula::Error);
//! # impl From<marula::Error> for ApiError { fn from(error: marula::Error) -> Self { ApiError(error) } }
//! # impl axum::response::IntoResponse for ApiError {
//! #     fn into_response(self) -> axum::response::Response { self.0.to_string().into_response() }
//! # }
//!
//! #[derive(Serialize, Document)]
//! #[document(collection = "orders")]
//! struct Order {
//!     #[serde(rename = "_id")]
//!     id: ObjectId,
//!     customer: ObjectId,
//!     #[document(created_at)]
//!     placed: DateTime,
//!     due: Option<DateTime>,
//! }
//!
//! #[derive(Deserialize, Insert)]
//! #[document(of = Order)]
//! struct NewOrder {
//!     customer: ObjectId,
//!     due: Option<DateTime>,
//! }
//!
//! async fn create(
//!     State(orders): State<Collection<Order>>,
//!     Json(Plain(new)): Json<Plain<NewOrder>>,
//! ) -> Result<Json<Plain<Order>>, ApiError> {
//!     Ok(Json(Plain(orders.insert(new).await?)))
//! }
//! # let router: axum::Router<Collection<Order>> =
//! #     axum::Router::new().route("/orders", axum::routing::post(create));
//! # drop(router);
//! ```
//!
//! The body of a request is `{"customer": "5f2b3e1c9d4a6b7c8d9e0f10", "due": "2024-05-06T09:00:00+02:00"}`. The
//! response has `"placed": "2024-05-06T07:08:09.120Z"`: dates in UTC, with three digits of milliseconds. Text
//! that is not an id or a date is an error of the extractor `Json`, with the status 422; its
//! message says what is expected. The module [`json`](crate::json) has the JSON of all types, and the places
//! where they need an attribute.
//!
//! `chrono::DateTime<Utc>`, `jiff::Timestamp`, `uuid::Uuid` and the decimals of other crates need no `Plain`: their
//! JSON is plain already, and they are stored as dates, UUIDs and decimals. The types of crate time are text
//! with its feature `serde-human-readable`.
//!
//! # Bodies of POST and PATCH
//!
//! [`#[derive(Insert)]`](derive@crate::Insert), as in the example above, is a struct of the fields that a client may choose. The
//! compiler checks that they are fields of the model and that no required one is missing. [`insert`](crate::Collection::insert)
//! returns the document with its id and times exactly as a later `GET` reads it. It also takes a document; and
//! `insert_one(&mut document)` writes the id and the times to the document.
//!
//! [`#[derive(Patch)]`](derive@crate::Patch) is the body of a `PATCH`. With `deny_unknown_fields` a misspelt field is
//! an error of the extractor. A body without a field changes nothing: `allow_empty` returns the document.
//!
//! ```
//! # use marula_guide::*;
//! # use axum::Json;
//! # use axum::extract::{Path, State};
//! use marula::driver::options::ReturnDocument;
//! use marula::{Patch, Patched};
//! # struct ApiError(Error);
//! # impl From<Error> for ApiError { fn from(error: Error) -> Self { ApiError(error) } }
//! # impl axum::response::IntoResponse for ApiError {
//! #     fn into_response(self) -> axum::response::Response { self.0.to_string().into_response() }
//! # }
//!
//! #[derive(serde::Deserialize, Patch)]
//! #[document(of = Order)]
//! #[serde(deny_unknown_fields)]
//! struct OrderPatch {
//!     status: Option<Status>,
//!     note: Patched<String>,
//! }
//!
//! async fn change(
//!     State(orders): State<Collection<Order>>,
//!     Path(id): Path<i64>,
//!     Json(patch): Json<OrderPatch>,
//! ) -> Result<Json<Order>, ApiError> {
//!     let changing = orders.find_one_and_update(|o| o.id().eq(id), |_| patch).allow_empty();
//!     let order = changing.return_document(ReturnDocument::After).required().await?;
//!     Ok(Json(order))
//! }
//! # let router: axum::Router<Collection<Order>> =
//! #     axum::Router::new().route("/orders/{id}", axum::routing::patch(change));
//! # drop(router);
//! ```
//!
//! # Responses that stream
//!
//! [`Find::stream`](crate::collection::Find::stream) is a `'static` `Stream`. Documents are read
//! from the server while the response is sent, one batch at a time:
//!
//! ```
//! # use marula_guide::*;
//! use axum::body::Body;
//! use futures_util::TryStreamExt;
//!
//! async fn export(orders: Collection<Order>) -> marula::Result<Body> {
//!     let documents = orders.find_all().sort(|o| o.id().asc()).stream().await?;
//!     let lines = documents.map_ok(|order| format!("{},{}\n", order.id, order.total));
//!     Ok(Body::from_stream(lines))
//! }
//! ```
//!
//! # What a dropped request does
//!
//! axum drops the future of a handler when the client closes its connection. A read has no effect
//! then. A write may or may not have been executed: the server finishes a command that it has
//! received. Where that matters, run the call in a task (`tokio::spawn`) and await the task, or
//! make the request idempotent, for example with an id that the client has chosen.
//!
//! The example `shop` in the repository is a complete application with validation, pages and
//! conditional updates.
