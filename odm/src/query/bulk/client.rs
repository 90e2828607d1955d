//! [`Client::bulk`](crate::Client::bulk): several writes on the collections of several models.

use std::sync::Arc;

use crate::{
    base::{
        bson::{Document, doc},
        error::{BulkOperation, BulkOutcome, Error, PerformedWrites, Result},
        time_limit::TimeLimit,
    },
    driver::{
        self, BoundTransaction, ClientBulkWriteError, ClientBulkWriteResult, ClientWriteModel, ErrorKind,
        Namespace,
        options::{ClientBulkWriteOptions, ReadConcern, ReadPreference},
    },
    models::model::Model,
    query::{
        bulk::{
            Bulk, Within, Writes,
            upgrades::{perform, take_upgrades},
            versions::{Built, Effect},
        },
        handle::{
            Collection,
            action::{Session, awaitable, forward_options, in_session},
            transaction::{bound_as, is_in_transaction},
        },
        observe::Call,
    },
};

/// Several writes on several collections. Output: the counts, and with
/// [`verbose_results`](ClientBulk::verbose_results) the result of each write. See
/// [`Client::bulk`](crate::Client::bulk).
///
/// A replacement or a save that meets [another version](derive@crate::Document#maintained-fields) is a
/// failed write with [`is_version_conflict`](crate::error::FailedWrite::is_version_conflict). With
/// replacements of such models the results of all writes are requested. A document that no replacement
/// matched is read, to know whether it exists.
#[must_use = "nothing is sent before the action is awaited"]
pub struct ClientBulk<'a> {
    client: &'a driver::Client,
    writes: Writes<(Arc<Namespace>, ClientWriteModel)>,
    /// The name of a model whose documents are encrypted.
    encrypted: Option<&'static str>,
    options: ClientBulkWriteOptions,
    session: Session<'a>,
    /// The transaction that the collections are bound to.
    transaction: Option<BoundTransaction>,
    has_collections: bool,
}

impl<'a> ClientBulk<'a> {
    pub(crate) fn new(client: &'a driver::Client) -> Self {
        ClientBulk {
            client,
            writes: Writes::default(),
            encrypted: None,
            options: ClientBulkWriteOptions::default(),
            session: None,
            transaction: None,
            has_collections: false,
        }
    }

    driver::__client_bulk_write_options! { forward_options { options: ClientBulkWriteOptions } }

