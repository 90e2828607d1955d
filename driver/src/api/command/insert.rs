//! `insert`: [`Collection::insert_one`] and [`Collection::insert_many`] ([CRUD specification],
//! "Insert, Update, Replace, Delete, and Bulk Writes").
//!
//! [CRUD specification]: https://github.com/mongodb/specifications/blob/master/source/crud/crud.md

use serde::Serialize;

use super::shown::debug_without_values;
use super::{
    InSession, awaitable,
    batcher::{Batcher, send_single},
    declare::{define_options, option_setters},
    session_setter,
    wire::WriteOptions,
};
use crate::{
    Collection, Error, Result,
    api::collection::CollectionInner,
    bson::{Bson, ElementType, ObjectId, codec::AppendDocument, find_element},
    operation::{
        OperationOverrides,
        write_command::{Statements, WriteKind},
    },
    proto::{command::CommandBuilder, description::HelloReply},
    types::{
        server_requirement::ServerRequirement,
        write_result::{InsertManyResult, InsertOneResult},
    },
};

/// The options of `insert_one`. See `api/command/declare.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! __insert_one_options {
    ($then:path { $($arguments:tt)* } $($more:tt)*) => {
        $then! { { $($arguments)* }
            /// Skip schema validation. Default: `false`.
            bypass_document_validation: plain bool = "bypassDocumentValidation";
            /// Insert into the raw storage of the collection (MongoDB 8.2+; ignored by older
            /// servers). For MongoDB's own tools.
            #[doc(hidden)]
            [driver] raw_data: plain bool = "rawData" since is_8_2;
            /// A comment that appears in the server's log, in the profiler and in `currentOp`
            /// (MongoDB 4.4+). Default: none.
            comment: boxed $crate::bson::Bson = "comment" [needs (4, 4)];
            /// `timeoutMS`: the time limit for the whole operation, including server selection and
            /// retries. It replaces all other time limits of the operation. Zero means no limit.
            /// Default: that of the collection.
            timeout: plain std::time::Duration;
            /// The write concern of this operation. Default: the collection's.
            write_concern: write_concern;
            /// A feature of the insert that older servers do not have: on such a server the operation
            /// fails before it is sent. Of several, the latest version applies. Default: none.
            [driver] requires: requirement;
            $($more)*
        }
    };
}

/// The options of `insert_many`: those of `insert_one` and `ordered`.
/// See `api/command/declare.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! __insert_many_options {
    ($then:path { $($arguments:tt)* } $($more:tt)*) => {
        $crate::__insert_one_options! { $then { $($arguments)* }
            /// Insert the documents in order and stop at the first that fails. If `false`, all
            /// documents are sent, and the error contains all failures. Default: `true`.
            ordered: plain bool;
            $($more)*
        }
    };
}

crate::__insert_one_options! { define_options {
    /// Options of [`Collection::insert_one`].
    pub struct InsertOneOptions;
} }

crate::__insert_many_options! { define_options {
    /// Options of [`Collection::insert_many`].
    pub struct InsertManyOptions;
} }

impl<T: Serialize> Collection<T> {
    /// Inserts one document. It is serialized directly into the write buffer of the connection. If
    /// the document has no `_id`, the driver adds an ObjectId as its first field. The result
    /// contains the `_id`.
    ///
    /// # Errors
    /// [`ErrorKind::Write`](crate::ErrorKind::Write) if the server rejects the document, e.g.
    /// because of a [duplicate key](Error::is_duplicate_key), or if the write concern was not
    /// satisfied.
    pub fn insert_one<'a>(&'a self, document: &'a T) -> InsertOne<'a, T> {
        InsertOne::new(self.inner(), document)
    }

    /// Inserts documents in as few commands as the limits of the server allow. If a document has no
    /// `_id`, the driver adds an ObjectId as its first field. The result contains the `_id` of each
    /// document. Collect the documents of an iterator into a [`Vec`] first: a retry sends them again.
    ///
    /// # Errors
    /// [`ErrorKind::BulkWrite`](crate::ErrorKind::BulkWrite) if the server rejects documents or the
    /// write concern was not satisfied. It contains the indexes of the documents that failed, and
    /// the `_id` of each document that was inserted.
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) if `documents` is empty. The error itself
    /// if the first command failed as a whole.
    ///
    /// # Cancel safety
    /// If the future is dropped, a part of the commands may have been sent, and the server may still run the last
    /// of them. Which documents were inserted is unknown.
    ///
    /// ```no_run
    /// # use marula_driver::{Collection, Result, bson::{Document, doc}};
    /// # async fn run(books: Collection<Document>) -> Result<()> {
    /// let inserted = books.insert_many(&[doc! { "title": "Emma" }, doc! { "title": "Persuasion" }]).await?;
    /// println!("{} books", inserted.inserted_ids.len());
    /// # Ok(()) }
    /// ```
    pub fn insert_many<'a>(&'a self, documents: &'a [T]) -> InsertMany<'a, T> {
        InsertMany::new(self.inner(), documents)
    }
}

