//! The handle of a running server: connection strings, counters, control of the replica set
//! members, violations.

use crate::balancer::Balancer;
use crate::builder::{Started, TestServerBuilder};
use crate::command::sharding;
use crate::deployment::Deployment;
use crate::error::{Error, code};
use crate::index_build::HeldIndexBuilds;
use crate::member::Member;
use crate::runtime::ServerRuntime;
use crate::session_info::shown;
use crate::shard_error::ShardCollectionError;
use crate::violation::{Violation, ViolationKind};
use bson::Document;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::runtime::Handle;

/// A running server with its data. Dropping it closes its ports and connections.
///
/// Members of a replica set and mongos are numbered from 0 in the order of
/// [`addresses`](Self::addresses).
///
/// # Panics
///
/// Dropping or stopping it panics if it has recorded [violations](Self::violations) of the
/// protocol, unless the thread is already panicking.
#[derive(Debug)]
#[must_use = "the server stops when it is dropped"]
pub struct TestServer {
    runtime: Handle,
    deployment: Arc<Deployment>,
    members: Vec<Arc<Member>>,
    balancers: Option<[Balancer; 2]>,
    _owned_runtime: ServerRuntime,
}

impl TestServer {
    /// Returns a builder with the default settings: a standalone of version 8.2.0 on a free port.
    pub fn builder() -> TestServerBuilder {
        TestServerBuilder::default()
    }

    pub(crate) fn new(owned_runtime: ServerRuntime, runtime: Handle, started: Started) -> TestServer {
        TestServer {
            runtime,
            deployment: started.deployment,
            members: started.members,
            balancers: started.balancers,
            _owned_runtime: owned_runtime,
        }
    }

    /// Returns the connection string of the deployment.
    ///
    /// | deployment | connection string |
    /// |---|---|
    /// | standalone | `mongodb://127.0.0.1:PORT/` |
    /// | replica set | all members, `replicaSet=rs0` |
    /// | sharded cluster | both mongos |
    /// | load-balanced cluster | the load balancer in front of both mongos, `loadBalanced=true` |
    ///
    /// This and the other connection strings contain the credentials of
    /// [`auth`](TestServerBuilder::auth), and `tls=true` with
    /// [`tls`](TestServerBuilder::tls). They have no `tlsCAFile`.
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

