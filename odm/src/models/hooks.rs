//! The traits of models with hooks and with soft deletion.

use crate::models::{managed::BoxedError, model::Model};

/// A model with soft deletion: `#[document(soft_delete = field)]`. Implemented by the derive.
///
/// A deleted document has the time of the deletion in the field, by the clock of the client. The
/// operations of [`Collection`](crate::Collection) do not find it, except with
/// [`with_deleted`](crate::Collection::with_deleted) and
/// [`only_deleted`](crate::Collection::only_deleted). The same applies to pipelines that join the
/// collection; see [`Pipeline::with_deleted`](crate::Pipeline::with_deleted).
///
/// The document is still stored, which these do not hide:
///
/// - A unique index contains its key: an insert of the same key is [`Error::Duplicate`](crate::Error::Duplicate).
///   If a key can be used again after the deletion, index live documents only:
///   `index(slug, unique, partial(deleted_at == None))`. `_id` is always unique.
/// - [`estimated_count`](crate::Collection::estimated_count) counts it; [`count`](crate::Collection::count)
///   does not.
/// - A save or an upsert of its id does not find it and is a duplicate of `_id`. Restore the document, or
///   [delete it permanently](crate::Collection::delete_permanently), first.
///
/// ```
/// # use marula_guide::*;
/// #[derive(Document)]
/// #[document(
///     collection = "pages",
///     soft_delete = deleted_at,
///     index(slug, unique, partial(deleted_at == None)),
/// )]
/// struct Page {
///     _id: i64,
///     slug: String,
///     deleted_at: Option<DateTime>,
/// }
/// # run(async |Shop { server, client, db, orders, customers }| {
/// # let page = |id| Page { _id: id, slug: "home".into(), deleted_at: None };
/// db.schema().register::<Page>().sync(marula::schema::SyncMode::Additive).await?;
/// let pages = db.collection::<Page>();
/// pages.insert_one(&page(1)).await?;
/// assert!(matches!(pages.insert_one(&page(2)).await, Err(Error::Duplicate { .. })));
/// pages.delete_by_id(1).await?;
/// pages.insert_one(&page(2)).await?;
/// # Ok(()) });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no soft deletion",
    label = "add `#[document(soft_delete = field)]` with a field of type `Option<DateTime>` to use this method"
)]
pub trait SoftDelete: Model {}

/// Functions that run before documents are written and after they are read. For models with
/// `#[document(hooks)]`.
///
/// Hooks run for whole documents: inserts, replacements and saves, also in bulk writes. Updates by
/// operators do not run them. A hook that runs before a write changes a clone of the document, which
/// is then validated and stored; what the hook changes is not written to the struct that was
/// passed, except for an id that was `None`. An error of a hook is
/// [`Error::Hook`](crate::Error::Hook), and nothing is sent.
///
/// ```
/// use marula::{Document, Hooks, managed::BoxedError};
///
/// #[derive(Clone, Document)]
/// #[document(collection = "people", hooks)]
/// struct Person {
///     _id: i64,
///     name: String,
///     name_lowercase: String,
/// }
///
/// impl Hooks for Person {
///     fn before_insert(&mut self) -> Result<(), BoxedError> {
///         self.before_replace()
///     }
///
///     fn before_replace(&mut self) -> Result<(), BoxedError> {
///         self.name_lowercase = self.name.to_lowercase();
///         Ok(())
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`hooks` needs `impl marula::Hooks for {Self}`",
    label = "`{Self}` does not implement `Hooks`"
)]
pub trait Hooks: Model + Clone {
    /// Runs before a document is inserted by an insert. Default: nothing is changed.
    ///
    /// ```
    /// # use marula_guide::*;
    /// #[derive(Clone, Document)]
    /// #[document(collection = "people", hooks)]
    /// struct Person {
    ///     _id: i64,
    ///     name: String,
    /// }
    ///
    /// impl Hooks for Person {
    ///     fn before_insert(&mut self) -> Result<(), managed::BoxedError> {
    ///         self.name = self.name.trim().to_owned();
    ///         Ok(())
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// The document must not be inserted.
    fn before_insert(&mut self) -> Result<(), BoxedError> {
        Ok(())
    }

    /// Runs before a document replaces the stored one, and before a save, which may insert it.
    /// Default: nothing is changed.
    ///
    /// ```
    /// # use marula_guide::*;
    /// #[derive(Clone, Document)]
    /// #[document(collection = "people", hooks)]
    /// struct Person {
    ///     _id: i64,
    ///     name: String,
    /// }
    ///
    /// impl Hooks for Person {
    ///     fn before_replace(&mut self) -> Result<(), managed::BoxedError> {
    ///         self.name = self.name.trim().to_owned();
    ///         Ok(())
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// The document must not be stored.
    fn before_replace(&mut self) -> Result<(), BoxedError> {
        Ok(())
    }

    /// Runs after a document was decoded. Default: nothing is changed.
    ///
    /// ```
    /// # use marula_guide::*;
    /// #[derive(Clone, Document)]
    /// #[document(collection = "people", hooks)]
    /// struct Person {
    ///     _id: i64,
    ///     name: String,
    /// }
    ///
    /// impl Hooks for Person {
    ///     fn after_load(&mut self) -> Result<(), managed::BoxedError> {
    ///         self.name = self.name.trim().to_owned();
    ///         Ok(())
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// The document must not be used.
    fn after_load(&mut self) -> Result<(), BoxedError> {
        Ok(())
    }
}