impl<T> Collection<T> {
    /// Inserts a document that a codec of the ODM writes.
    #[doc(hidden)]
    pub fn insert_one_appended<'a, A: AppendDocument>(&'a self, document: &'a A) -> InsertOne<'a, A> {
        InsertOne::new(self.inner(), document)
    }

    /// Inserts documents that a codec of the ODM writes.
    #[doc(hidden)]
    pub fn insert_many_appended<'a, A: AppendDocument>(&'a self, documents: &'a [A]) -> InsertMany<'a, A> {
        InsertMany::new(self.inner(), documents)
    }
}

/// Inserts one document. Await it for an [`InsertOneResult`]; see [`Collection::insert_one`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct InsertOne<'a, T> {
    collection: &'a CollectionInner,
    document: &'a T,
    options: InsertOneOptions,
    session: InSession<'a>,
}

debug_without_values! { [T] InsertOne<'_, T>, "InsertOne", |it| namespace: it.collection.namespace(), options: it.options }

/// Inserts several documents. Await it for an [`InsertManyResult`]; see
/// [`Collection::insert_many`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct InsertMany<'a, T> {
    collection: &'a CollectionInner,
    documents: &'a [T],
    options: InsertManyOptions,
    session: InSession<'a>,
}

debug_without_values! {
    [T] InsertMany<'_, T>, "InsertMany", |it|
    namespace: it.collection.namespace(), documents: it.documents.len(), options: it.options
}

impl<'a, T: AppendDocument> InsertOne<'a, T> {
    fn new(collection: &'a CollectionInner, document: &'a T) -> Self {
        InsertOne {
            collection,
            document,
            options: InsertOneOptions::default(),
            session: collection.session(),
        }
    }

    crate::__insert_one_options! { option_setters { InsertOneOptions } }

    session_setter!();

    async fn run(&mut self) -> Result<InsertOneResult> {
        self.options.deferred.take_result()?;
        let mut documents = Documents::single(self.document, &self.options);
        let inner = self.collection;
        let timeout = inner.start_timeout("insert", self.options.timeout, self.session)?;
        let write_concern = self.options.write_concern.as_deref();
        let (count, _) = send_single(inner, write_concern, self.session, timeout, &mut documents).await?;
        Ok(InsertOneResult {
            inserted_id: documents.advance(count).pop().map_or(Bson::Null, |(_, id)| id),
        })
    }
}

impl<'a, T: AppendDocument> InsertMany<'a, T> {
    fn new(collection: &'a CollectionInner, documents: &'a [T]) -> Self {
        InsertMany {
            collection,
            documents,
            options: InsertManyOptions::default(),
            session: collection.session(),
        }
    }

    crate::__insert_many_options! { option_setters { InsertManyOptions } }

    session_setter!();

    async fn run(&mut self) -> Result<InsertManyResult> {
        self.options.deferred.take_result()?;
        if self.documents.is_empty() {
            return Err(Error::invalid_argument(
                "insert_many requires at least one document",
            ));
        }
        let inner = self.collection;
        let write_concern = self.options.write_concern.as_deref();
        let ordered = self.options.ordered.unwrap_or(true);
        let timeout = inner.start_timeout("insert", self.options.timeout, self.session)?;
        let mut batcher = Batcher::new("insert", inner, write_concern, self.session, timeout, ordered);
        let mut documents = Documents::new(self.documents, ordered, &self.options);
        match batcher.send(&mut documents).await {
            Ok(_) => batcher.into_result().map(|done| InsertManyResult {
                inserted_ids: done.inserted_ids,
            }),
            // No command was sent, so a partial result does not exist.
            Err(error) if !batcher.has_run() => Err(error),
            Err(error) => Err(batcher.into_error(error)),
        }
    }
}

