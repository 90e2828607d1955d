//! The fixture of the suite: a DNS server and three deployments with TLS, started once for all
//! cases.
//!
//! The files contain fixed ports of local hosts. A dialer maps them to the ports in use, so that
//! the three deployments can run in parallel.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use marula_driver::{
    internals::{Dialer, Environment},
    options::ClientOptions,
};
use marula_driver_tests::{
    dns::DnsServer,
    tls::{Authority, Files, Identity, TlsTerminator},
};
use marula_test_server::{TestServer, TestServerBuilder};
use tokio::runtime::{Builder, Runtime};

use super::zone;

/// The deployment that listens on the ports in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    ReplicaSet,
    Sharded,
    LoadBalanced,
}

impl Kind {
    pub(super) fn of_folder(folder: &str) -> Option<Self> {
        match folder {
            "replica-set" => Some(Self::ReplicaSet),
            "sharded" => Some(Self::Sharded),
            "load-balanced" => Some(Self::LoadBalanced),
            _ => None,
        }
    }

    /// The ports of the deployment according to the README of the specification.
    fn ports(self) -> &'static [u16] {
        match self {
            Self::ReplicaSet => &[27017, 27018, 27019],
            Self::Sharded => &[27017, 27018],
            Self::LoadBalanced => &[8000],
        }
    }

    fn builder(self) -> TestServerBuilder {
        let builder = TestServer::builder();
        match self {
            Self::ReplicaSet => builder.replica_set().replica_set_name("repl0").advertised_hosts([
                "localhost:27017",
                "localhost:27018",
                "localhost:27019",
            ]),
            Self::Sharded => builder.sharded(),
            Self::LoadBalanced => builder.load_balanced(),
        }
    }
}

/// A deployment, and a TLS proxy for each of its addresses.
struct Deployment {
    server: TestServer,
    proxies: Vec<TlsTerminator>,
}

impl Deployment {
    async fn start(kind: Kind, identity: &Identity) -> Result<Self, String> {
        let server = kind
            .builder()
            .start()
            .await
            .map_err(|error| format!("cannot start the {kind:?} deployment: {error}"))?;
        let mut proxies = Vec::new();
        for address in entries(&server) {
            proxies.push(TlsTerminator::start(identity, address).await);
        }
        Ok(Self { server, proxies })
    }

    /// Maps the ports in the files to the actual addresses.
    fn map(&self, kind: Kind, encrypted: bool) -> BTreeMap<u16, SocketAddr> {
        let addresses = if encrypted {
            self.proxies.iter().map(|front| front.address).collect()
        } else {
            entries(&self.server)
        };
        kind.ports().iter().copied().zip(addresses).collect()
    }
}

/// The addresses in the connection string: of members, of mongos, or of the load balancer.
fn entries(server: &TestServer) -> Vec<SocketAddr> {
    let uri = server.uri();
    let hosts = uri.trim_start_matches("mongodb://");
    let hosts = hosts.split(['/', '?']).next().unwrap_or_default();
    hosts.split(',').filter_map(|host| host.parse().ok()).collect()
}

pub(super) struct Fixture {
    runtime: Runtime,
    dns: DnsServer,
    deployments: BTreeMap<Kind, Deployment>,
    ca_file: String,
    _files: Files,
}

impl Fixture {
    /// Starts the fixture at the first call.
    pub(super) fn get() -> &'static Result<Self, String> {
        static FIXTURE: OnceLock<Result<Fixture, String>> = OnceLock::new();
        FIXTURE.get_or_init(Self::start)
    }

    fn start() -> Result<Self, String> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        let authority = Authority::new();
        let identity = authority.issue(&zone::HOSTS);
        let files = Files::new();
        let ca_file = files.write("ca.pem", &authority.pem());
        let (dns, deployments) = runtime.block_on(async {
            let dns = DnsServer::start().await;
            zone::fill(&dns);
            let mut deployments = BTreeMap::new();
            for kind in [Kind::ReplicaSet, Kind::Sharded, Kind::LoadBalanced] {
                deployments.insert(kind, Deployment::start(kind, &identity).await?);
            }
            Ok::<_, String>((dns, deployments))
        })?;
        Ok(Self {
            runtime,
            dns,
            deployments,
            ca_file,
            _files: files,
        })
    }

    pub(super) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// The DNS server, and the system's sockets, which are not used before a client is created.
    pub(super) fn lookup_only(&self) -> Environment {
        Environment {
            dns: self.dns.resolver(),
            ..Environment::default()
        }
    }

    /// The DNS server, and the ports of the deployment. TLS connections trust the fixture's
    /// certificate authority.
    pub(super) fn environment(&self, kind: Kind, options: &mut ClientOptions) -> Environment {
        let encrypted = options.tls.enabled == Some(true);
        if encrypted {
            options.tls.ca_file = Some(self.ca_file.clone().into());
        }
        let ports = self
            .deployments
            .get(&kind)
            .map(|deployment| deployment.map(kind, encrypted))
            .unwrap_or_default();
        let dial = move |host: &str, port: u16| {
            let known = zone::HOSTS.contains(&host);
            known.then(|| ports.get(&port).copied()).flatten()
        };
        Environment {
            dialer: Dialer::Mapped(Arc::new(dial)),
            ..self.lookup_only()
        }
    }
}
