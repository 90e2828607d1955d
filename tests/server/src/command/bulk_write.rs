//! `bulkWrite`: inserts, updates and deletes on several collections in one command.

use super::Call;
use super::args::Args;
use super::insert::prepare;
use super::{delete, update};
use crate::error::{Error, Result, code};
use crate::session::History;
use crate::storage::{Catalog, Namespace};
use bson::{Bson, Document, doc};
use std::sync::Arc;

/// One operation: its kind, its namespace, and the equivalent statement of `insert`, `update` or
/// `delete`.
struct Operation<'c> {
    kind: Kind,
    namespace: &'c Namespace,
    statement: Document,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Insert,
    Update,
    Delete,
}

#[derive(Default)]
struct Summary {
    errors: i32,
    inserted: i32,
    matched: i32,
    modified: i32,
    upserted: i32,
    deleted: i32,
}

pub(crate) fn run(call: &Call<'_>) -> Result<Document> {
    let args = call.args();
    let operations = required_documents(&args, "ops")?;
    super::insert::check_batch_size(operations.len())?;
    let namespaces = namespaces(&args)?;
    let ordered = args.flag("ordered", true)?;
    let errors_only = args.flag("errorsOnly", false)?;
    let batch_size = super::list::cursor_batch_size(call)?;
    let history = call
        .deployment
        .sessions
        .history(call.body, call.deployment.is_replicated())?;
    let operations = operations
        .into_iter()
        .map(|operation| parse(call, operation, &namespaces, &history))
        .collect::<Result<Vec<_>>>()?;
    let mut catalog = call.catalog();
    let (mut summary, mut rows, mut retried) = (Summary::default(), Vec::new(), Vec::new());
    for (index, operation) in operations.iter().enumerate() {
        let done = match history.find(index) {
            Some(recorded) => {
                retried.push(history.statement_id(index));
                Ok(recorded)
            }
            None => run_one(call, &mut catalog, operation),
        };
        match done {
            Ok(done) => {
                summary.add(operation.kind, &done);
                if !errors_only {
                    let mut row = doc! { "ok": 1.0, "idx": index as i32 };
                    row.extend(done.clone());
                    rows.push(Arc::new(row));
                }
                history.record(index, done);
            }
            Err(error) => {
                summary.errors += 1;
                let mut row = doc! { "ok": 0.0, "idx": index as i32, "code": error.code, "errmsg": &error.message, "n": 0 };
                if operation.kind == Kind::Update {
                    row.insert("nModified", 0);
                }
                row.extend((*error.extra).clone());
                rows.push(Arc::new(row));
                if ordered || call.in_transaction() {
                    break;
                }
            }
        }
    }
    drop(catalog);
    let cursor = super::list::listed(call, "admin.$cmd.bulkWrite", rows, batch_size)?;
    let mut reply = doc! {
        "cursor": cursor,
        "nErrors": summary.errors,
        "nInserted": summary.inserted,
        "nMatched": summary.matched,
        "nModified": summary.modified,
        "nUpserted": summary.upserted,
        "nDeleted": summary.deleted,
    };
    if !retried.is_empty() {
        reply.insert("retriedStmtIds", retried);
    }
    Ok(reply)
}

fn required_documents<'a>(args: &Args<'a>, name: &str) -> Result<Vec<&'a Document>> {
    args.documents(name)?.ok_or_else(|| {
        Error::new(
            code::MISSING_FIELD,
            format!("BSON field 'bulkWrite.{name}' is missing but a required field"),
        )
    })
}

fn namespaces(args: &Args<'_>) -> Result<Vec<Namespace>> {
    required_documents(args, "nsInfo")?
        .into_iter()
        .map(|info| {
            let info = Args::new("bulkWrite.nsInfo", info);
            info.only(&[
                "ns",
                "collectionUUID",
                "encryptionInformation",
                "isTimeseriesNamespace",
            ])?;
            let name = info.required_string("ns")?;
            match name.split_once('.') {
                Some((database, collection)) => Namespace::new(database, collection),
                None => Err(Error::new(
                    code::INVALID_NAMESPACE,
                    format!("Invalid namespace specified '{name}'"),
                )),
            }
        })
        .collect()
}

