//! Upgrades the stored documents of older versions that an update by operators matches, before the update.
//!
//! An upgrade computes a whole document from one of an older version. If it ran after the update, the function of the model would
//! read what the update has stored in the present form as the older form. The update therefore has a condition on the version: it does
//! not change a document of an older version that appears after the upgrade.
//!
//! A dropped future may leave upgraded documents that are not updated: a later call finds them in their present form.

use std::any::TypeId;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::{
    ast::filter::{Node, Op},
    base::{
        bson::{Bson, Document, RawDocument, RawDocumentBuf, doc},
        error::{Error, Result, ValueError},
        time_limit::TimeLimit,
    },
    document::decode::upgraded,
    driver::{
        self, ErrorKind, Namespace, WriteModel,
        options::{
            BulkWriteOptions, FindOptions, PrecedingOptions, ReadConcern, ReadPreference, WriteConcern,
        },
    },
    form::schema_version::SchemaVersion,
    models::{managed::CollectionKind, model::Model},
    query::{
        handle::{
            Collection,
            action::{Session, in_session},
            gate::Sendable,
            protection::first_encrypted,
        },
        write::{
            migrate::{
                ATTEMPTS, BATCH_BYTES, BATCH_SIZE, MigrationFailureReason, id_of, is_collated, replacement,
            },
            update::ReadyUpdate,
        },
    },
};

/// How many ids are in one filter.
const IDS: u32 = 1_000;

/// Whether updates by operators upgrade the documents of the model: it has versions, and its documents can be replaced.
pub(in crate::query) const fn is_upgraded<D: Model>() -> bool {
    match D::BEHAVIOR.schema {
        Some(schema) => schema.version > 1 && !matches!(D::BEHAVIOR.kind, CollectionKind::TimeSeries),
        None => false,
    }
}

/// Adds the condition that the document does not have an older version.
pub(in crate::query) fn guarded<D: Model>(filter: Sendable<Node>) -> Sendable<Node> {
    match D::BEHAVIOR.schema {
        Some(schema) if const { is_upgraded::<D>() } => {
            let is_present = Node::leaf(schema.field, Op::Gte(schema.stored()));
            filter.with(|filter| filter.and(is_present))
        }
        _ => filter,
    }
}

/// Which documents are upgraded.
enum Wanted {
    /// The first document that matches.
    First(Document),
    /// All documents that match.
    All(Document),
    /// The documents of these ids that match the condition.
    Ids(Vec<Bson>, Option<Document>),
}

/// The upgrade of the documents that an update matches.
pub(in crate::query) struct Upgrade {
    pub(in crate::query) collection: driver::Collection<RawDocumentBuf>,
    model: TypeId,
    /// The condition of the fields that the scope of the handle fixes.
    rows: Option<Document>,
    version: SchemaVersion,
    upgraded: fn(&Namespace, &RawDocument, SchemaVersion) -> Result<RawDocumentBuf>,
    wanted: Wanted,
    pub(in crate::query) options: PrecedingOptions,
    /// Whether the collection has a default collation. The upgrades of a bulk write share it.
    pub(in crate::query) is_collated: Arc<OnceLock<bool>>,
}

/// An update that is sent again if the documents that it should match had an older version.
pub(in crate::query) trait Upgrading: Send + Sync {
    type Output: Send;

    /// The time limit of the call.
    fn timeout(&self) -> Option<Duration>;

    /// Sends the update once.
    fn send<'s>(&'s self, limit: &TimeLimit, session: Session<'s>) -> Sent<'s, Self::Output>;

    /// Whether the update changed or inserted a document.
    fn is_done(&self, output: &Self::Output) -> bool;
}

/// The future of an update.
pub(in crate::query) type Sent<'s, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 's>>;

