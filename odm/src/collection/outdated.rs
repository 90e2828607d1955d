//! Upgrades the stored documents of older versions that an update by operators matches, before the update.
//!
//! An upgrade computes a whole document from one of an older version. If it ran after the update, the function of the model would
//! read what the update has stored in the present form as the older form. The update therefore has a condition on the version: it does
//! not change a document of an older version that appears after the upgrade.

use std::sync::OnceLock;

use crate::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use crate::collection::Collection;
use crate::collection::action::{Session, in_session};
use crate::collection::bulk_versions::{Built, Effect};
use crate::collection::decode::upgraded;
use crate::collection::encrypted::first_encrypted;
use crate::collection::migrate::{
    ATTEMPTS, BATCH_BYTES, BATCH_SIZE, MigrationFailureReason, id_of, is_collated, replacement,
};
use crate::driver::options::{BulkWriteOptions, FindOptions, ReadConcern, ReadPreference, WriteConcern};
use crate::driver::{self, Namespace, WriteModel};
use crate::error::{Error, Result, ValueError};
use crate::filter::Conditions;
use crate::managed::CollectionKind;
use crate::model::Model;
use crate::schema_version::SchemaVersion;

/// How many ids are in one filter.
const IDS: usize = 1_000;

/// Whether updates by operators upgrade the documents of the model: it has versions, and its documents can be replaced.
pub(super) const fn is_upgraded<D: Model>() -> bool {
    match D::BEHAVIOR.schema {
        Some(schema) => schema.version > 1 && !matches!(D::BEHAVIOR.kind, CollectionKind::TimeSeries),
        None => false,
    }
}

