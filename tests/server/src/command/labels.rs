//! The error labels that the server adds, unless a fail point specifies them.

use crate::deployment::Deployment;
use crate::member::Member;
use bson::{Bson, Document};

/// Codes with the label `RetryableWriteError`.
const RETRYABLE_CODES: [i32; 12] = [6, 7, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436];
/// Codes with the label `TransientTransactionError`, besides the retryable ones.
const TRANSIENT_CODES: [i32; 6] = [24, 112, 239, 246, 251, 267];

/// Whether a command is `commitTransaction` or `abortTransaction`.
pub(super) fn ends_transaction(body: &Document) -> bool {
    body.keys()
        .next()
        .is_some_and(|name| matches!(name.as_str(), "commitTransaction" | "abortTransaction"))
}

/// Codes with the label `ResumableChangeStreamError`, besides the retryable ones.
const RESUMABLE_CODES: [i32; 5] = [63, 133, 150, 234, 13388];

/// Whether a command reads from a change stream.
fn reads_stream(member: &Member, body: &Document) -> bool {
    match body.iter().next() {
        Some((name, Bson::Int64(id))) if name == "getMore" => member.cursors.is_stream(*id),
        Some((name, _)) if name == "aggregate" => body.get_array("pipeline").is_ok_and(|stages| {
            let first = stages.first().and_then(Bson::as_document);
            first.is_some_and(|stage| stage.contains_key("$changeStream"))
        }),
        _ => false,
    }
}

/// The labels of the error of a command.
pub(super) fn of_error(
    deployment: &Deployment,
    member: &Member,
    body: &Document,
    code: i32,
) -> Option<Vec<String>> {
    let resumable = RESUMABLE_CODES.contains(&code) || RETRYABLE_CODES.contains(&code);
    if resumable && deployment.version.at_least(4, 4) && reads_stream(member, body) {
        return Some(vec!["ResumableChangeStreamError".to_owned()]);
    }
    without_cursor(deployment, body, code)
}

/// The labels of a `getMore` that failed before its cursor was found.
pub(super) fn without_cursor(deployment: &Deployment, body: &Document, code: i32) -> Option<Vec<String>> {
    if !deployment.is_replicated() || !body.contains_key("txnNumber") {
        return Some(Vec::new());
    }
    let in_transaction = body.contains_key("autocommit");
    let ends = ends_transaction(body);
    let retryable = RETRYABLE_CODES.contains(&code);
    let mut labels = Vec::new();
    let transient = TRANSIENT_CODES.contains(&code) || (retryable && !ends);
    if in_transaction && transient {
        labels.push("TransientTransactionError".to_owned());
    }
    if retryable && (!in_transaction || ends) && deployment.version.at_least(4, 4) {
        labels.push("RetryableWriteError".to_owned());
    }
    Some(labels)
}

/// Adds a write concern error to the reply of an executed command.
pub(super) fn add_write_concern_error(
    deployment: &Deployment,
    reply: &mut Document,
    error: Document,
    body: &Document,
    given: Option<Vec<String>>,
) {
    let retryable = body.contains_key("txnNumber")
        && (!body.contains_key("autocommit") || ends_transaction(body))
        && deployment.version.at_least(4, 4)
        && error
            .get_i32("code")
            .is_ok_and(|code| RETRYABLE_CODES.contains(&code));
    reply.insert("writeConcernError", error);
    let labels = given.unwrap_or_else(|| {
        if retryable {
            vec!["RetryableWriteError".into()]
        } else {
            Vec::new()
        }
    });
    if !labels.is_empty() {
        reply.insert("errorLabels", labels);
    }
}
