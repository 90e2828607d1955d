//! Multi-document transactions: each works on a copy of the storage as it was when the transaction began, and is replayed on the
//! shared storage when it commits. What another has written meanwhile is a write conflict. What is written outside of transactions
//! waits for an open transaction that has written the same.

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
    /// The process that runs it: another mongos knows nothing of it.
    pub(crate) member: usize,
    pub(crate) catalog: Mutex<Catalog>,
    pub(crate) began: Instant,
    base: Catalog,
    claims: Mutex<Vec<Claim>>,
    /// The collections that its commands named, which cannot be dropped until it ends.
    used: Mutex<Vec<Namespace>>,
    ended: Arc<watch::Sender<()>>,
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.ended.send_replace(());
    }
}

/// Something that only one transaction at a time may change.
#[derive(Debug, Clone, PartialEq)]
enum Claim {
    Record(Namespace, RecordId),
    NewId(Namespace, Bson),
    /// The key of a unique index, by the index's name.
    NewKey(Namespace, String, Key),
    NewCollection(Namespace),
    /// The collection itself: it is dropped, or its indexes or options change.
    Definition(Namespace),
}

fn write_conflict() -> Error {
    Error::new(
        code::WRITE_CONFLICT,
        "Caused by :: Write conflict during plan execution and yielding is disabled. :: Please retry your operation or multi-document transaction.",
    )
}

/// The error for a transaction that the server does not have.
pub(crate) fn no_such_transaction(number: i64) -> Error {
    Error::new(
        code::NO_SUCH_TRANSACTION,
        format!(
            "Given transaction number {number} does not match any in-progress transactions. The active transaction number is -1"
        ),
    )
}

impl Transaction {
    /// Begins with the storage as it is now. Its end is sent to `ended`.
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

    /// Notes the collection that a command of the transaction names.
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

    /// Whether what was written so far could still be committed, given what others have written and begun to write.
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

    /// Makes everything visible, or nothing.
    pub(crate) fn commit(&self, deployment: &Deployment) -> Result<()> {
        let catalog = lock(&self.catalog);
        let mut shared = deployment.catalog();
        let before = shared.clone();
        let replayed = self.replay(&catalog, &mut shared);
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

/// Whether changes outside of transactions, from `base` to `catalog`, have to wait for one of the open transactions.
pub(crate) fn must_wait(base: &Catalog, catalog: &Catalog, open: &[Arc<Transaction>]) -> bool {
    let claims = claims_of(base, catalog);
    open.iter()
        .any(|transaction| claims.iter().any(|claim| transaction.holds(claim)))
}

/// The collections that were changed or made.
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
        let known = base.get(&namespace);
        match known {
            None => claims.push(Claim::NewCollection(namespace.clone())),
            Some(known) if is_redefined(known, collection) => {
                claims.push(Claim::Definition(namespace.clone()));
            }
            Some(_) => {}
        }
        let last = known.map(Collection::last_id);
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

/// What a document takes of the unique indexes, that on `_id` left out.
fn new_keys(namespace: &Namespace, collection: &Collection, document: &Document) -> Vec<Claim> {
    let unique = collection.indexes.iter().skip(1).filter(|index| index.unique);
    unique
        .flat_map(|index| {
            // Keys of a stored document were computed before without an error.
            let keys = index.keys(document).unwrap_or_default();
            keys.into_iter()
                .map(|key| Claim::NewKey(namespace.clone(), index.name.clone(), key))
        })
        .collect()
}

fn replay_records(changes: &[RecordChange], onto: &mut Collection, namespace: &Namespace) -> Result<()> {
    let name = namespace.to_string();
    // Records that the transaction has inserted get new ids in the shared collection.
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
