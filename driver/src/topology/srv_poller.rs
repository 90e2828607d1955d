//! Polls the SRV records and updates the hosts ([Polling SRV Records for mongos Discovery]).
//!
//! [Polling SRV Records for mongos Discovery]:
//! https://github.com/mongodb/specifications/blob/master/source/polling-srv-records-for-mongos-discovery/polling-srv-records-for-mongos-discovery.md

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::task::AbortHandle;

use super::shared::Shared;
use crate::{
    connection::DnsLookup,
    proto::srv::{SrvError, SrvPolling, SrvRecord},
    telemetry::SrvPollingLog,
    types::deadline::Deadline,
};

/// The options of the poller.
#[derive(Clone, Debug)]
pub(crate) struct SrvPollerSettings {
    /// The state machine, after the first lookup.
    pub(crate) polling: SrvPolling,
    /// Performs the lookups.
    pub(crate) dns: Arc<dyn DnsLookup>,
    /// The time limit of one lookup. Zero: no limit.
    pub(crate) lookup_timeout: Duration,
    /// Problems are logged. They fail no operation.
    pub(crate) log: SrvPollingLog,
}

/// Starts the poller on the runtime of the deployment. It holds the deployment weakly, and ends
/// once the topology type is neither Unknown nor Sharded.
pub(super) fn start(topology: &Arc<Shared>, settings: SrvPollerSettings) -> AbortHandle {
    let own = Arc::downgrade(topology);
    topology.runtime.spawn(run(own, settings)).abort_handle()
}

async fn run(topology: Weak<Shared>, mut settings: SrvPollerSettings) {
    let query = settings.polling.name().query();
    loop {
        tokio::time::sleep(settings.polling.interval()).await;
        if topology
            .upgrade()
            .is_none_or(|topology| !topology.is_srv_polled())
        {
            return;
        }
        let answer = ask(&settings, &query).await;
        let Some(topology) = topology.upgrade() else {
            return;
        };
        let answer = answer.as_deref().map_err(Clone::clone);
        let mut problems = Vec::new();
        topology.update_hosts(|hosts, random| {
            let scan = settings.polling.handle_answer(answer, hosts, random);
            problems = scan.problems;
            scan.hosts
        });
        // The lock is released: a subscriber may use the client.
        for problem in problems {
            settings.log.report(topology.id, &query, &problem.to_string());
        }
    }
}

async fn ask(settings: &SrvPollerSettings, query: &str) -> Result<Vec<SrvRecord>, SrvError> {
    let deadline = Deadline::after(Some(settings.lookup_timeout));
    match deadline.run(settings.dns.srv(query)).await {
        Ok(answer) => answer.map_err(|error| SrvError::Lookup(error.to_string())),
        Err(_) => Err(SrvError::NoAnswer {
            query: query.to_owned(),
        }),
    }
}