awaitable!(in place ['a, T: AppendDocument + Send + Sync + 'a] InsertOne<'a, T> => InsertOneResult);
awaitable!(in place ['a, T: AppendDocument + Send + Sync + 'a] InsertMany<'a, T> => InsertManyResult);

/// The documents of a call. They are serialized into the write buffer of the connection without an
/// intermediate copy.
struct Documents<'a, T, O> {
    documents: &'a [T],
    /// Number of documents that have been sent.
    offset: usize,
    /// The call takes one document, so the path in a serialization error has no index.
    is_single: bool,
    ordered: bool,
    options: &'a O,
    /// The `_id` and the position of each document of the next command. They are set when a
    /// document is first appended, so a retry sends the same `_id`.
    ids: Vec<(usize, Bson)>,
}

debug_without_values! { [T O] Documents<'_, T, O>, "Documents", |it| documents: it.documents.len(), offset: it.offset }

impl<'a, T: AppendDocument, O> Documents<'a, T, O> {
    /// The document of a call with one document.
    fn single(document: &'a T, options: &'a O) -> Self {
        Self {
            documents: std::slice::from_ref(document),
            offset: 0,
            is_single: true,
            ordered: true,
            options,
            ids: Vec::with_capacity(1),
        }
    }

    fn new(documents: &'a [T], ordered: bool, options: &'a O) -> Self {
        Self {
            documents,
            offset: 0,
            is_single: false,
            ordered,
            options,
            ids: Vec::new(),
        }
    }

    /// The `_id` of the document that begins at `start`. If there is none, an ObjectId is added as
    /// the first field.
    fn find_or_add_id(&self, index: usize, start: usize, buffer: &mut Vec<u8>) -> Result<Bson> {
        if let Some(element) = find_element(buffer.get(start..).unwrap_or_default(), "_id")? {
            return Ok(element.value.to_bson()?);
        }
        let id = match self.ids.get(index) {
            Some((_, Bson::ObjectId(id))) => *id,
            _ => ObjectId::new(),
        };
        prepend_id(buffer, start, id)?;
        Ok(Bson::ObjectId(id))
    }
}

impl<T: AppendDocument, O: WriteOptions> Statements for Documents<'_, T, O> {
    const KIND: WriteKind = WriteKind::Insert;

    fn remaining(&self) -> usize {
        self.documents.len() - self.offset
    }

    fn position(&self, index: usize) -> usize {
        self.offset + index
    }

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    #[inline]
    fn requirement(&self) -> Option<&ServerRequirement> {
        self.options.requirement()
    }

    fn write_options(&self, command: &mut CommandBuilder<'_>, server: &HelloReply) {
        command.bool("ordered", self.ordered);
        self.options.write(command, server);
    }

    fn append(&mut self, index: usize, buffer: &mut Vec<u8>) -> Result<()> {
        let position = self.position(index);
        let Some(document) = self.documents.get(position) else {
            return Ok(());
        };
        let start = buffer.len();
        document.append_document(buffer).map_err(|error| {
            if self.is_single {
                error
            } else {
                error.at_index(position).in_field("documents")
            }
        })?;
        let id = match leading_object_id(buffer.get(start..).unwrap_or_default()) {
            Some(id) => Bson::ObjectId(id),
            None => self.find_or_add_id(index, start, buffer)?,
        };
        match self.ids.get_mut(index) {
            Some((_, known)) => *known = id,
            None => self.ids.push((position, id)),
        }
        Ok(())
    }

    fn reserve(&mut self, count: usize) {
        self.ids.reserve(count);
    }

    fn truncate(&mut self, count: usize) {
        self.ids.truncate(count);
    }

    fn advance(&mut self, count: usize) -> Vec<(usize, Bson)> {
        self.offset += count;
        std::mem::take(&mut self.ids)
    }
}

/// The `_id` of a document whose first element is an `_id` of type ObjectId, the most common case.
/// Other documents are searched for their `_id`.
#[inline]
fn leading_object_id(document: &[u8]) -> Option<ObjectId> {
    const TYPE: u8 = ElementType::ObjectId as u8;
    match document {
        [_, _, _, _, TYPE, b'_', b'i', b'd', 0, rest @ ..] => {
            rest.first_chunk().map(|bytes| ObjectId::from_bytes(*bytes))
        }
        _ => None,
    }
}

/// Inserts `_id` as the first field of the document that begins at `start`.
pub(super) fn prepend_id(buffer: &mut Vec<u8>, start: usize, id: ObjectId) -> Result<()> {
    let mut element = [0; 17];
    element[0] = 0x07;
    element[1..4].copy_from_slice(b"_id");
    element[5..].copy_from_slice(&id.bytes());
    buffer.splice(start + 4..start + 4, element);
    let length = i32::try_from(buffer.len() - start)
        .map_err(|_| Error::invalid_argument("a document is larger than 2 GiB"))?;
    if let Some(place) = buffer.get_mut(start..start + 4) {
        place.copy_from_slice(&length.to_le_bytes());
    }
    Ok(())
}
