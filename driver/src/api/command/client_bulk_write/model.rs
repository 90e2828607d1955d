//! The models of a client bulk write ([Bulk Write]).
//!
//! [Bulk Write]: https://github.com/mongodb/specifications/blob/master/source/crud/bulk-write.md

use std::sync::Arc;

use serde::Serialize;

use crate::{
    Collection, IntoUpdate, Namespace, WriteModel,
    bson::IntoDocument,
    types::{collation::Collation, hint::Hint},
};

/// One write of a client bulk write, with the collection that it writes to; see
/// [`Client::bulk_write`](crate::Client::bulk_write).
///
/// Models are created with the methods of a [`Collection`] that end in `_model`. The documents are
/// serialized when the model is created. A model does not keep the client open.
///
/// A setter of an option that the write does not support, e.g. `upsert` of a delete, causes an
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) error when the bulk write is awaited.
#[derive(Clone, Debug)]
#[must_use]
pub struct ClientWriteModel {
    pub(super) namespace: Arc<Namespace>,
    pub(super) model: WriteModel,
}

impl ClientWriteModel {
    /// A write to the collection with this name.
    ///
    /// ```
    /// use marula_driver::{ClientWriteModel, Namespace, WriteModel, bson::doc};
    /// let model = ClientWriteModel::new(
    ///     Namespace::new("shop", "orders"),
    ///     WriteModel::delete_many(doc! { "cancelled": true }),
    /// );
    /// ```
    pub fn new(namespace: impl Into<Arc<Namespace>>, model: WriteModel) -> Self {
        Self {
            namespace: namespace.into(),
            model,
        }
    }

    fn with(mut self, set: impl FnOnce(WriteModel) -> WriteModel) -> Self {
        self.model = set(self.model);
        self
    }

    /// Insert a document if none matches. For updates and replacements. Default: `false`.
    pub fn upsert(self, value: bool) -> Self {
        self.with(|model| model.upsert(value))
    }

    /// The index to use, by name or by key pattern. For updates, replacements and deletes. Default:
    /// the choice of the query planner.
    pub fn hint(self, value: impl Into<Hint>) -> Self {
        self.with(|model| model.hint(value))
    }

    /// The collation of string comparisons. For updates, replacements and deletes. Default: the
    /// default collation of the collection.
    pub fn collation(self, value: impl Into<Collation>) -> Self {
        self.with(|model| model.collation(value))
    }

    /// Filters for the array elements that `$[identifier]` in the update matches, e.g. `[doc! {
    /// "line.sku": "A-1" }]` for `lines.$[line].quantity`. For updates. Default: none.
    pub fn array_filters<D: IntoDocument>(self, filters: impl IntoIterator<Item = D>) -> Self {
        self.with(|model| model.array_filters(filters))
    }

    /// The sort order that determines which of the matching documents is written. For
    /// `update_one_model` and `replace_one_model`. Default: none.
    pub fn sort(self, value: impl IntoDocument) -> Self {
        self.with(|model| model.sort(value))
    }
}

/// Models for [`Client::bulk_write`](crate::Client::bulk_write). Nothing is sent. The concerns of
/// the collection are not used.
impl<T> Collection<T> {
    fn model(&self, model: WriteModel) -> ClientWriteModel {
        ClientWriteModel::new(self.inner().shared_namespace(), model)
    }

    /// A model that inserts a document. If it has no `_id`, the driver adds an ObjectId as its first
    /// field. Clones of the model have the same `_id`.
    pub fn insert_one_model(&self, document: &T) -> ClientWriteModel
    where
        T: Serialize,
    {
        self.model(WriteModel::insert_one(document))
    }

    /// A model that updates the first document that matches, with update operators or a pipeline.
    pub fn update_one_model(&self, filter: impl IntoDocument, update: impl IntoUpdate) -> ClientWriteModel {
        self.model(WriteModel::update_one(filter, update))
    }

    /// A model that updates all documents that match, with update operators or a pipeline.
    pub fn update_many_model(&self, filter: impl IntoDocument, update: impl IntoUpdate) -> ClientWriteModel {
        self.model(WriteModel::update_many(filter, update))
    }

    /// A model that replaces the first document that matches. Its `_id` does not change.
    pub fn replace_one_model(&self, filter: impl IntoDocument, replacement: &T) -> ClientWriteModel
    where
        T: Serialize,
    {
        self.model(WriteModel::replace_one(filter, replacement))
    }

    /// A model that deletes the first document that matches.
    pub fn delete_one_model(&self, filter: impl IntoDocument) -> ClientWriteModel {
        self.model(WriteModel::delete_one(filter))
    }

    /// A model that deletes all documents that match.
    pub fn delete_many_model(&self, filter: impl IntoDocument) -> ClientWriteModel {
        self.model(WriteModel::delete_many(filter))
    }
}
