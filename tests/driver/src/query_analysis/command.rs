//! The commands with values to be encrypted.

use marula_driver::bson::{Bson, Document, doc};

use super::{
    error::{Analyzed, reject},
    filter::with_operators,
    schema::{Key, Schema, Target},
    value::Marker,
};

/// The start of an error for commands on the values of other schemas.
pub const NOT_ANALYZED: &str = "this stand-in does not implement the analysis for Queryable Encryption";

/// The reply to a command with `jsonSchema` and `isRemoteSchema`.
pub(super) fn analyze(mut command: Document) -> Analyzed<Document> {
    let schema = command.remove("jsonSchema");
    let is_remote = command.remove("isRemoteSchema") == Some(Bson::Boolean(true));
    for added in ["$db", "lsid", "$readPreference"] {
        command.remove(added);
    }
    let name = command.keys().next().map(String::as_str).unwrap_or_default();
    let schema = match (schema, command.get_document("encryptionInformation")) {
        (Some(Bson::Document(schema)), Err(_)) => Schema::read(&schema, is_remote)?,
        (None, Ok(information)) if matches!(name, "create" | "createIndexes" | "collMod") => {
            Schema::of_fields(information)?
        }
        _ => return reject(format!("{NOT_ANALYZED} of {name}")),
    };
    let mut marker = Marker {
        schema: &schema,
        count: 0,
    };
    let result = marker.mark_command(&command)?;
    Ok(doc! {
        "ok": 1.0,
        "hasEncryptionPlaceholders": marker.count > 0,
        "schemaRequiresEncryption": !schema.is_empty(),
        "result": result,
    })
}

impl Marker<'_> {
    fn mark_command(&mut self, command: &Document) -> Analyzed<Document> {
        let name = command.keys().next().map(String::as_str).unwrap_or_default();
        let mut marked = Document::new();
        for (field, value) in command {
            let value = match (name, field.as_str()) {
                ("find", "filter") | ("count" | "distinct" | "findAndModify", "query") => {
                    self.mark_filter_value(value)?
                }
                ("distinct", "key") => self.check_distinct(value)?,
                ("findAndModify", "update") => self.mark_update(value)?,
                ("insert", "documents") => self.each(value, Self::mark_document)?,
                ("update", "updates") => self.each(value, Self::mark_update_statement)?,
                ("delete", "deletes") => self.each(value, Self::mark_delete_statement)?,
                ("aggregate", "pipeline") => self.each(value, Self::mark_stage)?,
                ("explain", "explain") => match value {
                    Bson::Document(inner) => Bson::Document(self.mark_command(inner)?),
                    other => other.clone(),
                },
                ("create" | "collMod", "validator") => self.check_plain(value)?,
                ("createIndexes", "indexes") => self.each(value, Self::check_index)?,
                _ => value.clone(),
            };
            marked.insert(field, value);
        }
        if name == "explain" && !marked.contains_key("verbosity") {
            marked.insert("verbosity", "allPlansExecution");
        }
        Ok(marked)
    }

    /// Marks each document of an array.
    fn each(
        &mut self,
        documents: &Bson,
        mark: fn(&mut Self, &Document) -> Analyzed<Document>,
    ) -> Analyzed<Bson> {
        let Bson::Array(documents) = documents else {
            return Ok(documents.clone());
        };
        let marked: Analyzed<Vec<Bson>> = documents
            .iter()
            .map(|document| match document {
                Bson::Document(document) => mark(self, document).map(Bson::Document),
                other => Ok(other.clone()),
            })
            .collect();
        marked.map(Bson::Array)
    }

    /// As mongocryptd, writes equality with `$eq` everywhere in a filter with a placeholder.
    fn mark_filter_value(&mut self, filter: &Bson) -> Analyzed<Bson> {
        let Bson::Document(filter) = filter else {
            return Ok(filter.clone());
        };
        let before = self.count;
        let marked = self.mark_filter(filter)?;
        Ok(Bson::Document(if self.count > before {
            with_operators(&marked)
        } else {
            marked
        }))
    }

    /// Marks one field of a document.
    fn with_field(
        document: &Document,
        field: &str,
        mark: impl FnOnce(&Bson) -> Analyzed<Bson>,
    ) -> Analyzed<Document> {
        let mut marked = document.clone();
        if let Some(value) = marked.get_mut(field) {
            *value = mark(value)?;
        }
        Ok(marked)
    }

    fn mark_update_statement(&mut self, statement: &Document) -> Analyzed<Document> {
        let mut marked = self.mark_delete_statement(statement)?;
        for option in ["multi", "upsert"] {
            if !marked.contains_key(option) {
                marked.insert(option, false);
            }
        }
        Self::with_field(&marked, "u", |update| self.mark_update(update))
    }

    fn mark_delete_statement(&mut self, statement: &Document) -> Analyzed<Document> {
        Self::with_field(statement, "q", |filter| self.mark_filter_value(filter))
    }

    fn mark_stage(&mut self, stage: &Document) -> Analyzed<Document> {
        Self::with_field(stage, "$match", |filter| self.mark_filter_value(filter))
    }

    fn check_distinct(&mut self, key: &Bson) -> Analyzed<Bson> {
        if let Bson::String(path) = key
            && let Target::Encrypted(field) = self.schema.target(path)
        {
            if matches!(field.key, Key::Pointer(_)) {
                return reject(
                    "The distinct key is not allowed to be marked for encryption with a non-UUID keyId",
                );
            }
            if field.is_random {
                return reject(
                    "The distinct key is not allowed to be marked for encryption with the randomized algorithm",
                );
            }
        }
        Ok(key.clone())
    }

    /// A filter that the server stores cannot have encrypted operands.
    fn check_plain(&mut self, filter: &Bson) -> Analyzed<Bson> {
        let before = self.count;
        self.mark_filter_value(filter)?;
        if self.count > before {
            return reject("Comparison to encrypted fields not supported");
        }
        Ok(filter.clone())
    }

    fn check_index(&mut self, index: &Document) -> Analyzed<Document> {
        Self::with_field(index, "partialFilterExpression", |filter| {
            self.check_plain(filter)
        })
    }
}
