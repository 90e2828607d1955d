//! Asks for the SRV records again and again, and lets hosts join and leave (Polling SRV Records for mongos Discovery
//! specification).

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::task::AbortHandle;

use super::shared::Shared;
use crate::{
    connection::DnsLookup,
    proto::{
        event::{EventListener, RescanProblem},
        srv::{Rescan, SrvRecord},
    },
    types::deadline::Deadline,
};

/// What the poller works with.
#[derive(Clone, Debug)]
pub(crate) struct SrvPolling {
    /// The machine, after the first answer.
    pub(crate) rescan: Rescan,
    /// Asks.
    pub(crate) dns: Arc<dyn DnsLookup>,
    /// Limits one lookup; zero means no limit.
    pub(crate) lookup_timeout: Duration,
    /// Is told what is wrong with answers; no operation is.
    pub(crate) listener: Option<EventListener<RescanProblem>>,
}

/// Starts the poller on the runtime of the deployment. It holds the deployment weakly, and ends when that becomes one whose
/// members name each other.
pub(super) fn start(topology: &Arc<Shared>, polling: SrvPolling) -> AbortHandle {
    let own = Arc::downgrade(topology);
    topology.runtime.spawn(run(own, polling)).abort_handle()
}

async fn run(topology: Weak<Shared>, mut polling: SrvPolling) {
    let query = polling.rescan.name().query();
    loop {
        tokio::time::sleep(polling.rescan.interval()).await;
        if topology.upgrade().is_none_or(|topology| !topology.is_rescanned()) {
            return;
        }
        let answer = ask(&polling, &query).await;
        let Some(topology) = topology.upgrade() else {
            return;
        };
        let answer = answer.as_deref().map_err(Clone::clone);
        let mut problems = Vec::new();
        topology.rescan(|hosts, random| {
            let scan = polling.rescan.handle_answer(answer, hosts, random);
            problems = scan.problems;
            scan.hosts
        });
        // Told after the lock is released.
        for problem in problems {
            tell(&polling, &topology, &query, problem);
        }
    }
}

fn tell(polling: &SrvPolling, topology: &Shared, record: &str, problem: String) {
    if let Some(listener) = polling
        .listener
        .as_ref()
        .filter(|listener| listener.is_interested())
    {
        listener.tell(&RescanProblem {
            topology_id: topology.id,
            record: record.to_owned(),
            problem,
        });
    }
}

async fn ask(polling: &SrvPolling, query: &str) -> Result<Vec<SrvRecord>, String> {
    let deadline = Deadline::after(Some(polling.lookup_timeout));
    match deadline.run(polling.dns.srv(query)).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no answer for {query} in time")),
    }
}
