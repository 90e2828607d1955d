//! Checks the outcome of a phase.

use std::collections::BTreeSet;

use marula_driver::{bson::ObjectId, event::ServerDescription};
use serde_json::Value;

use super::{document, events, simulation::Simulation};
use crate::{
    fields::{Fields, equal},
    machine::selection::description::{address, server_type, topology_type},
};

pub(super) fn check(simulation: &mut Simulation, outcome: Fields<'_>) -> Result<(), String> {
    let topology = &simulation.topology;
    if let Some(servers) = outcome.object("servers")? {
        let actual: BTreeSet<String> = topology
            .servers()
            .map(|server| server.address().to_string())
            .collect();
        let mut named = BTreeSet::new();
        for (name, expected) in servers.entries() {
            let address = address(name)?;
            named.insert(address.to_string());
            let server = topology
                .server(&address)
                .ok_or(format!("{name} is not in {topology}"))?;
            let expected = Fields::new(name, expected)?;
            check_server(server, simulation.generation(&address), expected)
                .map_err(|why| format!("{name}: {why}"))?;
        }
        equal("servers", &actual, &named)?;
    }
    if let Some(kind) = outcome.text("topologyType")? {
        equal("topologyType", &topology.topology_type(), &topology_type(kind)?)?;
    }
    if outcome.get("setName").is_some() {
        equal("setName", &topology.set_name(), &outcome.text("setName")?)?;
    }
    if outcome.get("logicalSessionTimeoutMinutes").is_some() {
        let minutes = topology.logical_session_timeout().map(|time| time.as_secs() / 60);
        let expected = outcome.count("logicalSessionTimeoutMinutes")?;
        equal("logicalSessionTimeoutMinutes", &minutes, &expected)?;
    }
    if outcome.get("maxSetVersion").is_some() {
        let expected = outcome.integer("maxSetVersion")?;
        equal("maxSetVersion", &topology.max_set_version(), &expected)?;
    }
    if let Some(expected) = outcome.get("maxElectionId") {
        equal(
            "maxElectionId",
            &topology.max_election_id(),
            &object_id(expected)?,
        )?;
    }
    if let Some(expected) = outcome.flag("compatible")? {
        equal("compatible", &topology.is_compatible(), &expected)?;
    }
    if let Some(expected) = outcome.list("events")? {
        let events = std::mem::take(&mut simulation.events);
        events::check(&events, expected, simulation.id)?;
    }
    outcome.finish()
}

fn check_server(
    server: &ServerDescription,
    generation: Option<u64>,
    expected: Fields<'_>,
) -> Result<(), String> {
    equal(
        "type",
        &server.server_type(),
        &server_type(expected.need_text("type")?)?,
    )?;
    if expected.get("setName").is_some() {
        equal("setName", &server.set_name(), &expected.text("setName")?)?;
    }
    if expected.get("setVersion").is_some() {
        equal(
            "setVersion",
            &server.set_version(),
            &expected.integer("setVersion")?,
        )?;
    }
    if let Some(expected) = expected.get("electionId") {
        equal("electionId", &server.election_id(), &object_id(expected)?)?;
    }
    if expected.get("logicalSessionTimeoutMinutes").is_some() {
        let minutes = server.logical_session_timeout().map(|time| time.as_secs() / 60);
        let expected = expected.count("logicalSessionTimeoutMinutes")?;
        equal("logicalSessionTimeoutMinutes", &minutes, &expected)?;
    }
    for (key, actual) in [
        ("minWireVersion", server.min_wire_version()),
        ("maxWireVersion", server.max_wire_version()),
    ] {
        if expected.get(key).is_some() {
            equal(key, &actual.map(i64::from), &expected.integer(key)?)?;
        }
    }
    if expected.get("topologyVersion").is_some() {
        let actual = server
            .topology_version()
            .map(|version| (version.process_id, version.counter));
        let version = match expected.object("topologyVersion")? {
            None => None,
            Some(version) => {
                let process = object_id(version.need("processId")?)?.ok_or("processId is null")?;
                let counter = version.integer("counter")?.ok_or("counter is missing")?;
                version.finish()?;
                Some((process, counter))
            }
        };
        equal("topologyVersion", &actual, &version)?;
    }
    if let Some(pool) = expected.object("pool")? {
        equal("pool generation", &generation, &pool.count("generation")?)?;
        pool.finish()?;
    }
    if let Some(part) = expected.text("error")? {
        let error = server.error().unwrap_or_default();
        if !error.contains(part) {
            return Err(format!("error is \"{error}\", expected to contain \"{part}\""));
        }
    }
    expected.finish()
}

fn object_id(value: &Value) -> Result<Option<ObjectId>, String> {
    if value.is_null() {
        return Ok(None);
    }
    let holder = document(&serde_json::json!({ "id": value }))?;
    holder
        .get_object_id("id")
        .map(Some)
        .map_err(|error| format!("{value}: {error}"))
}
