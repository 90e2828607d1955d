//! The events of a change, in the order of the specification ([SDAM Logging and Monitoring]).
//!
//! [SDAM Logging and Monitoring]:
//! https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-discovery-and-monitoring-logging-and-monitoring.md

use std::sync::Arc;

use crate::{
    bson::ObjectId,
    proto::{
        description::{ServerDescription, TopologyDescription},
        event::SdamEvent,
    },
};

/// The events when a client is created: `TopologyOpening`, `TopologyDescriptionChanged`,
/// `ServerOpening` of each server.
pub fn opening(topology_id: ObjectId, initial: &Arc<TopologyDescription>) -> Vec<SdamEvent> {
    let nothing = Arc::new(TopologyDescription::default());
    let mut events = vec![
        SdamEvent::TopologyOpening { topology_id },
        SdamEvent::TopologyDescriptionChanged {
            topology_id,
            previous: nothing,
            new: Arc::clone(initial),
        },
    ];
    events.extend(initial.servers.keys().map(|address| SdamEvent::ServerOpening {
        topology_id,
        address: address.clone(),
    }));
    events
}

/// The events of a change from `previous` to `new` by [`apply`](super::apply):
/// `ServerDescriptionChanged` of the checked server and then of the others, `ServerClosed`,
/// `ServerOpening`, `TopologyDescriptionChanged`.
///
/// A server that the check removed has its `ServerDescriptionChanged` before its `ServerClosed`.
/// `outcome` is `None` if the hosts were changed by SRV polling.
pub fn change(
    topology_id: ObjectId,
    previous: &Arc<TopologyDescription>,
    new: &Arc<TopologyDescription>,
    outcome: Option<&ServerDescription>,
) -> Vec<SdamEvent> {
    let mut events = Vec::new();
    let mut described = |before: &ServerDescription, after: &ServerDescription| {
        if before != after {
            events.push(SdamEvent::ServerDescriptionChanged {
                topology_id,
                address: before.address.clone(),
                previous: Box::new(before.clone()),
                new: Box::new(after.clone()),
            });
        }
    };
    if let Some(outcome) = outcome
        && let Some(before) = previous.servers.get(&outcome.address)
    {
        described(before, new.servers.get(&outcome.address).unwrap_or(outcome));
    }
    for (address, before) in &previous.servers {
        if outcome.is_none_or(|outcome| *address != outcome.address)
            && let Some(after) = new.servers.get(address)
        {
            described(before, after);
        }
    }
    events.extend(membership(topology_id, previous, new));
    events
}

/// The events of removed and added servers, and that of the whole description.
fn membership(
    topology_id: ObjectId,
    previous: &Arc<TopologyDescription>,
    new: &Arc<TopologyDescription>,
) -> Vec<SdamEvent> {
    let mut events = Vec::new();
    let missing_in = |other: &TopologyDescription, own: &TopologyDescription| {
        let missing = own
            .servers
            .keys()
            .filter(|address| !other.servers.contains_key(*address));
        missing.cloned().collect::<Vec<_>>()
    };
    for address in missing_in(new, previous) {
        events.push(SdamEvent::ServerClosed { topology_id, address });
    }
    for address in missing_in(previous, new) {
        events.push(SdamEvent::ServerOpening { topology_id, address });
    }
    if previous != new {
        events.push(SdamEvent::TopologyDescriptionChanged {
            topology_id,
            previous: Arc::clone(previous),
            new: Arc::clone(new),
        });
    }
    events
}

