//! SRV polling: which hosts are added and removed, and when the next query is due ([Polling SRV
//! Records for mongos Discovery]).
//!
//! [Polling SRV Records for mongos Discovery]:
//! https://github.com/mongodb/specifications/blob/master/source/polling-srv-records-for-mongos-discovery/polling-srv-records-for-mongos-discovery.md

use std::{collections::BTreeSet, time::Duration};

use super::{SrvError, SrvName, SrvRecord, choose, record::no_records};
use crate::{ServerAddress, proto::description::TopologyType};

/// The minimum of `rescanSRVIntervalMS`: 60 s.
pub const MIN_RESCAN_INTERVAL: Duration = Duration::from_secs(60);

/// The state of the SRV polling of one client.
#[derive(Clone, Debug)]
pub struct SrvPolling {
    name: SrvName,
    max_hosts: u32,
    heartbeat_frequency: Duration,
    min_interval: Duration,
    interval: Duration,
}

/// The result of one query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// The new hosts of the topology. `None`: unchanged.
    pub hosts: Option<BTreeSet<ServerAddress>>,
    /// Problems with the answer, for the log. No operation fails because of them.
    pub problems: Vec<SrvError>,
}

impl SrvPolling {
    /// The state after the first query, whose records are valid for `ttl`. `min_interval` is
    /// [`MIN_RESCAN_INTERVAL`], except in tests.
    pub fn new(
        name: SrvName,
        max_hosts: u32,
        heartbeat_frequency: Duration,
        min_interval: Duration,
        ttl: Duration,
    ) -> Self {
        Self {
            name,
            max_hosts,
            heartbeat_frequency,
            min_interval,
            interval: ttl.max(min_interval),
        }
    }

    /// Whether SRV records are polled for this topology type: Unknown and Sharded.
    pub fn applies_to(kind: TopologyType) -> bool {
        matches!(kind, TopologyType::Unknown | TopologyType::Sharded)
    }

    /// The name to query.
    pub fn name(&self) -> &SrvName {
        &self.name
    }

    /// `rescanSRVIntervalMS`: the time between the end of a query and the next query.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Applies an answer or a failed query. `current` are the hosts of the topology.
    pub fn handle_answer(
        &mut self,
        answer: Result<&[SrvRecord], SrvError>,
        current: &BTreeSet<ServerAddress>,
        random: u64,
    ) -> Scan {
        let mut scan = Scan::default();
        let records = match answer {
            Ok(records) => records,
            Err(why) => {
                scan.problems.push(why);
                &[]
            }
        };
        let mut valid = Vec::new();
        let mut ttl: Option<Duration> = None;
        for record in records {
            match self.name.address(record) {
                Ok(address) => {
                    if !valid.contains(&address) {
                        valid.push(address);
                    }
                    ttl = Some(ttl.map_or(record.ttl, |shortest| shortest.min(record.ttl)));
                }
                Err(why) => scan.problems.push(why),
            }
        }
        let Some(ttl) = ttl else {
            if scan.problems.is_empty() {
                scan.problems.push(no_records(&self.name));
            }
            self.interval = self.heartbeat_frequency;
            return scan;
        };
        self.interval = ttl.max(self.min_interval);
        scan.hosts = Some(self.next_hosts(valid, current, random));
        scan
    }

    /// Keeps the hosts that are in the topology, and adds new ones up to `srvMaxHosts`, selected at
    /// random.
    fn next_hosts(
        &self,
        valid: Vec<ServerAddress>,
        current: &BTreeSet<ServerAddress>,
        random: u64,
    ) -> BTreeSet<ServerAddress> {
        let limit = usize::try_from(self.max_hosts).unwrap_or(usize::MAX);
        if limit == 0 || limit >= valid.len() {
            return valid.into_iter().collect();
        }
        let (kept, new): (Vec<_>, Vec<_>) = valid.into_iter().partition(|host| current.contains(host));
        let free = limit.saturating_sub(kept.len());
        kept.into_iter().chain(choose(new, free, random)).collect()
    }
}