    /// Adds writes on a collection: those that the closure adds to the [`Bulk`] it is given. A collection can be
    /// given several times. The writes of all calls are performed in order, and their indexes in results and errors
    /// count over all calls.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let added = [order(4), order(5)];
    /// let done = client
    ///     .bulk()
    ///     .on(&orders, |b| b.delete_by_id(1).update_many(|o| o.total().gt(0), |o| o.total().inc(1)))
    ///     .on(&customers, |b| b.upsert_one(|c| c.id().eq(9), |c| (c.email().set("eve@example.org"), c.country().set("FR"))))
    ///     .on(&orders, |b| added.iter().fold(b, |b, order| b.insert(order)))
    ///     .await?;
    /// assert_eq!((done.deleted_count, done.matched_count), (1, 2));
    /// assert_eq!((done.upserted_count, done.inserted_count), (1, 2));
    /// # Ok(()) });
    /// ```
    ///
    /// If the collections are [bound](driver::ClientSession::bind) to a transaction, the bulk write is part of it.
    ///
    /// Awaiting the action fails with [`Error::InvalidBulkWrite`], before anything is sent, if the collection belongs
    /// to another client, or not all collections are bound to the same transaction, and the closure adds writes.
    pub fn on<D: Model>(
        mut self,
        on: &Collection<D>,
        writes: impl FnOnce(Bulk<'_, D, Within>) -> Bulk<'_, D, Within>,
    ) -> Self {
        let Some(mut part) = self.writes.following(on, writes) else {
            return self;
        };
        if self.encrypted.is_none() && on.gate().is_ok_and(|gate| gate.is_encrypted()) {
            self.encrypted = Some(D::NAME);
        }
        if !on.inner.database().client().is_clone_of(self.client) {
            part.refuse(Error::argument(format!(
                "the collection {} belongs to another client than the bulk write",
                on.namespace()
            )));
        }
        let bound = on.transaction();
        if !self.has_collections {
            self.has_collections = true;
            self.transaction = bound.cloned();
        } else if self.transaction.as_ref() != bound {
            part.refuse(Error::argument(format!(
                "the collection {} is not bound to the same transaction as those before it; bind all collections of the bulk \
                 write to one transaction, or none",
                on.namespace()
            )));
        }
        let namespace = Arc::new(on.namespace().clone());
        self.writes.append(part, |model| {
            (namespace.clone(), ClientWriteModel::new(namespace.clone(), model))
        });
        self
    }

    fn call(&self) -> Call {
        Call::of_client("bulk").writes(self.writes.operations(), true)
    }

    async fn run(mut self) -> Result<ClientBulkWriteResult> {
        let (operations, mut built) = self.writes.into_parts()?;
        if built.is_empty() {
            let mut nothing = ClientBulkWriteResult::default();
            nothing.acknowledged = true;
            return Ok(nothing);
        }
        let upgrades = take_upgrades(&mut built);
        let mut models = Vec::with_capacity(built.len());
        let mut effects = Vec::with_capacity(built.len());
        for Built { model, effect, .. } in built {
            models.push(model.1);
            effects.push((model.0, effect));
        }
        if let Some(model) = self.encrypted {
            check_encrypted(model, &operations, &effects)?;
        }
        let is_verbose = self.options.is_verbose();
        let mut session = self.session;
        let bound = self.transaction;
        let is_in_transaction = is_in_transaction(&session, bound.as_ref());
        if !upgrades.is_empty() {
            let limit = TimeLimit::begin(self.options.__timeout());
            let preceding = self.options.__preceding();
            Box::pin(perform(upgrades, preceding, &limit, session.as_deref_mut())).await?;
            self.options = limit.of(self.options, ClientBulkWriteOptions::timeout);
        }
        let writing = self.client.bulk_write(models).with_options(self.options);
        let writing = match &bound {
            Some(transaction) => writing.in_transaction(transaction),
            None => writing,
        };
        let mut writing = in_session!(session.as_deref_mut(), writing);
        let has_replacements = effects
            .iter()
            .any(|(_, effect)| matches!(effect, Effect::Replaces(_)));
        if has_replacements && writing.is_acknowledged() {
            // Which replacements matched a document.
            writing = writing.verbose_results(true);
        }
        let mut outcome = BulkOutcome::default();
        let result = match writing.await {
            Ok(result) => {
                outcome.has_written = true;
                result
            }
            Err(error) => rejected(error, &operations, &effects, &mut outcome),
        };
        let updated = result
            .verbose_results
            .as_ref()
            .map(|verbose| &verbose.update_results)
            // A rejected write has aborted the transaction that the reads would be part of.
            .filter(|_| !is_in_transaction || outcome.failed.is_empty());
        for (index, updated) in updated.into_iter().flatten() {
            if let Some((namespace, Effect::Replaces(replaced))) = effects.get(*index)
                && updated.matched_count == 0
                && let Some(operation) = operations.get(*index)
            {
                // The writes need not be in the snapshot of the majority. A transaction has its own concern.
                let finding = self
                    .client
                    .database(&namespace.database)
                    .with_read_concern(ReadConcern::local())
                    .collection::<Document>(&namespace.collection);
                let finding = bound_as(bound.as_ref(), finding);
                let finding = finding
                    .find_one(replaced.finding())
                    .projection(doc! { "_id": 1 })
                    .read_preference(ReadPreference::primary());
                match in_session!(session.as_deref_mut(), finding).await {
                    Ok(Some(found)) => outcome.failed.push(operation.conflict(found.get("_id").cloned())),
                    Ok(None) if replaced.must_exist => {
                        outcome.failed.push(operation.conflict(replaced.id()));
                    }
                    Ok(None) => {}
                    Err(error) => {
                        outcome.end(error);
                        break;
                    }
                }
            }
        }
        let mut result = outcome.into_result(result, PerformedWrites::of_client)?;
        if !is_verbose {
            result.verbose_results = None;
        }
        Ok(result)
    }
}

awaitable!(['a] ClientBulk<'a> => ClientBulkWriteResult);

/// Rejects what the server does not perform in one `bulkWrite` if documents are encrypted: writes on several collections, and
/// several writes that are not all inserts.
fn check_encrypted(
    model: &str,
    operations: &[BulkOperation],
    effects: &[(Arc<Namespace>, Effect)],
) -> Result<()> {
    let Some((first, _)) = effects.first() else {
        return Ok(());
    };
    let is_other = |(namespace, _): &(Arc<Namespace>, Effect)| namespace != first;
    let is_other_write = |(_, effect): &(Arc<Namespace>, Effect)| !matches!(effect, Effect::MatchesNone);
    let (at, reason) = if let Some(at) = effects.iter().position(is_other) {
        (at, "writes on one collection")
    } else if let Some(at) = effects
        .iter()
        .position(is_other_write)
        .filter(|_| effects.len() > 1)
    {
        (at, "inserts, or one other write")
    } else {
        return Ok(());
    };
    let reason = format!(
        "a bulk write of a client that contains documents with encrypted fields (model `{model}`) can only have {reason}; use \
         `Collection::bulk`"
    );
    match operations.get(at) {
        Some(operation) => Err(Error::InvalidBulkWrite {
            operation: operation.clone(),
            source: Box::new(Error::argument(reason)),
        }),
        None => Err(Error::argument(reason)),
    }
}

/// Adds the errors of the writes. Returns the results of the writes that were performed.
fn rejected(
    error: driver::Error,
    operations: &[BulkOperation],
    effects: &[(Arc<Namespace>, Effect)],
    outcome: &mut BulkOutcome,
) -> ClientBulkWriteResult {
    let Some(bulk) = bulk_error(&error) else {
        outcome.end(error);
        return ClientBulkWriteResult::default();
    };
    outcome.has_written = true;
    outcome
        .write_concern_errors
        .clone_from(&bulk.write_concern_errors);
    for error in &bulk.write_errors {
        let Some(operation) = operations.get(error.index) else {
            continue;
        };
        outcome.failed.push(match effects.get(error.index) {
            Some((_, Effect::Saves(_))) => operation.rejected_save(error.clone()),
            _ => operation.rejected(error.clone()),
        });
    }
    let performed = bulk.partial_result.clone().unwrap_or_default();
    if bulk.error.is_none() {
        outcome.note(error);
    } else {
        outcome.end(error);
    }
    performed
}

/// The errors of the writes, also if a time limit expired.
fn bulk_error(error: &driver::Error) -> Option<&ClientBulkWriteError> {
    match error.kind() {
        ErrorKind::ClientBulkWrite(bulk) => Some(bulk),
        ErrorKind::Timeout(timeout) => bulk_error(timeout.cause()?),
        _ => None,
    }
}
