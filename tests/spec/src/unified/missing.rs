//! What the driver does not have yet, and what it leaves out on purpose: the one place that says so.
//!
//! A test that needs something of the first kind is pending, under the name given here. An operation or argument that is
//! neither here nor known to the runner is a failure.

use marula_driver::{Error, ErrorKind};

/// In-use encryption.
pub(crate) const ENCRYPTION: &str = "clientEncryption";
/// `expectTracingMessages`
pub(crate) const TRACING: &str = "tracing";
/// Transactions, and the assertions about them.
pub(crate) const TRANSACTIONS: &str = "transactions";
/// Whether a session met a network error.
pub(crate) const SESSION_DIRTY: &str = "sessionDirty";
/// What `$$placeholder` in `authMechanismProperties` stands for.
pub(crate) const OIDC: &str = "MONGODB-OIDC";

/// Mechanisms of authentication.
pub(crate) fn mechanism(name: &str) -> bool {
    ["MONGODB-OIDC", "MONGODB-AWS", "GSSAPI"]
        .iter()
        .any(|lacking| lacking.eq_ignore_ascii_case(name))
}

/// Types of entities that cannot be made.
pub(crate) fn entity(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "bucket" => "bucket",
        "clientEncryption" => ENCRYPTION,
        _ => return None,
    })
}

/// Operations that the driver lacks, by the type of their object.
pub(crate) fn operation(object: &str, name: &str) -> bool {
    match object {
        "client" => matches!(name, "clientBulkWrite" | "createChangeStream"),
        "database" | "collection" => name == "createChangeStream",
        _ => false,
    }
}

/// Operations that the driver does without, with the reason.
pub(crate) fn left_out(name: &str) -> Option<&'static str> {
    Some(match name {
        "count" => {
            "the deprecated helper count is left out; countDocuments and estimatedDocumentCount are there"
        }
        "mapReduce" => "the deprecated helper mapReduce is left out; aggregate is there",
        "listDatabaseObjects" => "databases are listed as specifications or names, not as handles",
        "listCollectionObjects" => "collections are listed as specifications or names, not as handles",
        _ => return None,
    })
}

/// Arguments that the specifications have and the driver lacks.
pub(crate) fn argument(operation: &str, name: &str) -> bool {
    match name {
        "session" | "timeoutMS" => true,
        "timeoutMode" => matches!(
            operation,
            "find"
                | "aggregate"
                | "createFindCursor"
                | "listCollections"
                | "listIndexes"
                | "runCursorCommand"
                | "createCommandCursor"
        ),
        "cursorType" | "maxAwaitTimeMS" | "oplogReplay" => matches!(operation, "find" | "createFindCursor"),
        "encryptedFields" => matches!(operation, "createCollection" | "dropCollection"),
        "readConcern" | "readPreference" | "writeConcern" => true,
        _ => false,
    }
}

/// What a pending test is told to wait for: abilities of all operations have one name.
pub(crate) fn argument_name(operation: &str, name: &str) -> String {
    match name {
        "session" | "timeoutMS" => name.to_owned(),
        _ => format!("{operation}.{name}"),
    }
}

/// The option that made the driver refuse to make a client, if it refused one that it knows but lacks.
pub(crate) fn client_option(error: &Error) -> Option<String> {
    match error.kind() {
        ErrorKind::Unsupported(message) => message
            .split_once(" is not available in this version")
            .map(|(what, _)| what.to_owned()),
        _ => None,
    }
}

/// Options of connection strings that the driver does without, with the reason.
pub(crate) fn uri_option(name: &str) -> Option<&'static str> {
    (name == "waitqueuesize").then_some(
        "waitQueueSize is deprecated: a driver that does not have it must not add it (Connection Monitoring and Pooling)",
    )
}
