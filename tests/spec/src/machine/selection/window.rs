//! Server choice within the latency window by operation count.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use marula_driver::{
    internals::server_selection::{Criteria, choose, in_latency_window, suitable_servers},
    options::{ReadPreference, ReadPreferenceMode},
};
use serde_json::Value;

use super::description;
use crate::fields::Fields;

pub(super) fn check(test: &Value) -> Result<(), String> {
    let test = Fields::new("test", test)?;
    test.text("description")?;
    let topology = test
        .object("topology_description")?
        .ok_or("test.topology_description is missing")?;
    let topology = description::topology(topology, Instant::now())?;
    let mut running = BTreeMap::new();
    for server in test.need_list("mocked_topology_state")? {
        let server = Fields::new("mocked_topology_state", server)?;
        let address = description::address(server.need_text("address")?)?;
        let count = server.count("operation_count")?.unwrap_or_default();
        server.finish()?;
        running.insert(
            address,
            usize::try_from(count).map_err(|error| error.to_string())?,
        );
    }
    let iterations = test.count("iterations")?.ok_or("test.iterations is missing")?;
    let outcome = test.object("outcome")?.ok_or("test.outcome is missing")?;
    let tolerance = outcome.number("tolerance")?.unwrap_or_default();
    let expected = outcome
        .object("expected_frequencies")?
        .ok_or("expected_frequencies is missing")?;
    outcome.finish()?;
    test.finish()?;

    let preference = ReadPreference::new(ReadPreferenceMode::Nearest);
    let mut servers = suitable_servers(
        &topology,
        Criteria::Read(&preference),
        &[],
        Duration::from_secs(10),
    );
    in_latency_window(&mut servers, Duration::from_millis(15));
    let mut chosen: BTreeMap<String, u32> = BTreeMap::new();
    let mut random = Random(0x5EED);
    for _ in 0..iterations {
        let count = |index: usize| {
            servers
                .get(index)
                .and_then(|server| running.get(server.address()))
                .copied()
                .unwrap_or_default()
        };
        let index = choose(servers.len(), random.next(), count).ok_or("no server was chosen")?;
        let server = servers.get(index).ok_or("invalid server index")?;
        *chosen.entry(server.address().to_string()).or_default() += 1;
    }
    for (address, expected) in expected.entries() {
        let expected = expected
            .as_f64()
            .ok_or(format!("the frequency of {address} must be a number"))?;
        let times = chosen.remove(address).unwrap_or_default();
        let actual = f64::from(times) / iterations as f64;
        // The frequencies 0 and 1 have no tolerance.
        let allowed = if expected == 0.0 || expected == 1.0 {
            0.0
        } else {
            tolerance
        };
        if (actual - expected).abs() > allowed {
            return Err(format!(
                "{address} was chosen with frequency {actual}, expected {expected} +/- {allowed}"
            ));
        }
    }
    match chosen.keys().next() {
        Some(address) => Err(format!("unexpected server {address} was chosen")),
        None => Ok(()),
    }
}

/// splitmix64 with a fixed seed, so that runs are reproducible.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn wrong_frequencies_fail() {
        let test = |frequencies: Value| {
            check(&json!({
                "topology_description": { "type": "Sharded", "servers": [
                    { "address": "a:1", "type": "Mongos", "avg_rtt_ms": 5 }, { "address": "b:1", "type": "Mongos", "avg_rtt_ms": 5 } ] },
                "mocked_topology_state": [{ "address": "a:1", "operation_count": 0 }, { "address": "b:1", "operation_count": 5 }],
                "iterations": 100, "outcome": { "tolerance": 0, "expected_frequencies": frequencies },
            }))
        };
        assert_eq!(test(json!({ "a:1": 1, "b:1": 0 })), Ok(()));
        assert!(test(json!({ "a:1": 0.5, "b:1": 0.5 })).is_err());
        assert!(
            test(json!({ "b:1": 0 }))
                .unwrap_err()
                .contains("unexpected server")
        );
    }
}
