//! The commands with values to be encrypted.

use bson::{Bson, Document, doc};

use crate::{
    error::{Analyzed, reject, reject_with},
    filter::with_operators,
    schema::{Field, Key, Schema, Target},
    schemas::Schemas,
    serialize,
    value::Marker,
};

/// The reply to a command with its schemas, as that of mongocryptd.
///
/// # Errors
/// The command cannot be analyzed, or uses an encrypted field where that is not supported.
pub fn analyze(mut command: Document) -> Analyzed<Document> {
    let database = command.get_str("$db").unwrap_or_default().to_owned();
    let namespace = namespace_of(&database, &command);
    let mut schemas = Schemas::default();
    schemas.take(&mut command, &namespace)?;
    // `crypt_shared` receives the schemas within the explained command, mongocryptd beside it.
    if let Some(Bson::Document(explained)) = command.get_mut("explain") {
        schemas.take(explained, &namespace)?;
    }
    if schemas.are_missing() {
        return reject("A command requires jsonSchema, csfleEncryptionSchemas or encryptionInformation");
    }
    let mut marker = Marker {
        schema: schemas.of(&namespace),
        schemas: &schemas,
        database: &database,
        count: 0,
        range_count: 0,
    };
    let result = marker.mark_command(&command)?;
    Ok(doc! {
        "ok": 1.0,
        "hasEncryptionPlaceholders": marker.count > 0,
        "schemaRequiresEncryption": schemas.require_encryption(),
        "result": result,
    })
}

/// The namespace of a command.
fn namespace_of(database: &str, command: &Document) -> String {
    let first = match command.iter().next() {
        Some((name, Bson::Document(explained))) if name == "explain" => explained.values().next(),
        Some((name, _)) if name == "bulkWrite" => {
            let infos = command.get_array("nsInfo").map(Vec::as_slice).unwrap_or_default();
            let info = infos.first().and_then(Bson::as_document);
            return info
                .and_then(|info| info.get_str("ns").ok())
                .unwrap_or_default()
                .to_owned();
        }
        first => first.map(|(_, value)| value),
    };
    format!("{database}.{}", first.and_then(Bson::as_str).unwrap_or_default())
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
                ("find" | "findAndModify", "sort") => self.check_sort(value)?,
                ("distinct", "key") => self.check_distinct(value)?,
                ("findAndModify", "update") => self.mark_update(value)?,
                ("insert", "documents") => self.each(value, Self::mark_document)?,
                ("update", "updates") => self.each(value, Self::mark_update_statement)?,
                ("delete", "deletes") => self.each(value, Self::mark_delete_statement)?,
                ("aggregate", "pipeline") => {
                    let marked = self.each(value, Self::mark_stage)?;
                    // mongocryptd returns the pipeline as it was sent if no collection has encrypted fields.
                    if self.schemas.require_encryption() {
                        serialize::pipeline(&marked)
                    } else {
                        marked
                    }
                }
                ("bulkWrite", "ops") => self.each(value, Self::mark_operation)?,
                // libmongocrypt expects it in the explained command.
                ("explain", "encryptionInformation") => continue,
                ("explain", "explain") => match value {
                    Bson::Document(inner) => {
                        let mut inner = self.mark_command(inner)?;
                        if let Some(information) = command.get("encryptionInformation") {
                            inner.insert("encryptionInformation", information.clone());
                        }
                        Bson::Document(inner)
                    }
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

    /// As mongocryptd, writes equality with `$eq` everywhere in a filter with a placeholder, and in all filters on collections of
    /// Queryable Encryption.
    fn mark_filter_value(&mut self, filter: &Bson) -> Analyzed<Bson> {
        let Bson::Document(filter) = filter else {
            return Ok(filter.clone());
        };
        let before = self.count;
        let marked = self.mark_filter(filter)?;
        Ok(Bson::Document(
            if self.count > before || self.schema.is_queryable() {
                with_operators(&marked)
            } else {
                marked
            },
        ))
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

    /// Marks an operation of `bulkWrite`.
    fn mark_operation(&mut self, operation: &Document) -> Analyzed<Document> {
        let marked = Self::with_field(operation, "filter", |filter| self.mark_filter_value(filter))?;
        let marked = Self::with_field(&marked, "updateMods", |update| self.mark_update(update))?;
        Self::with_field(&marked, "document", |document| match document {
            Bson::Document(document) => self.mark_document(document).map(Bson::Document),
            other => Ok(other.clone()),
        })
    }

    fn mark_stage(&mut self, stage: &Document) -> Analyzed<Document> {
        if stage.contains_key("$changeStream") {
            return reject_with(
                31_011,
                "Aggregation stage $changeStream is not allowed or supported with automatic encryption.",
            );
        }
        if let Some(sort) = stage.get("$sort") {
            self.check_sort(sort)?;
        }
        let marked = Self::with_field(stage, "$match", |filter| self.mark_filter_value(filter))?;
        Self::with_field(&marked, "$lookup", |lookup| match lookup {
            Bson::Document(lookup) => self.mark_lookup(lookup).map(Bson::Document),
            other => Ok(other.clone()),
        })
    }

    /// Marks the pipeline on another collection.
    fn mark_lookup(&mut self, lookup: &Document) -> Analyzed<Document> {
        let namespace = format!("{}.{}", self.database, lookup.get_str("from").unwrap_or_default());
        let schema = self.schemas.of(&namespace);
        let is_encrypted = |schema: &Schema, field: &str| {
            let path = lookup.get_str(field);
            path.is_ok_and(|path| !matches!(schema.target(path), Target::Plain))
        };
        if is_encrypted(self.schema, "localField") || is_encrypted(schema, "foreignField") {
            return reject("'localField' and 'foreignField' of $lookup cannot be encrypted");
        }
        let outer = std::mem::replace(&mut self.schema, schema);
        let marked = Self::with_field(lookup, "pipeline", |stages| self.each(stages, Self::mark_stage));
        self.schema = outer;
        marked
    }

    fn check_sort(&self, sort: &Bson) -> Analyzed<Bson> {
        let paths = sort.as_document().into_iter().flat_map(Document::keys);
        for path in paths {
            if !matches!(self.schema.target(path), Target::Plain) {
                let message =
                    format!("Sorting on key '{path}' is not supported due to encryption or unknown schema");
                return reject_with(51_201, message);
            }
        }
        Ok(sort.clone())
    }

    fn check_distinct(&mut self, key: &Bson) -> Analyzed<Bson> {
        let field = match key {
            Bson::String(path) => self.schema.target(path),
            _ => Target::Plain,
        };
        match field {
            Target::Encrypted(Field::Plain(field)) if matches!(field.key, Key::Pointer(_)) => {
                reject("The distinct key is not allowed to be marked for encryption with a non-UUID keyId")
            }
            Target::Encrypted(Field::Plain(field)) if field.is_random => reject(
                "The distinct key is not allowed to be marked for encryption with the randomized algorithm",
            ),
            Target::Encrypted(Field::Queryable(_)) => {
                reject("The distinct key is not allowed to be encrypted with Queryable Encryption")
            }
            _ => Ok(key.clone()),
        }
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
