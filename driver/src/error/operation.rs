//! The operation that an error belongs to.

use std::{fmt, sync::Arc};

use super::{Error, ErrorKind};
use crate::Namespace;

/// The name of a command, and its namespace.
#[derive(Debug)]
pub(super) struct OperationName {
    name: String,
    /// Without a collection for an operation on a database or on the deployment.
    database: String,
    collection: Option<String>,
}

impl Error {
    /// The name of the command that failed, or for which no server was found, e.g. `find`. `None` if the error
    /// does not come from one command: e.g. of an invalid connection string, of an argument that cannot be
    /// encoded, or of a time limit that expired between the commands of an action such as a GridFS upload.
    #[must_use]
    pub fn operation(&self) -> Option<&str> {
        Some(&self.named()?.name)
    }

    /// The database and the collection of the [operation](Self::operation). The collection is empty for
    /// an operation on a database or on the deployment.
    #[must_use]
    pub fn namespace(&self) -> Option<Namespace> {
        let operation = self.named()?;
        Some(Namespace {
            database: operation.database.clone(),
            collection: operation.collection.clone().unwrap_or_default(),
        })
    }

    /// The operation of the error, or of the error that interrupted a bulk write.
    fn named(&self) -> Option<&OperationName> {
        match &self.0.operation {
            Some(operation) => Some(operation),
            None => self.before_timeout().interruption()?.named(),
        }
    }

    /// Adds the name and the namespace of the operation, unless the error has those of an inner operation. The cause of a
    /// timeout has them too.
    pub(crate) fn with_operation(self, name: &str, database: &str, collection: Option<&str>) -> Self {
        if self.0.operation.is_some() {
            return self;
        }
        let operation = Arc::new(OperationName {
            name: name.to_owned(),
            database: database.to_owned(),
            collection: collection.map(str::to_owned),
        });
        self.of_operation(&operation)
    }

    pub(super) fn of_operation(self, operation: &Arc<OperationName>) -> Self {
        if self.0.operation.is_some() {
            return self;
        }
        self.edit(|e| {
            e.operation = Some(Arc::clone(operation));
            if let ErrorKind::Timeout(timeout) = &mut e.kind {
                timeout.name_cause(operation);
            }
        })
    }
}

impl fmt::Display for OperationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.name, self.database)?;
        match &self.collection {
            Some(collection) => write!(f, ".{collection}"),
            None => Ok(()),
        }
    }
}
