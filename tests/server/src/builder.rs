//! The settings of a server, and how it is started.

mod external;

use crate::auth::AccessSettings;
use crate::auth::scram::{Credentials, Hash};
use crate::balancer::Balancer;
use crate::deployment::Deployment;
use crate::member::{Member, cannot_listen};
use crate::net::tls::{TlsIdentity, TlsSettings};
use crate::runtime::ServerRuntime;
use crate::server::TestServer;
use crate::settings::{Kind, Settings, check_parameter, default_parameters};
use crate::start_error::StartError;
use crate::version::Version;
use crate::wire::compress::Compressor;
use bson::{Bson, Document};
use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpListener;

/// The server version by default.
const DEFAULT_VERSION: &str = "8.2.0";
/// The name of the replica set by default.
const REPLICA_SET_NAME: &str = "rs0";

/// The server parameter with the enabled authentication mechanisms.
const MECHANISMS: &str = "authenticationMechanisms";

/// The interval of the TTL monitor, as MongoDB's default.
const TTL_INTERVAL: std::time::Duration = std::time::Duration::from_secs(60);

/// The settings of a [`TestServer`]. Default: a standalone of version 8.2.0 on a free port, without
/// authentication and TLS.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), marula_test_server::StartError> {
/// use marula_test_server::TestServer;
///
/// let server = TestServer::builder()
///     .sharded()
///     .version("8.0.4")
///     .auth("alice", "secret")
///     .parameter("requireApiVersion", true)
///     .start()
///     .await?;
/// assert!(server.uri().starts_with("mongodb://alice:secret@127.0.0.1:"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until it is started"]
pub struct TestServerBuilder {
    kind: Kind,
    version: String,
    port: u16,
    replica_set_name: String,
    advertised_hosts: Option<Vec<String>>,
    compressors: Vec<String>,
    parameters: Document,
    access: AccessSettings,
    tls: TlsSettings,
    unix_path: Option<PathBuf>,
    print_violations: bool,
    search: bool,
}

impl Default for TestServerBuilder {
    fn default() -> Self {
        TestServerBuilder {
            kind: Kind::Single,
            version: DEFAULT_VERSION.to_owned(),
            port: 0,
            replica_set_name: REPLICA_SET_NAME.to_owned(),
            advertised_hosts: None,
            compressors: Compressor::ALL
                .map(|compressor| compressor.name().to_owned())
                .to_vec(),
            parameters: Document::new(),
            access: AccessSettings::default(),
            tls: TlsSettings::default(),
            unix_path: None,
            print_violations: false,
            search: false,
        }
    }
}

impl TestServerBuilder {
    /// Starts a replica set of three members. Elections take effect immediately, and secondaries
    /// never lag.
    pub fn replica_set(mut self) -> Self {
        self.kind = Kind::ReplicaSet;
        self
    }

    /// Starts a standalone, the default. Of this method and [`replica_set`](Self::replica_set),
    /// [`sharded`](Self::sharded) and [`load_balanced`](Self::load_balanced), the last call
    /// applies.
    pub fn standalone(mut self) -> Self {
        self.kind = Kind::Single;
        self
    }

    /// Starts a sharded cluster of one shard and two mongos. Shards are not reachable by clients.
    pub fn sharded(mut self) -> Self {
        self.kind = Kind::Sharded;
        self
    }

    /// Starts a sharded cluster of two mongos behind load balancers: one in front of both mongos,
    /// one in front of the first only.
    pub fn load_balanced(mut self) -> Self {
        self.kind = Kind::LoadBalanced;
        self
    }

    /// The name of the replica set, not empty. Default: `rs0`. Ignored by other deployments.
    pub fn replica_set_name(mut self, name: impl Into<String>) -> Self {
        self.replica_set_name = name.into();
        self
    }