/// Adds the condition that the document does not have an older version.
pub(super) fn guarded<D: Model>(filter: Conditions) -> Conditions {
    match D::BEHAVIOR.schema {
        Some(schema) if const { is_upgraded::<D>() } => {
            let present = (schema.field.to_owned(), "$gte", schema.stored());
            filter.and(Conditions::comparisons([present]))
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
pub(super) struct Upgrade {
    collection: driver::Collection<RawDocumentBuf>,
    version: SchemaVersion,
    upgraded: fn(&Namespace, &RawDocument, SchemaVersion) -> Result<RawDocumentBuf>,
    wanted: Wanted,
    /// The options by which the documents are found.
    find: FindOptions,
    write: BulkWriteOptions,
    is_collated: OnceLock<bool>,
}

impl Upgrade {
    fn new<D: Model>(collection: &Collection<D>, version: SchemaVersion, wanted: Wanted) -> Self {
        // The update need not be in the snapshot of the majority. A transaction has its own concern.
        let inner = collection.inner.with_read_concern(ReadConcern::local());
        Upgrade {
            collection: inner.with_read_preference(ReadPreference::primary()),
            version,
            upgraded: unencrypted::<D>,
            wanted,
            find: FindOptions::default(),
            write: BulkWriteOptions::default(),
            is_collated: OnceLock::new(),
        }
    }

    /// The upgrade before an update of one document, or of many. `None` if the model has no older versions.
    pub(super) fn before<D: Model>(
        collection: &Collection<D>,
        filter: &Conditions,
        many: bool,
    ) -> Option<Box<Self>> {
        let version = D::BEHAVIOR.schema.filter(|_| const { is_upgraded::<D>() })?;
        let filter = filter.clone().into_tree();
        let wanted = if many {
            Wanted::All(filter)
        } else {
            Wanted::First(filter)
        };
        Some(Box::new(Self::new(collection, version, wanted)))
    }

    /// The upgrade before an update by an id in a bulk write.
    pub(super) fn before_id<D: Model>(collection: &Collection<D>, id: &Bson) -> Option<Box<Self>> {
        let version = D::BEHAVIOR.schema.filter(|_| const { is_upgraded::<D>() })?;
        let wanted = Wanted::Ids(vec![id.clone()], collection.scope.condition::<D>());
        Some(Box::new(Self::new(collection, version, wanted)))
    }

    /// With the options of the update.
    pub(super) fn with_options(
        mut self: Box<Self>,
        find: FindOptions,
        concern: Option<&WriteConcern>,
    ) -> Box<Self> {
        self.find = find;
        if let Some(concern) = concern {
            self.write = self.write.write_concern(concern.clone());
        }
        self
    }

    /// Whether the server acknowledges the update.
    pub(super) fn is_acknowledged(&self, session: Session<'_>) -> bool {
        let writing = self.collection.bulk_write(Vec::<WriteModel>::new());
        in_session!(session, writing.with_options(self.write.clone())).is_acknowledged()
    }

    /// Upgrades the documents. Returns whether a document was found that the update should match.
    ///
    /// # Errors
    /// [`Error::Upgrade`] and [`Error::Decode`] for a document that cannot be upgraded.
    pub(super) async fn run(&self, mut session: Session<'_>) -> Result<bool> {
        let mut is_found = false;
        let ids = match &self.wanted {
            Wanted::First(filter) => {
                let finding = self
                    .collection
                    .find_one(filter.clone())
                    .with_options(self.find.clone());
                let finding = finding.projection(doc! { "_id": 1, self.version.field: 1 });
                let found = in_session!(session.as_deref_mut(), finding).await?;
                is_found = found.is_some();
                let older = found.filter(|found| self.version.is_older(found));
                older.iter().map(|found| id_of(found)).collect()
            }
            Wanted::All(filter) => self.all(filter.clone(), session.as_deref_mut()).await?,
            Wanted::Ids(ids, _) => ids.clone(),
        };
        for ids in ids.chunks(IDS) {
            is_found |= self.upgrade(ids, session.as_deref_mut()).await?;
        }
        Ok(is_found)
    }

    /// The ids of the documents of older versions that match.
    async fn all(&self, filter: Document, session: Session<'_>) -> Result<Vec<Bson>> {
        let older = if filter.is_empty() {
            self.version.older()
        } else {
            doc! { "$and": [filter, self.version.older()] }
        };
        let finding = self.collection.find(older).with_options(self.find.clone());
        let found = read(finding.projection(doc! { "_id": 1 }), usize::MAX, session).await?;
        Ok(found.iter().map(|found| id_of(found)).collect())
    }

    /// Upgrades the documents of these ids that have an older version. Those that other clients have changed are read again.
    async fn upgrade(&self, ids: &[Bson], mut session: Session<'_>) -> Result<bool> {
        let mut older = vec![doc! { "_id": { "$in": ids.to_vec() } }, self.version.older()];
        if let Wanted::Ids(_, Some(condition)) = &self.wanted {
            older.push(condition.clone());
        }
        let older = doc! { "$and": older };
        let (mut attempts, mut has_older) = (0, false);
        loop {
            let finding = self.collection.find(older.clone()).batch_size(BATCH_SIZE);
            let batch = read(finding, BATCH_BYTES, session.as_deref_mut()).await?;
            let Some(first) = batch.first() else {
                return Ok(has_older);
            };
            has_older = true;
            if attempts == ATTEMPTS {
                return Err(self.failed(first, MigrationFailureReason::Contended));
            }
            let is_whole = size(&batch) < BATCH_BYTES;
            match self.replace(&batch, session.as_deref_mut()).await? {
                0 => attempts += 1,
                replaced if is_whole && replaced == batch.len() as u64 => return Ok(true),
                _ => {}
            }
        }
    }

    /// Replaces the documents that have not changed. Returns their number.
    async fn replace(&self, batch: &[RawDocumentBuf], session: Session<'_>) -> Result<u64> {
        let is_collated = match self.is_collated.get() {
            Some(is_collated) => *is_collated,
            None => *self.is_collated.get_or_init({
                let is_collated = is_collated(&self.collection).await?;
                move || is_collated
            }),
        };
        let replacements = batch.iter().map(|old| {
            let new = (self.upgraded)(self.collection.namespace(), old, self.version)?;
            replacement(old, &new, is_collated).map_err(|reason| self.failed(old, reason))
        });
        let replacements: Vec<WriteModel> = replacements.collect::<Result<_>>()?;
        let writing = self.collection.bulk_write(replacements);
        let writing = in_session!(session, writing.with_options(self.write.clone())).ordered(false);
        let writing = if writing.is_acknowledged() {
            writing
        } else {
            writing.write_concern(WriteConcern::nodes(1))
        };
        Ok(writing.await?.matched_count)
    }

    fn failed(&self, document: &RawDocument, reason: MigrationFailureReason) -> Error {
        if let MigrationFailureReason::Upgrade(error) = reason {
            return error;
        }
        Error::Upgrade {
            model: self.version.model,
            collection: self.collection.namespace().to_string(),
            id: Some(Box::new(id_of(document))),
            from: self.version.of(document),
            source: Box::<dyn std::error::Error + Send + Sync>::from(reason.to_string()).into(),
        }
    }

    /// Adds the ids of another upgrade, if the two differ by their ids only.
    fn join(&mut self, other: &mut Upgrade) -> bool {
        match (&mut self.wanted, &mut other.wanted) {
            (Wanted::Ids(ids, condition), Wanted::Ids(more, other_condition))
                if self.collection.namespace() == other.collection.namespace()
                    && condition == other_condition =>
            {
                ids.append(more);
                true
            }
            _ => false,
        }
    }
}

/// The documents that a query finds, as long as the sum of those before is less than this number of bytes.
async fn read(
    finding: driver::action::Find<'_, RawDocumentBuf>,
    bytes: usize,
    session: Session<'_>,
) -> Result<Vec<RawDocumentBuf>> {
    let (mut documents, mut sum) = (Vec::new(), 0);
    macro_rules! read_from {
        ($cursor:expr) => {{
            let mut cursor = $cursor;
            while sum < bytes && cursor.advance().await? {
                let document: RawDocumentBuf = cursor.current()?.to_owned();
                sum += document.as_bytes().len();
                documents.push(document);
            }
        }};
    }
    match session {
        Some(session) => read_from!(finding.session(session).await?),
        None => read_from!(finding.await?),
    }
    Ok(documents)
}

/// The sum of the sizes of documents, in bytes.
fn size(documents: &[RawDocumentBuf]) -> usize {
    documents.iter().map(|document| document.as_bytes().len()).sum()
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

/// Removes the upgrades from the writes of a bulk write. `None` if there are none.
pub(super) fn take_upgrades<T>(built: &mut [Built<T>]) -> Option<Vec<Upgrade>> {
    let mut upgrades: Vec<Upgrade> = Vec::new();
    for Built { effect, .. } in built {
        if matches!(effect, Effect::MatchesUpgraded(_))
            && let Effect::MatchesUpgraded(mut upgrade) = std::mem::replace(effect, Effect::Matches)
            && !upgrades.last_mut().is_some_and(|last| last.join(&mut upgrade))
        {
            upgrades.push(*upgrade);
        }
    }
    (!upgrades.is_empty()).then_some(upgrades)
}

/// Performs the upgrades of a bulk write.
pub(super) async fn perform(upgrades: Vec<Upgrade>, mut session: Session<'_>) -> Result<()> {
    for upgrade in upgrades {
        upgrade.run(session.as_deref_mut()).await?;
    }
    Ok(())
}
