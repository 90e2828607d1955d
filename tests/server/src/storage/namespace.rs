//! Names of databases and collections, and their validation.

use crate::error::{Error, Result, code};
use bson::{Bson, Document};
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Namespace {
    pub(crate) database: String,
    pub(crate) collection: String,
}

impl Namespace {
    /// Validates both names.
    pub(crate) fn new(database: &str, collection: &str) -> Result<Namespace> {
        check_database(database)?;
        let namespace = Namespace {
            database: database.to_owned(),
            collection: collection.to_owned(),
        };
        let invalid = collection.is_empty()
            || collection.starts_with('.')
            || collection.contains('\0')
            || database.len() + collection.len() + 1 > 255;
        if invalid {
            return Err(Error::new(
                code::INVALID_NAMESPACE,
                format!("Invalid namespace specified '{namespace}'"),
            ));
        }
        Ok(namespace)
    }

    /// The namespace of the collection named by the first field of a command.
    pub(crate) fn of_command(database: &str, command: &str, body: &Document) -> Result<Namespace> {
        match body.get(command) {
            Some(Bson::String(collection)) => Namespace::new(database, collection),
            other => Err(Error::new(
                code::INVALID_NAMESPACE,
                format!(
                    "collection name has invalid type {}",
                    other.map_or("missing", |value| crate::value::type_name(value))
                ),
            )),
        }
    }

    /// Validates the namespace of a new collection.
    pub(crate) fn check_creatable(&self) -> Result<()> {
        if self.collection.contains('$') {
            return Err(Error::new(
                code::INVALID_NAMESPACE,
                format!("Invalid collection name: {}", self.collection),
            ));
        }
        let system = self.collection.starts_with("system.")
            && !matches!(
                self.collection.as_str(),
                "system.js" | "system.users" | "system.profile"
            );
        if system {
            return Err(Error::new(
                code::INVALID_NAMESPACE,
                format!("Invalid system namespace: {self}"),
            ));
        }
        Ok(())
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.database, self.collection)
    }
}

pub(crate) fn check_database(database: &str) -> Result<()> {
    let invalid = database.is_empty()
        || database.len() > 63
        || database
            .chars()
            .any(|c| matches!(c, '/' | '\\' | '.' | ' ' | '"' | '$' | '\0'));
    if invalid && database != "$external" {
        return Err(Error::new(
            code::INVALID_NAMESPACE,
            format!("Invalid database name: '{database}'"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_names() {
        assert!(Namespace::new("db", "a.b").is_ok());
        for (database, collection) in [("", "c"), ("a.b", "c"), ("db", ""), ("db", ".x"), ("d$", "c")] {
            assert_eq!(
                Namespace::new(database, collection).unwrap_err().code,
                73,
                "{database}.{collection}"
            );
        }
        assert_eq!(
            Namespace::new("db", "a$b")
                .unwrap()
                .check_creatable()
                .unwrap_err()
                .code,
            73
        );
    }
}
