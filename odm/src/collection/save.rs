//! [`Collection::save`]: inserts a document, or replaces the stored one.

use std::fmt;
use std::pin::Pin;

use crate::bson::{DateTime, Document, RawDocumentBuf, doc, from_raw};
use crate::collection::action::{Session, forward_options, in_session};
use crate::collection::encoded::for_save;
use crate::collection::update::replace;
use crate::collection::{Collection, NULL_IN_REPLACEMENT};
use crate::driver::UpdateResult;
use crate::driver::options::ReplaceOneOptions;
use crate::error::{Error, Result, ValueError};
use crate::managed::Written;
use crate::model::{Model, id_value};

impl<D: Model> Collection<D> {
    /// Replaces the stored document with the same id, or inserts the document if there is none.
    ///
    /// Takes `&document` or `&mut document`. If the id is `None`, a document with a new id from the
    /// model's id source is inserted, and the id is written to `&mut document`. The call fails with
    /// [`Error::MissingId`] if the model has no source.
    ///
    /// Maintained fields are written to `&mut document` as they are stored: the
    /// [version](derive@crate::Document#maintained-fields), the time of the update, and, if the
    /// document was inserted, the time of the insert. A save of another version than the stored one
    /// fails with [`Error::VersionConflict`].
    ///
    /// All fields are replaced, also those that another client has changed since the document was
    /// read. To change single fields use [`update_by_id`](Collection::update_by_id).
    ///
    /// ```no_run
    /// # use marula::{Document, bson::ObjectId, prelude::*};
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize, Document)]
    /// #[document(collection = "people")]
    /// struct Person {
    ///     #[serde(rename = "_id")]
    ///     id: Option<ObjectId>,
    ///     age: i32,
    /// }
    ///
    /// # async fn run(people: marula::Collection<Person>) -> marula::Result<()> {
    /// let mut ada = Person { id: None, age: 36 };
    /// people.save(&mut ada).await?;
    /// assert!(ada.id.is_some());
    /// ada.age = 37;
    /// people.save(&mut ada).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The [errors of the action](Collection#errors).
    pub fn save<'a, S: Saved<D> + 'a>(&'a self, document: S) -> Save<'a, D, S> {
        Save {
            collection: self,
            document,
            options: ReplaceOneOptions::default(),
            session: None,
        }
    }
}

mod sealed {
    pub trait Sealed<D> {}

    impl<D> Sealed<D> for &D {}
    impl<D> Sealed<D> for &mut D {}
}

/// What [`Collection::save`] takes: `&D`, or `&mut D`, to which the stored values are written.
#[diagnostic::on_unimplemented(
    message = "`save` takes `&document` or `&mut document` of `{D}`, found `{Self}`",
    label = "expected `&{D}` or `&mut {D}`"
)]
pub trait Saved<D>: sealed::Sealed<D> + Send {
    /// The document.
    #[doc(hidden)]
    fn document(&self) -> &D;

    /// Writes the stored values to the document.
    #[doc(hidden)]
    fn write_back(&mut self, written: Written) -> Result<()>;
}

impl<D: Model> Saved<D> for &D {
    fn document(&self) -> &D {
        self
    }

    fn write_back(&mut self, _written: Written) -> Result<()> {
        Ok(())
    }
}

impl<D: Model> Saved<D> for &mut D {
    fn document(&self) -> &D {
        self
    }

    fn write_back(&mut self, written: Written) -> Result<()> {
        D::write_back(self, &written).map_err(|e| Error::encode("_id", e))
    }
}

/// Inserts or replaces a document. Output: the counts; `upserted_id` if it was inserted. See
/// [`Collection::save`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct Save<'a, D, S> {
    collection: &'a Collection<D>,
    document: S,
    options: ReplaceOneOptions,
    session: Session<'a>,
}

impl<'a, D: Model, S: Saved<D> + 'a> Save<'a, D, S> {
    crate::driver::__replace_one_options! { forward_options { options: ReplaceOneOptions } }

    async fn run(mut self) -> Result<UpdateResult> {
        let collection = self.collection;
        let encoded = for_save(collection, self.document.document())?;
        let id = match &encoded.written.id {
            Some(id) => Ok(id.clone()),
            None => id_value(self.document.document()),
        };
        let filter = collection.id_filter(id, NULL_IN_REPLACEMENT)?;
        let filter = collection.scope.of::<D>(filter);
        let options = self.options.upsert(true);
        let mut written = encoded.written.clone();
        let result = match D::BEHAVIOR.created_at {
            None => replace(collection, filter, &encoded, options, self.session).await?,
            Some(field) => {
                let now = written.updated_at.unwrap_or_else(DateTime::now);
                let stored = keeping(field, now, &encoded.raw)?;
                let filter = match &encoded.version {
                    Some(version) => version.of(filter),
                    None => filter,
                };
                let saving = collection
                    .inner
                    .update_one(filter, vec![stored])
                    .with_options(options.into());
                let result = in_session!(self.session, saving)
                    .await
                    .map_err(|e| collection.conflict_of_upsert(e.into(), &encoded))?;
                written.created_at = result.upserted_id.as_ref().map(|_| now);
                result
            }
        };
        self.document.write_back(written)?;
        Ok(result)
    }
}

/// A stage that replaces the document and keeps the stored time of the insert, or sets it to `now`.
fn keeping(field: &str, now: DateTime, raw: &RawDocumentBuf) -> Result<Document> {
    let document: Document = from_raw(raw).map_err(|e| Error::encode("", ValueError::new(e.message())))?;
    let created = doc! { field: { "$ifNull": [format!("${field}"), now] } };
    Ok(doc! { "$replaceWith": { "$mergeObjects": [{ "$literal": document }, created] } })
}

impl<'a, D: Model, S: Saved<D> + 'a> IntoFuture for Save<'a, D, S> {
    type Output = Result<UpdateResult>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl<D, S> fmt::Debug for Save<'_, D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Save").finish_non_exhaustive()
    }
}
