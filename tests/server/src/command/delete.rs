//! `delete`.

use super::Call;
use super::args::Args;
use super::insert::{Batch, check_batch_size};
use super::plan::{Scan, select};
use super::update::statement_env;
use crate::error::{Error, Result, code};
use crate::query::Filter;
use crate::refusal::writes as rows;
use crate::storage::{Catalog, Collection, Namespace};
use crate::value::number::Number;
use bson::{Bson, Document, doc};

pub(crate) fn run(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    super::system_writes::check(call, &namespace)?;
    let args = call.args();
    let statements = args.documents("deletes")?.ok_or_else(|| {
        Error::new(
            code::MISSING_FIELD,
            "BSON field 'delete.deletes' is missing but a required field",
        )
    })?;
    check_batch_size(statements.len())?;
    let ordered = args.flag("ordered", true)?;
    let history = call
        .deployment
        .sessions
        .history(call.body, call.deployment.is_replicated())?;
    for statement in &statements {
        let one = check_statement(call, statement)?;
        if !one && history.is_retryable() {
            return Err(Error::new(
                code::INVALID_OPTIONS,
                "Cannot use retryable writes with limit=0",
            ));
        }
    }
    let mut catalog = call.catalog();
    let mut batch = Batch::default();
    for (index, statement) in statements.into_iter().enumerate() {
        let deleted = match history.find(index) {
            Some(recorded) => {
                batch.retried.push(history.statement_id(index));
                Ok(recorded.get_i32("n").unwrap_or(0))
            }
            None => run_statement(call, &mut catalog, &namespace, statement),
        };
        match deleted {
            Ok(n) => {
                history.record(index, doc! { "n": n });
                batch.n += n;
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

/// Checks the fields of a statement; returns whether it deletes at most one document.
pub(super) fn check_statement(call: &Call<'_>, statement: &Document) -> Result<bool> {
    let args = Args::new("delete.deletes", statement);
    args.only(&["q", "limit", "collation", "hint"])?;
    args.required_document("q")?;
    if statement.contains_key("hint") && !call.deployment.version.at_least(4, 4) {
        return Err(Error::new(
            code::UNKNOWN_FIELD,
            "BSON field 'delete.deletes.hint' is an unknown field.",
        ));
    }
    args.required_integer("limit")?;
    match args
        .get("limit")
        .and_then(Number::from_bson)
        .and_then(Number::to_exact_i64)
    {
        Some(0) => Ok(false),
        Some(1) => Ok(true),
        other => Err(Error::failed_to_parse(format!(
            "The limit field in delete objects must be 0 or 1. Got {}",
            other.map_or_else(|| "a fraction".to_owned(), |limit| limit.to_string())
        ))),
    }
}

pub(super) fn run_statement(
    call: &Call<'_>,
    catalog: &mut Catalog,
    namespace: &Namespace,
    statement: &Document,
) -> Result<i32> {
    super::view::writable(call, catalog, namespace)?;
    if let Some(collection) = catalog.get(namespace) {
        check_capped(call, collection, namespace)?;
        super::timeseries::check_delete(call, collection, statement, namespace)?;
    }
    let args = Args::new("delete.deletes", statement);
    let env = statement_env(call, statement, catalog.get(namespace))?;
    let filter = Filter::of_query(args.required_document("q")?, &env)?;
    super::shard_key::check_delete(call, catalog.get(namespace), statement, &filter, &env)?;
    let Some(collection) = catalog.get_mut(namespace) else {
        return Ok(0);
    };
    let scan = Scan {
        hint: args.get("hint"),
        ..Scan::default()
    };
    let mut ids = select(collection, &filter, scan, &env)?;
    if args.required_integer("limit")? == 1 {
        ids.truncate(1);
    }
    let mut deleted = 0;
    for id in ids {
        if collection.remove(id).is_some() {
            deleted += 1;
            call.advance_clock();
        }
    }
    Ok(deleted)
}

/// Fails if the collection is capped, before 5.0.
pub(super) fn check_capped(call: &Call<'_>, collection: &Collection, namespace: &Namespace) -> Result<()> {
    let capped = collection.capped.is_some();
    rows::CAPPED_DELETE.check(call.deployment.profile(), capped, &[namespace])
}
