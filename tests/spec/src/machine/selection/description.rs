//! Parses server and topology descriptions of the Server Selection tests.

use std::time::{Duration, Instant};

use marula_driver::{
    ServerAddress,
    bson::{DateTime, Document, doc, from_document, value_from_extended_json},
    event::{ServerDescription, ServerType, TopologyDescription, TopologyType},
    internals::{describe, description::HelloReply},
};
use serde_json::Value;

use crate::fields::Fields;

const SERVER_TYPES: &[ServerType] = &[
    ServerType::Unknown,
    ServerType::Standalone,
    ServerType::Mongos,
    ServerType::PossiblePrimary,
    ServerType::RsPrimary,
    ServerType::RsSecondary,
    ServerType::RsArbiter,
    ServerType::RsOther,
    ServerType::RsGhost,
    ServerType::LoadBalancer,
];

const TOPOLOGY_TYPES: &[TopologyType] = &[
    TopologyType::Unknown,
    TopologyType::Single,
    TopologyType::Sharded,
    TopologyType::ReplicaSetNoPrimary,
    TopologyType::ReplicaSetWithPrimary,
    TopologyType::LoadBalanced,
];

pub(crate) fn server_type(name: &str) -> Result<ServerType, String> {
    let mut known = SERVER_TYPES.iter().copied();
    known
        .find(|kind| kind.to_string() == name)
        .ok_or(format!("unknown server type {name}"))
}

pub(crate) fn topology_type(name: &str) -> Result<TopologyType, String> {
    let mut known = TOPOLOGY_TYPES.iter().copied();
    known
        .find(|kind| kind.to_string() == name)
        .ok_or(format!("unknown topology type {name}"))
}

/// Parses a topology description. `lastUpdateTime` is relative to `zero`.
pub(super) fn topology(fields: Fields<'_>, zero: Instant) -> Result<TopologyDescription, String> {
    let kind = topology_type(fields.need_text("type")?)?;
    let servers = servers(fields.need_list("servers")?, zero)?;
    fields.finish()?;
    Ok(describe::topology(kind, servers))
}

pub(super) fn servers(list: &[Value], zero: Instant) -> Result<Vec<ServerDescription>, String> {
    list.iter()
        .map(|server| self::server(Fields::new("server", server)?, zero))
        .collect()
}

fn server(fields: Fields<'_>, zero: Instant) -> Result<ServerDescription, String> {
    let address = address(fields.need_text("address")?)?;
    let kind = server_type(fields.need_text("type")?)?;
    let round_trip_time = fields.number("avg_rtt_ms")?.map(millis).transpose()?;
    let updated = fields.count("lastUpdateTime")?;
    let mut hello = Document::new();
    if let Some(write) = fields.object("lastWrite")? {
        // The files contain milliseconds without a type.
        let millis = write
            .integer("lastWriteDate")?
            .ok_or("lastWriteDate is missing")?;
        write.finish()?;
        hello.insert(
            "lastWrite",
            doc! { "lastWriteDate": DateTime::from_millis(millis) },
        );
    }
    for key in ["tags", "minWireVersion", "maxWireVersion"] {
        if let Some(value) = fields.given(key) {
            let value = value_from_extended_json(&value.to_string()).map_err(|error| error.to_string())?;
            hello.insert(key, value);
        }
    }
    fields.finish()?;
    let hello: HelloReply = from_document(&hello).map_err(|error| error.to_string())?;
    let updated = updated.map_or(zero, |millis| zero + Duration::from_millis(millis));
    Ok(describe::server(
        address,
        kind,
        hello,
        round_trip_time,
        Some(updated),
    ))
}

pub(crate) fn address(text: &str) -> Result<ServerAddress, String> {
    text.parse().map_err(|error| format!("{error}"))
}

/// Converts milliseconds with a fraction.
pub(super) fn millis(number: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(number / 1000.0).map_err(|error| format!("{number} ms: {error}"))
}
