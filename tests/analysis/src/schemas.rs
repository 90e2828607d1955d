//! The schemas of the collections of a command.

use std::collections::BTreeMap;

use bson::{Bson, Document};

use crate::{
    error::{Analyzed, reject},
    schema::Schema,
};

/// The schemas of a command by the namespaces of the collections.
#[derive(Debug, Default)]
pub(crate) struct Schemas {
    of_collections: BTreeMap<String, Schema>,
    empty: Schema,
}

impl Schemas {
    /// Takes the schemas out of a command, and what is not part of the analyzed command.
    pub(crate) fn take(&mut self, command: &mut Document, namespace: &str) -> Analyzed {
        for added in ["$db", "$readPreference"] {
            command.remove(added);
        }
        if let Some(Bson::Document(schema)) = command.remove("jsonSchema") {
            let is_remote = command.remove("isRemoteSchema") == Some(Bson::Boolean(true));
            let schema = Schema::read(&schema, is_remote)?;
            self.of_collections.insert(namespace.to_owned(), schema);
        }
        let of_several = command.remove("csfleEncryptionSchemas");
        for (namespace, schema) in of_several
            .as_ref()
            .and_then(Bson::as_document)
            .into_iter()
            .flatten()
        {
            let schema = schema.as_document();
            let json = schema.and_then(|schema| schema.get_document("jsonSchema").ok());
            let is_remote = schema.is_some_and(|schema| schema.get_bool("isRemoteSchema").unwrap_or(false));
            let schema = Schema::read(&json.cloned().unwrap_or_default(), is_remote)?;
            self.of_collections.insert(namespace.clone(), schema);
        }
        let mut information = command.get_document("encryptionInformation").ok();
        if let (None, Ok([Bson::Document(info), ..])) =
            (information, command.get_array("nsInfo").map(Vec::as_slice))
        {
            information = info.get_document("encryptionInformation").ok();
        }
        let Some(information) = information else {
            return Ok(());
        };
        if self.require_encryption() {
            return reject(
                "Cannot specify both encryptionInformation and csfleEncryptionSchemas unless csfleEncryptionSchemas \
                 only contains non-encryption JSON schema validators",
            );
        }
        for (namespace, fields) in information.get_document("schema").into_iter().flatten() {
            let Bson::Document(fields) = fields else {
                return reject("encryptionInformation.schema must contain documents");
            };
            self.of_collections
                .insert(namespace.clone(), Schema::of_fields(fields)?);
        }
        Ok(())
    }

    /// Whether the command says nothing about its collections. It says so of a collection that has no encrypted fields.
    pub(crate) fn are_missing(&self) -> bool {
        self.of_collections.is_empty()
    }

    /// Whether a collection has encrypted fields.
    pub(crate) fn require_encryption(&self) -> bool {
        self.of_collections.values().any(|schema| !schema.is_empty())
    }

    /// The schema of a collection, which is empty if it has none.
    pub(crate) fn of(&self, namespace: &str) -> &Schema {
        self.of_collections.get(namespace).unwrap_or(&self.empty)
    }
}
