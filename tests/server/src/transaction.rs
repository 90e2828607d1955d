//! Multi-document transactions: each works on a copy of the storage as it was when the transaction began, and is replayed on the
//! shared storage when it commits. What somebody else has written meanwhile is a write conflict.

use crate::deployment::{Deployment, lock};
use crate::error::{Error, Result, code};
use crate::storage::collection::{RecordChange, Replacing};
use crate::storage::{Catalog, Collection, Namespace, RecordId};
use bson::{Bson, Document};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// A transaction in progress.
#[derive(Debug)]
pub(crate) struct Transaction {
    /// The process that runs it: another mongos knows nothing of it.
    pub(crate) member: usize,
    pub(crate) catalog: Mutex<Catalog>,
    base: Catalog,
    claims: Mutex<Vec<Claim>>,
}

/// Something that only one transaction at a time may change.
#[derive(Debug, Clone, PartialEq)]
enum Claim {
    Record(Namespace, RecordId),
    NewId(Namespace, Bson),
    NewCollection(Namespace),
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
    /// Begins with the storage as it is now.
    pub(crate) fn begin(deployment: &Deployment, member: usize) -> Transaction {
        let base = deployment.catalog().clone();
        Transaction {
            member,
            catalog: Mutex::new(base.clone()),
            base,
            claims: Mutex::default(),
        }
    }

    /// Whether what was written so far could still be committed, given what others have written and begun to write.
    pub(crate) fn check(&self, deployment: &Deployment, others: &[Arc<Transaction>]) -> Result<()> {
        let catalog = lock(&self.catalog);
        let claims = self.claims_of(&catalog);
        if claims.is_empty() {
            return Ok(());
        }
        for other in others {
            let theirs = lock(&other.claims);
            if claims.iter().any(|claim| theirs.contains(claim)) {
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

    /// The collections that the transaction has changed.
    fn changed<'c>(&self, catalog: &'c Catalog) -> Vec<(Namespace, &'c Collection)> {
        let mut changed = Vec::new();
        for (database, collections) in catalog.databases() {
            for (name, collection) in collections {
                let namespace = Namespace {
                    database: database.clone(),
                    collection: name.clone(),
                };
                let same = self
                    .base
                    .shared(&namespace)
                    .is_some_and(|base| Arc::ptr_eq(base, collection));
                if !same {
                    changed.push((namespace, collection.as_ref()));
                }
            }
        }
        changed
    }

    fn claims_of(&self, catalog: &Catalog) -> Vec<Claim> {
        let mut claims = Vec::new();
        for (namespace, collection) in self.changed(catalog) {
            let known = self.base.get(&namespace).map(Collection::last_id);
            if known.is_none() {
                claims.push(Claim::NewCollection(namespace.clone()));
            }
            for change in collection.changes() {
                match change {
                    RecordChange::Insert(_, document) => claims.push(Claim::NewId(
                        namespace.clone(),
                        document.get("_id").cloned().unwrap_or(Bson::Null),
                    )),
                    RecordChange::Replace { id, .. } | RecordChange::Delete(id, _) => {
                        if known.is_some_and(|last| *id <= last) {
                            claims.push(Claim::Record(namespace.clone(), *id));
                        }
                    }
                }
            }
        }
        claims
    }

    fn replay(&self, catalog: &Catalog, onto: &mut Catalog) -> Result<()> {
        for (namespace, collection) in self.changed(catalog) {
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
