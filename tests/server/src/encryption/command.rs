//! Commands with `encryptionInformation`.

use super::filter::Queries;
use super::schema::Schema;
use super::write::Writes;
use crate::error::{Error, Result};
use crate::storage::Catalog;
use crate::value::number::Number;
use bson::{Bson, Document};

const INFORMATION: &str = "encryptionInformation";
/// The statements of `update` and `delete` are those of one document.
const ONE_STATEMENT: i32 = 6_371_502;
const ONE_DOCUMENT: i32 = 6_371_503;
/// `new` and `fields` of `findAndModify`.
const ONLY_OLD_DOCUMENT: i32 = 6_371_402;
const NO_FIELDS: i32 = 6_371_408;

/// Whether the command is one of an encrypting client.
pub(crate) fn has_information(command: &Document) -> bool {
    let of_namespaces = || {
        let infos = command.get_array("nsInfo").into_iter().flatten();
        infos
            .filter_map(Bson::as_document)
            .any(|info| info.contains_key(INFORMATION))
    };
    command.contains_key(INFORMATION) || of_namespaces()
}

/// Replaces the payloads of a command. `name`: that of the command, not an alias.
pub(crate) fn rewrite(
    catalog: &mut Catalog,
    database: &str,
    name: &str,
    command: &Document,
) -> Result<Document> {
    if name == "bulkWrite" {
        return bulk_write(catalog, command);
    }
    let information = command.get_document(INFORMATION);
    let schema = Schema::read(information.map_err(|_| invalid("must be an object"))?)?;
    let collection = command.values().next().and_then(Bson::as_str).unwrap_or_default();
    let namespace = format!("{database}.{collection}");
    match name {
        "update" | "delete" => check_statements(name, command)?,
        "findAndModify" => check_returned(command)?,
        _ => {}
    }
    let mut rewritten = Document::new();
    for (field, value) in command {
        let mut parts = Parts {
            catalog,
            schema: &schema,
            database,
            namespace: &namespace,
        };
        let value = match (name, field.as_str(), value) {
            ("find", "filter", Bson::Document(filter))
            | ("count" | "distinct" | "findAndModify", "query", Bson::Document(filter)) => {
                Bson::Document(parts.queries().filter(filter)?)
            }
            ("aggregate", "pipeline", Bson::Array(stages)) => parts.queries().pipeline(stages)?,
            ("findAndModify", "update", update) => parts.writes().update(update)?,
            ("insert", "documents", documents) => {
                each(documents, |document| parts.writes().document(document))?
            }
            ("update", "updates", statements) => {
                each(statements, |statement| parts.statement(statement, "q", "u"))?
            }
            ("delete", "deletes", statements) => {
                each(statements, |statement| parts.statement(statement, "q", ""))?
            }
            (_, _, value) => value.clone(),
        };
        rewritten.insert(field, value);
    }
    Ok(rewritten)
}

fn invalid(what: &str) -> Error {
    Error::bad_value(format!("BSON field '{INFORMATION}' {what}"))
}

/// The collection that a part of a command is evaluated on.
struct Parts<'c> {
    catalog: &'c mut Catalog,
    schema: &'c Schema,
    database: &'c str,
    namespace: &'c str,
}

impl Parts<'_> {
    fn queries(&self) -> Queries<'_> {
        Queries {
            catalog: self.catalog,
            schema: self.schema,
            database: self.database,
            collection: self.schema.get(self.namespace),
        }
    }

    fn writes(&mut self) -> Writes<'_> {
        Writes {
            catalog: self.catalog,
            collection: self.schema.get(self.namespace),
        }
    }

    /// A statement with a filter, and an update or a document in `values`.
    fn statement(&mut self, statement: &Document, filter: &str, values: &str) -> Result<Document> {
        let mut rewritten = statement.clone();
        if let Some(Bson::Document(filter)) = rewritten.get_mut(filter) {
            *filter = self.queries().filter(filter)?;
        }
        if let Some(update) = rewritten.get_mut(values) {
            *update = self.writes().update(update)?;
        }
        Ok(rewritten)
    }
}

