//! `update`.

use super::Call;
use super::args::Args;
use super::find::sorted;
use super::insert::{Batch, check_batch_size};
use super::older_versions::check_dollars;
use super::plan::{Scan, select};
use super::shard_key;
use super::transaction_rules::check_implicit_create;
use crate::aggregate::Pipeline;
use crate::encryption::{has_information, without_removed_tags};
use crate::error::{Error, Result, code};
use crate::query::sort::Sort;
use crate::query::{Env, Filter, check_upsert};
use crate::refusal::writes as rows;
use crate::session::History;
use crate::storage::collection::Replacing;
use crate::storage::{Catalog, Collection, Namespace, RecordId};
use crate::update::{Target, Update};
use crate::value::collation::Collation;
use crate::value::{document_size, identical_documents};
use bson::{Bson, Document, doc};
use std::sync::Arc;

/// The result of one statement.
#[derive(Default)]
pub(super) struct Done {
    pub(super) matched: i32,
    pub(super) modified: i32,
    pub(super) upserted: Option<Bson>,
}

pub(crate) fn run(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    super::system_writes::check(call, &namespace)?;
    let args = call.args();
    let statements = args.documents("updates")?.ok_or_else(|| {
        Error::new(
            code::MISSING_FIELD,
            "BSON field 'update.updates' is missing but a required field",
        )
    })?;
    check_batch_size(statements.len())?;
    let ordered = args.flag("ordered", true)?;
    let history = call
        .deployment
        .sessions
        .history(call.body, call.deployment.is_replicated())?;
    for statement in &statements {
        check_statement(call, statement, &history)?;
    }
    let mut catalog = call.catalog();
    let mut batch = Batch {
        n_modified: Some(0),
        ..Batch::default()
    };
    for (index, statement) in statements.into_iter().enumerate() {
        let done = match history.find(index) {
            Some(recorded) => {
                batch.retried.push(history.statement_id(index));
                Ok(Done::from_record(&recorded))
            }
            None => run_statement(call, &mut catalog, &namespace, statement),
        };
        match done {
            Ok(done) => {
                history.record(index, done.to_record());
                batch.n += done.matched;
                batch.n_modified = batch.n_modified.map(|count| count + done.modified);
                if let Some(id) = done.upserted {
                    batch.n += 1;
                    batch
                        .upserted
                        .push(Bson::Document(doc! { "index": index as i32, "_id": id }));
                }
            }
            Err(error) => {
                batch.errors.push(Bson::Document(error.to_write_error(index)));
                if ordered || call.in_transaction() {
                    break;
                }
            }
        }
    }
    Ok(batch.reply(call))
}

impl Done {
    fn to_record(&self) -> Document {
        let mut record = doc! { "n": self.matched, "nModified": self.modified };
        if let Some(id) = &self.upserted {
            record.insert("upserted", id.clone());
        }
        record
    }

    fn from_record(record: &Document) -> Done {
        Done {
            matched: record.get_i32("n").unwrap_or(0),
            modified: record.get_i32("nModified").unwrap_or(0),
            upserted: record.get("upserted").cloned(),
        }
    }
}

/// Checks the fields of a statement; an error fails the whole command.
pub(super) fn check_statement(call: &Call<'_>, statement: &Document, history: &History<'_>) -> Result<()> {
    let args = Args::new("update.updates", statement);
    args.only(&[
        "q",
        "u",
        "c",
        "multi",
        "upsert",
        "upsertSupplied",
        "collation",
        "arrayFilters",
        "hint",
        "sort",
    ])?;
    args.required_document("q")?;
    let multi = args.flag("multi", false)?;
    args.flag("upsert", false)?;
    args.array("arrayFilters")?;
    if args.get("u").is_none() {
        return Err(Error::new(
            code::MISSING_FIELD,
            "BSON field 'update.updates.u' is missing but a required field",
        ));
    }
    if let Some(Bson::Array(stages)) = args.get("u") {
        Pipeline::check_stages(stages, call.deployment.version)?;
    }
    if statement.contains_key("sort") && !call.deployment.version.at_least(8, 0) {
        return Err(Error::new(
            code::UNKNOWN_FIELD,
            "BSON field 'update.updates.sort' is an unknown field.",
        ));
    }
    if multi && args.document("sort")?.is_some() {
        return Err(Error::failed_to_parse("Cannot specify sort with multi=true"));
    }
    if multi && history.is_retryable() {
        return Err(Error::new(
            code::INVALID_OPTIONS,
            "Cannot use retryable writes with multi=true",
        ));
    }
    Ok(())
}

/// The environment of a write statement: the variables of the command, and the collation of the
/// statement or collection.
pub(crate) fn statement_env(
    call: &Call<'_>,
    statement: &Document,
    collection: Option<&Collection>,
) -> Result<Env> {
    let mut env = call.env(collection)?;
    if statement.contains_key("collation") {
        env.collation = Collation::parse_field(statement)?;
    }
    Ok(env)
}

