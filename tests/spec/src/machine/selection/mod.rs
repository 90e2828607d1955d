//! Server Selection and Max Staleness: suitable servers and the latency window.

pub(crate) mod description;
mod times;
mod window;

use std::{
    collections::BTreeSet,
    path::Path,
    time::{Duration, Instant},
};

use marula_driver::{
    event::ServerDescription,
    internals::server_selection::{Criteria, in_latency_window, suitable_servers, validate},
    options::{ReadPreference, ReadPreferenceMode, TagSet},
};
use serde_json::Value;

use crate::{
    case::Case,
    fields::Fields,
    files,
    machine::{Check, case_of_file},
};

/// Collects the cases of both suites.
pub fn collect(root: &Path) -> Vec<Case> {
    let folders: [(&str, &str, Check); 4] = [
        (
            "server-selection/tests/server_selection",
            "server-selection",
            check,
        ),
        ("server-selection/tests/rtt", "rtt", times::check),
        ("server-selection/tests/in_window", "in_window", window::check),
        ("max-staleness/tests", "max-staleness", check),
    ];
    let mut cases = Vec::new();
    for (folder, format, check) in folders {
        for file in files::below(root, folder) {
            cases.push(case_of_file(root, format, &file, check));
        }
    }
    cases
}

fn check(test: &Value) -> Result<(), String> {
    // Times in the files are relative.
    let zero = Instant::now();
    let test = Fields::new("test", test)?;
    test.text("description")?;
    let topology = test
        .object("topology_description")?
        .ok_or("test.topology_description is missing")?;
    let topology = description::topology(topology, zero)?;
    let operation = test.text("operation")?;
    let preference = test.object("read_preference")?.map(read_preference).transpose()?;
    let deprioritized = description::servers(test.list("deprioritized_servers")?.unwrap_or_default(), zero)?;
    let heartbeat = test.count("heartbeatFrequencyMS")?.unwrap_or(10_000);
    let fails = test.flag("error")?.unwrap_or_default();
    let suitable = test.list("suitable_servers")?;
    let window = test.list("in_latency_window")?;
    test.finish()?;

    let preference = preference.unwrap_or_default();
    let criteria = match operation {
        Some("write") => Criteria::Writable,
        Some("read") | None => Criteria::Read(&preference),
        Some(other) => return Err(format!("unknown operation {other}")),
    };
    let heartbeat = Duration::from_millis(heartbeat);
    match (validate(&topology, criteria, heartbeat), fails) {
        (Ok(()), false) => {}
        (Err(_), true) => return Ok(()),
        (Ok(()), true) => return Err("accepted".to_owned()),
        (Err(why), false) => return Err(format!("rejected: {why}")),
    }
    let deprioritized: Vec<_> = deprioritized.iter().map(|server| addresses([server])).collect();
    let deprioritized: Vec<_> = deprioritized
        .into_iter()
        .flatten()
        .map(|address| description::address(&address))
        .collect::<Result<_, _>>()?;
    let mut found = suitable_servers(&topology, criteria, &deprioritized, heartbeat);
    if let Some(expected) = suitable {
        same("suitable", &found, &description::servers(expected, zero)?)?;
    }
    in_latency_window(&mut found, Duration::from_millis(15));
    match window {
        Some(expected) => same(
            "in the latency window",
            &found,
            &description::servers(expected, zero)?,
        ),
        None => Ok(()),
    }
}

fn addresses<'a>(servers: impl IntoIterator<Item = &'a ServerDescription>) -> BTreeSet<String> {
    servers
        .into_iter()
        .map(|server| server.address().to_string())
        .collect()
}

fn same(what: &str, actual: &[&ServerDescription], expected: &[ServerDescription]) -> Result<(), String> {
    let unique = addresses(actual.iter().copied());
    if unique.len() == actual.len() && unique == addresses(expected) {
        return Ok(());
    }
    Err(format!(
        "{what} are {unique:?}, expected {:?}",
        addresses(expected)
    ))
}

fn read_preference(fields: Fields<'_>) -> Result<ReadPreference, String> {
    let mode = fields.text("mode")?.unwrap_or("primary");
    let mode = ReadPreferenceMode::parse(mode).ok_or(format!("unknown mode {mode}"))?;
    let mut preference = ReadPreference::new(mode);
    if let Some(sets) = fields.list("tag_sets")? {
        let sets: Result<Vec<TagSet>, String> = sets
            .iter()
            .map(|set| {
                Fields::new("tag_sets", set)?
                    .entries()
                    .map(|(name, value)| {
                        let value = value
                            .as_str()
                            .ok_or(format!("the value of tag {name} must be a string"))?;
                        Ok((name.to_owned(), value.to_owned()))
                    })
                    .collect()
            })
            .collect();
        preference = preference.with_tag_sets(sets?);
    }
    // -1 means no limit, for which the driver's type uses `None`.
    if let Some(seconds) = fields
        .integer("maxStalenessSeconds")?
        .filter(|seconds| *seconds != -1)
    {
        let seconds = u64::try_from(seconds).map_err(|_| "negative maxStalenessSeconds".to_owned())?;
        preference = preference.with_max_staleness(Duration::from_secs(seconds));
    }
    fields.finish()?;
    Ok(preference)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn test() -> Value {
        let a = json!({ "address": "a:1", "type": "RSSecondary", "avg_rtt_ms": 5, "tags": { "x": "1" } });
        let b = json!({ "address": "b:1", "type": "RSSecondary", "avg_rtt_ms": 50 });
        json!({
            "topology_description": { "type": "ReplicaSetNoPrimary", "servers": [a, b] }, "operation": "read",
            "read_preference": { "mode": "secondary", "maxStalenessSeconds": -1 },
            "suitable_servers": [a, b], "in_latency_window": [a],
        })
    }

    #[test]
    fn every_wrong_expectation_fails() {
        assert_eq!(check(&test()), Ok(()));
        for (place, value, why) in [
            ("/suitable_servers", json!([]), "suitable are"),
            ("/in_latency_window", json!([]), "in the latency window are"),
            ("/operation", json!("write"), "suitable are"),
            ("/operation", json!("nothing"), "unknown operation"),
            ("/read_preference/mode", json!("primary"), "suitable are"),
            ("/read_preference/maxStalenessSeconds", json!(1), "rejected"),
            ("/read_preference", json!({ "invented": 1 }), "unknown key"),
            (
                "/topology_description/type",
                json!("Other"),
                "unknown topology type",
            ),
            (
                "/topology_description/servers/0/type",
                json!("Other"),
                "unknown server type",
            ),
        ] {
            let mut test = test();
            *test.pointer_mut(place).unwrap() = value;
            let error = check(&test).unwrap_err();
            assert!(error.contains(why), "{place}: {error}");
        }
        let mut test = test();
        test["error"] = json!(true);
        assert!(check(&test).unwrap_err().contains("accepted"));
        test["error"] = json!(false);
        test["deprioritized_servers"] = json!([{ "address": "b:1", "type": "RSSecondary" }]);
        assert!(check(&test).unwrap_err().contains("suitable are"));
    }
}
