//! Multi-document transactions. Each operates on a copy of the catalog taken at its start; commit
//! replays its changes on the shared catalog. Changes to what another transaction has changed in
//! the meantime are write conflicts. Writes outside of transactions wait for open transactions that
//! have changed the same records, keys or collections.

use crate::deployment::{Deployment, lock};
use crate::error::{Error, Result, code};
use crate::storage::collection::{RecordChange, Replacing};
use crate::storage::key::Key;
use crate::storage::{Catalog, Collection, Namespace, RecordId};
use bson::{Bson, Document};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::watch;

/// A transaction in progress.
#[derive(Debug)]
pub(crate) struct Transaction {
    /// Index of the process that runs the transaction. It is unknown to other mongos.
    pub(crate) member: usize,
    pub(crate) catalog: Mutex<Catalog>,
    pub(crate) began: Instant,
    base: Catalog,
    claims: Mutex<Vec<Claim>>,
    /// The collections that its commands have used. They cannot be dropped until the transaction
    /// ends.
    used: Mutex<Vec<Namespace>>,
    ended: Arc<watch::Sender<()>>,
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.ended.send_replace(());
    }
}

/// An item that only one open transaction may change.
#[derive(Debug, Clone, PartialEq)]
enum Claim {
    Record(Namespace, RecordId),
    NewId(Namespace, Bson),
    /// A key of the unique index with this name.
    NewKey(Namespace, String, Key),
    NewCollection(Namespace),
    /// The definition of a collection: it is dropped, or its indexes or options are changed.
    Definition(Namespace),
}

fn write_conflict() -> Error {
    Error::new(
        code::WRITE_CONFLICT,
        "Caused by :: Write conflict during plan execution and yielding is disabled. :: Please retry your operation or multi-document transaction.",
    )
}

/// 251 NoSuchTransaction.
pub(crate) fn no_such_transaction(number: i64) -> Error {
    Error::new(
        code::NO_SUCH_TRANSACTION,
        format!(
            "Given transaction number {number} does not match any in-progress transactions. The active transaction number is -1"
        ),
    )
}

impl Transaction {
    /// Starts a transaction with the current state of the catalog. Its end is sent to `ended`.
    pub(crate) fn begin(
        deployment: &Deployment,
        member: usize,
        ended: Arc<watch::Sender<()>>,
    ) -> Transaction {
        let base = deployment.catalog().clone();
        Transaction {
            member,
            catalog: Mutex::new(base.clone()),
            began: Instant::now(),
            base,
            claims: Mutex::default(),
            used: Mutex::default(),
            ended,
        }
    }

    /// Registers a collection that a command of the transaction uses.
    pub(crate) fn uses(&self, namespace: Namespace) {
        let mut used = lock(&self.used);
        if !used.contains(&namespace) {
            used.push(namespace);
        }
    }

    fn holds(&self, claim: &Claim) -> bool {
        match claim {
            Claim::Definition(namespace) => lock(&self.used).contains(namespace),
            _ => lock(&self.claims).contains(claim),
        }
    }

    /// Fails with a write conflict if the writes so far could not be committed, given the committed
    /// writes and those of `others`.
    pub(crate) fn check(&self, deployment: &Deployment, others: &[Arc<Transaction>]) -> Result<()> {
        let catalog = lock(&self.catalog);
        let claims = claims_of(&self.base, &catalog);
        if claims.is_empty() {
            return Ok(());
        }
        for other in others {
            if claims.iter().any(|claim| other.holds(claim)) {
                return Err(write_conflict());
            }
        }
        *lock(&self.claims) = claims;
        let mut trial = deployment.catalog().clone();
        self.replay(&catalog, &mut trial)
    }

    /// Applies all changes of the locked catalog to that of the deployment, or none.
    pub(crate) fn commit(&self, catalog: &Catalog, shared: &mut Catalog) -> Result<()> {
        let before = shared.clone();
        let replayed = self.replay(catalog, shared);
        if replayed.is_err() {
            *shared = before;
        }
        replayed
    }

    fn replay(&self, catalog: &Catalog, onto: &mut Catalog) -> Result<()> {
        for (namespace, collection) in changed(&self.base, catalog) {
            match (self.base.get(&namespace), onto.get(&namespace)) {
                (None, None) => onto.create(&namespace, collection.clone()),
                (Some(base), Some(target)) if base.uuid == target.uuid => {
                    let target = onto.get_mut(&namespace).ok_or_else(write_conflict)?;
                    replay_records(collection.changes(), target, &namespace)?;
                }
                _ => return Err(write_conflict()),
            }
        }
        Ok(())
    }
}

