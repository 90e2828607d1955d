//! The trait that `#[derive(Document)]` implements: a collection, an id, typed fields, declared
//! indexes.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bson::Bson;
use crate::error::ValueError;
use crate::id::IdSource;
use crate::index::IndexDeclaration;
use crate::managed::{Behavior, BoxedError, WriteKind, Written};
use crate::path::field::{Embedded, Field};
use crate::path::{Path, Read};
use crate::stored::Stored;
use crate::value::serialized;

/// The field accessors of `D`, as [`Model::fields`] returns them.
pub type Fields<D, M = Read> = <D as Field>::Nav<D, M>;

/// A struct that is stored as the documents of a collection. Implemented by `#[derive(Document)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a model",
    label = "only a type with `#[derive(marula::Document)]` has a collection"
)]
pub trait Model: Embedded + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The type of the field that is stored as `_id`.
    type Id: Serialize + Send + Sync;
    /// The source of new ids; see [`crate::id`].
    type IdSource;
    /// The name of the struct, used in error messages.
    const NAME: &'static str;
    /// The name of the collection. [`Collection::named`](crate::Collection::named) selects another
    /// one.
    const COLLECTION: &'static str;

    /// The id of this document.
    fn id(&self) -> &Self::Id;

    /// Generates an id as BSON for an upsert or an insert without an id. `None` if
    /// [`IdSource`](Model::IdSource) generates no ids of this type.
    #[doc(hidden)]
    #[must_use]
    fn generated_id() -> Option<Result<Bson, ValueError>> {
        None
    }

    /// Whether the id is an `Option` that is `None`.
    #[doc(hidden)]
    #[inline]
    fn lacks_id(&self) -> bool {
        false
    }

    /// The maintained fields, and whether there are hooks.
    #[doc(hidden)]
    const BEHAVIOR: Behavior = Behavior::NONE;

    /// Writes the values that a write has stored to the fields of this document.
    ///
    /// # Errors
    /// A value that the field cannot have.
    #[doc(hidden)]
    fn write_back(&mut self, _written: &Written) -> Result<(), ValueError> {
        Ok(())
    }

    /// Runs the functions of `validate`.
    ///
    /// # Errors
    /// The document must not be written.
    #[doc(hidden)]
    #[inline]
    fn validate_document(&self) -> Result<(), BoxedError> {
        Ok(())
    }

    /// Runs the hook before a write. Returns the changed document, if there are hooks.
    ///
    /// # Errors
    /// That of the hook.
    #[doc(hidden)]
    fn before_write(&self, _write: WriteKind) -> Result<Option<Self>, BoxedError> {
        Ok(None)
    }

    /// Runs the hook after a document was decoded.
    ///
    /// # Errors
    /// That of the hook.
    #[doc(hidden)]
    #[inline]
    fn after_load(&mut self) -> Result<(), BoxedError> {
        Ok(())
    }

    /// The indexes that the model declares, for [`schema`](crate::schema).
    fn indexes() -> Vec<IndexDeclaration>;

    /// The accessors of the fields, for filters that are built outside of a closure:
    /// `Order::fields().lines().sku().eq("tea")`.
    #[must_use]
    fn fields() -> Fields<Self> {
        Self::nav(Path::root())
    }

    /// Generates an id for a new document, by the source that the model declares; see
    /// [`id`](crate::id). A compile error if the source does not generate ids of the type.
    #[must_use]
    fn new_id() -> Self::Id
    where
        Self::IdSource: IdSource<Self::Id>,
    {
        Self::IdSource::new_id()
    }
}

/// The id of a document, encoded as BSON.
pub(crate) fn id_value<D: Model>(document: &D) -> Result<Bson, ValueError> {
    serialized(&Stored::part(document, document.id()))
}