    /// A connection string with the credentials and the TLS option of this server.
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
        let separator = if options.is_empty() { "" } else { "?" };
        format!(
            "mongodb://{}{hosts}/{separator}{}",
            self.userinfo(),
            options.join("&")
        )
    }

    /// `user:password@` if [`TestServerBuilder::auth`] was called, else empty.
    fn userinfo(&self) -> String {
        match &self.deployment.users.settings.user {
            Some((name, password)) => format!("{}:{}@", percent_encoded(name), percent_encoded(password)),
            None => String::new(),
        }
    }

    /// Returns a connection string with a single mongos: the first of a sharded cluster, or the
    /// load balancer in front of only that one. The same as [`uri`](Self::uri) for a standalone and
    /// a replica set.
    #[must_use]
    pub fn single_uri(&self) -> String {
        match (&self.balancers, self.deployment.is_mongos()) {
            (Some([_, single]), _) => self.uri_of(&single.address.to_string(), "loadBalanced=true"),
            (None, true) => self.uri_of(&self.deployment.addresses[0].to_string(), ""),
            (None, false) => self.uri(),
        }
    }

    /// Returns one connection string for each process: replica set members with
    /// `directConnection=true`, mongos without passing through a load balancer.
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

    /// Returns the addresses of all replica set members or mongos, including stopped ones; load
    /// balancers are not included.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.deployment.addresses.clone()
    }

    /// Returns the address of the primary, or `None` while no primary is elected. For a standalone
    /// this is its address, for a sharded cluster the address of the first running mongos.
    #[must_use]
    pub fn primary(&self) -> Option<SocketAddr> {
        self.deployment
            .topology(|topology| {
                if self.deployment.is_mongos() {
                    topology.members.iter().position(|member| member.running)
                } else {
                    topology.primary
                }
            })
            .map(|index| self.deployment.addresses[index])
    }

    /// Makes the primary step down; another member is primary when this returns. Returns `false`,
    /// without a change, if no other member is electable or the deployment is not a replica set.
    pub fn step_down(&self) -> bool {
        self.deployment.is_replica_set()
            && self
                .deployment
                .change_topology(crate::replica_set::Topology::step_down)
    }

    /// Stops a member: its port and connections are closed when this returns. If it was primary and
    /// a majority is running, another member is elected. Does nothing if the member is stopped or
    /// does not exist.
    pub async fn stop_member(&self, index: usize) {
        if let Some(member) = self.members.get(index) {
            self.deployment.change_topology(|topology| topology.stop(index));
            member.stop().await;
        }
    }

    /// Restarts a stopped member on its port. It starts as a secondary with a new
    /// `topologyVersion.processId`.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] if the member is running or does not exist; otherwise the
    /// error of binding the port.
    pub async fn restart_member(&self, index: usize) -> io::Result<()> {
        let invalid = |reason: String| Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        let Some(member) = self.members.get(index) else {
            let count = self.members.len();
            return invalid(format!(
                "member {index} does not exist: the deployment has {count}"
            ));
        };
        if self
            .deployment
            .topology(|topology| topology.members[index].running)
        {
            return invalid(format!("member {index} is running"));
        }
        let (member, deployment) = (Arc::clone(member), Arc::clone(&self.deployment));
        let start = async move { member.restart(&deployment).await };
        self.runtime.spawn(start).await.map_err(io::Error::other)??;
        self.deployment
            .change_topology(|topology| topology.restart(index));
        Ok(())
    }

    /// Disconnects a member from the other members, not from clients. If it was primary and the
    /// others are a majority, they elect another primary; the isolated one still reports itself as
    /// primary with its old `electionId`, and refuses writes. Does nothing if the member is
    /// stopped, isolated or does not exist.
    pub fn isolate_member(&self, index: usize) {
        self.deployment
            .change_topology(|topology| topology.isolate(index));
    }

    /// Reconnects an [isolated](Self::isolate_member) member, which becomes a secondary if another
    /// member was elected.
    pub fn rejoin_member(&self, index: usize) {
        self.deployment.change_topology(|topology| topology.rejoin(index));
    }

    /// Accepts this access token of `MONGODB-OIDC` for a user, in addition to the tokens of
    /// [`oidc_token`](TestServerBuilder::oidc_token). Has no effect on a server without such tokens
    /// or identity providers.
    pub fn add_oidc_token(&self, token: impl Into<String>, user: impl Into<String>) {
        self.deployment.users.add_token(token.into(), user.into());
    }

    /// Makes an access token of `MONGODB-OIDC` invalid, as its expiry does: commands on connections
    /// that were authenticated with it fail with 391 `ReauthenticationRequired`, and authentication
    /// with it fails. Returns whether the token was valid.
    pub fn revoke_oidc_token(&self, token: &str) -> bool {
        self.deployment.users.revoke_token(token)
    }

    /// Runs the TTL monitor once, in addition to its runs every 60 s, and returns the number of
    /// deleted documents.
    pub fn run_ttl_monitor(&self) -> usize {
        self.deployment.run_ttl_monitor()
    }

    /// Keeps index builds open until the returned value is dropped: a `createIndexes` command that
    /// builds an index on a collection with documents does not reply meanwhile, and other commands
    /// on the collection fail as MongoDB's do, such as `collMod` with 12587
    /// `BackgroundOperationInProgressForNamespace`. Since 4.4, dropping the index or the collection
    /// ends the build with 276 `IndexBuildAborted`. Commands in transactions, on empty collections
    /// and of existing indexes are not affected.
    ///
    /// ```
    /// # async fn example(server: marula_test_server::TestServer) {
    /// let builds = server.hold_index_builds();
    /// // The client sends `createIndexes` here, without waiting for the reply.
    /// builds.wait_for_builds(1).await;
    /// // Now `collMod` on the collection fails.
    /// drop(builds);
    /// # }
    /// ```
    pub fn hold_index_builds(&self) -> HeldIndexBuilds {
        HeldIndexBuilds::new(Arc::clone(&self.deployment))
    }

    /// Shards a collection, as the command `shardCollection` does: `namespace` is
    /// `database.collection`, `key` the shard key pattern. A collection that does not exist is
    /// created. Requires a sharded or load-balanced cluster.
    ///
    /// The cluster has one shard. Writes to sharded collections, their indexes and the stages that
    /// read them nevertheless obey the rules of a cluster whose collection has chunks on several
    /// shards: for example, servers before 7.0 refuse an `update` of one document whose filter
    /// contains neither `_id` nor the whole shard key.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use bson::doc;
    /// use marula_test_server::TestServer;
    ///
    /// let server = TestServer::builder().sharded().version("6.0").start().await?;
    /// server.shard_collection("shop.orders", &doc! { "customer": 1 })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of `shardCollection`, such as for a collection with documents and without an index
    /// that begins with the shard key.
    pub fn shard_collection(&self, namespace: &str, key: &Document) -> Result<(), ShardCollectionError> {
        if !self.deployment.is_mongos() {
            let message = "no such command: 'shardCollection'";
            return Err(Error::new(code::COMMAND_NOT_FOUND, message).into());
        }
        let namespace = sharding::parse_namespace(namespace)?;
        let sharding = sharding::Sharding {
            key,
            unique: false,
            collation: None,
        };
        let profile = self.deployment.profile();
        sharding.apply(&mut self.deployment.catalog(), &namespace, profile)?;
        Ok(())
    }

    /// Returns the number of connections accepted since the start, on all processes.
    #[must_use]
    pub fn connections_created(&self) -> usize {
        self.deployment.events.connections_created()
    }

    /// Returns the number of open connections, on all processes.
    #[must_use]
    pub fn open_connections(&self) -> usize {
        self.deployment.events.open_connections()
    }

    /// Returns the number of commands received with this name since the start, on all processes.
    /// The name is compared as the client sent it: `isMaster` and `ismaster` are counted
    /// separately.
    #[must_use]
    pub fn commands_seen(&self, name: &str) -> usize {
        self.deployment.events.commands_seen(name)
    }

    /// Returns the ids of the open cursors, on all processes.
    #[must_use]
    pub fn open_cursors(&self) -> Vec<i64> {
        self.members
            .iter()
            .flat_map(|member| member.cursors.ids())
            .collect()
    }

    /// Returns the transactions in progress: the `lsid`, formatted as a UUID, and the `txnNumber` of
    /// each. Transactions that are older than `transactionLifetimeLimitSeconds` are aborted when the
    /// next command of a transaction arrives.
    #[must_use]
    pub fn open_transactions(&self) -> Vec<(String, i64)> {
        let open = self.deployment.sessions.open_ids();
        open.into_iter()
            .map(|(session, number)| (shown(&session), number))
            .collect()
    }

    /// Returns the recorded violations of the protocol, oldest first.
    /// [Allowed](Self::allow_violations) kinds and violations already
    /// [taken](Self::take_violations) are not included.
    ///
    /// A violation is a command or message that a correct driver does not send, unless the
    /// application has composed the command itself: see [`ViolationKind`].
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        self.deployment.violations.all()
    }

    /// Returns the recorded violations like [`violations`](Self::violations), and clears them.
    #[must_use]
    pub fn take_violations(&self) -> Vec<Violation> {
        self.deployment.violations.take()
    }

    /// Stops recording violations of these kinds until the server stops, and clears those already
    /// recorded. For tests that violate a rule on purpose.
    pub fn allow_violations(&self, kinds: impl IntoIterator<Item = ViolationKind>) {
        for kind in kinds {
            self.deployment.violations.allow(kind);
        }
    }

    /// Panics if violations are recorded, unless the thread is already panicking.
    fn check_violations(&self) {
        let violations = self.take_violations();
        if violations.is_empty() || std::thread::panicking() {
            return;
        }
        let list: Vec<String> = violations.iter().map(ToString::to_string).collect();
        panic!("a client violated the protocol:\n{}", list.join("\n"));
    }

    /// Waits, without a time limit, until at least `count` commands were received with this name
    /// since the start. See [`commands_seen`](Self::commands_seen).
    pub async fn wait_for_command(&self, name: &str, count: usize) {
        self.deployment
            .events
            .wait_until(|events| events.commands_seen(name) >= count)
            .await;
    }

    /// Waits, without a time limit, until exactly `count` connections are open.
    pub async fn wait_for_open_connections(&self, count: usize) {
        self.deployment
            .events
            .wait_until(|events| events.open_connections() == count)
            .await;
    }

    /// Waits, without a time limit, until at least `count` connections were accepted since the
    /// start.
    pub async fn wait_for_connections_created(&self, count: usize) {
        self.deployment
            .events
            .wait_until(|events| events.connections_created() >= count)
            .await;
    }

    /// Stops the server and returns when its ports and connections are closed. Dropping the server,
    /// or this future, does the same without waiting.
    ///
    /// # Panics
    ///
    /// If [violations](Self::violations) of the protocol are recorded.
    pub async fn stop(self) {
        for balancer in self.balancers.iter().flatten() {
            balancer.stop().await;
        }
        for member in &self.members {
            member.stop().await;
        }
    }
}

/// Percent-encodes all bytes but the unreserved characters of RFC 3986.
fn percent_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.check_violations();
    }
}
