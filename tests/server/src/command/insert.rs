//! `insert`, and the validation of documents before they are stored.

use super::{Call, timeseries};
use crate::error::{Error, Result, code};
use crate::value::type_name;
use crate::violation::ViolationKind;
use bson::oid::ObjectId;
use bson::{Bson, Document, Timestamp, doc};

pub(crate) fn run(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    super::system_writes::check(call, &namespace)?;
    let args = call.args();
    let documents = args.documents("documents")?.ok_or_else(|| {
        Error::new(
            code::MISSING_FIELD,
            "BSON field 'insert.documents' is missing but a required field",
        )
    })?;
    check_batch_size(documents.len())?;
    let ordered = args.flag("ordered", true)?;
    let bypass = args.flag("bypassDocumentValidation", false)?;
    let history = call
        .deployment
        .sessions
        .history(call.body, call.deployment.is_replicated())?;
    let mut catalog = call.catalog();
    super::view::writable(call, &catalog, &namespace)?;
    super::transaction_rules::check_implicit_create(call, &catalog, &namespace)?;
    let collection = catalog.get_or_create(&namespace)?;
    timeseries::check_insert(call, collection, &namespace)?;
    let name = namespace.to_string();
    let mut batch = Batch::default();
    for (index, document) in documents.into_iter().enumerate() {
        if history.find(index).is_some() {
            batch.n += 1;
            batch.retried.push(history.statement_id(index));
            continue;
        }
        let inserted = prepare(document, call.deployment.version.at_least(5, 0), || {
            call.deployment.tick()
        })
        .and_then(|document| {
            super::shard_key::check_insert(call, collection, &document)?;
            collection.insert(document, &name, bypass)
        });
        match inserted {
            Ok(_) => {
                batch.n += 1;
                history.record(index, doc! { "n": 1 });
                call.advance_clock();
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

/// The results of the statements of a write command.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) n: i32,
    pub(crate) n_modified: Option<i32>,
    pub(crate) upserted: Vec<Bson>,
    pub(crate) errors: Vec<Bson>,
    pub(crate) retried: Vec<i32>,
}

impl Batch {
    /// The reply to the command.
    pub(crate) fn reply(self, call: &Call<'_>) -> Document {
        let mut reply = doc! { "n": self.n };
        if let Some(modified) = self.n_modified {
            reply.insert("nModified", modified);
        }
        if !self.upserted.is_empty() {
            reply.insert("upserted", self.upserted);
        }
        if !self.errors.is_empty() {
            reply.insert("writeErrors", self.errors);
        }
        if !self.retried.is_empty() {
            reply.insert("retriedStmtIds", self.retried);
        }
        if call.deployment.is_replicated() {
            let (term, election) = call.deployment.topology(|t| (t.term, t.election_id()));
            reply.insert("electionId", election);
            reply.insert(
                "opTime",
                doc! { "ts": call.deployment.operation_time(), "t": term },
            );
        }
        reply
    }
}

/// `maxWriteBatchSize`.
pub(super) const MAX_WRITE_BATCH: usize = 100_000;

/// Fails unless a write command has 1 to `maxWriteBatchSize` statements.
pub(crate) fn check_batch_size(count: usize) -> Result<()> {
    if (1..=MAX_WRITE_BATCH).contains(&count) {
        return Ok(());
    }
    let error = Error::new(
        16,
        format!("Write batch sizes must be between 1 and {MAX_WRITE_BATCH}. Got {count} operations."),
    );
    Err(match count {
        0 => error,
        _ => error.violating(ViolationKind::TooManyWrites),
    })
}

/// Validates a new document and returns its stored form: `_id` first, generated if missing, and
/// empty timestamps set.
pub(crate) fn prepare(
    document: &Document,
    dollars_allowed: bool,
    now: impl Fn() -> Timestamp,
) -> Result<Document> {
    if let Some(id) = document.get("_id") {
        check_id(id)?;
    }
    if !dollars_allowed {
        check_no_dollars(document)?;
    }
    let id = document
        .get("_id")
        .cloned()
        .unwrap_or_else(|| Bson::ObjectId(ObjectId::new()));
    let mut prepared = doc! { "_id": id };
    for (name, value) in document {
        match value {
            _ if name == "_id" => {}
            Bson::Timestamp(Timestamp {
                time: 0,
                increment: 0,
            }) => {
                prepared.insert(name, now());
            }
            value => {
                prepared.insert(name, value.clone());
            }
        }
    }
    Ok(prepared)
}

/// Fails if the value is not allowed as `_id`.
pub(crate) fn check_id(id: &Bson) -> Result<()> {
    match id {
        Bson::Array(_) | Bson::RegularExpression(_) | Bson::Undefined => Err(Error::new(
            code::INVALID_ID_FIELD,
            format!("The '_id' value cannot be of type {}", type_name(id)),
        )),
        Bson::Document(inner) => match inner.keys().find(|name| name.starts_with('$')) {
            Some(name) if !matches!(name.as_str(), "$ref" | "$id" | "$db") => Err(Error::new(
                code::DOLLAR_PREFIXED_FIELD_NAME,
                format!("_id fields may not contain '$'-prefixed fields: {name} is not valid for storage."),
            )),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Servers before 5.0 reject field names that begin with a dollar sign.
fn check_no_dollars(document: &Document) -> Result<()> {
    for name in document.keys() {
        if name.starts_with('$') {
            return Err(Error::bad_value(format!(
                "Document can't have $ prefixed field names: {name}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(document: &Document) -> Result<Document> {
        prepare(document, true, || Timestamp {
            time: 9,
            increment: 1,
        })
    }

    #[test]
    fn id_comes_first_and_is_generated_if_missing() {
        let document = prepared(&doc! {"a": 1, "_id": 5}).unwrap();
        assert_eq!(document.keys().collect::<Vec<_>>(), ["_id", "a"]);
        assert!(prepared(&doc! {"a": 1}).unwrap().get_object_id("_id").is_ok());
    }

    #[test]
    fn invalid_ids_are_rejected() {
        assert_eq!(prepared(&doc! {"_id": [1]}).unwrap_err().code, 53);
        assert_eq!(prepared(&doc! {"_id": {"$a": 1}}).unwrap_err().code, 52);
        assert_eq!(
            prepare(&doc! {"$a": 1}, false, || unreachable!())
                .unwrap_err()
                .code,
            2
        );
    }

    #[test]
    fn empty_timestamps_are_set() {
        let document = prepared(&doc! {"t": Timestamp { time: 0, increment: 0 }}).unwrap();
        assert_eq!(document.get_timestamp("t").unwrap().time, 9);
    }
}
