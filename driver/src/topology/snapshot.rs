//! The published state: the description, with the handles of the servers.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::server::{RoundTripMicros, SelectedServer, Server};
use crate::{
    ServerAddress,
    proto::{
        description::{ServerDescription, TopologyDescription, TopologyType},
        server_selection::{Criteria, choose, in_latency_window, requires_primary, suitable_servers},
    },
};

/// One published state.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) description: Arc<TopologyDescription>,
    pub(super) servers: BTreeMap<ServerAddress, Arc<Server>>,
    /// The one server for operations that need the primary. Computed once, since most operations
    /// do.
    primary: Option<(Arc<Server>, RoundTripMicros)>,
}

impl Snapshot {
    pub(super) fn new(
        description: Arc<TopologyDescription>,
        servers: BTreeMap<ServerAddress, Arc<Server>>,
    ) -> Self {
        let primary = match description.kind {
            TopologyType::Single | TopologyType::LoadBalanced => description
                .servers
                .values()
                .find(|server| !server.kind.is_unknown()),
            _ => description.primary(),
        };
        let primary = primary.and_then(|server| {
            let handle = servers.get(&server.address)?;
            Some((Arc::clone(handle), RoundTripMicros::minimum_of(server)))
        });
        Self {
            description,
            servers,
            primary,
        }
    }

    /// Whether the deployment is one server.
    fn has_one_server(&self) -> bool {
        matches!(
            self.description.kind,
            TopologyType::Single | TopologyType::LoadBalanced
        )
    }

    /// The server for the criteria, if it is the only candidate. Does not allocate.
    #[inline]
    pub(super) fn only_choice(&self, criteria: Criteria<'_>) -> Option<SelectedServer> {
        let fits = match criteria {
            Criteria::Address(_) => false,
            // Tags and staleness need the full search.
            Criteria::Read(preference) | Criteria::AggregateWithWrite(preference)
                if !preference.is_mode_alone() =>
            {
                false
            }
            _ => self.has_one_server() || criteria.needs_primary(),
        };
        let (primary, min_round_trip) = self.primary.as_ref().filter(|_| fits)?;
        Some(self.selected(primary, *min_round_trip, criteria))
    }

    /// The search of the specification (Server Selection, "Multi-threaded or asynchronous server
    /// selection").
    pub(super) fn search(
        &self,
        criteria: Criteria<'_>,
        avoid: &[ServerAddress],
        limits: Limits,
        random: u64,
    ) -> Option<SelectedServer> {
        let mut suitable = suitable_servers(&self.description, criteria, avoid, limits.heartbeat_frequency);
        in_latency_window(&mut suitable, limits.local_threshold);
        let handle = |server: &ServerDescription| self.servers.get(&server.address);
        let chosen = choose(suitable.len(), random, |index| {
            suitable
                .get(index)
                .and_then(|server| handle(server))
                .map_or(usize::MAX, |server| server.running())
        })?;
        let chosen = suitable.get(chosen)?;
        let min_round_trip = RoundTripMicros::minimum_of(chosen);
        Some(self.selected(handle(chosen)?, min_round_trip, criteria))
    }

    fn selected(
        &self,
        server: &Arc<Server>,
        min_round_trip: RoundTripMicros,
        criteria: Criteria<'_>,
    ) -> SelectedServer {
        let is_primary_required = requires_primary(&self.description, criteria);
        SelectedServer::new(server, min_round_trip, self.description.kind, is_primary_required)
    }
}

/// The options of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) heartbeat_frequency: Duration,
    pub(super) local_threshold: Duration,
}
