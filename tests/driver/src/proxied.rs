//! A deployment of any topology with a proxy in front of each member, router or load balancer. The
//! members of a replica set report the addresses of the proxies.

use std::{fmt::Display, net::SocketAddr};

use marula_test_server::{TestServer, TestServerBuilder};

use crate::Proxy;

/// The topology of a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// A standalone server.
    Standalone,
    /// A replica set of three members.
    ReplicaSet,
    /// The routers of a sharded cluster.
    Sharded,
    /// A load balancer in front of two routers.
    LoadBalanced,
}

impl Topology {
    /// All topologies.
    pub const ALL: [Self; 4] = [
        Self::Standalone,
        Self::ReplicaSet,
        Self::Sharded,
        Self::LoadBalanced,
    ];

    /// Whether the client monitors the servers.
    #[must_use]
    pub fn is_monitored(self) -> bool {
        self != Self::LoadBalanced
    }

    /// The type of the server that serves writes, as its `ServerDescription` shows it.
    #[must_use]
    pub fn server_type(self) -> &'static str {
        match self {
            Self::Standalone => "Standalone",
            Self::ReplicaSet => "RSPrimary",
            Self::Sharded => "Mongos",
            Self::LoadBalanced => "LoadBalancer",
        }
    }

    fn options(self) -> &'static str {
        match self {
            Self::Standalone => "directConnection=true",
            Self::ReplicaSet => "replicaSet=rs0",
            Self::Sharded => "",
            Self::LoadBalanced => "loadBalanced=true",
        }
    }
}

/// A deployment behind proxies. Clients of [`uri`](Self::uri) connect only through the proxies.
#[derive(Debug)]
pub struct Proxied {
    /// The deployment. Its own connection strings bypass the proxies.
    pub server: TestServer,
    /// One proxy for each member or router, in the order of [`TestServer::addresses`]; one for the
    /// load balancer.
    pub proxies: Vec<Proxy>,
    topology: Topology,
}

impl Proxied {
    /// Starts a standalone server.
    ///
    /// # Panics
    /// If it cannot start.
    pub async fn standalone(builder: TestServerBuilder) -> Self {
        let server = builder.standalone().start().await.expect("a server");
        let proxies = vec![Proxy::start(server.addresses()[0]).await];
        Self {
            server,
            proxies,
            topology: Topology::Standalone,
        }
    }

    /// Starts a deployment of this topology. A sharded cluster has one router, so that all
    /// operations use the same proxy.
    ///
    /// # Panics
    /// If it cannot start.
    pub async fn start(topology: Topology, builder: TestServerBuilder) -> Self {
        match topology {
            Topology::Standalone => Self::standalone(builder).await,
            Topology::ReplicaSet => Self::replica_set(builder).await,
            Topology::Sharded => Self::sharded(builder, 1).await,
            Topology::LoadBalanced => Self::load_balanced(builder).await,
        }
    }

    /// Starts a sharded cluster. The connection string has `routers` of its two routers.
    ///
    /// # Panics
    /// If it cannot start.
    pub async fn sharded(builder: TestServerBuilder, routers: usize) -> Self {
        let server = builder.sharded().start().await.expect("a sharded cluster");
        let mut proxies = Vec::new();
        for address in server.addresses().into_iter().take(routers) {
            proxies.push(Proxy::start(address).await);
        }
        Self {
            server,
            proxies,
            topology: Topology::Sharded,
        }
    }

    /// Starts a load balancer in front of the two routers of a sharded cluster.
    ///
    /// # Panics
    /// If it cannot start.
    pub async fn load_balanced(builder: TestServerBuilder) -> Self {
        let server = builder.load_balanced().start().await.expect("a load balancer");
        let uri = server.uri();
        let hosts = uri.trim_start_matches("mongodb://").split('/').next();
        let host = hosts.and_then(|hosts| hosts.rsplit('@').next());
        let balancer = host.and_then(|host| host.parse().ok()).expect("an address");
        Self {
            server,
            proxies: vec![Proxy::start(balancer).await],
            topology: Topology::LoadBalanced,
        }
    }

    /// Starts a replica set of three members.
    ///
    /// # Panics
    /// If it cannot start.
    pub async fn replica_set(builder: TestServerBuilder) -> Self {
        let mut proxies = Vec::new();
        for _ in 0..3 {
            proxies.push(Proxy::without_target().await);
        }
        let hosts = proxies.iter().map(|proxy| proxy.address().to_string());
        let server = builder
            .replica_set()
            .advertised_hosts(hosts)
            .start()
            .await
            .expect("a replica set");
        for (proxy, address) in proxies.iter().zip(server.addresses()) {
            proxy.set_target(address);
        }
        Self {
            server,
            proxies,
            topology: Topology::ReplicaSet,
        }
    }

    /// A connection string through the proxies. `user` is empty, or ends with `@`.
    #[must_use]
    pub fn uri(&self, user: impl Display, options: impl Display) -> String {
        let hosts: Vec<String> = self
            .proxies
            .iter()
            .map(|proxy| proxy.address().to_string())
            .collect();
        let kind = self.topology.options();
        format!("mongodb://{user}{}/?{kind}&{options}", hosts.join(","))
    }

    /// The index of the primary.
    ///
    /// # Panics
    /// If no member is primary.
    #[must_use]
    pub fn primary(&self) -> usize {
        let primary = self.server.primary().expect("a primary");
        self.index_of(primary)
    }

    /// The proxy in front of the server that serves writes.
    ///
    /// # Panics
    /// If no member is primary.
    #[must_use]
    pub fn writable(&self) -> &Proxy {
        match self.topology {
            Topology::ReplicaSet => &self.proxies[self.primary()],
            _ => &self.proxies[0],
        }
    }

    /// The index of a secondary.
    ///
    /// # Panics
    /// If no member is primary.
    #[must_use]
    pub fn secondary(&self) -> usize {
        (self.primary() + 1) % self.proxies.len()
    }

    /// A direct connection string of the primary, which bypasses its proxy.
    ///
    /// # Panics
    /// If no member is primary.
    #[must_use]
    pub fn direct_uri(&self) -> String {
        self.server.member_uris().swap_remove(self.primary())
    }

    fn index_of(&self, address: SocketAddr) -> usize {
        let addresses = self.server.addresses();
        let index = addresses.iter().position(|known| *known == address);
        index.expect("a member")
    }

    /// Waits until at most `count` connections are open through each proxy.
    pub async fn wait_for_at_most_open(&self, count: usize) {
        for proxy in &self.proxies {
            proxy.wait_for_at_most_open(count).await;
        }
    }
}
