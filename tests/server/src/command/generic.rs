//! The generic command fields, the transaction fields, and their checks.

use super::older_versions::unknown_option;
use super::structured_encryption::accepts_information;
use super::table::Command;
use crate::deployment::Deployment;
use crate::error::{Error, Result, code};
use crate::features;
use crate::refusal::{ServerProfile, transactions as rows};
use crate::session_info::{session_id, transaction_number};
use crate::value::number::Number;
use crate::violation::ViolationKind;
use bson::{Bson, Document};

/// Fields allowed in every command.
const GENERIC_FIELDS: [&str; 26] = [
    "$db",
    "lsid",
    "$clusterTime",
    "txnNumber",
    "autocommit",
    "startTransaction",
    "$readPreference",
    "readConcern",
    "writeConcern",
    "comment",
    "maxTimeMS",
    "apiVersion",
    "apiStrict",
    "apiDeprecationErrors",
    "rawData",
    "stmtId",
    "stmtIds",
    "$audit",
    "$client",
    "$configServerState",
    "maxTimeMSOpOnly",
    "help",
    "$queryOptions",
    "readOnly",
    "coordinator",
    "isImplicitDefault",
];

/// Whether the field is allowed in every command.
pub(super) fn is_generic_field(field: &str) -> bool {
    GENERIC_FIELDS.contains(&field)
}

/// Fails on a field that is neither generic nor one of this command.
pub(crate) fn check_fields(command: &Command, deployment: &Deployment, body: &Document) -> Result<()> {
    let Some(known) = command.fields else {
        return Ok(());
    };
    if super::api_version::ignores_unknown_fields(command, deployment.version) {
        return Ok(());
    }
    for field in body.keys().skip(1) {
        let is_known = GENERIC_FIELDS.contains(&field.as_str())
            || known.contains(&field.as_str())
            || (field == "encryptionInformation" && accepts_information(command.name));
        if !is_known {
            if features::is_option(command.name, field) {
                return Err(Error::not_served(format!(
                    "{field} of the command {}",
                    command.name
                )));
            }
            return Err(unknown_option(command.name, field, deployment.version, body));
        }
    }
    if body.contains_key("rawData") && !deployment.version.at_least(8, 2) {
        return Err(Error::new(
            code::UNKNOWN_FIELD,
            format!("BSON field '{}.rawData' is an unknown field.", command.name),
        ));
    }
    if let Some(limit) = body.get("maxTimeMS") {
        let limit = Number::from_bson(limit).ok_or_else(|| {
            Error::type_mismatch(format!(
                "BSON field '{}.maxTimeMS' must be a number",
                command.name
            ))
        })?;
        match limit.to_exact_i64() {
            Some(0..=2_147_483_647) => {}
            _ => {
                return Err(Error::bad_value(format!(
                    "{} value for maxTimeMS is out of range",
                    limit.to_f64()
                )));
            }
        }
    }
    Ok(())
}

