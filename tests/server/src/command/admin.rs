//! Commands about the server itself, connections, sessions and fail points.

use super::Call;
use crate::error::{Error, Result, code};
use crate::settings;
use bson::{Bson, DateTime, Document, doc};

pub(crate) fn ping(_: &Call<'_>) -> Result<Document> {
    Ok(Document::new())
}

pub(crate) fn build_info(call: &Call<'_>) -> Result<Document> {
    let version = call.deployment.version;
    Ok(doc! {
        "version": version.to_string(),
        "versionArray": [version.major as i32, version.minor as i32, version.patch as i32, 0],
        "gitVersion": "marula-test-server",
        "modules": [],
        "bits": 64,
        "debug": false,
        "maxBsonObjectSize": crate::storage::collection::MAX_DOCUMENT_SIZE as i32,
        "storageEngines": ["marula-memory"],
    })
}

pub(crate) fn get_parameter(call: &Call<'_>) -> Result<Document> {
    let all = call.deployment.parameters().clone();
    if matches!(call.body.get(call.key), Some(Bson::String(text)) if text == "*") {
        return Ok(all);
    }
    let requested = call
        .body
        .iter()
        .skip(1)
        .filter(|(name, _)| all.contains_key(name.as_str()));
    let found: Document = requested
        .filter_map(|(name, _)| Some((name.clone(), all.get(name)?.clone())))
        .collect();
    if found.is_empty() {
        return Err(Error::new(code::INVALID_OPTIONS, "no option found to get"));
    }
    Ok(found)
}

pub(crate) fn set_parameter(call: &Call<'_>) -> Result<Document> {
    let Some((name, value)) = call
        .body
        .iter()
        .skip(1)
        .find(|(name, _)| !name.starts_with('$') && *name != "lsid")
    else {
        return Err(Error::new(
            code::INVALID_OPTIONS,
            "no option found to set, use help:true to see options",
        ));
    };
    let mut parameters = call.deployment.parameters();
    if !parameters.contains_key(name) {
        return Err(Error::new(
            code::INVALID_OPTIONS,
            format!("attempted to set unrecognized parameter [{name}], use help:true to see options"),
        ));
    }
    if !settings::is_settable(name) {
        return Err(Error::new(
            code::ILLEGAL_OPERATION,
            format!("not allowed to change [{name}] at runtime"),
        ));
    }
    settings::check_parameter(&parameters, name, value)
        .map_err(|error| Error::type_mismatch(error.to_string()))?;
    let previous = parameters.insert(name, value.clone());
    Ok(doc! { "was": previous })
}

/// `endSessions` and `killSessions`. Both abort the transactions of the sessions; only
/// `endSessions` removes the sessions.
pub(crate) fn end_sessions(call: &Call<'_>) -> Result<Document> {
    match call.body.get(call.key) {
        Some(Bson::Array(ids)) => {
            call.deployment.sessions.end(ids, call.name == "endSessions");
            Ok(Document::new())
        }
        _ => Err(Error::type_mismatch(format!(
            "BSON field '{}' must be an array of sessions",
            call.name
        ))),
    }
}

/// `refreshSessions`. Does nothing, because sessions do not expire.
pub(crate) fn sessions_ok(_: &Call<'_>) -> Result<Document> {
    Ok(Document::new())
}

/// `killAllSessions`. Aborts all transactions.
pub(crate) fn kill_all_sessions(call: &Call<'_>) -> Result<Document> {
    call.deployment.sessions.abort_all();
    Ok(Document::new())
}

pub(crate) fn commit_transaction(call: &Call<'_>) -> Result<Document> {
    call.deployment
        .sessions
        .commit(call.deployment, call.member.index, call.body)?;
    Ok(Document::new())
}

pub(crate) fn abort_transaction(call: &Call<'_>) -> Result<Document> {
    call.deployment.sessions.abort(call.member.index, call.body)?;
    Ok(Document::new())
}

pub(crate) fn start_session(_: &Call<'_>) -> Result<Document> {
    Ok(doc! { "id": { "id": bson::Uuid::new() }, "timeoutMinutes": 30 })
}

pub(crate) fn host_info(call: &Call<'_>) -> Result<Document> {
    Ok(doc! {
        "system": { "currentTime": DateTime::now(), "hostname": &call.deployment.hosts[call.member.index], "cpuAddrSize": 64 },
        "os": { "type": std::env::consts::OS, "name": std::env::consts::OS },
        "extra": {},
    })
}

pub(crate) fn server_status(call: &Call<'_>) -> Result<Document> {
    let deployment = call.deployment;
    let uptime = deployment.started.elapsed().unwrap_or_default();
    let mut status = doc! {
        "host": &call.deployment.hosts[call.member.index],
        "version": deployment.version.to_string(),
        "process": if deployment.is_mongos() { "mongos" } else { "mongod" },
        "pid": i64::from(std::process::id()),
        "uptime": uptime.as_secs_f64(),
        "uptimeMillis": uptime.as_millis() as i64,
        "localTime": DateTime::now(),
        "connections": {
            "current": deployment.events.open_connections() as i32,
            "available": 100_000,
            "totalCreated": deployment.events.connections_created() as i32,
        },
        "metrics": { "cursor": { "open": { "total": call.member.cursors.len() as i64 } } },
        "storageEngine": { "name": "marula-memory", "persistent": false },
    };
    if let Some(name) = &deployment.set_name {
        status.insert(
            "repl",
            doc! { "setName": name, "isWritablePrimary": call.is_writable() },
        );
    }
    Ok(status)
}

pub(crate) fn whats_my_uri(call: &Call<'_>) -> Result<Document> {
    Ok(doc! { "you": &call.client.peer })
}

pub(crate) fn command_line(_: &Call<'_>) -> Result<Document> {
    Ok(doc! { "argv": ["marula-test-server"], "parsed": {} })
}

pub(crate) fn get_log(call: &Call<'_>) -> Result<Document> {
    match call.body.get(call.key) {
        Some(Bson::String(name)) if name == "*" => Ok(doc! { "names": ["global", "startupWarnings"] }),
        Some(Bson::String(name)) if name == "global" || name == "startupWarnings" => {
            Ok(doc! { "totalLinesWritten": 0, "log": [] })
        }
        _ => Err(Error::new(
            code::INVALID_OPTIONS,
            "getLog requires '*', 'global' or 'startupWarnings'",
        )),
    }
}

pub(crate) fn configure_fail_point(call: &Call<'_>) -> Result<Document> {
    call.member.fail_points.configure(call.body)?;
    Ok(doc! { "count": 0 })
}