/// Upgrades the documents that an update matches, and sends the update. Again if the documents that were found have an older
/// version then.
pub(in crate::query) fn after_upgrade<'a, O: 'a>(
    mut update: ReadyUpdate<'a, O>,
) -> Sent<'a, <ReadyUpdate<'a, O> as Upgrading>::Output>
where
    ReadyUpdate<'a, O>: Upgrading,
{
    Box::pin(async move {
        let mut session = update.session.take();
        let Some(upgrade) = update.upgrade.take() else {
            return update.send(&TimeLimit::begin(None), session).await;
        };
        let limit = TimeLimit::begin(update.timeout());
        let is_acknowledged = upgrade.is_acknowledged(session.as_deref_mut());
        let is_found = upgrade.run(&limit, session.as_deref_mut()).await?;
        let (mut count, mut attempts) = (1, 0);
        loop {
            let output = update.send(&limit, session.as_deref_mut()).await?;
            if !is_found || !is_acknowledged || update.is_done(&output) {
                return Ok(output);
            }
            count = (count * 10).min(IDS);
            let older = upgrade.older(count, &limit, session.as_deref_mut()).await?;
            if older == 0 {
                return Ok(output);
            }
            // There can be any number of documents that match in their older form only. Fewer than were requested are all of them.
            if older < IDS as usize || upgrade.is_of_many() {
                attempts += 1;
            }
            if attempts == ATTEMPTS {
                return Err(upgrade.contended());
            }
        }
    })
}

impl Upgrade {
    fn new<D: Model>(
        collection: &Collection<D>,
        version: SchemaVersion,
        wanted: Wanted,
        options: PrecedingOptions,
    ) -> Self {
        // The update need not be in the snapshot of the majority. A transaction has its own concern.
        let inner = collection.inner.with_read_concern(ReadConcern::local());
        Upgrade {
            rows: collection.rows_condition(),
            collection: inner.with_read_preference(ReadPreference::primary()),
            model: TypeId::of::<D>(),
            version,
            upgraded: unencrypted::<D>,
            wanted,
            options,
            is_collated: Arc::default(),
        }
    }

    /// The upgrade before an update: of all documents that match, or of the first one. `None` if the model has no older
    /// versions.
    ///
    /// The first one is not enough before an upsert, which has no condition on the version: if the upgraded document no longer
    /// matches, the upsert would change the next one in its older form. Nor is it in a bulk write, whose earlier writes change
    /// which document is the first.
    pub(in crate::query) fn before<D: Model>(
        collection: &Collection<D>,
        filter: &Node,
        of_all: bool,
        options: PrecedingOptions,
    ) -> Option<Box<Self>> {
        let version = D::BEHAVIOR.schema.filter(|_| const { is_upgraded::<D>() })?;
        let filter = filter.to_document();
        let (wanted, options) = if of_all {
            (Wanted::All(filter), options.without_sort())
        } else {
            (Wanted::First(filter), options)
        };
        Some(Box::new(Self::new(collection, version, wanted, options)))
    }

    /// The upgrade before an update by an id in a bulk write.
    pub(in crate::query) fn before_id<D: Model>(collection: &Collection<D>, id: &Bson) -> Option<Box<Self>> {
        let version = D::BEHAVIOR.schema.filter(|_| const { is_upgraded::<D>() })?;
        let wanted = Wanted::Ids(
            vec![id.clone()],
            collection.scope_condition().map(|scope| scope.to_document()),
        );
        let options = PrecedingOptions::default();
        Some(Box::new(Self::new(collection, version, wanted, options)))
    }

    /// Whether the server acknowledges the update.
    fn is_acknowledged(&self, session: Session<'_>) -> bool {
        let writing = self.collection.bulk_write(Vec::<WriteModel>::new());
        in_session!(session, writing.with_options(self.options.write.clone())).is_acknowledged()
    }

    /// Upgrades documents. Returns whether one was found that the update should match.
    ///
    /// # Errors
    /// [`Error::Upgrade`] and [`Error::Decode`] for a document that cannot be upgraded.
    pub(in crate::query) async fn run(&self, limit: &TimeLimit, mut session: Session<'_>) -> Result<bool> {
        let mut is_found = false;
        match &self.wanted {
            Wanted::First(filter) => {
                let finding = self.first(filter.clone(), 1, limit);
                let finding = finding.projection(doc! { "_id": 1, self.version.field: 1 });
                let mut cursor = in_session!(session.as_deref_mut(), finding).await?;
                let mut older = Vec::new();
                while cursor.advance().await? {
                    is_found = true;
                    let document = cursor.current()?;
                    if self.version.is_older(document) {
                        older.push(id_of(document));
                    }
                }
                if !older.is_empty() {
                    self.upgrade(&older, limit, session).await?;
                }
            }
            Wanted::All(filter) => is_found = self.all(filter, None, limit, session).await? > 0,
            Wanted::Ids(ids, _) => {
                for ids in ids.chunks(IDS as usize) {
                    is_found |= self.upgrade(ids, limit, session.as_deref_mut()).await?;
                }
            }
        }
        Ok(is_found)
    }