fn parse<'c>(
    call: &Call<'_>,
    operation: &Document,
    namespaces: &'c [Namespace],
    history: &History<'_>,
) -> Result<Operation<'c>> {
    let kinds = [
        ("insert", Kind::Insert),
        ("update", Kind::Update),
        ("delete", Kind::Delete),
    ];
    let first = operation.keys().next().map_or("", String::as_str);
    let (name, kind) = kinds
        .into_iter()
        .find(|(name, _)| *name == first)
        .ok_or_else(|| Error::bad_value(format!("Unrecognized field '{first}' in a bulkWrite operation")))?;
    let args = Args::new("bulkWrite.ops", operation);
    let index = args.required_integer(name)?;
    let namespace = usize::try_from(index)
        .ok()
        .and_then(|index| namespaces.get(index))
        .ok_or_else(|| {
            Error::bad_value(format!("BulkWrite ops entry {name} has an invalid nsInfo index."))
        })?;
    let mut statement = Document::new();
    let mut take = |from: &str, to: &str| {
        if let Some(value) = operation.get(from) {
            statement.insert(to, value.clone());
        }
    };
    match kind {
        Kind::Insert => {
            args.only(&["insert", "document"])?;
            args.required_document("document")?;
            take("document", "document");
        }
        Kind::Update => {
            args.only(&[
                "update",
                "filter",
                "updateMods",
                "multi",
                "upsert",
                "arrayFilters",
                "collation",
                "hint",
                "constants",
                "sort",
                "upsertSupplied",
            ])?;
            for (from, to) in [("filter", "q"), ("updateMods", "u"), ("constants", "c")] {
                take(from, to);
            }
            for same in ["multi", "upsert", "arrayFilters", "collation", "hint", "sort"] {
                take(same, same);
            }
            update::check_statement(call, &statement, history)?;
        }
        Kind::Delete => {
            args.only(&["delete", "filter", "multi", "collation", "hint"])?;
            take("filter", "q");
            take("collation", "collation");
            take("hint", "hint");
            let multi = args.flag("multi", false)?;
            statement.insert("limit", i32::from(!multi));
            delete::check_statement(call, &statement)?;
            if multi && history.is_retryable() {
                return Err(Error::new(
                    code::INVALID_OPTIONS,
                    "Cannot use retryable writes with multi=true",
                ));
            }
        }
    }
    Ok(Operation {
        kind,
        namespace,
        statement,
    })
}

/// Runs an operation; returns its counts in the form of the reply.
fn run_one(call: &Call<'_>, catalog: &mut Catalog, operation: &Operation<'_>) -> Result<Document> {
    let Operation {
        kind,
        namespace,
        statement,
    } = operation;
    super::system_writes::check(call, namespace)?;
    match kind {
        Kind::Insert => {
            let bypass = call.args().flag("bypassDocumentValidation", false)?;
            let empty = Document::new();
            let document = statement.get_document("document").unwrap_or(&empty);
            let document = prepare(document, true, || call.deployment.tick())?;
            super::view::writable(call, catalog, namespace)?;
            super::transaction_rules::check_implicit_create(call, catalog, namespace)?;
            let collection = catalog.get_or_create(namespace)?;
            super::timeseries::check_insert(call, collection, namespace)?;
            super::shard_key::check_insert(call, collection, &document)?;
            collection.insert(document, &namespace.to_string(), bypass)?;
            call.advance_clock();
            Ok(doc! { "n": 1 })
        }
        Kind::Update => {
            let done = update::run_statement(call, catalog, namespace, statement)?;
            let upserted = i32::from(done.upserted.is_some());
            let mut row = doc! { "n": done.matched + upserted, "nModified": done.modified };
            if let Some(id) = done.upserted {
                row.insert("upserted", doc! { "_id": id });
            }
            Ok(row)
        }
        Kind::Delete => Ok(doc! { "n": delete::run_statement(call, catalog, namespace, statement)? }),
    }
}

impl Summary {
    fn add(&mut self, kind: Kind, done: &Document) {
        let n = done.get_i32("n").unwrap_or(0);
        match kind {
            Kind::Insert => self.inserted += n,
            Kind::Delete => self.deleted += n,
            Kind::Update if done.get("upserted").is_some_and(|id| *id != Bson::Null) => self.upserted += 1,
            Kind::Update => {
                self.matched += n;
                self.modified += done.get_i32("nModified").unwrap_or(0);
            }
        }
    }
}
