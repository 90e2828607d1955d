//! Validation of read concerns and write concerns, and of the commands that they are sent with.

use super::table::{Access, Command};
use crate::deployment::Deployment;
use crate::error::{Error, Result, code};
use crate::value::format;
use crate::value::number::Number;
use crate::violation::ViolationKind;
use bson::{Bson, Document, Timestamp, doc};

fn is_snapshot(concern: &Document) -> bool {
    concern.get_str("level").is_ok_and(|level| level == "snapshot")
}

/// For a read with read concern `snapshot`: its `atClusterTime`, if there is one.
pub(crate) fn snapshot_time(body: &Document) -> Option<Option<bson::Timestamp>> {
    match body.get("readConcern") {
        Some(Bson::Document(concern)) if is_snapshot(concern) => {
            Some(concern.get_timestamp("atClusterTime").ok())
        }
        _ => None,
    }
}

/// Whether a command supports a write concern.
pub(crate) fn supports_write_concern(command: &Command, body: &Document) -> bool {
    match command.name {
        "aggregate" => body.get_array("pipeline").is_ok_and(|stages| {
            let last = stages.last().and_then(Bson::as_document);
            last.is_some_and(|stage| stage.contains_key("$out") || stage.contains_key("$merge"))
        }),
        "mapReduce" => !body
            .get_document("out")
            .is_ok_and(|out| out.contains_key("inline")),
        "enableSharding" | "shardCollection" | "refineCollectionShardKey" => true,
        "createSearchIndexes" | "updateSearchIndex" | "dropSearchIndex" => false,
        _ => command.access == Access::Write,
    }
}

/// Whether a command supports a read concern of this level. Every command accepts `local`, the
/// default.
fn supports_read_concern(command: &Command, level: &str, body: &Document) -> bool {
    match command.name {
        "find" | "aggregate" | "count" | "distinct" | "getMore" | "explain" => true,
        "mapReduce" => matches!(level, "local" | "available"),
        "insert" | "update" | "delete" | "findAndModify" | "bulkWrite" => {
            level == "local" || body.contains_key("startTransaction")
        }
        _ => level == "local",
    }
}

/// Whether drivers may send this read concern with the command. This is stricter than MongoDB,
/// which accepts the default level with every command. `afterClusterTime` without a level is also
/// allowed with writes, because causally consistent sessions send it with every command. The level
/// `snapshot` of a snapshot session with a write is not a violation; the server rejects it.
fn may_have_read_concern(command: &Command, concern: &Document, body: &Document) -> bool {
    !concern.contains_key("level")
        || is_snapshot(concern)
        || body.contains_key("startTransaction")
        || matches!(
            command.name,
            "find" | "aggregate" | "count" | "distinct" | "mapReduce" | "getMore" | "explain"
        )
}

/// The detail of a violation: a read concern that the server accepts but drivers must not send with
/// this command.
pub(crate) fn misplaced_read_concern(command: &Command, body: &Document) -> Option<&'static str> {
    match body.get("readConcern") {
        Some(Bson::Document(concern)) if !may_have_read_concern(command, concern, body) => {
            Some("the command does not support a read concern level")
        }
        _ => None,
    }
}

/// Fails if the read concern or write concern is invalid or not supported by the command.
pub(crate) fn check_concerns(command: &Command, deployment: &Deployment, body: &Document) -> Result<()> {
    match body.get("readConcern") {
        None => {}
        Some(Bson::Document(concern)) => check_read_concern(command, deployment, body, concern)?,
        Some(_) => return Err(Error::type_mismatch("BSON field 'readConcern' must be an object")),
    }
    match body.get("writeConcern") {
        None => Ok(()),
        // Parse errors come first.
        Some(_) if command.name == "aggregate" && body.get_bool("explain").unwrap_or(false) => Ok(()),
        Some(_) if !supports_write_concern(command, body) => Err(Error::new(
            code::INVALID_OPTIONS,
            "Command does not support writeConcern",
        )
        .violating(ViolationKind::WriteConcern)),
        Some(Bson::Document(concern)) => check_write_concern(deployment, concern),
        Some(_) => Err(Error::type_mismatch(
            "BSON field 'writeConcern' must be an object",
        )),
    }
}