    fn is_of_many(&self) -> bool {
        matches!(self.wanted, Wanted::All(_))
    }

    /// Upgrades the documents of older versions that match: at most `count` for an update of one. Returns their number.
    async fn older(&self, count: u32, limit: &TimeLimit, session: Session<'_>) -> Result<usize> {
        match &self.wanted {
            Wanted::First(filter) => self.all(filter, Some(count), limit, session).await,
            Wanted::All(filter) => self.all(filter, None, limit, session).await,
            // Part of a bulk write, which is not repeated.
            Wanted::Ids(..) => Ok(0),
        }
    }

    async fn all(
        &self,
        filter: &Document,
        count: Option<u32>,
        limit: &TimeLimit,
        mut session: Session<'_>,
    ) -> Result<usize> {
        let older = if filter.is_empty() {
            self.version.older()
        } else {
            doc! { "$and": [filter.clone(), self.version.older()] }
        };
        let mut found = 0;
        // An upgraded document no longer matches. No cursor is open meanwhile: the server closes idle ones, and with a load balancer
        // it would keep the connection that the upgrade may need.
        loop {
            let finding = self.first(older.clone(), count.unwrap_or(IDS), limit);
            let finding = finding.projection(doc! { "_id": 1 });
            let mut cursor = in_session!(session.as_deref_mut(), finding).await?;
            let (mut ids, mut bytes) = (Vec::new(), 0);
            while cursor.advance().await? {
                let document = cursor.current()?;
                bytes += document.as_bytes().len();
                ids.push(id_of(document));
            }
            if !ids.is_empty() {
                self.upgrade(&ids, limit, session.as_deref_mut()).await?;
            }
            found += ids.len();
            // A batch of large ids can have fewer than there are.
            let is_last = ids.len() < IDS as usize && bytes < BATCH_BYTES / 2;
            if count.is_some() || is_last {
                return Ok(found);
            }
        }
    }

