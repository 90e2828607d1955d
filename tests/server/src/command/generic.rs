//! The arguments that every command takes, and the checks of them.

use super::table::Command;
use crate::deployment::Deployment;
use crate::error::{Error, Result, code};
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

/// Fails on a field that neither all commands nor this one has.
pub(crate) fn check_fields(command: &Command, deployment: &Deployment, body: &Document) -> Result<()> {
    let Some(known) = command.fields else {
        return Ok(());
    };
    for field in body.keys().skip(1) {
        if !GENERIC_FIELDS.contains(&field.as_str()) && !known.contains(&field.as_str()) {
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

/// The versioned API: the declared version, and the commands it has.
pub(crate) fn check_api_version(command: &Command, body: &Document) -> Result<()> {
    let strict = body.get("apiStrict").is_some_and(crate::value::truthy);
    match body.get("apiVersion") {
        None if body.contains_key("apiStrict") || body.contains_key("apiDeprecationErrors") => {
            Err(Error::new(
                code::INVALID_OPTIONS,
                "Provided apiStrict and/or apiDeprecationErrors without passing apiVersion",
            ))
        }
        None => Ok(()),
        Some(Bson::String(version)) if version == "1" => {
            if strict && !command.api_v1 {
                return Err(Error::new(
                    code::API_STRICT_ERROR,
                    format!(
                        "Provided apiStrict:true, but the command {} is not in API Version 1. Information on supported \
                         commands and migrations in API Version 1 can be found in the manual.",
                        command.name
                    ),
                ));
            }
            Ok(())
        }
        Some(Bson::String(_)) => Err(Error::new(code::API_VERSION_ERROR, "API version must be \"1\"")),
        Some(_) => Err(Error::type_mismatch(
            "BSON field 'apiVersion' is the wrong type, expected type 'string'",
        )),
    }
}

/// Transactions are not served yet.
pub(crate) fn check_transaction(body: &Document) -> Result<()> {
    if body.contains_key("startTransaction") || body.contains_key("autocommit") {
        return Err(Error::new(
            code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
            "multi-document transactions are not supported by this test server",
        ));
    }
    Ok(())
}

/// The read concern and the write concern must be ones that the server can give.
pub(crate) fn check_concerns(command: &Command, deployment: &Deployment, body: &Document) -> Result<()> {
    match body.get("readConcern") {
        None => {}
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
                "snapshot" if !matches!(command.name, "find" | "aggregate" | "distinct") => {
                    return Err(Error::new(
                        code::INVALID_OPTIONS,
                        format!(
                            "command {} does not support readConcern level snapshot",
                            command.name
                        ),
                    ));
                }
                "snapshot" => return Err(Error::not_served("readConcern level snapshot")),
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
