//! [`Collection::insert_one`] and [`Collection::insert_many`].

use std::sync::Arc;

use crate::{
    base::{
        bson::{RawDocumentBuf, codec::AppendDocument},
        error::Result,
    },
    driver::{
        self, ErrorKind, InsertManyResult, InsertOneResult,
        options::{InsertManyOptions, InsertOneOptions},
    },
    models::model::{DriverCollection, Model},
    query::{
        handle::{
            Collection,
            action::{Session, awaitable, forward_options, in_session},
            gate::Sendable,
        },
        observe::Call,
        write::{
            encoded::{for_insert, validated},
            save::{Reference, Saved},
        },
    },
};

impl<D: Model> Collection<D> {
    /// Inserts a document. The output of the action contains the id.
    ///
    /// An id that is not an `Option` is stored as it is: generate it with [`Model::new_id`]. If the
    /// id is an `Option` that is `None`, the inserted document has a new id from the model's id
    /// source, returned as [`inserted_id`](crate::driver::InsertOneResult::inserted_id). The call
    /// fails with [`Error::MissingId`](crate::Error::MissingId) if the model has no source.
    ///
    /// The stored times of the [maintained fields](derive@crate::Document#maintained-fields) are
    /// those of the insert, whatever the struct holds. Takes `&document` or `&mut document`: an
    /// insert writes these times to `&mut document`, also if the write concern was not satisfied. An id that
    /// was `None` is written before the document is sent, and stays if the call fails or its future is
    /// dropped: the server may have stored the document, and a second insert then fails with
    /// [`Error::Duplicate`](crate::Error::Duplicate) instead of storing it twice.
    ///
    /// Fails with [`Error::Validation`](crate::Error::Validation) and [`Error::Hook`](crate::Error::Hook) if the model declares these.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let result = orders.insert_one(&order(4)).await?;
    /// assert_eq!(result.inserted_id, 4_i64.into());
    /// # Ok(()) });
    /// ```
    pub fn insert_one<'a>(&'a self, document: impl Saved<'a, D>) -> InsertOne<'a, D> {
        InsertOne::new(self, document.into_reference())
    }

    /// Inserts documents from any iterator of documents or of references to them. The output of the
    /// action contains the ids. For ids that are `None`, and for maintained fields, see
    /// [`insert_one`](Collection::insert_one): of references `&mut document`, such as those of
    /// `iter_mut()`, all have their ids, and those that were inserted the times, also after an error.
    ///
    /// Without documents, nothing is sent, and the output is empty. The documents are inserted in
    /// order until one fails, unless [`ordered`](InsertMany::ordered) is set to false. Documents that
    /// were inserted before an error stay inserted.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// orders.insert_many((4..=6).map(order)).await?; // documents, or references to them
    /// assert_eq!(orders.estimated_count().await?, 6);
    /// # Ok(()) });
    /// ```
    pub fn insert_many<'a>(
        &'a self,
        documents: impl IntoIterator<Item: Insertable<'a, D>>,
    ) -> InsertMany<'a, D> {
        let documents = documents.into_iter().map(Insertable::into_item);
        InsertMany::new(self, documents.collect())
    }
}

/// What [`Collection::insert_many`] takes from an iterator: `D`, `&D`, `Box<D>` and `Arc<D>`, and
/// `&mut D`, to which the stored values are written.
#[diagnostic::on_unimplemented(
    message = "`insert_many` takes documents of `{D}` or references to them, found `{Self}`",
    label = "`{Self}` is not a document of this collection"
)]
pub trait Insertable<'a, D> {
    #[doc(hidden)]
    fn into_item(self) -> Item<'a, D>;
}

/// A document to insert.
#[doc(hidden)]
#[derive(Debug)]
pub enum Item<'a, D> {
    /// A document of the caller.
    Borrowed(&'a D),
    /// A document of the call.
    Owned(Box<D>),
    /// A document that is shared with the caller.
    Shared(Arc<D>),
    /// A document of the caller to which the stored values are written.
    Exclusive(&'a mut D),
}

impl<D> Item<'_, D> {
    fn document(&self) -> &D {
        match self {
            Item::Borrowed(document) => document,
            Item::Owned(document) => document,
            Item::Shared(document) => document,
            Item::Exclusive(document) => document,
        }
    }
}

impl<'a, D: Model> Insertable<'a, D> for D {
    fn into_item(self) -> Item<'a, D> {
        Item::Owned(Box::new(self))
    }
}

impl<'a, D: Model> Insertable<'a, D> for &'a D {
    fn into_item(self) -> Item<'a, D> {
        Item::Borrowed(self)
    }
}

impl<'a, D: Model> Insertable<'a, D> for &'a mut D {
    fn into_item(self) -> Item<'a, D> {
        Item::Exclusive(self)
    }
}

impl<'a, D: Model> Insertable<'a, D> for Box<D> {
    fn into_item(self) -> Item<'a, D> {
        Item::Owned(self)
    }
}

impl<'a, D: Model> Insertable<'a, D> for Arc<D> {
    fn into_item(self) -> Item<'a, D> {
        Item::Shared(self)
    }
}

/// Inserts a document. Output: its id. See [`Collection::insert_one`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct InsertOne<'a, D> {
    collection: &'a Collection<D>,
    document: Reference<'a, D>,
    options: InsertOneOptions,
    session: Session<'a>,
}

/// Inserts documents. Output: their ids. See [`Collection::insert_many`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct InsertMany<'a, D> {
    collection: &'a Collection<D>,
    documents: Vec<Item<'a, D>>,
    options: InsertManyOptions,
    session: Session<'a>,
}

