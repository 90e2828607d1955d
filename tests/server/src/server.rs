//! The handle of a running server: its addresses, its counters, and control of its replica set.

use crate::builder::TestServerBuilder;
use crate::deployment::Deployment;
use crate::member::Member;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// A running server. Dropping it closes its ports and connections.
#[derive(Debug)]
pub struct TestServer {
    runtime: Option<Runtime>,
    deployment: Arc<Deployment>,
    members: Vec<Arc<Member>>,
}

impl TestServer {
    /// Settings to start a server with.
    pub fn builder() -> TestServerBuilder {
        TestServerBuilder::default()
    }

    pub(crate) fn new(
        runtime: Runtime,
        deployment: Arc<Deployment>,
        members: Vec<Arc<Member>>,
    ) -> TestServer {
        TestServer {
            runtime: Some(runtime),
            deployment,
            members,
        }
    }

    /// The connection string: `mongodb://127.0.0.1:PORT/`, or the three members and `replicaSet=rs0`.
    #[must_use]
    pub fn uri(&self) -> String {
        let hosts: Vec<String> = self
            .deployment
            .addresses
            .iter()
            .map(ToString::to_string)
            .collect();
        let options = self
            .deployment
            .set_name
            .as_ref()
            .map_or_else(String::new, |name| format!("?replicaSet={name}"));
        format!("mongodb://{}/{options}", hosts.join(","))
    }

    /// The address of every member, also of stopped ones.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.deployment.addresses.clone()
    }

    /// The address of the primary (of a standalone: its only address); `None` while there is no primary.
    #[must_use]
    pub fn primary(&self) -> Option<SocketAddr> {
        self.deployment
            .topology(|topology| topology.primary)
            .map(|index| self.deployment.addresses[index])
    }

    /// The primary steps down and another member is elected at once; `false` if none can be, or on a standalone.
    pub fn step_down(&self) -> bool {
        self.deployment.is_replica_set()
            && self
                .deployment
                .change_topology(crate::replica_set::Topology::step_down)
    }

    /// Stops a member: its port and connections are closed when this returns. A stopped primary is succeeded by another
    /// member as long as a majority runs. Stopping a stopped or unknown member does nothing.
    pub async fn stop_member(&self, index: usize) {
        if let Some(member) = self.members.get(index) {
            self.deployment.change_topology(|topology| topology.stop(index));
            member.stop().await;
        }
    }

    /// Starts a stopped member again on its port.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for an unknown or running member, else what binding the port gives.
    pub async fn restart_member(&self, index: usize) -> io::Result<()> {
        let stopped = self
            .deployment
            .topology(|t| t.members.get(index).is_some_and(|member| !member.running));
        let (Some(member), Some(runtime), true) = (self.members.get(index), &self.runtime, stopped) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("member {index} is not stopped"),
            ));
        };
        let (member, deployment) = (Arc::clone(member), Arc::clone(&self.deployment));
        let start = async move { member.restart(&deployment).await };
        runtime.spawn(start).await.map_err(io::Error::other).flatten()?;
        self.deployment
            .change_topology(|topology| topology.restart(index));
        Ok(())
    }

    /// Runs a pass of the TTL monitor now, which otherwise runs once a minute; gives the number of removed documents.
    pub fn run_ttl_monitor(&self) -> usize {
        self.deployment.run_ttl_monitor()
    }

    /// How many connections were accepted since the start.
    #[must_use]
    pub fn connections_created(&self) -> usize {
        self.deployment.events.connections_created()
    }

    /// How many connections are open now.
    #[must_use]
    pub fn open_connections(&self) -> usize {
        self.deployment.events.open_connections()
    }

    /// How many commands of this name (as clients spelled it) have arrived, on all members.
    #[must_use]
    pub fn commands_seen(&self, name: &str) -> usize {
        self.deployment.events.commands_seen(name)
    }

    /// Waits until at least `count` commands of this name have arrived.
    pub async fn wait_for_command(&self, name: &str, count: usize) {
        self.deployment
            .events
            .wait_until(|events| events.commands_seen(name) >= count)
            .await;
    }

    /// Waits until exactly `count` connections are open.
    pub async fn wait_for_open_connections(&self, count: usize) {
        self.deployment
            .events
            .wait_until(|events| events.open_connections() == count)
            .await;
    }

    /// Waits until at least `count` connections were accepted since the start.
    pub async fn wait_for_connections_created(&self, count: usize) {
        self.deployment
            .events
            .wait_until(|events| events.connections_created() >= count)
            .await;
    }

    /// Stops the server and returns when its ports and connections are closed. Dropping it does the same without waiting.
    pub async fn stop(mut self) {
        for member in &self.members {
            member.stop().await;
        }
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
