//! Tests of the checks: wrong expectations must fail.

use super::*;
use serde_json::json;

fn test() -> Value {
    let id = json!({ "$oid": "000000000000000000000001" });
    let version = json!({ "processId": id, "counter": { "$numberLong": "1" } });
    let unknown =
        json!({ "address": "a:27017", "type": "Unknown", "hosts": [], "passives": [], "arbiters": [] });
    let primary = json!({ "address": "a:27017", "type": "RSPrimary", "hosts": ["a:27017"], "passives": [], "arbiters": [],
        "setName": "rs" });
    json!({
        "description": "d", "uri": "mongodb://a/?replicaSet=rs",
        "phases": [
            {
                "responses": [["a:27017", { "ok": 1, "isWritablePrimary": true, "hosts": ["a:27017"], "setName": "rs", "setVersion": 1,
                    "electionId": id, "topologyVersion": version, "minWireVersion": 0, "maxWireVersion": 21,
                    "logicalSessionTimeoutMinutes": 30 }]],
                "outcome": {
                    "servers": { "a:27017": { "type": "RSPrimary", "setName": "rs", "setVersion": 1, "electionId": id,
                        "logicalSessionTimeoutMinutes": 30, "minWireVersion": 0, "maxWireVersion": 21, "topologyVersion": version,
                        "pool": { "generation": 0 } } },
                    "topologyType": "ReplicaSetWithPrimary", "setName": "rs", "logicalSessionTimeoutMinutes": 30,
                    "maxSetVersion": 1, "maxElectionId": id, "compatible": true,
                    "events": [
                        { "topology_opening_event": { "topologyId": "42" } },
                        { "topology_description_changed_event": { "topologyId": "42",
                            "previousDescription": { "topologyType": "Unknown", "servers": [] },
                            "newDescription": { "topologyType": "ReplicaSetNoPrimary", "setName": "rs", "servers": [unknown] } } },
                        { "server_opening_event": { "topologyId": "42", "address": "a:27017" } },
                        { "server_description_changed_event": { "topologyId": "42", "address": "a:27017",
                            "previousDescription": unknown, "newDescription": primary } },
                        { "topology_description_changed_event": { "topologyId": "42",
                            "previousDescription": { "topologyType": "ReplicaSetNoPrimary", "setName": "rs", "servers": [unknown] },
                            "newDescription": { "topologyType": "ReplicaSetWithPrimary", "setName": "rs", "servers": [primary] } } },
                    ],
                },
            },
            {
                "applicationErrors": [{ "address": "a:27017", "when": "afterHandshakeCompletes", "maxWireVersion": 9,
                    "type": "command", "response": { "ok": 0, "errmsg": "bye", "code": 91 } }],
                "outcome": {
                    "servers": { "a:27017": { "type": "Unknown", "error": "bye", "topologyVersion": null, "setName": null,
                        "pool": { "generation": 1 } } },
                    "topologyType": "ReplicaSetNoPrimary",
                },
            },
        ],
    })
}

#[test]
fn every_wrong_expectation_fails() {
    assert_eq!(check(&test()), Ok(()));
    let first = "/phases/0/outcome";
    let second = "/phases/1/outcome";
    for (place, value) in [
        (format!("{first}/servers/a:27017/type"), json!("RSSecondary")),
        (format!("{first}/servers/a:27017/setName"), json!(null)),
        (format!("{first}/servers/a:27017/setVersion"), json!(2)),
        (format!("{first}/servers/a:27017/electionId"), json!(null)),
        (
            format!("{first}/servers/a:27017/logicalSessionTimeoutMinutes"),
            json!(31),
        ),
        (format!("{first}/servers/a:27017/minWireVersion"), json!(1)),
        (format!("{first}/servers/a:27017/maxWireVersion"), json!(null)),
        (format!("{first}/servers/a:27017/topologyVersion"), json!(null)),
        (
            format!("{first}/servers/a:27017/topologyVersion/counter"),
            json!({ "$numberLong": "2" }),
        ),
        (format!("{first}/servers/a:27017/pool/generation"), json!(1)),
        (format!("{first}/servers"), json!({})),
        (
            format!("{first}/servers"),
            json!({ "a:27017": { "type": "RSPrimary" }, "b:27017": { "type": "Unknown" } }),
        ),
        (format!("{first}/topologyType"), json!("Sharded")),
        (format!("{first}/setName"), json!("other")),
        (format!("{first}/logicalSessionTimeoutMinutes"), json!(null)),
        (format!("{first}/maxSetVersion"), json!(null)),
        (format!("{first}/maxElectionId"), json!(null)),
        (format!("{first}/compatible"), json!(false)),
        (format!("{first}/events"), json!([])),
        (
            format!("{first}/events/0"),
            json!({ "topology_closed_event": { "topologyId": "42" } }),
        ),
        (
            format!("{first}/events/2/server_opening_event/address"),
            json!("b:27017"),
        ),
        (
            format!("{first}/events/3/server_description_changed_event/newDescription/type"),
            json!("RSOther"),
        ),
        (
            format!("{first}/events/3/server_description_changed_event/newDescription/hosts"),
            json!([]),
        ),
        (
            format!("{first}/events/4/topology_description_changed_event/newDescription/servers"),
            json!([]),
        ),
        (format!("{second}/servers/a:27017/error"), json!("other")),
        (format!("{second}/servers/a:27017/pool/generation"), json!(0)),
        (format!("{second}/servers/a:27017/type"), json!("RSPrimary")),
        (second.to_owned(), json!({ "invented": 1 })),
        ("/phases/1/applicationErrors/0/when".to_owned(), json!("never")),
        ("/phases/1/applicationErrors/0/type".to_owned(), json!("other")),
        (
            "/phases/1/applicationErrors/0/response".to_owned(),
            json!({ "ok": 1 }),
        ),
    ] {
        let mut test = test();
        let found = test.pointer_mut(&place);
        *found.unwrap_or_else(|| panic!("{place} does not exist")) = value;
        assert!(check(&test).is_err(), "{place}");
    }
}

#[test]
fn an_additional_event_fails() {
    let mut test = test();
    let events = test.pointer_mut("/phases/0/outcome/events").unwrap();
    events.as_array_mut().unwrap().pop();
    assert!(check(&test).unwrap_err().contains("unexpected event"));
}