    /// The `host:port` of each of the three members in their replica set configuration: `hello`
    /// replies with these in `hosts`, `me` and `primary`. Clients need a resolver that maps them to
    /// [`TestServer::addresses`]. Default: the addresses.
    pub fn advertised_hosts<H: Into<String>>(mut self, hosts: impl IntoIterator<Item = H>) -> Self {
        self.advertised_hosts = Some(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// The compressors that the server can negotiate, of `snappy`, `zstd` and `zlib`. Default: all
    /// three, as of mongod.
    pub fn compressors(mut self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.compressors = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
        self
    }

    /// Sets a server parameter at startup, such as `requireApiVersion`. `getParameter: "*"` lists
    /// the supported ones with their defaults, which also determine the types. An unknown name or a
    /// value of another type is an error of [`start`](Self::start).
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<Bson>) -> Self {
        self.parameters.insert(name.into(), value.into());
        self
    }

    /// Requires authentication, and creates this user in the database `admin` with the role `root`
    /// and credentials for `SCRAM-SHA-1` and `SCRAM-SHA-256`. The connection strings contain the
    /// credentials. Further users can be created with `createUser`; their built-in roles are
    /// enforced. Default: no authentication, every client may run every command.
    pub fn auth(mut self, user: impl Into<String>, password: impl Into<String>) -> Self {
        self.access.user = Some((user.into(), password.into()));
        self
    }

    /// Requires authentication, and creates a user of the database `$external` for `MONGODB-X509`
    /// with this certificate subject, such as `CN=client,OU=tests,O=Marula`. With
    /// [`tls`](Self::tls), the client must have presented a certificate with this subject; without,
    /// no certificate is required. The user may run every command.
    pub fn x509_user(mut self, subject: impl Into<String>) -> Self {
        self.access.x509_user = Some(subject.into());
        self
    }

    /// Requires authentication, and creates a user of the database `$external` for `PLAIN`. The
    /// user may run every command. May be called for several users; the connection strings do not
    /// contain their credentials.
    pub fn plain_user(mut self, user: impl Into<String>, password: impl Into<String>) -> Self {
        self.access.plain.push((user.into(), password.into()));
        self
    }

    /// Requires TLS on all connections to all processes. The certificate should be valid for
    /// `127.0.0.1`; [`TestCertificates`] creates one. The connection strings contain `tls=true`;
    /// clients also need `tlsCAFile` or its equivalent.
    ///
    /// [`TestCertificates`]: crate::TestCertificates
    pub fn tls(mut self, identity: TlsIdentity) -> Self {
        self.tls.identity = Some(identity);
        self
    }

    /// Requires client certificates issued by this certificate authority (PEM), as mongod's
    /// `net.tls.CAFile` does. `MONGODB-X509` then accepts users of the database `$external` and the
    /// [`x509_user`](Self::x509_user). Requires [`tls`](Self::tls).
    pub fn tls_client_ca(mut self, pem: impl Into<String>) -> Self {
        self.tls.client_authority = Some(pem.into());
        self
    }

    /// Accepts clients without a certificate although a [`tls_client_ca`](Self::tls_client_ca) is
    /// set, as mongod's `net.tls.allowConnectionsWithoutCertificates` does. Certificates of other
    /// authorities are still rejected. Requires `tls_client_ca`.
    pub fn tls_allow_connections_without_certificates(mut self) -> Self {
        self.tls.allow_connections_without_certificates = true;
        self
    }

    /// Makes the first mongod or mongos of the deployment also listen on a Unix domain socket at
    /// this path. A stale socket file is replaced. Starting fails on platforms without Unix domain
    /// sockets.
    pub fn unix_socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.unix_path = Some(path.into());
        self
    }

    /// Writes violations of the protocol to standard error when they are recorded. Default:
    /// `false`. See [`TestServer::violations`].
    pub fn print_violations(mut self, print: bool) -> Self {
        self.print_violations = print;
        self
    }

    /// Enables an approximation of Atlas Search and Atlas Vector Search: the commands of search
    /// indexes, `$search`, `$searchMeta`, `$vectorSearch` and `$listSearchIndexes`. Default: `false`,
    /// as for a deployment without Atlas Search, on which they fail with error 31082.
    ///
    /// An index is `PENDING`, then `BUILDING`, then `READY`: each `$listSearchIndexes` and each search
    /// that reads the index is followed by the next state. A search with an index that is missing or
    /// not ready finds nothing.
    pub fn search(mut self, enabled: bool) -> Self {
        self.search = enabled;
        self
    }

