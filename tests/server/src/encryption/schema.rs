//! `encryptionInformation`: the encrypted collections of a command.

use crate::error::{Error, Result};
use crate::storage::{Namespace, encrypted_paths};
use bson::{Bson, Document};
use std::collections::BTreeMap;

/// The state collections and the fields of an encrypted collection.
#[derive(Debug)]
pub(super) struct EncryptedCollection {
    pub(super) esc: Namespace,
    pub(super) ecoc: Namespace,
    paths: Vec<String>,
}

/// The encrypted collections of a command by their namespaces.
#[derive(Debug, Default)]
pub(super) struct Schema(BTreeMap<String, EncryptedCollection>);

impl Schema {
    pub(super) fn read(information: &Document) -> Result<Schema> {
        let invalid =
            |what: &str| Error::bad_value(format!("BSON field 'encryptionInformation.{what}' is invalid"));
        if !matches!(information.get("type"), Some(Bson::Int32(1) | Bson::Int64(1))) {
            return Err(invalid("type"));
        }
        let schema = information
            .get_document("schema")
            .map_err(|_| invalid("schema"))?;
        let mut collections = BTreeMap::new();
        for (name, collection) in schema {
            let (Some((database, _)), Bson::Document(collection)) = (name.split_once('.'), collection) else {
                return Err(invalid("schema"));
            };
            let state = |field: &str| {
                let name = collection.get_str(field).map_err(|_| invalid(field))?;
                Namespace::new(database, name)
            };
            let encrypted = EncryptedCollection {
                esc: state("escCollection")?,
                ecoc: state("ecocCollection")?,
                paths: encrypted_paths(collection).map(ToOwned::to_owned).collect(),
            };
            collections.insert(name.clone(), encrypted);
        }
        Ok(Schema(collections))
    }

    pub(super) fn get(&self, namespace: &str) -> Option<&EncryptedCollection> {
        self.0.get(namespace)
    }
}

impl EncryptedCollection {
    /// Whether the value at the path is encrypted.
    pub(super) fn encrypts(&self, path: &str) -> bool {
        self.paths.iter().any(|encrypted| encrypted == path)
    }
}