/// The events when a client is closed: `ServerClosed` of each server, `TopologyDescriptionChanged`
/// to Unknown, `TopologyClosed`.
pub fn closing(topology_id: ObjectId, last: &Arc<TopologyDescription>) -> Vec<SdamEvent> {
    let mut events: Vec<_> = last
        .servers
        .keys()
        .map(|address| SdamEvent::ServerClosed {
            topology_id,
            address: address.clone(),
        })
        .collect();
    events.push(SdamEvent::TopologyDescriptionChanged {
        topology_id,
        previous: Arc::clone(last),
        new: Arc::new(TopologyDescription::default()),
    });
    events.push(SdamEvent::TopologyClosed { topology_id });
    events
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::{
        ServerAddress,
        proto::{description::HelloReply, sdam},
    };

    fn address(name: &str) -> ServerAddress {
        ServerAddress::tcp(name, 27017)
    }

    fn texts(events: &[SdamEvent]) -> Vec<String> {
        let text = |event: &SdamEvent| match event {
            SdamEvent::TopologyOpening { .. } => "opening".to_owned(),
            SdamEvent::TopologyDescriptionChanged { previous, new, .. } => {
                format!("{} -> {}", previous.topology_type(), new.topology_type())
            }
            SdamEvent::TopologyClosed { .. } => "closed".to_owned(),
            SdamEvent::ServerOpening { address, .. } => format!("{} opening", address.host()),
            SdamEvent::ServerDescriptionChanged {
                address,
                previous,
                new,
                ..
            } => format!(
                "{}: {} -> {}",
                address.host(),
                previous.server_type(),
                new.server_type()
            ),
            SdamEvent::ServerClosed { address, .. } => format!("{} closed", address.host()),
            other => format!("{other:?}"),
        };
        events.iter().map(text).collect()
    }

    fn applied(topology: &mut Arc<TopologyDescription>, outcome: &ServerDescription) -> Vec<String> {
        let mut next = (**topology).clone();
        sdam::apply(&mut next, outcome.clone());
        let next = Arc::new(next);
        let events = change(ObjectId::from_bytes([0; 12]), topology, &next, Some(outcome));
        *topology = next;
        texts(&events)
    }

    fn said(name: &str, hello: HelloReply) -> ServerDescription {
        ServerDescription::from_hello(address(name), hello, Duration::ZERO, Instant::now())
    }

    #[test]
    fn events_of_a_lifetime_are_in_order() {
        let id = ObjectId::from_bytes([0; 12]);
        let seeds = ["a", "x"].map(address);
        let mut topology = Arc::new(TopologyDescription::initial(seeds, false, None));
        assert_eq!(
            texts(&opening(id, &topology)),
            ["opening", "Unknown -> Unknown", "a opening", "x opening"]
        );
        let primary = || HelloReply {
            set_name: Some("rs".into()),
            is_writable_primary: true,
            hosts: vec!["a:27017".into(), "b:27017".into()],
            max_wire_version: 25,
            ..HelloReply::default()
        };
        assert_eq!(
            applied(&mut topology, &said("a", primary())),
            [
                "a: Unknown -> RSPrimary",
                "x closed",
                "b opening",
                "Unknown -> ReplicaSetWithPrimary"
            ]
        );
        assert!(
            applied(&mut topology, &said("a", primary())).is_empty(),
            "no news"
        );
        assert_eq!(
            applied(&mut topology, &said("b", primary())),
            [
                "b: Unknown -> RSPrimary",
                "a: RSPrimary -> Unknown",
                "ReplicaSetWithPrimary -> ReplicaSetWithPrimary"
            ]
        );
        let stranger = HelloReply {
            set_name: Some("other".into()),
            ..primary()
        };
        assert_eq!(
            applied(&mut topology, &said("b", stranger)),
            [
                "b: RSPrimary -> RSPrimary",
                "b closed",
                "ReplicaSetWithPrimary -> ReplicaSetNoPrimary"
            ]
        );
        assert_eq!(
            texts(&closing(id, &topology)),
            ["a closed", "ReplicaSetNoPrimary -> Unknown", "closed"]
        );
    }

    #[test]
    fn a_load_balancer_is_taken_in_after_the_beginning() {
        let id = ObjectId::from_bytes([0; 12]);
        let mut topology = Arc::new(TopologyDescription::load_balanced(address("lb")));
        assert_eq!(
            texts(&opening(id, &topology)),
            ["opening", "Unknown -> LoadBalanced", "lb opening"]
        );
        assert_eq!(
            applied(&mut topology, &ServerDescription::load_balancer(address("lb"))),
            ["lb: Unknown -> LoadBalancer", "LoadBalanced -> LoadBalanced"]
        );
        let error = crate::Error::protocol("nonsense");
        let failed = ServerDescription::failed(address("lb"), &error, None, Instant::now());
        assert!(applied(&mut topology, &failed).is_empty());
    }
}
