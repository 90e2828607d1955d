//! The arguments that every command takes, and the checks of them.

use super::table::Command;
use crate::deployment::Deployment;
use crate::error::{Error, Result, code};
use crate::features;
use crate::value::number::Number;
use bson::{Bson, Document, doc};

/// Fields that any command may have.
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

/// Whether any command may have the field.
pub(super) fn is_generic_field(field: &str) -> bool {
    GENERIC_FIELDS.contains(&field)
}

/// Fails on a field that neither all commands nor this one has.
pub(crate) fn check_fields(command: &Command, deployment: &Deployment, body: &Document) -> Result<()> {
    let Some(known) = command.fields else {
        return Ok(());
    };
    for field in body.keys().skip(1) {
        if !GENERIC_FIELDS.contains(&field.as_str()) && !known.contains(&field.as_str()) {
            if features::is_option(command.name, field) {
                return Err(Error::not_served(format!(
                    "{field} of the command {}",
                    command.name
                )));
            }
            return Err(Error::new(
                code::UNKNOWN_FIELD,
                format!("BSON field '{}.{field}' is an unknown field.", command.name),
            ));
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

/// The fields that say that a command is part of a transaction.
pub(crate) fn check_transaction(command: &Command, deployment: &Deployment, body: &Document) -> Result<()> {
    let invalid = |message: &str| Err(Error::new(code::INVALID_OPTIONS, message));
    let (starts, autocommit) = (body.get("startTransaction"), body.get("autocommit"));
    match (starts, autocommit) {
        (None, None) if matches!(command.name, "commitTransaction" | "abortTransaction") => {
            return invalid("commitTransaction and abortTransaction must be part of a transaction");
        }
        (None, None) => return Ok(()),
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
        return Err(Error::new(
            code::ILLEGAL_OPERATION,
            "Transaction numbers are only allowed on a replica set member or mongos",
        ));
    }
    let ends = matches!(command.name, "commitTransaction" | "abortTransaction");
    let makes = matches!(command.name, "create" | "createIndexes");
    if !command.in_transaction || (makes && !deployment.version.at_least(4, 4)) {
        return Err(Error::new(
            code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
            format!("Cannot run '{}' in a multi-document transaction.", command.name),
        ));
    }
    check_transaction_target(command, starts.is_some(), body)?;
    if body.contains_key("writeConcern") && !ends {
        return invalid("writeConcern is not allowed within a multi-statement transaction");
    }
    match body.get("readConcern") {
        Some(_) if starts.is_none() => {
            invalid("Only the first command in a transaction may specify a readConcern")
        }
        Some(Bson::Document(concern)) => match concern.get_str("level") {
            Ok("local" | "majority" | "snapshot") | Err(_) => Ok(()),
            Ok(_) => invalid(
                "The readConcern level must be either 'local' (default), 'majority' or 'snapshot' in order to run in a transaction",
            ),
        },
        _ => Ok(()),
    }
}

/// Transactions work on user databases only, and begin by an operation on data.
fn check_transaction_target(command: &Command, starts: bool, body: &Document) -> Result<()> {
    let refused = |message: String| Err(Error::new(code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION, message));
    let db = body.get_str("$db").unwrap_or_default();
    if matches!(db, "admin" | "config" | "local") && !command.admin_only {
        return refused(format!(
            "Cannot run command against the '{db}' database in a transaction."
        ));
    }
    if starts && command.name == "killCursors" {
        return refused(
            "Cannot run killCursors as the first operation in a multi-document transaction.".to_owned(),
        );
    }
    Ok(())
}

/// Whether a command is a retryable write by its fields: it has a transaction number and is not part of a transaction.
pub(crate) fn is_retryable_write(body: &Document) -> bool {
    body.contains_key("txnNumber") && !body.contains_key("autocommit")
}

fn is_snapshot(concern: &Document) -> bool {
    concern.get_str("level").is_ok_and(|level| level == "snapshot")
}

/// For a read with read concern `snapshot`: the time that it asks for, if it does.
pub(crate) fn snapshot_time(body: &Document) -> Option<Option<bson::Timestamp>> {
    match body.get("readConcern") {
        Some(Bson::Document(concern)) if is_snapshot(concern) => {
            Some(concern.get_timestamp("atClusterTime").ok())
        }
        _ => None,
    }
}

/// The read concern and the write concern must be ones that the server can give.
pub(crate) fn check_concerns(command: &Command, deployment: &Deployment, body: &Document) -> Result<()> {
    match body.get("readConcern") {
        None => {}
        Some(Bson::Document(concern)) if concern.contains_key("atClusterTime") && !is_snapshot(concern) => {
            return Err(Error::new(
                code::INVALID_OPTIONS,
                "readConcern.atClusterTime is only allowed with level snapshot",
            ));
        }
        Some(Bson::Document(concern))
            if concern.contains_key("afterClusterTime") && !deployment.is_replicated() =>
        {
            return Err(Error::new(
                code::NOT_A_REPLICA_SET,
                "node needs to be a replica set member to use read concern with afterClusterTime",
            ));
        }
        Some(Bson::Document(concern)) => match concern.get("level") {
            None => {}
            Some(Bson::String(level)) => match level.as_str() {
                "local" | "available" | "majority" | "linearizable" => {}
                "snapshot" if !deployment.is_replicated() => {
                    return Err(Error::new(
                        code::NOT_A_REPLICA_SET,
                        "readConcern level snapshot requires a replica set",
                    ));
                }
                "snapshot" if body.contains_key("autocommit") => {}
                "snapshot"
                    if !matches!(command.name, "find" | "aggregate" | "distinct")
                        || !deployment.version.at_least(5, 0) =>
                {
                    return Err(Error::new(
                        code::INVALID_OPTIONS,
                        format!(
                            "command {} does not support readConcern level snapshot",
                            command.name
                        ),
                    ));
                }
                "snapshot" => {}
                other => {
                    return Err(Error::bad_value(format!(
                        "Enumeration value '{other}' for field 'readConcern.level' is not a valid value."
                    )));
                }
            },
            Some(_) => {
                return Err(Error::type_mismatch(
                    "BSON field 'readConcern.level' must be a string",
                ));
            }
        },
        Some(_) => return Err(Error::type_mismatch("BSON field 'readConcern' must be an object")),
    }
    match body.get("writeConcern") {
        None => Ok(()),
        Some(Bson::Document(concern)) => check_write_concern(deployment, concern),
        Some(_) => Err(Error::type_mismatch(
            "BSON field 'writeConcern' must be an object",
        )),
    }
}

fn check_write_concern(deployment: &Deployment, concern: &Document) -> Result<()> {
    if let Some(field) = concern.keys().find(|field| {
        !matches!(
            field.as_str(),
            "w" | "j" | "fsync" | "wtimeout" | "getLastError" | "provenance" | "wTimeoutMS"
        )
    }) {
        return Err(Error::new(
            code::UNKNOWN_FIELD,
            format!("BSON field 'writeConcern.{field}' is an unknown field."),
        ));
    }
    match concern.get("w") {
        None => Ok(()),
        Some(Bson::String(mode)) if mode == "majority" || deployment.is_replicated() => Ok(()),
        Some(Bson::String(mode)) => Err(Error::bad_value(format!(
            "cannot use non-majority 'w' mode \"{mode}\" when a host is not a member of a replica set"
        ))),
        Some(value) => match Number::from_bson(value).and_then(Number::to_exact_i64) {
            Some(nodes) if !(0..=50).contains(&nodes) => Err(Error::failed_to_parse(
                "w has to be a non-negative number and not greater than 50",
            )),
            Some(nodes) if nodes > 1 && !deployment.is_replicated() => Err(Error::bad_value(
                "cannot use 'w' > 1 when a host is not replicated",
            )),
            Some(_) => Ok(()),
            None => Err(Error::failed_to_parse("w has to be a number, string, or object")),
        },
    }
}

/// The `writeConcernError` of a write that was done but cannot be acknowledged as asked.
pub(crate) fn unsatisfied_write_concern(deployment: &Deployment, body: &Document) -> Option<Document> {
    let Some(Bson::Document(concern)) = body.get("writeConcern") else {
        return None;
    };
    if !deployment.is_replicated() {
        return None;
    }
    let mut shown = concern.clone();
    shown.insert("provenance", "clientSupplied");
    let running = if deployment.is_replica_set() {
        deployment.topology(|t| t.members.iter().filter(|member| member.running).count() as i64)
    } else {
        // The members of a shard, which run as long as the cluster does.
        deployment.data_members() as i64
    };
    let error = |code: i32, message: String, info: Document| {
        Some(
            doc! { "code": code, "codeName": crate::error::code_name(code), "errmsg": message, "errInfo": info },
        )
    };
    match concern.get("w")? {
        Bson::String(mode) if mode == "majority" => None,
        Bson::String(mode) => error(
            code::UNKNOWN_REPL_WRITE_CONCERN,
            format!("No write concern mode named '{mode}' found in replica set configuration"),
            doc! { "writeConcern": shown },
        ),
        value => {
            let nodes = Number::from_bson(value)?.to_exact_i64()?;
            if nodes > deployment.data_members() as i64 {
                error(
                    code::UNSATISFIABLE_WRITE_CONCERN,
                    "Not enough data-bearing nodes".to_owned(),
                    doc! { "writeConcern": shown },
                )
            } else if nodes > running {
                error(
                    code::WRITE_CONCERN_FAILED,
                    "waiting for replication timed out".to_owned(),
                    doc! { "wtimeout": true, "writeConcern": shown },
                )
            } else {
                None
            }
        }
    }
}

/// Whether the command allows to be read from a secondary.
pub(crate) fn may_read_secondary(body: &Document) -> bool {
    match body.get("$readPreference") {
        Some(Bson::Document(preference)) => preference.get_str("mode").is_ok_and(|mode| mode != "primary"),
        _ => false,
    }
}
