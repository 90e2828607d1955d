//! [`Collection::insert`]: inserts a document, and returns it as it is stored.

use crate::{
    base::error::Result,
    document::decode::ReadAs,
    driver::options::InsertOneOptions,
    models::{insert::Insert, model::Model},
    query::{
        handle::{
            Collection,
            action::{Session, awaitable, forward_options},
        },
        observe::Call,
        write::{encoded::for_insert, insert::send_one},
    },
};

impl<D: Model> Collection<D> {
    /// Inserts a document. The output of the action is the document as it is stored: with its id, with the times of the
    /// [maintained fields](derive@crate::Document#maintained-fields), with what a [hook](crate::Hooks) has changed, and with
    /// the precision of BSON, such as times in milliseconds. It is what a read returns.
    ///
    /// Takes a document by value, or a struct with [`#[derive(Insert)]`](derive@crate::Insert) by value or by
    /// reference, of which a document is made by [`into_model`](Insert::into_model). Hooks, the validation and the
    /// rules of encrypted fields are those of [`insert_one`](Collection::insert_one) of that document.
    ///
    /// An id that is generated is not known if the call fails: to insert the document again after an error whose
    /// outcome is unknown, use `insert_one(&mut document)` with `let mut document = new.into_model()?`.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// use marula::Insert;
    ///
    /// #[derive(Document)]
    /// #[document(collection = "notes")]
    /// struct Note {
    ///     _id: bson::ObjectId,
    ///     text: String,
    ///     #[document(created_at)]
    ///     created_at: DateTime,
    /// }
    ///
    /// #[derive(Insert)] // and `serde::Deserialize`, for the body of a request
    /// #[document(of = Note)]
    /// struct NewNote {
    ///     text: String,
    /// }
    ///
    /// let notes = db.collection::<Note>();
    /// let note = notes.insert(NewNote { text: "ring twice".to_owned() }).await?;
    /// let found = notes.find_by_id(note._id).required().await?;
    /// assert_eq!(found.created_at, note.created_at);
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// [`Error::Encode`](crate::Error::Encode) if no document can be made of the struct, and
    /// [`Error::Decode`](crate::Error::Decode) if the document could not be read: then it is not sent. Otherwise the
    /// errors of `insert_one`.
    pub fn insert(&self, document: impl Insert<D>) -> InsertDocument<'_, D> {
        InsertDocument {
            collection: self,
            document: document.into_model(),
            options: InsertOneOptions::default(),
            session: None,
        }
    }
}

/// Inserts a document. Output: the document as it is stored. See [`Collection::insert`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct InsertDocument<'a, D> {
    collection: &'a Collection<D>,
    document: Result<D>,
    options: InsertOneOptions,
    session: Session<'a>,
}

impl<'a, D: Model> InsertDocument<'a, D> {
    crate::driver::__insert_one_options! { forward_options { options: InsertOneOptions } }

    fn call(&self) -> Call {
        Call::new::<D>(self.collection.namespace(), "insert")
    }

    async fn run(self) -> Result<D> {
        let gate = self.collection.gate()?;
        let document = self.document?;
        let (raw, _) = for_insert(&gate, &document)?;
        drop(document);
        // A document that cannot be read is not stored.
        let stored = ReadAs::<D>::model().decode(self.collection.namespace(), &raw)?;
        send_one(&self.collection.inner, &raw, self.options, self.session).await?;
        Ok(stored)
    }
}

awaitable!(['a, D: Model] InsertDocument<'a, D> => D);