fn each(documents: &Bson, mut rewrite: impl FnMut(&Document) -> Result<Document>) -> Result<Bson> {
    let Bson::Array(documents) = documents else {
        return Ok(documents.clone());
    };
    let one = |document: &Bson| match document {
        Bson::Document(document) => rewrite(document).map(Bson::Document),
        other => Ok(other.clone()),
    };
    documents
        .iter()
        .map(one)
        .collect::<Result<Vec<_>>>()
        .map(Bson::Array)
}

/// Rejects updates and deletes of several documents.
fn check_statements(name: &str, command: &Document) -> Result<()> {
    let (field, what) = match name {
        "update" => ("updates", "updates"),
        _ => ("deletes", "deletes"),
    };
    let statements = command.get_array(field).map(Vec::as_slice).unwrap_or_default();
    if statements.len() > 1 {
        return Err(Error::new(
            ONE_STATEMENT,
            format!("Only single document {what} are permitted"),
        ));
    }
    let is_of_several = |statement: &Document| {
        let limit = statement.get("limit").and_then(Number::from_bson);
        statement.get_bool("multi").unwrap_or(false) || limit.is_some_and(|limit| limit.to_f64() == 0.0)
    };
    if statements.iter().filter_map(Bson::as_document).any(is_of_several) {
        return Err(Error::new(
            ONE_DOCUMENT,
            format!("FLE only supports single document {what}"),
        ));
    }
    Ok(())
}

/// Rejects a find-and-modify that returns the changed document, or some fields of it.
fn check_returned(command: &Document) -> Result<()> {
    if command.get("new").is_some_and(|new| *new != Bson::Boolean(false)) {
        return Err(Error::new(
            ONLY_OLD_DOCUMENT,
            "findAndModify with encryption only supports new: false",
        ));
    }
    let fields = command.get_document("fields");
    if fields.is_ok_and(|fields| !fields.is_empty()) {
        return Err(Error::new(NO_FIELDS, "findAndModify fields must be empty"));
    }
    Ok(())
}

/// `bulkWrite` has the information beside the namespace.
fn bulk_write(catalog: &mut Catalog, command: &Document) -> Result<Document> {
    let infos = command.get_array("nsInfo").map(Vec::as_slice).unwrap_or_default();
    let [Bson::Document(info)] = infos else {
        return Err(Error::bad_value(
            "BulkWrite with Queryable Encryption supports only a single namespace.",
        ));
    };
    let information = info.get_document(INFORMATION);
    let schema = Schema::read(information.map_err(|_| invalid("must be an object"))?)?;
    let namespace = info.get_str("ns").unwrap_or_default();
    let operations = command.get_array("ops").map(Vec::as_slice).unwrap_or_default();
    let is_insert = |operation: &Bson| {
        operation
            .as_document()
            .is_some_and(|operation| operation.contains_key("insert"))
    };
    if operations.len() > 1 && !operations.iter().all(is_insert) {
        return Err(Error::bad_value(
            "Only insert is supported in BulkWrite with multiple operations and Queryable Encryption.",
        ));
    }
    let mut parts = Parts {
        catalog,
        schema: &schema,
        database: namespace.split('.').next().unwrap_or_default(),
        namespace,
    };
    let mut rewritten = command.clone();
    if let Some(operations) = rewritten.get_mut("ops") {
        *operations = each(operations, |operation| {
            if operation.get_bool("multi").unwrap_or(false) {
                return Err(Error::new(
                    ONE_DOCUMENT,
                    "FLE only supports single document updates and deletes",
                ));
            }
            let values = if operation.contains_key("insert") {
                "document"
            } else {
                "updateMods"
            };
            parts.statement(operation, "filter", values)
        })?;
    }
    Ok(rewritten)
}
