//! Later answers: which hosts join and leave, and when to ask again.

use std::{collections::BTreeSet, time::Duration};

use super::{SrvError, SrvName, SrvRecord, choose, record::no_records};
use crate::{ServerAddress, proto::description::TopologyType};

/// Records are not asked for more often than this, however short they hold.
pub const MIN_RESCAN_INTERVAL: Duration = Duration::from_secs(60);

/// The repeated lookups of one client.
#[derive(Clone, Debug)]
pub struct SrvPolling {
    name: SrvName,
    max_hosts: u32,
    heartbeat_frequency: Duration,
    min_interval: Duration,
    interval: Duration,
}

/// What an answer means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// All hosts that the deployment is to have from now on; `None` leaves it as it is.
    pub hosts: Option<BTreeSet<ServerAddress>>,
    /// What was wrong with the answer, for the log: never an error of an operation.
    pub problems: Vec<SrvError>,
}

impl SrvPolling {
    /// After the first answer, whose records hold for `ttl`. `min_interval` is [`MIN_RESCAN_INTERVAL`] but in tests.
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

    /// Whether a deployment of this kind is rescanned. A replica set names its members itself.
    pub fn applies_to(kind: TopologyType) -> bool {
        matches!(kind, TopologyType::Unknown | TopologyType::Sharded)
    }

    /// The name whose records are asked for.
    pub fn name(&self) -> &SrvName {
        &self.name
    }

    /// How long to wait after the end of a scan before the next (rescanSRVIntervalMS).
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Takes an answer, or why there was none. `current` are the hosts that the deployment has now.
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

    /// Hosts that are known already stay; new ones fill up to `srvMaxHosts`, at random when there are too many.
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
