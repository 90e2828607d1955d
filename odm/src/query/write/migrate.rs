//! [`Collection::migrate`]: upgrades the stored documents of older versions.

use std::collections::BTreeSet;
use std::fmt;

use crate::{
    ast::filter::Node,
    base::{
        bson::{Bson, RawDocument, RawDocumentBuf, doc},
        error::{Error, Result, ValueError},
        relaxed_json::relaxed,
        time_limit::TimeLimit,
    },
    document::{decode::upgraded, kind},
    driver::{
        self, ErrorKind, WriteError, WriteModel,
        error::code,
        options::{Collation, FindOptions, ReadPreference, WriteConcern},
    },
    form::schema_version::SchemaVersion,
    models::{
        model::{Fields, Model},
        versioned::Versioned,
    },
    query::{
        handle::{Collection, action::awaitable, filter_of, protection::first_encrypted},
        observe::Call,
    },
    term::filter::Filter,
};

/// How often a document that other clients change is read again.
pub(in crate::query) const ATTEMPTS: usize = 20;
/// How many failures are described.
const DESCRIBED: usize = 20;
/// The largest sum of the documents of one batch, in bytes.
pub(in crate::query) const BATCH_BYTES: usize = 16 << 20;
/// The largest sum of an old and a new document, which are sent in one statement, in bytes.
const STATEMENT_BYTES: usize = (16 << 20) - (64 << 10);
pub(in crate::query) const BATCH_SIZE: u32 = 100;

impl<D: Model> Collection<D> {
    /// Upgrades the stored documents of older versions, by the function of
    /// [`schema_version`](Versioned).
    ///
    /// The documents are read in the order of `_id` and written in batches, each of which is in memory at
    /// one time. Applications can read and write the collection meanwhile: a document is replaced only if
    /// it is still the one that was read, by a comparison of the whole document; otherwise it is read and
    /// upgraded again. In a collection with a default collation that comparison has the collation `simple`: the
    /// server cannot use the index on `_id` for ids that contain strings, and scans the
    /// collection for each document. One `listCollections` reads whether the collection has a default collation. The result of the function is stored as it is, with the version, and must be
    /// decodable as `D`; hooks and validations do not run, and
    /// [maintained fields](derive@crate::Document#maintained-fields) do not change. Soft-deleted documents
    /// are upgraded too. Writes have the write concern `majority`, reads the read preference `primary`.
    ///
    /// A document that cannot be upgraded does not stop the others; see [`Migration::failures`]. What is
    /// done is recorded in the documents themselves: after an error, or if the future is dropped, a new
    /// call continues with the documents that are left. While instances of an older release write
    /// documents, repeat it when they have ended.
    ///
    /// ```no_run
    /// # use marula::{Versioned, prelude::*};
    /// # async fn run<Person: Versioned>(people: marula::Collection<Person>) -> marula::Result<()> {
    /// let dry = people.migrate().dry_run(true).await?;
    /// println!("{dry}");
    /// let migration = people.migrate().on_progress(|progress| println!("{progress}")).await?;
    /// assert!(migration.is_complete(), "{:?}", migration.failures);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidFilter`] for an invalid filter, [`Error::InvalidArgument`] for a batch size of 0 and for a time
    /// series, whose documents cannot be replaced; [`Error::Driver`] for errors of the driver, after which documents may have been upgraded.
    pub fn migrate(&self) -> Migrate<'_, D>
    where
        D: Versioned,
    {
        Migrate::new(self.clone())
    }
}

/// The calls of [`Migrate::on_progress`].
type Progress<'a> = Box<dyn FnMut(&Migration) + Send + 'a>;

/// Upgrades documents. Output: a [`Migration`]. See [`Collection::migrate`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct Migrate<'a, D> {
    collection: Collection<D>,
    filter: Result<Node>,
    options: MigrateOptions,
    progress: Option<Progress<'a>>,
}

/// The options of a migration that do not depend on the model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MigrateOptions {
    pub(crate) batch_size: u32,
    pub(crate) dry_run: bool,
}

impl Default for MigrateOptions {
    fn default() -> Self {
        MigrateOptions {
            batch_size: BATCH_SIZE,
            dry_run: false,
        }
    }
}