impl<'a, D: Model> InsertOne<'a, D> {
    pub(in crate::query) fn new(collection: &'a Collection<D>, document: Reference<'a, D>) -> Self {
        InsertOne {
            collection,
            document,
            options: InsertOneOptions::default(),
            session: None,
        }
    }

    crate::driver::__insert_one_options! { forward_options { options: InsertOneOptions } }

    fn call(&self) -> Call {
        Call::new::<D>(self.collection.namespace(), "insert_one")
    }

    async fn run(self) -> Result<InsertOneResult> {
        let gate = self.collection.gate()?;
        let document = self.document.document();
        let plain = gate.written_by_model(document)?;
        let Some(plain) = plain.filter(|_| !document.lacks_id() && !D::BEHAVIOR.changes_documents()) else {
            // Boxed, so that the future of an insert with an id is smaller.
            return Box::pin(async move {
                let (document, written) = for_insert(&gate, self.document.document())?;
                let mut reference = self.document;
                reference.write_id(&written)?;
                let inserting = send_one(&self.collection.inner, &document, self.options, self.session);
                let result = inserting.await;
                if is_inserted(&result, 0) {
                    let written_back = reference.write_back(&written);
                    return result.and_then(|result| written_back.map(|()| result));
                }
                result
            })
            .await;
        };
        validated(document)?;
        send_one(&self.collection.inner, &plain, self.options, self.session).await
    }
}

/// Inserts a document in its stored form. The driver's future is created before the returned one,
/// which therefore does not contain the action.
pub(super) fn send_one<'a, T: AppendDocument + Send + Sync>(
    collection: &'a DriverCollection,
    document: &'a Sendable<T>,
    options: InsertOneOptions,
    session: Session<'a>,
) -> impl Future<Output = Result<InsertOneResult>> + Send {
    let inserting = collection.insert_one_appended(document).with_options(options);
    let sending = in_session!(session, inserting).into_future();
    async move { Ok(sending.await?) }
}

/// Whether the document at this index of the call was inserted.
fn is_inserted<T>(result: &Result<T>, index: usize) -> bool {
    match result {
        Ok(_) => true,
        Err(error) => error.driver().is_some_and(|error| has_inserted(error, index)),
    }
}

/// Whether the error says that the document at this index of the call was inserted.
fn has_inserted(error: &driver::Error, index: usize) -> bool {
    match error.kind() {
        ErrorKind::Write(failure) => failure.write_error.is_none(),
        ErrorKind::BulkWrite(bulk) => bulk.inserted_ids.contains_key(&index),
        ErrorKind::Timeout(timeout) => timeout.cause().is_some_and(|error| has_inserted(error, index)),
        _ => false,
    }
}

impl<'a, D: Model> InsertMany<'a, D> {
    pub(in crate::query) fn new(collection: &'a Collection<D>, documents: Vec<Item<'a, D>>) -> Self {
        InsertMany {
            collection,
            documents,
            options: InsertManyOptions::default(),
            session: None,
        }
    }

    crate::driver::__insert_many_options! { forward_options { options: InsertManyOptions } }

    fn call(&self) -> Call {
        Call::new::<D>(self.collection.namespace(), "insert_many")
    }

    async fn run(self) -> Result<InsertManyResult> {
        if self.documents.is_empty() {
            return Ok(InsertManyResult::default());
        }
        let gate = self.collection.gate()?;
        let plain = self
            .documents
            .iter()
            .map(|item| gate.written_by_model(item.document()));
        let plain: Option<Vec<_>> = plain.collect::<Result<_>>()?;
        let lacks_id = self.documents.iter().any(|item| item.document().lacks_id());
        let Some(plain) = plain.filter(|_| !lacks_id && !D::BEHAVIOR.changes_documents()) else {
            // Boxed, so that the future of an insert with ids is smaller.
            return Box::pin(async move {
                let mut documents: Vec<Sendable<RawDocumentBuf>> = Vec::with_capacity(self.documents.len());
                // The documents of the caller that are changed, with their indexes.
                let mut exclusive = Vec::new();
                for (index, item) in self.documents.into_iter().enumerate() {
                    let (document, written) = for_insert(&gate, item.document())?;
                    documents.push(document);
                    if let Item::Exclusive(document) = item {
                        exclusive.push((index, Reference::Exclusive(document), written));
                    }
                }
                for (_, document, written) in &mut exclusive {
                    document.write_id(written)?;
                }
                let inserting = send_many(&self.collection.inner, &documents, self.options, self.session);
                let result = inserting.await;
                let mut written_back = Ok(());
                for (index, mut document, written) in exclusive {
                    if is_inserted(&result, index) {
                        written_back = written_back.and(document.write_back(&written));
                    }
                }
                result.and_then(|result| written_back.map(|()| result))
            })
            .await;
        };
        for item in &self.documents {
            validated(item.document())?;
        }
        send_many(&self.collection.inner, &plain, self.options, self.session).await
    }
}

/// Inserts documents in their stored form; see [`send_one`].
fn send_many<'a, T: AppendDocument + Send + Sync>(
    collection: &'a DriverCollection,
    documents: &'a [Sendable<T>],
    options: InsertManyOptions,
    session: Session<'a>,
) -> impl Future<Output = Result<InsertManyResult>> + Send {
    let inserting = collection.insert_many_appended(documents).with_options(options);
    let sending = in_session!(session, inserting).into_future();
    async move { Ok(sending.await?) }
}

awaitable!(['a, D: Model] InsertOne<'a, D> => InsertOneResult);
awaitable!(['a, D: Model] InsertMany<'a, D> => InsertManyResult);