fn check_read_concern(
    command: &Command,
    deployment: &Deployment,
    body: &Document,
    concern: &Document,
) -> Result<()> {
    const FIELDS: [&str; 7] = [
        "level",
        "afterClusterTime",
        "afterOpTime",
        "atClusterTime",
        "provenance",
        "$allowTransactionTableSnapshot",
        "$waitLastStableRecoveryTimestamp",
    ];
    if let Some(field) = concern.keys().find(|field| !FIELDS.contains(&field.as_str())) {
        let refused = if deployment.version.at_least(8, 0) {
            Error::new(
                code::UNKNOWN_FIELD,
                format!("BSON field 'readConcern.{field}' is an unknown field."),
            )
        } else {
            Error::new(
                code::INVALID_OPTIONS,
                format!("Unrecognized option in readConcern: {field}"),
            )
        };
        return Err(refused);
    }
    if concern.contains_key("atClusterTime") && !is_snapshot(concern) {
        return Err(Error::new(
            code::INVALID_OPTIONS,
            "readConcern.atClusterTime is only allowed with level snapshot",
        ));
    }
    match concern.get("afterClusterTime") {
        None => {}
        Some(_) if !deployment.is_replicated() => {
            return Err(Error::new(
                code::NOT_A_REPLICA_SET,
                "node needs to be a replica set member to use read concern with afterClusterTime",
            ));
        }
        Some(Bson::Timestamp(time)) => check_time(deployment, *time)?,
        Some(other) => {
            return Err(Error::type_mismatch(format!(
                "BSON field 'readConcern.afterClusterTime' is the wrong type '{}', expected type 'timestamp'",
                crate::value::type_name(other)
            )));
        }
    }
    let level = match concern.get("level") {
        None => return Ok(()),
        Some(Bson::String(level)) => level.as_str(),
        Some(_) => {
            return Err(Error::type_mismatch(
                "BSON field 'readConcern.level' must be a string",
            ));
        }
    };
    match level {
        "snapshot" if command.name == "getMore" => Ok(()),
        "snapshot" if !deployment.is_replicated() => Err(Error::new(
            code::NOT_A_REPLICA_SET,
            "readConcern level snapshot requires a replica set",
        )),
        "snapshot" if body.contains_key("autocommit") => Ok(()),
        "snapshot"
            if !matches!(command.name, "find" | "aggregate" | "distinct")
                || !deployment.version.at_least(5, 0) =>
        {
            Err(Error::new(
                code::INVALID_OPTIONS,
                format!(
                    "command {} does not support readConcern level snapshot",
                    command.name
                ),
            ))
        }
        "snapshot" => Ok(()),
        "local" | "available" | "majority" | "linearizable" => {
            if supports_read_concern(command, level, body) {
                return Ok(());
            }
            Err(Error::new(
                code::INVALID_OPTIONS,
                format!(
                    "Command {} does not support {{ readConcern: {} }} :: caused by :: read concern not supported",
                    command.name,
                    format::document(&shown(concern))
                ),
            )
            .violating(ViolationKind::ReadConcern))
        }
        other => Err(Error::bad_value(format!(
            "Enumeration value '{other}' for field 'readConcern.level' is not a valid value."
        ))),
    }
}

/// A concern in the form of error messages.
fn shown(concern: &Document) -> Document {
    let mut shown = concern.clone();
    shown.insert("provenance", "clientSupplied");
    shown
}

/// Fails if the requested time is later than the cluster time.
fn check_time(deployment: &Deployment, asked: Timestamp) -> Result<()> {
    let now = deployment.operation_time();
    if (asked.time, asked.increment) <= (now.time, now.increment) {
        return Ok(());
    }
    let text = |time: Timestamp| format!("{{ ts: Timestamp({}, {}) }}", time.time, time.increment);
    Err(Error::new(
        code::INVALID_OPTIONS,
        format!(
            "readConcern afterClusterTime value must not be greater than the current clusterTime. Requested clusterTime: {}; \
             current clusterTime: {}",
            text(asked),
            text(now)
        ),
    ))
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

/// The `writeConcernError` of a completed write whose write concern cannot be satisfied.
pub(crate) fn unsatisfied_write_concern(deployment: &Deployment, body: &Document) -> Option<Document> {
    let Some(Bson::Document(concern)) = body.get("writeConcern") else {
        return None;
    };
    if !deployment.is_replicated() {
        return None;
    }
    let shown = shown(concern);
    let running = if deployment.is_replica_set() {
        deployment.topology(|t| t.members.iter().filter(|member| member.running).count() as i64)
    } else {
        // The members of the shard are always running.
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
