//! The handle of a running server: its addresses, its counters, and control of its replica set.

use crate::balancer::Balancer;
use crate::builder::{Started, TestServerBuilder};
use crate::deployment::Deployment;
use crate::member::Member;
use crate::violation::{Violation, ViolationKind};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// A running server. Dropping it closes its ports and connections.
///
/// # Panics
///
/// Dropping or stopping it panics if a client broke a rule that every driver must keep (see [`violations`](Self::violations)),
/// unless the thread is panicking already.
#[derive(Debug)]
pub struct TestServer {
    runtime: Option<Runtime>,
    deployment: Arc<Deployment>,
    members: Vec<Arc<Member>>,
    balancers: Option<[Balancer; 2]>,
}

impl TestServer {
    /// Settings to start a server with.
    pub fn builder() -> TestServerBuilder {
        TestServerBuilder::default()
    }

    pub(crate) fn new(runtime: Runtime, started: Started) -> TestServer {
        TestServer {
            runtime: Some(runtime),
            deployment: started.deployment,
            members: started.members,
            balancers: started.balancers,
        }
    }

    /// The connection string: `mongodb://127.0.0.1:PORT/`; the three members and `replicaSet=rs0`; the two mongos; or the load
    /// balancer in front of both mongos and `loadBalanced=true`. If clients must log in, all connection strings name the first user;
    /// if they must encrypt, all say `tls=true`.
    #[must_use]
    pub fn uri(&self) -> String {
        if let Some([all, _]) = &self.balancers {
            return self.uri_of(&all.address.to_string(), "loadBalanced=true");
        }
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
            .map_or_else(String::new, |name| format!("replicaSet={name}"));
        self.uri_of(&hosts.join(","), &options)
    }

    /// With what every connection string has.
    fn uri_of(&self, hosts: &str, options: &str) -> String {
        let tls = if self.deployment.tls.is_some() {
            "tls=true"
        } else {
            ""
        };
        let options: Vec<&str> = [options, tls]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect();
        let mark = if options.is_empty() { "" } else { "?" };
        format!("mongodb://{}{hosts}/{mark}{}", self.user(), options.join("&"))
    }

    /// `user:password@`, if clients must log in.
    fn user(&self) -> String {
        match &self.deployment.users.settings.user {
            Some((name, password)) => format!("{}:{}@", escaped(name), escaped(password)),
            None => String::new(),
        }
    }

    /// The connection string of one mongos: the first one of a sharded cluster, or the load balancer in front of it. The same as
    /// [`uri`](Self::uri) for a standalone and a replica set.
    #[must_use]
    pub fn single_uri(&self) -> String {
        match (&self.balancers, self.deployment.is_mongos()) {
            (Some([_, single]), _) => self.uri_of(&single.address.to_string(), "loadBalanced=true"),
            (None, true) => self.uri_of(&self.deployment.addresses[0].to_string(), ""),
            (None, false) => self.uri(),
        }
    }

    /// A connection string for every process alone: each mongos (beside the load balancers, if there are some), and each member of a
    /// set with `directConnection=true`.
    #[must_use]
    pub fn member_uris(&self) -> Vec<String> {
        let options = if self.deployment.is_replica_set() {
            "directConnection=true"
        } else {
            ""
        };
        self.deployment
            .addresses
            .iter()
            .map(|address| self.uri_of(&address.to_string(), options))
            .collect()
    }

    /// The address of every member of a set or of every mongos, also of stopped ones; load balancers are not among them.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.deployment.addresses.clone()
    }

    /// The address of the primary (of a standalone: its only address, of a sharded cluster: a running mongos); `None` while there is
    /// none.
    #[must_use]
    pub fn primary(&self) -> Option<SocketAddr> {
        self.deployment
            .topology(|topology| match self.deployment.is_mongos() {
                true => topology.members.iter().position(|member| member.running),
                false => topology.primary,
            })
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
        runtime.spawn(start).await.map_err(io::Error::other)??;
        self.deployment
            .change_topology(|topology| topology.restart(index));
        Ok(())
    }

    /// Cuts a member off from the other members, not from clients. A primary is succeeded by another member if a majority is
    /// left; it still says that it is primary, by its old election, and refuses writes. Unknown, stopped and isolated members
    /// stay as they are.
    pub fn isolate_member(&self, index: usize) {
        self.deployment
            .change_topology(|topology| topology.isolate(index));
    }

    /// Ends the isolation of a member, which is a secondary from then on if another one was elected.
    pub fn rejoin_member(&self, index: usize) {
        self.deployment.change_topology(|topology| topology.rejoin(index));
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

    /// What clients have sent that no driver may send, oldest first, without the kinds that are
    /// [allowed](Self::allow_violations) and without what was [taken](Self::take_violations).
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        self.deployment.violations.all()
    }

    /// As [`violations`](Self::violations), and forgets them.
    #[must_use]
    pub fn take_violations(&self) -> Vec<Violation> {
        self.deployment.violations.take()
    }

    /// Does not record violations of these kinds, for tests that break the rules on purpose. Earlier ones are forgotten.
    pub fn allow_violations(&self, kinds: impl IntoIterator<Item = ViolationKind>) {
        for kind in kinds {
            self.deployment.violations.allow(kind);
        }
    }

    /// Fails the test if a client broke a rule.
    fn check_violations(&self) {
        let violations = self.take_violations();
        if violations.is_empty() || std::thread::panicking() {
            return;
        }
        let list: Vec<String> = violations.iter().map(ToString::to_string).collect();
        panic!("a client broke the protocol:\n{}", list.join("\n"));
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
        for balancer in self.balancers.iter().flatten() {
            balancer.stop().await;
        }
        for member in &self.members {
            member.stop().await;
        }
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Percent-encodes what has a meaning of its own in a connection string.
fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        self.check_violations();
    }
}