pub(super) fn run_statement(
    call: &Call<'_>,
    catalog: &mut Catalog,
    namespace: &Namespace,
    statement: &Document,
) -> Result<Done> {
    super::view::writable(call, catalog, namespace)?;
    if let Some(collection) = catalog.get(namespace) {
        super::timeseries::check_update(call, collection, statement, namespace)?;
    }
    let args = Args::new("update.updates", statement);
    let mut env = statement_env(call, statement, catalog.get(namespace))?;
    let constants = args.document("c")?;
    if constants.is_some() && !matches!(statement.get("u"), Some(Bson::Array(_))) {
        return Err(Error::new(
            51198,
            "Constant values may only be specified for pipeline updates",
        ));
    }
    crate::expression::define_let(constants, &mut env)?;
    let filter = Filter::of_query(args.required_document("q")?, &env)?;
    if args.flag("upsert", false)? {
        check_upsert(args.required_document("q")?, &env)?;
    }
    let update = Update::parse(
        args.get("u").unwrap_or(&Bson::Null),
        args.array("arrayFilters")?.map(Vec::as_slice),
        &env,
    )?;
    let multi = args.flag("multi", false)?;
    if multi && update.is_replacement() {
        return Err(Error::failed_to_parse(
            "multi update is not supported for replacement-style update",
        ));
    }
    let target = shard_key::Statement {
        filter: &filter,
        update: &update,
        multi,
        upsert: args.flag("upsert", false)?,
        body: statement,
    };
    shard_key::check_update(call, catalog.get(namespace), &target, &env)?;
    let sort = args.document("sort")?.map(Sort::parse).transpose()?;
    let bypass = call.args().flag("bypassDocumentValidation", false)?;
    let change = Write {
        call,
        namespace,
        env: &env,
        filter: &filter,
        update: &update,
        multi,
        bypass,
    };
    let mut done = Done::default();
    if let Some(collection) = catalog.get_mut(namespace) {
        let scan = Scan {
            hint: args.get("hint"),
            ..Scan::default()
        };
        let mut ids = sorted(
            collection,
            select(collection, &filter, scan, &env)?,
            sort.as_ref(),
            &env,
        )?;
        if !multi {
            ids.truncate(1);
        }
        for id in ids {
            done.matched += 1;
            if change.update_one(collection, id)?.2 {
                done.modified += 1;
            }
        }
    }
    if done.matched == 0 && args.flag("upsert", false)? {
        let inserted = change.upsert(catalog)?;
        done.upserted = inserted.get("_id").cloned();
    }
    Ok(done)
}

/// A parsed update with its environment.
pub(crate) struct Write<'w> {
    pub(crate) call: &'w Call<'w>,
    pub(crate) namespace: &'w Namespace,
    pub(crate) env: &'w Env,
    pub(crate) filter: &'w Filter,
    pub(crate) update: &'w Update,
    /// Whether the statement updates all matching documents.
    pub(crate) multi: bool,
    pub(crate) bypass: bool,
}

impl Write<'_> {
    /// Fails on field names that the version does not store.
    fn check_dollars(&self, old: &Document, new: &Document) -> Result<()> {
        let profile = self.call.deployment.profile();
        match self.update {
            Update::Operators { .. } => check_dollars(profile, old, new),
            Update::Replacement(_) | Update::Pipeline(_) => check_dollars(profile, &Document::new(), new),
        }
    }

    fn target(&self, position: Option<usize>) -> Target<'_> {
        Target {
            position,
            env: self.env,
            insert: false,
            timestamp: self.call.deployment.operation_time(),
        }
    }

    /// Updates a record; returns the documents before and after, and whether they differ.
    pub(crate) fn update_one(
        &self,
        collection: &mut Collection,
        id: RecordId,
    ) -> Result<(Arc<Document>, Arc<Document>, bool)> {
        let old = collection
            .record(id)
            .cloned()
            .ok_or_else(|| Error::new(code::INTERNAL_ERROR, format!("record {id} does not exist")))?;
        let (_, position) = self.filter.matches_with_position(&old, self.env)?;
        let new = self.update.apply(&old, self.target(position))?;
        self.check_dollars(&old, &new)?;
        let new = if has_information(self.call.body) {
            without_removed_tags(&old, new)?
        } else {
            new
        };
        if identical_documents(&old, &new) {
            return Ok((Arc::clone(&old), old, false));
        }
        let query = (self.filter, self.env);
        shard_key::check_change(self.call, collection, query, self.multi, (&old, &new))?;
        let new = Arc::new(new);
        let how = Replacing {
            bypass: self.bypass,
            whole: self.update.is_replacement(),
        };
        check_capped_size(self.call, collection, &old, &new)?;
        collection.replace(id, Arc::clone(&new), &self.namespace.to_string(), how)?;
        self.call.advance_clock();
        Ok((old, new, true))
    }

    /// Inserts the document that the update creates from the equality conditions of the filter.
    pub(crate) fn upsert(&self, catalog: &mut Catalog) -> Result<Document> {
        let document = self.update.upsert(self.filter, self.target(None))?;
        self.check_dollars(&Document::new(), &document)?;
        check_implicit_create(self.call, catalog, self.namespace)?;
        let collection = catalog.get_or_create(self.namespace)?;
        shard_key::check_insert(self.call, collection, &document)?;
        collection.insert(document.clone(), &self.namespace.to_string(), self.bypass)?;
        self.call.advance_clock();
        Ok(document)
    }
}

/// Fails if the size of a document in a capped collection changes, before 5.3.
fn check_capped_size(call: &Call<'_>, collection: &Collection, old: &Document, new: &Document) -> Result<()> {
    let profile = call.deployment.profile();
    if collection.capped.is_none() || !rows::CAPPED_GROW.applies(profile) {
        return Ok(());
    }
    let (old, new) = (document_size(old), document_size(new));
    rows::CAPPED_GROW.check(profile, old != new, &[&old, &new])
}
