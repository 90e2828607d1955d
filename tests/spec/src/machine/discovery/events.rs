//! SDAM events, and their form in the test files.

use std::collections::BTreeSet;

use marula_driver::{
    ServerAddress,
    bson::ObjectId,
    event::{SdamEvent, ServerDescription, TopologyDescription},
};
use serde_json::Value;

use crate::{
    fields::{Fields, equal},
    machine::selection::description::{address, server_type, topology_type},
};

/// Checks that the events are exactly the expected ones, in order.
pub(super) fn check(events: &[SdamEvent], expected: &[Value], id: ObjectId) -> Result<(), String> {
    for (index, expected) in expected.iter().enumerate() {
        let event = events
            .get(index)
            .ok_or(format!("event {index} is missing: {expected}"))?;
        let expected = Fields::new("event", expected)?;
        let Some((name, fields)) = expected.entries().next() else {
            return Err("event without a name".to_owned());
        };
        check_one(event, name, Fields::new(name, fields)?, id)
            .map_err(|why| format!("event {index} ({event:?}): {why}"))?;
    }
    match events.get(expected.len()) {
        Some(more) => Err(format!("unexpected event: {more:?}")),
        None => Ok(()),
    }
}

fn check_one(event: &SdamEvent, name: &str, fields: Fields<'_>, id: ObjectId) -> Result<(), String> {
    let (kind, topology_id, server) = kind_of(event);
    equal("event type", &kind, &name)?;
    // The files use 42 for any value.
    fields.need("topologyId")?;
    equal("topologyId", &topology_id, &id)?;
    if let Some(server) = server {
        equal("address", server, &address(fields.need_text("address")?)?)?;
    }
    match event {
        SdamEvent::TopologyDescriptionChanged { previous, new, .. } => {
            check_topology(previous, need(&fields, "previousDescription")?)?;
            check_topology(new, need(&fields, "newDescription")?)?;
        }
        SdamEvent::ServerDescriptionChanged { previous, new, .. } => {
            check_server(previous, need(&fields, "previousDescription")?)?;
            check_server(new, need(&fields, "newDescription")?)?;
        }
        _ => {}
    }
    fields.finish()
}

fn kind_of(event: &SdamEvent) -> (&'static str, ObjectId, Option<&ServerAddress>) {
    match event {
        SdamEvent::TopologyOpening { topology_id } => ("topology_opening_event", *topology_id, None),
        SdamEvent::TopologyDescriptionChanged { topology_id, .. } => {
            ("topology_description_changed_event", *topology_id, None)
        }
        SdamEvent::TopologyClosed { topology_id } => ("topology_closed_event", *topology_id, None),
        SdamEvent::ServerOpening { topology_id, address } => {
            ("server_opening_event", *topology_id, Some(address))
        }
        SdamEvent::ServerDescriptionChanged {
            topology_id, address, ..
        } => ("server_description_changed_event", *topology_id, Some(address)),
        SdamEvent::ServerClosed { topology_id, address } => {
            ("server_closed_event", *topology_id, Some(address))
        }
        _ => ("heartbeat event", ObjectId::from_bytes([0; 12]), None),
    }
}

fn need<'a>(fields: &Fields<'a>, key: &str) -> Result<Fields<'a>, String> {
    fields.need(key)?;
    fields.object(key)?.ok_or(format!("{key} is null"))
}

fn check_topology(topology: &TopologyDescription, expected: Fields<'_>) -> Result<(), String> {
    let kind = topology_type(expected.need_text("topologyType")?)?;
    equal("topologyType", &topology.topology_type(), &kind)?;
    if expected.get("setName").is_some() {
        equal("setName", &topology.set_name(), &expected.text("setName")?)?;
    }
    let mut named = BTreeSet::new();
    for server in expected.need_list("servers")? {
        let server = Fields::new("server", server)?;
        let address = address(server.need_text("address")?)?;
        let actual = topology
            .server(&address)
            .ok_or(format!("{address} is not in {topology}"))?;
        check_server(actual, server)?;
        named.insert(address);
    }
    let actual: BTreeSet<_> = topology
        .servers()
        .map(|server| server.address().clone())
        .collect();
    equal("servers", &actual, &named)?;
    expected.finish()
}

fn check_server(server: &ServerDescription, expected: Fields<'_>) -> Result<(), String> {
    let at = address(expected.need_text("address")?)?;
    equal("address", server.address(), &at)?;
    let kind = server_type(expected.need_text("type")?)?;
    equal("type", &server.server_type(), &kind)?;
    for (key, actual) in [
        ("hosts", server.hosts()),
        ("passives", server.passives()),
        ("arbiters", server.arbiters()),
    ] {
        if let Some(list) = expected.list(key)? {
            let list: Vec<ServerAddress> = list
                .iter()
                .map(|name| address(name.as_str().ok_or(format!("{key} must contain strings"))?))
                .collect::<Result<_, _>>()?;
            equal(key, &actual.to_vec(), &list)?;
        }
    }
    if expected.get("primary").is_some() {
        let primary = expected.text("primary")?.map(address).transpose()?;
        equal("primary", &server.primary(), &primary.as_ref())?;
    }
    if expected.get("setName").is_some() {
        equal("setName", &server.set_name(), &expected.text("setName")?)?;
    }
    expected.finish()
}