    /// The query of the first `count` documents of a filter, in one batch.
    fn first(
        &self,
        filter: Document,
        count: u32,
        limit: &TimeLimit,
    ) -> driver::action::Find<'_, RawDocumentBuf> {
        // Negative: the server closes the cursor after the first batch, which by default has 101 documents at most.
        let finding = self.finding(filter, limit).limit(-i64::from(count));
        if count > 1 {
            finding.batch_size(count)
        } else {
            finding
        }
    }

    /// The query of the documents that the update matches.
    fn finding(&self, filter: Document, limit: &TimeLimit) -> driver::action::Find<'_, RawDocumentBuf> {
        let options = limit.of(self.options.find.clone(), FindOptions::timeout);
        self.collection.find(filter).with_options(options)
    }

    /// Upgrades the documents of these ids that have an older version. Those that other clients have changed are read again.
    async fn upgrade(&self, ids: &[Bson], limit: &TimeLimit, mut session: Session<'_>) -> Result<bool> {
        let mut older = vec![doc! { "_id": { "$in": ids.to_vec() } }, self.version.older()];
        if let Wanted::Ids(_, Some(condition)) = &self.wanted {
            older.push(condition.clone());
        }
        older.extend(self.rows.clone());
        let older = doc! { "$and": older };
        let (mut attempts, mut has_older) = (0, false);
        loop {
            let options = limit.of(self.options.by_id.clone(), FindOptions::timeout);
            let finding = self.collection.find(older.clone()).with_options(options);
            let finding = in_session!(session.as_deref_mut(), finding.batch_size(BATCH_SIZE));
            let (batch, is_whole) = read(finding).await?;
            let Some(first) = batch.first() else {
                return Ok(has_older);
            };
            has_older = true;
            if attempts == ATTEMPTS {
                return Err(self.failed(first, MigrationFailureReason::Contended));
            }
            let replaced = self.replace(&batch, limit, session.as_deref_mut()).await?;
            match (replaced == batch.len() as u64, is_whole) {
                (true, true) => return Ok(true),
                (true, false) => {}
                (false, _) => attempts += 1,
            }
        }
    }

    /// Replaces the documents that have not changed. Returns their number.
    async fn replace(
        &self,
        batch: &[RawDocumentBuf],
        limit: &TimeLimit,
        session: Session<'_>,
    ) -> Result<u64> {
        let is_collated = match self.is_collated.get() {
            Some(is_collated) => *is_collated,
            None => {
                let is_collated = is_collated(&self.collection, limit).await?;
                *self.is_collated.get_or_init(|| is_collated)
            }
        };
        let replacements = batch.iter().map(|old| {
            let new = (self.upgraded)(self.collection.namespace(), old, self.version)?;
            replacement(old, &new, is_collated).map_err(|reason| self.failed(old, reason))
        });
        let replacements: Vec<WriteModel> = replacements.collect::<Result<_>>()?;
        let options = limit.of(self.options.write.clone(), BulkWriteOptions::timeout);
        let writing = self.collection.bulk_write(replacements).with_options(options);
        let writing = in_session!(session, writing).ordered(false);
        let writing = if writing.is_acknowledged() {
            writing
        } else {
            writing.write_concern(WriteConcern::nodes(1))
        };
        match writing.await {
            Ok(result) => Ok(result.matched_count),
            Err(error) => Err(self.rejected(batch, error)),
        }
    }

    /// The error of the replacements. That of a document is not one of the update.
    fn rejected(&self, batch: &[RawDocumentBuf], error: driver::Error) -> Error {
        if let ErrorKind::BulkWrite(failures) = error.kind()
            && failures.interrupted_by.is_none()
            && let Some(first) = failures.write_errors.first()
            && let Some(old) = batch.get(first.index)
        {
            return self.error(Some(old), self.version.of(old), Box::new(error));
        }
        error.into()
    }

    fn failed(&self, document: &RawDocument, reason: MigrationFailureReason) -> Error {
        match reason {
            MigrationFailureReason::Upgrade(error) => error,
            reason => self.error(
                Some(document),
                self.version.of(document),
                reason.to_string().into(),
            ),
        }
    }

    /// The error of an update that does not match at each attempt, because other clients store documents of older versions.
    fn contended(&self) -> Error {
        let reason = MigrationFailureReason::Contended.to_string();
        self.error(None, self.version.version - 1, reason.into())
    }

    fn error(
        &self,
        document: Option<&RawDocument>,
        from: u32,
        source: Box<dyn std::error::Error + Send + Sync>,
    ) -> Error {
        Error::Upgrade {
            model: self.version.model,
            collection: self.collection.namespace().to_string(),
            id: document.map(|document| Box::new(id_of(document))),
            from,
            source: source.into(),
        }
    }

    /// Adds another upgrade, if the two differ by their ids only, or not at all. Two models can be in one collection.
    pub(in crate::query) fn join(&mut self, other: &mut Upgrade) -> bool {
        let is_same = self.model == other.model && self.rows == other.rows;
        if !is_same || self.collection.namespace() != other.collection.namespace() {
            return false;
        }
        match (&mut self.wanted, &mut other.wanted) {
            (Wanted::Ids(ids, condition), Wanted::Ids(more, other_condition))
                if condition == other_condition =>
            {
                ids.append(more);
                true
            }
            (Wanted::All(filter), Wanted::All(other_filter)) => filter == other_filter,
            _ => false,
        }
    }
}

/// The documents that a query finds, as long as the sum of those before is less than [`BATCH_BYTES`]. Returns whether they
/// are all.
async fn read(finding: driver::action::Find<'_, RawDocumentBuf>) -> Result<(Vec<RawDocumentBuf>, bool)> {
    let (mut documents, mut bytes) = (Vec::new(), 0);
    let mut cursor = finding.await?;
    while bytes < BATCH_BYTES {
        if !cursor.advance().await? {
            return Ok((documents, true));
        }
        let document: RawDocumentBuf = cursor.current()?.to_owned();
        bytes += document.as_bytes().len();
        documents.push(document);
    }
    Ok((documents, false))
}

/// The present form of a document without encrypted fields.
fn unencrypted<D: Model>(
    namespace: &Namespace,
    raw: &RawDocument,
    version: SchemaVersion,
) -> Result<RawDocumentBuf> {
    if let Some(path) = first_encrypted::<D>() {
        return Err(Error::encode(
            path,
            ValueError::new(
                "a document of an older version is upgraded before the update, by a comparison of the whole document, which the \
                 server cannot do with encrypted fields; read the document, and save it",
            ),
        ));
    }
    upgraded::<D>(namespace, raw, version)
}
