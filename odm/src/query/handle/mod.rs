//! The handle of a collection, and what its calls may send.

use std::fmt;
use std::marker::PhantomData;

use crate::{
    ast::filter::Node,
    base::{
        bson::{Bson, RawDocumentBuf},
        error::{Error, Result, ValueError},
    },
    driver,
    models::model::{Fields, Model},
    query::handle::{rows::ScopedRows, soft_delete::Scope},
    term::filter::Filter,
};

pub(crate) mod action;
pub(crate) mod gate;
pub(crate) mod marks;
pub(crate) mod protection;
pub(crate) mod ranges;
pub(crate) mod rows;
pub(crate) mod rules;
pub(crate) mod settings;
pub(crate) mod sharded;
pub(crate) mod soft_delete;
pub(crate) mod source;
pub(crate) mod stages;
pub(crate) mod transaction;

/// A collection whose documents are `D`.
///
/// Clones are cheap. Creating a handle sends nothing. A collection that does not exist reads as
/// empty, and the first insert creates it.
///
/// Each method returns an action, which has setters for options and sends its command when it is
/// awaited. An action that is dropped before it is awaited has no effect. If its future is dropped
/// while it runs, the server may or may not execute the command.
///
/// # Errors
/// Awaiting an action fails with
///
/// - [`Error::InvalidFilter`] or [`Error::InvalidUpdate`] for a filter or an update that the ODM
///   recognizes as invalid, before anything is sent; others the server rejects ([`Error::Driver`]), such as
///   a malformed regular expression, a new value for `_id`, or `$` without a condition on the array;
/// - [`Error::Encode`] for a value that cannot be encoded as BSON;
/// - [`Error::Decode`] for a returned document that does not have the form of `D`;
/// - [`Error::Duplicate`] for a write that violates a unique index;
/// - [`Error::Driver`] for other errors of the server, of the network and of the driver.
///
/// Further errors are listed at the methods. That no document matches is an error only for
/// `required` ([`Error::NotFound`]) and [`Find::one`](crate::collection::Find::one).
///
/// # Examples
///
/// ```no_run
/// use marula::bson::DateTime;
/// use marula::prelude::*;
/// use marula::{Document, Embedded};
/// use uuid::Uuid;
///
/// #[derive(Embedded)]
/// struct Line {
///     sku: String,
///     qty: i32,
/// }
///
/// #[derive(Document)]
/// #[serde(rename_all = "camelCase")]
/// #[document(collection = "orders", index(customer_id, -created_at))]
/// struct Order {
///     #[serde(rename = "_id")]
///     #[document(id = uuid_v7)]
///     id: Uuid,
///     customer_id: Uuid,
///     lines: Vec<Line>,
///     created_at: DateTime,
/// }
///
/// # async fn run(customer: Uuid) -> marula::Result<()> {
/// let db = marula::connect("mongodb://localhost").await?.database("shop");
/// let orders = db.collection::<Order>();
/// let order = Order {
///     id: Order::new_id(),
///     customer_id: customer,
///     lines: vec![Line { sku: "tea".into(), qty: 2 }],
///     created_at: DateTime::now(),
/// };
/// orders.insert_one(&order).await?;
/// let recent = orders
///     .find(|o| {
///         o.customer_id().eq(customer)
///             & o.lines().elem_match(|l| l.sku().eq("tea") & l.qty().gte(2))
///     })
///     .sort(|o| o.created_at().desc())
///     .limit(20)
///     .all()
///     .await?;
/// orders
///     .update_one(
///         |o| o.id().eq(order.id),
///         |o| o.lines().filtered_positional(|l| l.sku().eq("tea")).qty().inc(1),
///     )
///     .await?;
/// # drop(recent);
/// # Ok(()) }
/// ```
pub struct Collection<D> {
    pub(in crate::query) inner: driver::Collection<RawDocumentBuf>,
    /// Which documents of a model with soft deletion the operations find.
    pub(in crate::query) scope: Scope,
    /// The fields that [`scoped`](Collection::scoped) fixes.
    pub(in crate::query) rows: ScopedRows,
    pub(in crate::query) document: PhantomData<fn() -> D>,
}

impl<D> Clone for Collection<D> {
    fn clone(&self) -> Self {
        self.with_inner(self.inner.clone())
    }
}

impl<D> fmt::Debug for Collection<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Collection")
            .field(&self.inner.namespace().to_string())
            .finish()
    }
}

impl<D> Collection<D> {
    pub(in crate::query) fn not_found(&self) -> Error {
        Error::NotFound {
            collection: self.inner.namespace().to_string(),
        }
    }

    pub(in crate::query) fn missing_id(&self, reason: &'static str) -> Error {
        Error::MissingId {
            collection: self.inner.namespace().to_string(),
            reason,
        }
    }
}

pub(in crate::query) const NULL_ARGUMENT: &str = "the id argument is `None`, which no stored document has as its id; pass the id of a stored \
                             document, or use a filter";
pub(in crate::query) const NULL_IN_REPLACEMENT: &str = "the id of the document argument is `None`, so it does not identify the document to \
                                   replace; set it, or use `replace_one(..)` with a filter";

/// A filter from a closure over the model's fields.
pub(in crate::query) fn filter_of<D: Model>(filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Result<Node> {
    filter(D::fields()).into_node()
}

impl<D: Model> Collection<D> {
    /// The filter of one id. Null is rejected: the ODM writes no document with the id null.
    pub(in crate::query) fn id_filter(
        &self,
        id: Result<Bson, ValueError>,
        none: &'static str,
    ) -> Result<Node> {
        match id.map_err(|e| Error::encode("_id", e))? {
            Bson::Null => Err(self.missing_id(none)),
            id => Ok(Node::id(id)),
        }
    }
}
