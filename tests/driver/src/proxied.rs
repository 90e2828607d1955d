//! A server or replica set each of whose members has a proxy before it, under whose address the members know each other.

use std::{fmt::Display, net::SocketAddr};

use marula_test_server::{TestServer, TestServerBuilder};

use crate::Proxy;

/// Clients of [`uri`](Self::uri) reach the members through the proxies only.
#[derive(Debug)]
pub struct Proxied {
    /// The deployment. Its own connection strings lead past the proxies, those of single members only.
    pub server: TestServer,
    /// One for each member, in the order of [`TestServer::addresses`].
    pub proxies: Vec<Proxy>,
}

impl Proxied {
    /// A standalone server.
    ///
    /// # Panics
    /// When it cannot start.
    pub async fn standalone(builder: TestServerBuilder) -> Self {
        let server = builder.standalone().start().await.expect("a server");
        let proxies = vec![Proxy::start(server.addresses()[0]).await];
        Self { server, proxies }
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
        Self { server, proxies }
    }

    /// A connection string through the proxies. `user` is empty, or ends with `@`.
    #[must_use]
    pub fn uri(&self, user: impl Display, options: impl Display) -> String {
        let hosts: Vec<String> = self
            .proxies
            .iter()
            .map(|proxy| proxy.address().to_string())
            .collect();
        let kind = match self.proxies.len() {
            1 => "directConnection=true",
            _ => "replicaSet=rs0",
        };
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
