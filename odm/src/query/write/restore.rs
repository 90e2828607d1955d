//! The writes of models with soft deletion: permanent deletes, and restores.

use crate::{
    base::bson::{Bson, doc},
    models::{
        hooks::SoftDelete,
        model::{Fields, Model},
    },
    query::{
        handle::{Collection, NULL_ARGUMENT, filter_of},
        write::{
            delete::Delete,
            update::{UpdateMany, UpdateOne},
        },
    },
    term::{filter::Filter, update::Update},
    values::value::IntoValue,
};

impl<D: Model> Collection<D> {
    /// Removes all documents that match from the collection: those that the handle finds, by default
    /// live documents. The output of the action is their number.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// #[derive(Document)]
    /// #[document(collection = "notes", soft_delete = deleted_at)]
    /// struct Note {
    ///     _id: i64,
    ///     deleted_at: Option<DateTime>,
    /// }
    /// let notes = db.collection::<Note>();
    /// notes.insert_one(&Note { _id: 1, deleted_at: None }).await?;
    ///
    /// notes.delete_permanently(|n| n._id().eq(1)).required().await?;
    /// assert_eq!(notes.with_deleted().count(|_| Filter::everything()).await?, 0);
    /// # Ok(()) });
    /// ```
    pub fn delete_permanently(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Delete<'_, D>
    where
        D: SoftDelete,
    {
        Delete::new(self, filter_of(filter), true).permanently()
    }

    /// Removes the document with this id from the collection, if the handle finds it: by default a live document. The output of
    /// the action is 0 or 1. For a model with encrypted fields, whose documents the server deletes only one by one, it replaces
    /// [`delete_permanently`](Self::delete_permanently). The call fails with
    /// [`Error::MissingId`](crate::Error::MissingId) if the id is `None`.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// #[derive(Document)]
    /// #[document(collection = "notes", soft_delete = deleted_at)]
    /// struct Note {
    ///     _id: i64,
    ///     deleted_at: Option<DateTime>,
    /// }
    /// let notes = db.collection::<Note>();
    /// notes.insert_one(&Note { _id: 1, deleted_at: None }).await?;
    ///
    /// notes.delete_by_id(1).await?;
    /// assert_eq!(notes.delete_permanently_by_id(1).await?, 0);
    /// notes.with_deleted().delete_permanently_by_id(1).required().await?;
    /// assert_eq!(notes.with_deleted().count(|_| Filter::everything()).await?, 0);
    /// # Ok(()) });
    /// ```
    pub fn delete_permanently_by_id(&self, id: impl IntoValue<D::Id>) -> Delete<'_, D>
    where
        D: SoftDelete,
    {
        self.delete_by_id(id).permanently()
    }

    /// Makes all soft-deleted documents that match live again: sets the field of `soft_delete` to
    /// null. The output of the action contains their number. With [`upsert`](UpdateMany::upsert) the call fails with
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// #[derive(Document)]
    /// #[document(collection = "notes", soft_delete = deleted_at)]
    /// struct Note {
    ///     _id: i64,
    ///     deleted_at: Option<DateTime>,
    /// }
    /// let notes = db.collection::<Note>();
    /// notes.insert_one(&Note { _id: 1, deleted_at: None }).await?;
    ///
    /// notes.delete_by_id(1).await?;
    /// notes.restore(|n| n._id().eq(1)).await?;
    /// assert!(notes.find_by_id(1).await?.is_some());
    /// # Ok(()) });
    /// ```
    pub fn restore(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> UpdateMany<'_, D>
    where
        D: SoftDelete,
    {
        UpdateMany::new(self, filter_of(filter), restoration()).restoring("restore")
    }

    /// Makes the document with this id live again if it was soft-deleted: sets the field of `soft_delete` to null. It is not an
    /// error if it was not; see [`required`](UpdateOne::required). For a model with encrypted fields, whose documents the server
    /// changes only one by one, it replaces [`restore`](Self::restore). The call fails with
    /// [`Error::MissingId`](crate::Error::MissingId) if the id is `None`, and with
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) with [`upsert`](UpdateOne::upsert).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// #[derive(Document)]
    /// #[document(collection = "notes", soft_delete = deleted_at)]
    /// struct Note {
    ///     _id: i64,
    ///     deleted_at: Option<DateTime>,
    /// }
    /// let notes = db.collection::<Note>();
    /// notes.insert_one(&Note { _id: 1, deleted_at: None }).await?;
    ///
    /// notes.delete_by_id(1).await?;
    /// notes.restore_by_id(1).required().await?;
    /// assert!(notes.find_by_id(1).await?.is_some());
    /// # Ok(()) });
    /// ```
    pub fn restore_by_id(&self, id: impl IntoValue<D::Id>) -> UpdateOne<'_, D>
    where
        D: SoftDelete,
    {
        let filter = self.id_filter(id.into_value(), NULL_ARGUMENT);
        UpdateOne::new(self, filter, restoration()).restoring("restore_by_id")
    }
}

/// The update that makes documents live again.
fn restoration<D: SoftDelete>() -> Update<D> {
    let field = D::BEHAVIOR.soft_delete.unwrap_or_default();
    Update::raw(doc! { "$set": { field: Bson::Null } })
}