/// Whether changes outside of transactions, from `base` to `catalog`, conflict with one of the open
/// transactions.
pub(crate) fn must_wait(base: &Catalog, catalog: &Catalog, open: &[Arc<Transaction>]) -> bool {
    let claims = claims_of(base, catalog);
    open.iter()
        .any(|transaction| claims.iter().any(|claim| transaction.holds(claim)))
}

/// The collections that were changed or created.
fn changed<'c>(base: &Catalog, catalog: &'c Catalog) -> Vec<(Namespace, &'c Collection)> {
    let mut changed = Vec::new();
    for (namespace, collection) in all(catalog) {
        let same = base
            .shared(&namespace)
            .is_some_and(|base| Arc::ptr_eq(base, collection));
        if !same {
            changed.push((namespace, collection.as_ref()));
        }
    }
    changed
}

fn all(catalog: &Catalog) -> impl Iterator<Item = (Namespace, &Arc<Collection>)> {
    catalog.databases().flat_map(|(database, collections)| {
        collections.iter().map(|(name, collection)| {
            let namespace = Namespace {
                database: database.clone(),
                collection: name.clone(),
            };
            (namespace, collection)
        })
    })
}

fn claims_of(base: &Catalog, catalog: &Catalog) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (namespace, _) in all(base) {
        if catalog.get(&namespace).is_none() {
            claims.push(Claim::Definition(namespace));
        }
    }
    for (namespace, collection) in changed(base, catalog) {
        let previous = base.get(&namespace);
        match previous {
            None => claims.push(Claim::NewCollection(namespace.clone())),
            Some(previous) if is_redefined(previous, collection) => {
                claims.push(Claim::Definition(namespace.clone()));
            }
            Some(_) => {}
        }
        let last = previous.map(Collection::last_id);
        for change in collection.changes() {
            match change {
                RecordChange::Insert(_, document) => {
                    let id = document.get("_id").cloned().unwrap_or(Bson::Null);
                    claims.push(Claim::NewId(namespace.clone(), id));
                    claims.extend(new_keys(&namespace, collection, document));
                }
                RecordChange::Replace { id, .. } | RecordChange::Delete(id, _) => {
                    if last.is_some_and(|last| *id <= last) {
                        claims.push(Claim::Record(namespace.clone(), *id));
                    }
                    if let RecordChange::Replace { new, .. } = change {
                        claims.extend(new_keys(&namespace, collection, new));
                    }
                }
            }
        }
    }
    claims
}

fn is_redefined(before: &Collection, after: &Collection) -> bool {
    let specs = |collection: &Collection| -> Vec<Document> {
        collection
            .indexes
            .iter()
            .map(|index| index.spec.clone())
            .collect()
    };
    before.uuid != after.uuid || before.options != after.options || specs(before) != specs(after)
}

/// The keys of a document in the unique indexes other than that on `_id`.
fn new_keys(namespace: &Namespace, collection: &Collection, document: &Document) -> Vec<Claim> {
    let unique = collection.indexes.iter().skip(1).filter(|index| index.unique);
    unique
        .flat_map(|index| {
            // The keys were computed without an error when the document was stored.
            let keys = index.keys(document).unwrap_or_default();
            keys.into_iter()
                .map(|key| Claim::NewKey(namespace.clone(), index.name.clone(), key))
        })
        .collect()
}

fn replay_records(changes: &[RecordChange], onto: &mut Collection, namespace: &Namespace) -> Result<()> {
    let name = namespace.to_string();
    // Records inserted by the transaction get new ids in the shared collection.
    let mut ids = HashMap::new();
    let unchanged = |onto: &Collection, id: RecordId, old: &Arc<Document>| {
        onto.record(id).is_some_and(|current| Arc::ptr_eq(current, old))
    };
    for change in changes {
        match change {
            RecordChange::Insert(id, document) => {
                let new = onto
                    .insert(Arc::clone(document), &name, true)
                    .map_err(|_| write_conflict())?;
                ids.insert(*id, new);
            }
            RecordChange::Replace { id, old, new, whole } => {
                let id = ids.get(id).copied().unwrap_or(*id);
                if !unchanged(onto, id, old) {
                    return Err(write_conflict());
                }
                let how = Replacing {
                    bypass: true,
                    whole: *whole,
                };
                onto.replace(id, Arc::clone(new), &name, how)
                    .map_err(|_| write_conflict())?;
            }
            RecordChange::Delete(id, old) => {
                let id = ids.get(id).copied().unwrap_or(*id);
                if !unchanged(onto, id, old) {
                    return Err(write_conflict());
                }
                onto.remove(id);
            }
        }
    }
    Ok(())
}
