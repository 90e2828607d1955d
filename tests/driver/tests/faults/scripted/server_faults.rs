//! Faults of the servers, between those of the connections: elections and fail points.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use marula_driver::{
    Client,
    bson::{Array, Bson, Document, doc},
};
use marula_test_server::TestServer;

use super::{script::Script, stage::Stage};

/// The number of faults of connections between two faults of servers.
const EVERY: usize = 8;

/// A fault of a server.
#[derive(Clone, Debug)]
pub(super) enum ServerFault {
    /// Another member is elected. Performed for replica sets only.
    StepDown,
    /// The primary restarts, and another member is elected. Performed for replica sets only.
    Restart,
    /// `failCommand` with this data, on every server, for this many commands.
    FailPoint(i32, Document),
}

/// The data of a fail point for one command.
pub(super) fn failing(command: &str, mut data: Document) -> Document {
    data.insert("failCommands", Array::from(vec![Bson::from(command)]));
    data
}

/// Performs faults of servers while a script runs.
pub(super) struct ServerFaults {
    direct: Vec<Client>,
    performed: Arc<AtomicUsize>,
}

impl ServerFaults {
    /// Connects to every server.
    pub(super) async fn connect(stage: &Stage) -> Self {
        let mut direct = Vec::new();
        for uri in stage.deployment.server.member_uris() {
            direct.push(Client::connect(uri).await.expect("a client"));
        }
        Self {
            direct,
            performed: Arc::default(),
        }
    }

    /// The number of faults performed so far.
    pub(super) fn performed(&self) -> usize {
        self.performed.load(Ordering::SeqCst)
    }

    /// Performs the faults in turn, each after a few faults of connections, without an end.
    pub(super) async fn run(&self, server: &TestServer, script: &Script, faults: &[ServerFault]) {
        for (index, fault) in faults.iter().cycle().enumerate() {
            script.wait_for((index + 1) * EVERY).await;
            if self.perform(server, fault).await {
                self.performed.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    /// Returns whether the deployment has this fault.
    async fn perform(&self, server: &TestServer, fault: &ServerFault) -> bool {
        match fault {
            ServerFault::StepDown => server.step_down(),
            ServerFault::Restart => {
                let primary = server.primary();
                let is_primary = |address: &_| primary.as_ref() == Some(address);
                let index = server.addresses().iter().position(is_primary);
                let Some(index) = index.filter(|_| server.step_down()) else {
                    return false;
                };
                server.stop_member(index).await;
                server.restart_member(index).await.expect("the member restarts");
                true
            }
            ServerFault::FailPoint(times, data) => {
                let mode = doc! { "times": times };
                let point = doc! { "configureFailPoint": "failCommand", "mode": mode, "data": data };
                for client in &self.direct {
                    // A member that was restarted may close the connection.
                    let _ = client.database("admin").run_command(point.clone()).await;
                }
                true
            }
        }
    }

    /// Ends all fail points.
    pub(super) async fn end(self) -> usize {
        let off = doc! { "configureFailPoint": "failCommand", "mode": "off" };
        for client in &self.direct {
            while client.database("admin").run_command(off.clone()).await.is_err() {}
        }
        self.performed()
    }
}