/// The setters of [`MigrateOptions`], in actions with the field `options`.
macro_rules! migrate_setters {
    () => {
        /// Maximum number of documents that are read and written together. Default: 100. A batch ends
        /// earlier at 16 MiB.
        ///
        /// ```
        /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
        /// let schema = db.schema().register::<Order>();
        /// for (collection, migration) in schema.migrate().batch_size(500).await? {
        ///     println!("{collection}: {migration}");
        /// }
        /// # Ok(()) });
        /// ```
        pub fn batch_size(mut self, documents: u32) -> Self {
            self.options.batch_size = documents;
            self
        }

        /// Whether to upgrade and decode the documents without writing them. Default: false.
        ///
        /// ```
        /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
        /// let schema = db.schema().register::<Order>();
        /// for (_, migration) in schema.migrate().dry_run(true).await? {
        ///     assert!(migration.is_complete(), "{:?}", migration.failures);
        /// }
        /// # Ok(()) });
        /// ```
        pub fn dry_run(mut self, yes: bool) -> Self {
            self.options.dry_run = yes;
            self
        }
    };
}
pub(crate) use migrate_setters;

/// What a migration has done so far, or at its end. See [`Collection::migrate`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[must_use = "some documents may have failed"]
pub struct Migration {
    /// Number of documents of older versions that were read.
    pub examined: u64,
    /// Number of documents that were upgraded; in a dry run, of those that can be.
    pub upgraded: u64,
    /// Number of documents that another client upgraded, replaced or deleted after they were read.
    pub superseded: u64,
    /// Number of documents that could not be upgraded.
    pub failed: u64,
    /// The first 20 of them.
    pub failures: Vec<MigrationFailure>,
}

/// A document that could not be upgraded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MigrationFailure {
    /// The `_id` of the document.
    pub id: Bson,
    /// Why it could not be upgraded.
    pub reason: MigrationFailureReason,
}

/// Why a document could not be upgraded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum MigrationFailureReason {
    /// The function failed ([`Error::Upgrade`]), or its result is not a document of the model
    /// ([`Error::Decode`]).
    Upgrade(Error),
    /// The server rejected the upgraded document, for example by a unique index or a validator.
    Write(Box<WriteError>),
    /// The document was changed by other clients between each of several reads and writes.
    Contended,
    /// The old and the new document together exceed 16 MiB, so that they cannot be sent in one statement.
    /// Read the document and save it.
    TooLarge {
        /// The sum of their sizes.
        bytes: usize,
    },
}

impl Migration {
    /// Whether no document failed.
    ///
    /// ```
    /// let nothing = marula::collection::Migration::default();
    /// assert!(nothing.is_complete());
    /// ```
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.failed == 0
    }

    fn fail(&mut self, id: Bson, reason: MigrationFailureReason) {
        self.failed += 1;
        if self.failures.len() < DESCRIBED {
            self.failures.push(MigrationFailure { id, reason });
        }
    }
}

/// `120 examined, 118 upgraded, 1 superseded, 1 failed`
impl fmt::Display for Migration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} examined, {} upgraded, {} superseded, {} failed",
            self.examined, self.upgraded, self.superseded, self.failed
        )
    }
}

/// The document and the reason.
impl fmt::Display for MigrationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "document {}: {}", relaxed(&self.id), self.reason)
    }
}

impl fmt::Display for MigrationFailureReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MigrationFailureReason::Upgrade(error) => crate::base::error::with_sources(f, error),
            MigrationFailureReason::Write(error) => write!(f, "{} (code {})", error.message, error.code),
            MigrationFailureReason::Contended => f.write_str("changed by other clients at each attempt"),
            MigrationFailureReason::TooLarge { bytes } => write!(
                f,
                "the old and the new document have {bytes} bytes, too many for one statement; read it and save it"
            ),
        }
    }
}

impl<'a, D: Model> Migrate<'a, D> {
    pub(crate) fn new(collection: Collection<D>) -> Self {
        Migrate {
            collection,
            filter: Ok(Node::Default),
            options: MigrateOptions::default(),
            progress: None,
        }
    }

    pub(crate) fn with_options(mut self, options: MigrateOptions) -> Self {
        self.options = options;
        self
    }

