//! [`Collection::save`]: inserts a document, or replaces the stored one.

use std::sync::Arc;

use crate::{
    ast::filter::Node,
    base::{
        bson::{Bson, DateTime, Document, RawDocumentBuf, doc},
        error::{Error, Result},
    },
    document::kind,
    driver::{
        UpdateResult,
        options::{ReadPreference, ReplaceOneOptions},
    },
    models::{managed::Written, model::Model},
    query::{
        handle::{
            Collection, NULL_IN_REPLACEMENT,
            action::{Session, awaitable, forward_options, in_session},
            gate::{Gate, Sendable, Targets},
            protection::first_encrypted,
            rules::decoded,
            sharded::explained,
        },
        observe::Call,
        write::{
            encoded::{Encoded, for_save},
            replace::{Target, replace},
            shard_key::{is_sharded, targeted},
        },
    },
    values::codec,
};

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
    /// fails with [`Error::VersionConflict`]. So does a save of a document that was deleted: only a document
    /// of version 0 is inserted.
    ///
    /// In a transaction they are written when the save succeeds, before the commit. If the transaction is
    /// aborted, the struct has a version that is not stored, and the next save fails with
    /// [`Error::VersionConflict`]: a body that can [run again](crate::Client::transaction) saves a clone,
    /// or reads the document itself.
    ///
    /// If the model has a [shard key](crate::guide::schema#shard-keys), the filter contains it beside the id, and a document whose id
    /// is not `None` is first replaced without being inserted; if none matches, the stored document is searched by
    /// its id, and the document is inserted if there is none. The call fails with [`Error::ShardKeyChanged`] if the stored document has another shard
    /// key.
    ///
    /// All fields are replaced, also those that another client has changed since the document was
    /// read. To change single fields use [`update_by_id`](Collection::update_by_id).
    ///
    /// ```no_run
    /// # use marula::{Document, bson::ObjectId, prelude::*};
    /// #[derive(Document)]
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
    pub fn save<'a>(&'a self, document: impl Saved<'a, D>) -> Save<'a, D> {
        const { kind::changes_one::<D>() };
        Save {
            collection: self,
            document: document.into_reference(),
            options: ReplaceOneOptions::default(),
            session: None,
        }
    }
}

/// What [`Collection::save`] and [`Collection::insert_one`] take: `&D`, or `&mut D`, to which the
/// stored values are written, also through a `Box`, and `&Arc<D>`. For other pointers pass
/// `&*document`.
#[diagnostic::on_unimplemented(
    message = "expected `&document` or `&mut document` of `{D}`, found `{Self}`",
    label = "expected `&{D}` or `&mut {D}`",
    note = "of a pointer such as `Rc` or `MutexGuard`, pass `&*document` or `&mut *document`"
)]
pub trait Saved<'a, D> {
    #[doc(hidden)]
    fn into_reference(self) -> Reference<'a, D>;
}

/// A document to save or to insert.
#[doc(hidden)]
#[derive(Debug)]
pub enum Reference<'a, D> {
    /// A document that is not changed.
    Shared(&'a D),
    /// A document to which the stored values are written.
    Exclusive(&'a mut D),
}

impl<'a, D: Model> Saved<'a, D> for &'a D {
    fn into_reference(self) -> Reference<'a, D> {
        Reference::Shared(self)
    }
}

impl<'a, D: Model> Saved<'a, D> for &'a mut D {
    fn into_reference(self) -> Reference<'a, D> {
        Reference::Exclusive(self)
    }
}

impl<'a, D: Model> Saved<'a, D> for &'a Box<D> {
    fn into_reference(self) -> Reference<'a, D> {
        Reference::Shared(self)
    }
}

impl<'a, D: Model> Saved<'a, D> for &'a mut Box<D> {
    fn into_reference(self) -> Reference<'a, D> {
        Reference::Exclusive(self)
    }
}

impl<'a, D: Model> Saved<'a, D> for &'a Arc<D> {
    fn into_reference(self) -> Reference<'a, D> {
        Reference::Shared(self)
    }
}

impl<D: Model> Reference<'_, D> {
    pub(in crate::query) fn document(&self) -> &D {
        match self {
            Reference::Shared(document) => document,
            Reference::Exclusive(document) => document,
        }
    }

    /// Writes the id to the document, if it may be changed, before it is sent: if the outcome of the call is unknown, another
    /// call with the document cannot store it twice.
    pub(in crate::query) fn write_id(&mut self, written: &Written) -> Result<()> {
        self.write_back(&Written {
            id: written.id.clone(),
            ..Written::default()
        })
    }

    /// Writes the stored values to the document, if it may be changed.
    pub(in crate::query) fn write_back(&mut self, written: &Written) -> Result<()> {
        match self {
            Reference::Shared(_) => Ok(()),
            Reference::Exclusive(document) => {
                document.write_back(written).map_err(|e| Error::encode("_id", e))
            }
        }
    }
}

/// Inserts or replaces a document. Output: the counts; `upserted_id` if it was inserted. See
/// [`Collection::save`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct Save<'a, D> {
    collection: &'a Collection<D>,
    document: Reference<'a, D>,
    options: ReplaceOneOptions,
    session: Session<'a>,
}

impl<'a, D: Model> Save<'a, D> {
    crate::driver::__replace_one_options! { forward_options { options: ReplaceOneOptions } }

    fn call(&self) -> Call {
        Call::new::<D>(self.collection.namespace(), "save")
    }