    /// The server version, from 4.2 to 9, for example `"7.0.14"`. An omitted minor or patch version
    /// is 0. It determines the wire version and version-dependent behavior. Default: `8.2.0`.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// The first port. The processes listen on consecutive ports from it, in the order of
    /// [`TestServer::addresses`]; the two load balancers come before the mongos. Default: 0, a free
    /// port for each process.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Starts the server. It runs on threads of its own and serves clients until it is
    /// [stopped](TestServer::stop) or dropped. Any executor can run this future. If it is dropped,
    /// no server is started.
    ///
    /// # Errors
    ///
    /// A setting is invalid, or a port on the loopback interface or the path of the Unix domain
    /// socket cannot be bound; see [`StartError`].
    pub async fn start(self) -> Result<TestServer, StartError> {
        let settings = self.settings()?;
        let (owned_runtime, runtime) = ServerRuntime::new()?;
        let started = runtime
            .spawn(listen(settings, self.port))
            .await
            .map_err(io::Error::other)??;
        Ok(TestServer::new(owned_runtime, runtime, started))
    }

    /// Starts the server like [`start`](Self::start), for tests without an async runtime.
    ///
    /// ```
    /// let server = marula_test_server::TestServer::builder().start_blocking()?;
    /// assert!(server.uri().starts_with("mongodb://127.0.0.1:"));
    /// # Ok::<(), marula_test_server::StartError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`start`](Self::start).
    pub fn start_blocking(self) -> Result<TestServer, StartError> {
        let settings = self.settings()?;
        let (owned_runtime, runtime) = ServerRuntime::new()?;
        let (sender, receiver) = std::sync::mpsc::channel();
        let listening = listen(settings, self.port);
        runtime.spawn(async move { sender.send(listening.await) });
        let started = receiver.recv().map_err(io::Error::other)??;
        Ok(TestServer::new(owned_runtime, runtime, started))
    }

    fn settings(&self) -> Result<Settings, StartError> {
        let version: Version = self.version.parse()?;
        if let Some(hosts) = &self.advertised_hosts {
            let members = if self.kind == Kind::ReplicaSet {
                self.kind.processes()
            } else {
                0
            };
            if members == 0 || hosts.len() != members {
                return Err(StartError::AdvertisedHosts {
                    members,
                    hosts: hosts.len(),
                });
            }
        }
        for host in self.advertised_hosts.iter().flatten() {
            if !is_host_and_port(host) {
                return Err(StartError::InvalidAdvertisedHost { host: host.clone() });
            }
        }
        if self.replica_set_name.is_empty() {
            return Err(StartError::EmptyReplicaSetName);
        }
        if let Some((name, password)) = &self.access.user
            && (name.is_empty() || Credentials::new(Hash::Sha256, name, password, 1).is_none())
        {
            return Err(StartError::InvalidCredentials { user: name.clone() });
        }
        let defaults = default_parameters(self.kind, version);
        for (name, value) in &self.parameters {
            check_parameter(&defaults, name, value)?;
        }
        let mut parameters = self.parameters.clone();
        let external = self.access.mechanisms();
        if !external.is_empty() && !parameters.contains_key(MECHANISMS) {
            let mut names = defaults.get_array(MECHANISMS).cloned().unwrap_or_default();
            names.extend(external.into_iter().map(Bson::from));
            parameters.insert(MECHANISMS, names);
        }
        let compressors = self.compressors.iter().map(|name| {
            Compressor::from_name(name).ok_or_else(|| StartError::UnknownCompressor { name: name.clone() })
        });
        Ok(Settings {
            compressors: compressors.collect::<Result<_, _>>()?,
            kind: self.kind,
            version,
            replica_set_name: self.replica_set_name.clone(),
            advertised_hosts: self.advertised_hosts.clone(),
            parameters,
            access: self.access.clone(),
            tls: self
                .tls
                .config()
                .map_err(|reason| StartError::InvalidTls { reason })?,
            unix_path: self.unix_path.clone(),
            print_violations: self.print_violations,
            search: self.search,
        })
    }
}

