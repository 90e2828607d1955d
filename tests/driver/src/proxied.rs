//! A deployment of any topology with a proxy before each member, router or load balancer. The members of
//! a replica set know each other by the addresses of the proxies.

use std::{fmt::Display, net::SocketAddr};

use marula_test_server::{TestServer, TestServerBuilder};

use crate::Proxy;

/// What a client is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// One server.
    Standalone,
    /// Three members.
    ReplicaSet,
    /// Routers of a sharded cluster.
    Sharded,
    /// A load balancer before two routers.
    LoadBalanced,
}

impl Topology {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Standalone,
        Self::ReplicaSet,
        Self::Sharded,
        Self::LoadBalanced,
    ];

    /// Whether servers are checked by monitors.
    #[must_use]
    pub fn is_monitored(self) -> bool {
        self != Self::LoadBalanced
    }

    /// What the client's description of the deployment holds once it can serve operations.
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

/// Clients of [`uri`](Self::uri) reach the members through the proxies only.
#[derive(Debug)]
pub struct Proxied {
    /// The deployment. Its own connection strings lead past the proxies, those of single members only.
    pub server: TestServer,
    /// One for each member or router, in the order of [`TestServer::addresses`]; one for the load balancer.
    pub proxies: Vec<Proxy>,
    topology: Topology,
}

impl Proxied {
    /// A standalone server.
    ///
    /// # Panics
    /// When it cannot start.
    pub async fn standalone(builder: TestServerBuilder) -> Self {
        let server = builder.standalone().start().await.expect("a server");
        let proxies = vec![Proxy::start(server.addresses()[0]).await];
        Self {
            server,
            proxies,
            topology: Topology::Standalone,
        }
    }

    /// A deployment of this topology. A sharded cluster has one router, so that every operation goes through the same proxy.
    ///
    /// # Panics
    /// When it cannot start.
    pub async fn start(topology: Topology, builder: TestServerBuilder) -> Self {
        match topology {
            Topology::Standalone => Self::standalone(builder).await,
            Topology::ReplicaSet => Self::replica_set(builder).await,
            Topology::Sharded => Self::sharded(builder, 1).await,
            Topology::LoadBalanced => Self::load_balanced(builder).await,
        }
    }

    /// A sharded cluster, one or both of whose two routers clients know.
    ///
    /// # Panics
    /// When it cannot start.
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

    /// A load balancer before the two routers of a sharded cluster.
    ///
    /// # Panics
    /// When it cannot start.
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

    /// A replica set of three members.
    ///
    /// # Panics
    /// When it cannot start.
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

    /// The number of the primary.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn primary(&self) -> usize {
        let primary = self.server.primary().expect("a primary");
        self.index_of(primary)
    }

    /// The proxy that writes go through.
    ///
    /// # Panics
    /// When there is no primary.
    #[must_use]
    pub fn writable(&self) -> &Proxy {
        match self.topology {
            Topology::ReplicaSet => &self.proxies[self.primary()],
            _ => &self.proxies[0],
        }
    }

    /// The number of a member other than the primary.
    ///
    /// # Panics
    /// When there is no primary.
    #[must_use]
    pub fn secondary(&self) -> usize {
        (self.primary() + 1) % self.proxies.len()
    }

    /// A connection string of the primary alone, past the proxies.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn direct_uri(&self) -> String {
        self.server.member_uris().swap_remove(self.primary())
    }

    fn index_of(&self, address: SocketAddr) -> usize {
        let addresses = self.server.addresses();
        let index = addresses.iter().position(|known| *known == address);
        index.expect("a member")
    }

    /// Waits until no more than `count` connections through each proxy are open.
    pub async fn wait_for_at_most_open(&self, count: usize) {
        for proxy in &self.proxies {
            proxy.wait_for_at_most_open(count).await;
        }
    }
}