    /// Only the documents that match. The filter sees them as they are stored. Default: all.
    ///
    /// ```no_run
    /// # use marula::{Document, managed::BoxedError, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "people", schema_version(2, upgrade = upgrade))]
    /// # struct Person { _id: i64, city: String }
    /// # fn upgrade(_: u32, _: &mut marula::bson::Document) -> Result<(), BoxedError> { Ok(()) }
    /// # async fn run(people: marula::Collection<Person>) -> marula::Result<()> {
    /// let migration = people.migrate().filter(|p| p.city().eq("Ulm")).await?;
    /// # drop(migration); Ok(()) }
    /// ```
    pub fn filter(mut self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Self {
        self.filter = filter_of(filter);
        self
    }

    migrate_setters!();

    /// Calls a function after each batch, with what was done until then. Default: none.
    ///
    /// ```no_run
    /// # use marula::{Versioned, prelude::*};
    /// # async fn run<Person: Versioned>(people: marula::Collection<Person>) -> marula::Result<()> {
    /// let migration = people.migrate().on_progress(|progress| println!("{progress}")).await?;
    /// # drop(migration); Ok(()) }
    /// ```
    pub fn on_progress(mut self, function: impl FnMut(&Migration) + Send + 'a) -> Self {
        self.progress = Some(Box::new(function));
        self
    }

    fn call(&self) -> Call {
        Call::new::<D>(self.collection.namespace(), "migrate").query(self.filter.as_ref().ok())
    }

    pub(crate) async fn run(self) -> Result<Migration> {
        if self.collection.transaction().is_some() {
            return Err(Error::argument(
                "the handle is bound to a transaction, and a migration cannot be part of one; use the handle that it was bound from",
            ));
        }
        let mut migration = Migration::default();
        let filter = self.collection.gate()?.read_all(self.filter)?.to_document();
        let Some(version) = D::BEHAVIOR.schema else {
            return Ok(migration);
        };
        if self.options.batch_size == 0 {
            return Err(Error::argument("the batch size must be at least 1"));
        }
        kind::check_migration::<D>()?;
        if let Some(path) = first_encrypted::<D>() {
            return Err(Error::encode(
                path,
                ValueError::new(
                    "a migration compares whole documents, which the server cannot do with encrypted fields; read the documents, and \
                     save each of them",
                ),
            ));
        }
        let mut progress = self.progress;
        let is_collated = is_collated(&self.collection.inner, &TimeLimit::begin(None)).await?;
        let source = Source {
            is_collated,
            inner: self
                .collection
                .inner
                .with_write_concern(WriteConcern::majority())
                .with_read_preference(ReadPreference::primary()),
            version,
            collection: self.collection,
            dry_run: self.options.dry_run,
        };
        let mut old = vec![version.older()];
        if !filter.is_empty() {
            old.push(filter);
        }
        let options = FindOptions::default()
            .sort(doc! { "_id": 1 })
            .batch_size(self.options.batch_size);
        let mut cursor = source
            .inner
            .find(doc! { "$and": old })
            .with_options(options)
            .await?;
        let mut is_at_end = false;
        while !is_at_end {
            let (mut batch, mut bytes) = (Vec::new(), 0);
            while bytes < BATCH_BYTES && batch.len() < self.options.batch_size as usize {
                is_at_end = !cursor.advance().await?;
                if is_at_end {
                    break;
                }
                let document = cursor.current()?.to_owned();
                bytes += document.as_bytes().len();
                batch.push(document);
            }
            if batch.is_empty() {
                break;
            }
            migration.examined += batch.len() as u64;
            source.upgrade(batch, &mut migration).await?;
            if let Some(progress) = &mut progress {
                progress(&migration);
            }
        }
        Ok(migration)
    }
}

awaitable!(['a, D: Model] Migrate<'a, D> => Migration);

/// The collection of a migration.
struct Source<D> {
    inner: driver::Collection<RawDocumentBuf>,
    collection: Collection<D>,
    version: SchemaVersion,
    /// Whether the collection has a default collation.
    is_collated: bool,
    dry_run: bool,
}

/// Whether the collection has a default collation, which is not `simple`. It has one for a user who may not list
/// collections: the collation that is then sent changes nothing if there is none.
pub(in crate::query) async fn is_collated<T>(
    collection: &driver::Collection<T>,
    limit: &TimeLimit,
) -> Result<bool> {
    let namespace = collection.namespace();
    // A transaction cannot list collections, so this is not part of one that the handle is bound to.
    let database = collection.database().client().database(&namespace.database);
    let listing = database
        .list_collections()
        .filter(doc! { "name": &namespace.collection });
    let listing = limit.of(listing, driver::action::ListCollections::timeout);
    let listed = driver::outside_transaction(async { listing.await?.try_collect().await });
    match listed.await {
        Ok(listed) => {
            let mut listed: std::slice::Iter<'_, driver::CollectionSpecification> = listed.iter();
            Ok(listed.any(|listed| listed.options.contains_key("collation")))
        }
        Err(error) if error.code() == Some(code::UNAUTHORIZED) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

impl<D: Model> Source<D> {
    /// Upgrades the documents of a batch. Those that other clients have changed are read again.
    async fn upgrade(&self, mut batch: Vec<RawDocumentBuf>, migration: &mut Migration) -> Result<()> {
        for _ in 0..ATTEMPTS {
            let mut ids = Vec::with_capacity(batch.len());
            let mut writes = Vec::with_capacity(batch.len());
            for old in &batch {
                match self.replacement(old) {
                    Ok(write) => {
                        ids.push(id_of(old));
                        writes.push(write);
                    }
                    Err(reason) => migration.fail(id_of(old), reason),
                }
            }
            if self.dry_run {
                migration.upgraded += ids.len() as u64;
                return Ok(());
            }
            if writes.is_empty() {
                return Ok(());
            }
            let (matched, rejected) = self.write(writes).await?;
            migration.upgraded += matched;
            let failed: BTreeSet<usize> = rejected.iter().map(|error| error.index).collect();
            for error in rejected {
                let id = ids.get(error.index).cloned().unwrap_or(Bson::Null);
                migration.fail(id, MigrationFailureReason::Write(Box::new(error)));
            }
            let open = (ids.len() as u64).saturating_sub(matched + failed.len() as u64);
            if open == 0 {
                return Ok(());
            }
            let ids = ids.into_iter().enumerate().filter(|(at, _)| !failed.contains(at));
            let ids: Vec<Bson> = ids.map(|(_, id)| id).collect();
            batch = self.read_again(ids).await?;
            migration.superseded += open.saturating_sub(batch.len() as u64);
            if batch.is_empty() {
                return Ok(());
            }
        }
        for document in &batch {
            migration.fail(id_of(document), MigrationFailureReason::Contended);
        }
        Ok(())
    }

    /// The replacement of a document, if it is not changed until then.
    fn replacement(&self, old: &RawDocument) -> std::result::Result<WriteModel, MigrationFailureReason> {
        let new = upgraded::<D>(self.collection.namespace(), old, self.version)
            .map_err(MigrationFailureReason::Upgrade)?;
        replacement(old, &new, self.is_collated)
    }

    /// Performs the writes. Returns how many documents matched, and which writes the server rejected.
    async fn write(&self, writes: Vec<WriteModel>) -> Result<(u64, Vec<WriteError>)> {
        match self.inner.bulk_write(writes).ordered(false).await {
            Ok(result) => Ok((result.matched_count, Vec::new())),
            Err(error) => match error.kind() {
                ErrorKind::BulkWrite(bulk)
                    if bulk.interrupted_by.is_none() && bulk.write_concern_error.is_none() =>
                {
                    Ok((bulk.matched_count, bulk.write_errors.clone()))
                }
                _ => Err(error.into()),
            },
        }
    }

    /// The documents of these ids that still have an older version.
    async fn read_again(&self, ids: Vec<Bson>) -> Result<Vec<RawDocumentBuf>> {
        let mut all = vec![doc! { "_id": { "$in": ids } }, self.version.older()];
        all.extend(self.collection.rows_condition());
        let filter = doc! { "$and": all };
        let mut cursor = self.inner.find(filter).await?;
        let mut documents = Vec::new();
        while cursor.advance().await? {
            documents.push(cursor.current()?.to_owned());
        }
        Ok(documents)
    }
}

/// The replacement of a stored document by its present form, if it is not changed until then. `is_collated`: whether the
/// collection has a default collation.
pub(in crate::query) fn replacement(
    old: &RawDocument,
    new: &RawDocumentBuf,
    is_collated: bool,
) -> std::result::Result<WriteModel, MigrationFailureReason> {
    let bytes = old.as_bytes().len() + new.as_bytes().len();
    if bytes > STATEMENT_BYTES {
        return Err(MigrationFailureReason::TooLarge { bytes });
    }
    let whole = crate::base::bson::decode_document(old.as_bytes());
    let whole = whole
        .map_err(|e| MigrationFailureReason::Upgrade(Error::encode("", ValueError::new(e.message()))))?;
    let unchanged = doc! { "$eq": ["$$ROOT", { "$literal": whole }] };
    let filter = doc! { "_id": id_of(old), "$expr": unchanged };
    let replace = WriteModel::replace_one(filter, new);
    if is_collated {
        // By the default collation of the collection, texts that differ could be equal.
        return Ok(replace.collation(Collation::new("simple")));
    }
    Ok(replace)
}

/// The id of a document.
pub(in crate::query) fn id_of(document: &RawDocument) -> Bson {
    let id = document.get("_id").ok().flatten();
    id.and_then(|id| Bson::try_from(id).ok()).unwrap_or(Bson::Null)
}