    async fn run(mut self) -> Result<UpdateResult> {
        let gate = self.collection.gate()?;
        let encoded = for_save(&gate, self.document.document())?;
        let filter = of_saved(&gate, &encoded)?;
        let mut written = encoded.written.clone();
        self.document.write_id(&written)?;
        let mut sending = Sending {
            gate,
            filter,
            encoded,
            options: self.options,
            created: None,
        };
        // Boxed, so that the future of a save is smaller.
        let result = if const { is_sharded::<D>() } {
            Box::pin(sending.send_sharded(self.session)).await?
        } else {
            Box::pin(sending.send(true, self.session)).await?
        };
        if let Some(created) = sending.created {
            written.created_at = Some(created);
        }
        self.document.write_back(&written)?;
        Ok(result)
    }
}

/// A save that is ready to be sent.
struct Sending<'c, D> {
    gate: Gate<'c, D>,
    filter: Sendable<Node>,
    encoded: Encoded,
    options: ReplaceOneOptions,
    /// The time of the insert, if the document was inserted.
    created: Option<DateTime>,
}

impl<D: Model> Sending<'_, D> {
    /// Sends the save of a document of a sharded collection: without an upsert first, unless its id is new.
    async fn send_sharded(&mut self, mut session: Session<'_>) -> Result<UpdateResult> {
        if self.encoded.written.id.is_none() {
            let result = self.send(false, session.as_deref_mut()).await;
            let collection = self.gate.collection();
            let result = collection
                .of_same_shard_key(&self.encoded.raw, result, session.as_deref_mut())
                .await?;
            if result.matched_count > 0 {
                return Ok(result);
            }
        }
        self.send(true, session).await
    }

    /// Sends the save. `upsert`: whether it inserts a document that does not exist.
    async fn send(&mut self, upsert: bool, session: Session<'_>) -> Result<UpdateResult> {
        let Sending {
            gate,
            filter,
            encoded,
            options,
            created,
        } = self;
        let collection = gate.collection();
        let (filter, options) = (filter.clone(), options.clone().upsert(upsert));
        let Some(field) = D::BEHAVIOR.created_at else {
            let saved = Target {
                filter,
                is_by_id: true,
            };
            return replace(collection, saved, encoded, options, session).await;
        };
        // A stage of a pipeline cannot set encrypted fields.
        if first_encrypted::<D>().is_some() {
            let (result, inserted) = save_encrypted(gate, field, filter, encoded, options, session).await?;
            *created = inserted;
            return Ok(result);
        }
        let now = encoded.written.updated_at.unwrap_or_else(DateTime::now);
        let stored = keeping(field, now, &encoded.raw)?;
        let filter = match &encoded.version {
            Some(version) => version.of(filter),
            None => filter,
        };
        let is_upsert = upsert && !encoded.was_stored();
        let saving = collection
            .inner
            .update_one(filter, vec![stored])
            .with_options(options.upsert(is_upsert).into());
        let result = in_session!(session, saving).await.map_err(Into::into);
        let result = explained(&collection.inner, "save", is_upsert, result)
            .await
            .map_err(|e| collection.conflict_of_upsert(e, encoded))?;
        if encoded.was_stored() && result.matched_count == 0 {
            return Err(collection.conflict_with(encoded));
        }
        *created = result.upserted_id.as_ref().map(|_| now);
        Ok(result)
    }
}

/// Saves a document with encrypted fields, with the stored time of the insert, which is read first. Returns the time of
/// an insert.
async fn save_encrypted<D: Model>(
    gate: &Gate<'_, D>,
    field: &'static str,
    filter: Sendable<Node>,
    encoded: &mut Encoded,
    options: ReplaceOneOptions,
    mut session: Session<'_>,
) -> Result<(UpdateResult, Option<DateTime>)> {
    let collection = gate.collection();
    let finding = collection
        .inner
        .find_one(filter.clone())
        .projection(doc! { field: 1 })
        .read_preference(ReadPreference::primary());
    let stored = in_session!(session.as_deref_mut(), finding).await?;
    let stored = stored.and_then(|stored| Bson::try_from(stored.get(field).ok()??).ok());
    let now = encoded.written.updated_at.unwrap_or_else(DateTime::now);
    let mut document = decoded(&encoded.raw)?;
    document.insert(field, stored.unwrap_or(now.into()));
    encoded.raw = gate.document(codec::to_raw(&document)?)?;
    let saved = Target {
        filter,
        is_by_id: true,
    };
    let result = replace(collection, saved, encoded, options, session).await?;
    let created = result.upserted_id.as_ref().map(|_| now);
    Ok((result, created))
}

/// The filter of the stored document with the same id.
pub(in crate::query) fn of_saved<D: Model>(gate: &Gate<'_, D>, document: &Encoded) -> Result<Sendable<Node>> {
    let id = document.raw.get("_id").ok().flatten();
    let id = id.and_then(|id| Bson::try_from(id).ok()).unwrap_or(Bson::Null);
    let filter = gate.collection().id_filter(Ok(id), NULL_IN_REPLACEMENT);
    Ok(targeted::<D>(gate.write(filter, Targets::One)?, &document.raw))
}

/// A stage that replaces the document and keeps the stored time of the insert, or sets it to `now`.
pub(in crate::query) fn keeping(field: &str, now: DateTime, raw: &RawDocumentBuf) -> Result<Document> {
    let document = decoded(raw)?;
    let created = doc! { field: { "$ifNull": [format!("${field}"), now] } };
    Ok(doc! { "$replaceWith": { "$mergeObjects": [{ "$literal": document }, created] } })
}

awaitable!(['a, D: Model] Save<'a, D> => UpdateResult);