/// Checks the fields of a command of a transaction.
pub(crate) fn check_transaction(command: &Command, deployment: &Deployment, body: &Document) -> Result<()> {
    let invalid = |message: &str| Err(Error::new(code::INVALID_OPTIONS, message));
    let misplaced =
        |kind: ViolationKind, message: &str| Err(Error::new(code::INVALID_OPTIONS, message).violating(kind));
    let (starts, autocommit) = (body.get("startTransaction"), body.get("autocommit"));
    match (starts, autocommit) {
        (None, None) if matches!(command.name, "commitTransaction" | "abortTransaction") => {
            return invalid("commitTransaction and abortTransaction must be part of a transaction");
        }
        (None, None) => return check_transaction_number(command, deployment, body),
        (Some(_), None) => {
            return invalid("'startTransaction' field requires 'autocommit' field to also be specified");
        }
        (Some(Bson::Boolean(true)) | None, Some(Bson::Boolean(false))) => {}
        (Some(_), Some(Bson::Boolean(false))) => {
            return invalid("Specifying startTransaction=false is not allowed.");
        }
        (_, Some(_)) => return invalid("Specifying autocommit=true is not allowed."),
    }
    if !deployment.is_replicated() {
        return Err(rows::STANDALONE.error(&[]));
    }
    let ends = matches!(command.name, "commitTransaction" | "abortTransaction");
    let makes = matches!(command.name, "create" | "createIndexes");
    let profile = deployment.profile();
    rows::COUNT.check(profile, command.name == "count", &[])?;
    rows::COMMAND.check(profile, !command.in_transaction, &[&command.name])?;
    rows::CREATE.check(profile, makes, &[&command.name])?;
    check_transaction_target(command, profile, starts.is_some(), body)?;
    if body.contains_key("writeConcern") && !ends {
        return misplaced(ViolationKind::WriteConcern, rows::WRITE_CONCERN.message);
    }
    match body.get("readConcern") {
        Some(_) if starts.is_none() => {
            misplaced(ViolationKind::ReadConcern, rows::READ_CONCERN_LATER.message)
        }
        Some(Bson::Document(concern)) => match concern.get_str("level") {
            Ok("local" | "majority" | "snapshot") | Err(_) => Ok(()),
            Ok(_) => invalid(rows::READ_CONCERN_LEVEL.message),
        },
        _ => Ok(()),
    }
}

/// Fails if a command outside of transactions has a `txnNumber` and is not a retryable write.
fn check_transaction_number(command: &Command, deployment: &Deployment, body: &Document) -> Result<()> {
    if transaction_number(body)?.is_none() || command.retryable_write {
        return Ok(());
    }
    let refused = if !deployment.is_replicated() {
        rows::STANDALONE.error(&[])
    } else if session_id(body)?.is_none() {
        Error::new(
            code::INVALID_OPTIONS,
            "Transaction number requires a session ID to also be specified",
        )
    } else {
        Error::new(
            50768,
            format!(
                "txnNumber may only be provided for multi-document transactions and retryable write commands. \
                 autocommit:false was not provided, and {} is not a retryable write command.",
                command.name
            ),
        )
    };
    Err(refused.violating(ViolationKind::SessionFields))
}

/// Fails if the command of a transaction is on a system database, or is `killCursors` and the first
/// of the transaction.
fn check_transaction_target(
    command: &Command,
    profile: ServerProfile,
    starts: bool,
    body: &Document,
) -> Result<()> {
    let db = body.get_str("$db").unwrap_or_default();
    let collection = body.values().next().and_then(Bson::as_str).unwrap_or_default();
    // `bulkWrite` runs on `admin`, and so do the commands on its results cursor.
    let is_bulk_write_cursor = command.name == "getMore"
        && body
            .get_str("collection")
            .is_ok_and(|name| name == "$cmd.bulkWrite");
    if !command.admin_only && !is_bulk_write_cursor {
        rows::DATABASE.check(profile, db == "local", &[&db])?;
        rows::CONFIG.check(profile, db == "config", &[])?;
        rows::ADMIN.check(profile, db == "admin", &[&db])?;
        let namespace = format!("{db}.{collection}");
        rows::PROFILE.check(profile, collection == "system.profile", &[&namespace])?;
        rows::SYSTEM_VIEWS.check(profile, collection == "system.views", &[&namespace])?;
    }
    rows::KILL_CURSORS.check(profile, starts && command.name == "killCursors", &[])
}

/// Whether the fields of a command are those of a retryable write: a `txnNumber` without
/// `autocommit`.
pub(crate) fn is_retryable_write(body: &Document) -> bool {
    body.contains_key("txnNumber") && !body.contains_key("autocommit")
}

/// Whether the read preference of the command allows a secondary.
pub(crate) fn may_read_secondary(body: &Document) -> bool {
    match body.get("$readPreference") {
        Some(Bson::Document(preference)) => preference.get_str("mode").is_ok_and(|mode| mode != "primary"),
        _ => false,
    }
}