/// The parts of a running server. The first load balancer is in front of all processes, the second
/// in front of the first.
pub(crate) struct Started {
    pub(crate) deployment: Arc<Deployment>,
    pub(crate) members: Vec<Arc<Member>>,
    pub(crate) balancers: Option<[Balancer; 2]>,
}

fn is_host_and_port(text: &str) -> bool {
    text.rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

async fn bind(port: u16) -> io::Result<(TcpListener, SocketAddr)> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| cannot_listen(address, &error))?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

async fn listen(settings: Settings, first_port: u16) -> Result<Started, StartError> {
    let kind = settings.kind;
    let balancers = if kind == Kind::LoadBalanced { 2 } else { 0 };
    let count = balancers + kind.processes() as u16;
    if first_port.checked_add(count - 1).is_none() {
        return Err(StartError::PortRange {
            first: first_port,
            count,
        });
    }
    let mut bound = VecDeque::new();
    for offset in 0..count {
        let port = if first_port == 0 { 0 } else { first_port + offset };
        bound.push_back(bind(port).await?);
    }
    let front: Vec<_> = bound.drain(..usize::from(balancers)).collect();
    let addresses = bound.iter().map(|(_, address)| *address).collect();
    let mut unix_path = settings.unix_path.clone();
    let deployment = Arc::new(Deployment::new(settings, addresses));
    run_ttl_monitor(&deployment);
    let mut members = Vec::new();
    for (index, (listener, address)) in bound.into_iter().enumerate() {
        let member = Arc::new(Member::new(index, address, unix_path.take()));
        member.start(listener, &deployment)?;
        members.push(member);
    }
    let balancer =
        |(listener, address), targets: &[Arc<Member>]| Balancer::start(listener, address, targets.to_vec());
    let balancers = <[_; 2]>::try_from(front)
        .ok()
        .map(|[all, single]| [balancer(all, &members), balancer(single, &members[..1])]);
    Ok(Started {
        deployment,
        members,
        balancers,
    })
}

fn run_ttl_monitor(deployment: &Arc<Deployment>) {
    let expiring = Arc::downgrade(deployment);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(TTL_INTERVAL).await;
            let Some(deployment) = expiring.upgrade() else {
                return;
            };
            deployment.run_ttl_monitor();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_settings_are_rejected() {
        let rejected = |builder: TestServerBuilder| builder.settings().is_err();
        assert!(rejected(TestServerBuilder::default().version("4.0")));
        assert!(rejected(TestServerBuilder::default().parameter("unknown", 1)));
        assert!(rejected(TestServerBuilder::default().compressors(["lzma"])));
        assert!(rejected(TestServerBuilder::default().auth("", "x")));
        assert!(rejected(TestServerBuilder::default().auth("u", "\u{7}")));
        let empty = TlsIdentity::new("", "");
        assert!(rejected(TestServerBuilder::default().tls(empty)));
        assert!(rejected(TestServerBuilder::default().tls_client_ca("x")));
        assert!(rejected(
            TestServerBuilder::default().tls_allow_connections_without_certificates()
        ));
        assert!(rejected(
            TestServerBuilder::default().replica_set().replica_set_name("")
        ));
        for hosts in [["a:1", "b:2", ""], ["a:1", "b:2", "c"], ["a:1", "b:2", ":3"]] {
            let builder = TestServerBuilder::default().replica_set();
            assert!(rejected(builder.advertised_hosts(hosts)), "{hosts:?}");
        }
        assert!(rejected(
            TestServerBuilder::default()
                .replica_set()
                .advertised_hosts(["a:1"])
        ));
        assert!(rejected(
            TestServerBuilder::default()
                .sharded()
                .advertised_hosts(["a:1", "b:2", "c:3"])
        ));
        assert!(!rejected(
            TestServerBuilder::default()
                .replica_set()
                .advertised_hosts(["a:1", "b:2", "c:3"])
        ));
    }
}
