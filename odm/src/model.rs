//! What `#[derive(Document)]` gives to a struct: a collection, an id, typed fields, declared indexes.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bson::Bson;
use crate::error::ValueError;
use crate::id::IdSource;
use crate::index::IndexDeclaration;
use crate::path::field::{Embedded, Field};
use crate::path::{Path, Read};
use crate::stored::Stored;
use crate::value::serialized;

/// The accessors of the fields of `D`.
pub type Fields<D, M = Read> = <D as Field>::Nav<D, M>;

/// A struct that is stored as the documents of a collection. Implemented by `#[derive(Document)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a model",
    label = "only a type with `#[derive(marula::Document)]` has a collection"
)]
pub trait Model: Embedded + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The type of `_id`.
    type Id: Serialize + Send + Sync;
    /// What makes ids; see [`crate::id`].
    type IdSource;
    /// The name of the type, for messages.
    const NAME: &'static str;
    /// The name of the collection, unless a handle names another.
    const COLLECTION: &'static str;

    /// The id of this document.
    fn id(&self) -> &Self::Id;

    /// A new id as BSON, if [`IdSource`](Model::IdSource) makes ids of this type: for an upsert or an insert without an id.
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

    /// The indexes that the model declares.
    fn indexes() -> Vec<IndexDeclaration>;

    /// The accessors of the fields: `Order::fields().lines().sku()`.
    #[must_use]
    fn fields() -> Fields<Self> {
        Self::nav(Path::root())
    }

    /// A new id, for a document that is about to be made.
    #[must_use]
    fn new_id() -> Self::Id
    where
        Self::IdSource: IdSource<Self::Id>,
    {
        Self::IdSource::new_id()
    }
}

/// The id of a document as BSON.
pub(crate) fn id_value<D: Model>(document: &D) -> Result<Bson, ValueError> {
    serialized(&Stored::part(document, document.id()))
}
