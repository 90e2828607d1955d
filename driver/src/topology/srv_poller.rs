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
        event::{EventListener, SrvPollingProblem},
        srv::{SrvPolling, SrvRecord},
    },
    types::deadline::Deadline,
};

/// What the poller works with.
#[derive(Clone, Debug)]
pub(crate) struct SrvPollerSettings {
    /// The machine, after the first answer.
    pub(crate) polling: SrvPolling,
    /// Asks.
    pub(crate) dns: Arc<dyn DnsLookup>,
    /// Limits one lookup; zero means no limit.
    pub(crate) lookup_timeout: Duration,
    /// Is told what is wrong with answers; no operation is.
    pub(crate) listener: Option<EventListener<SrvPollingProblem>>,
}

/// Starts the poller on the runtime of the deployment. It holds the deployment weakly, and ends when that becomes one whose
/// members name each other.
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
        // Told after the lock is released.
        for problem in problems {
            report(&settings, &topology, &query, problem);
        }
    }
}

fn report(settings: &SrvPollerSettings, topology: &Shared, record: &str, problem: String) {
    if let Some(listener) = settings
        .listener
        .as_ref()
        .filter(|listener| listener.is_interested())
    {
        listener.emit(&SrvPollingProblem {
            topology_id: topology.id,
            record: record.to_owned(),
            problem,
        });
    }
}

async fn ask(settings: &SrvPollerSettings, query: &str) -> Result<Vec<SrvRecord>, String> {
    let deadline = Deadline::after(Some(settings.lookup_timeout));
    match deadline.run(settings.dns.srv(query)).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no answer for {query} in time")),
    }
}
