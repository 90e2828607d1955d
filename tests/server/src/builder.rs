//! Settings of a server, and starting it.

use crate::auth::AccessSettings;
use crate::auth::scram::{Hash, Stored};
use crate::balancer::Balancer;
use crate::deployment::Deployment;
use crate::member::Member;
use crate::net::tls::{TlsIdentity, TlsSettings};
use crate::server::TestServer;
use crate::settings::{Kind, Settings, check_parameter, default_parameters};
use crate::version::Version;
use crate::wire::compress::Compressor;
use bson::{Bson, Document};
use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpListener;

/// The version that a server claims unless told otherwise.
const DEFAULT_VERSION: &str = "8.2.0";
/// The name of a replica set unless told otherwise.
const SET_NAME: &str = "rs0";

/// How often expired documents are removed, as often as the server does.
const TTL_INTERVAL: std::time::Duration = std::time::Duration::from_secs(60);

/// Settings of a [`TestServer`]: by default a standalone of version 8.2.0 on a free port.
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until started"]
pub struct TestServerBuilder {
    kind: Kind,
    version: String,
    port: u16,
    set_name: String,
    advertised_hosts: Option<Vec<String>>,
    compressors: Vec<String>,
    parameters: Document,
    access: AccessSettings,
    tls: TlsSettings,
    unix_path: Option<PathBuf>,
    print_violations: bool,
}

impl Default for TestServerBuilder {
    fn default() -> Self {
        TestServerBuilder {
            kind: Kind::Single,
            version: DEFAULT_VERSION.to_owned(),
            port: 0,
            set_name: SET_NAME.to_owned(),
            advertised_hosts: None,
            compressors: Compressor::ALL
                .map(|compressor| compressor.name().to_owned())
                .to_vec(),
            parameters: Document::new(),
            access: AccessSettings::default(),
            tls: TlsSettings::default(),
            unix_path: None,
            print_violations: false,
        }
    }
}

impl TestServerBuilder {
    /// Plays a replica set of three members, named `rs0` unless [`set_name`](Self::set_name) says otherwise.
    pub fn replica_set(mut self) -> Self {
        self.kind = Kind::ReplicaSet;
        self
    }

    /// Plays a standalone server.
    pub fn standalone(mut self) -> Self {
        self.kind = Kind::Single;
        self
    }

    /// Plays a sharded cluster: two mongos over one storage.
    pub fn sharded(mut self) -> Self {
        self.kind = Kind::Sharded;
        self
    }

    /// Plays a sharded cluster of two mongos behind load balancers: one in front of both, one in front of the first only.
    pub fn load_balanced(mut self) -> Self {
        self.kind = Kind::LoadBalanced;
        self
    }

    /// The replica set's name; other deployments have none.
    pub fn set_name(mut self, name: impl Into<String>) -> Self {
        self.set_name = name.into();
        self
    }

    /// The names, `host:port`, under which the three members of a replica set know each other: what hello answers in
    /// `hosts`, `me` and `primary` instead of the real addresses. Clients have to map them to [`TestServer::addresses`].
    pub fn advertised_hosts<H: Into<String>>(mut self, hosts: impl IntoIterator<Item = H>) -> Self {
        self.advertised_hosts = Some(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// The compressors that connections can agree on: some of `snappy`, `zstd` and `zlib`. All three unless told otherwise, as on a
    /// real server.
    pub fn compressors(mut self, names: &[&str]) -> Self {
        self.compressors = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// Sets a server parameter, such as `requireApiVersion`, from the start. It must be one that `getParameter` knows, with a
    /// value of the type it has there.
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<Bson>) -> Self {
        self.parameters.insert(name.into(), value.into());
        self
    }

    /// Refuses commands of clients that have not logged in. This user may: one of the database `admin`, with both hashes of SCRAM.
    /// The server's connection strings name it. It has the role `root` and can create more users, whose built-in roles are enforced.
    pub fn auth(mut self, user: impl Into<String>, password: impl Into<String>) -> Self {
        self.access.user = Some((user.into(), password.into()));
        self
    }

    /// Lets the owner of a certificate with this subject log in by `MONGODB-X509`. Clients must log in. With [`tls`](Self::tls) it
    /// is the certificate that the client has shown; without, no certificate is looked at: every client is taken for the owner. The user
    /// may run every command.
    pub fn certificate_subject(mut self, subject: impl Into<String>) -> Self {
        self.access.certificate_subject = Some(subject.into());
        self
    }

    /// Lets this user of the database `$external` log in by `PLAIN`. Clients must log in. The user may run every command.
    pub fn plain_user(mut self, user: impl Into<String>, password: impl Into<String>) -> Self {
        self.access.plain.push((user.into(), password.into()));
        self
    }

    /// Encrypts all connections, of all processes: they show this certificate, which should be one of `127.0.0.1`. Who speaks in
    /// the clear is cut off. The connection strings say `tls=true`; clients must be told besides whom to trust.
    pub fn tls(mut self, identity: TlsIdentity) -> Self {
        self.tls.identity = Some(identity);
        self
    }

    /// Wants clients to show a certificate of this authority (PEM), as `tlsCAFile` of mongod does. By `MONGODB-X509` the owner can
    /// log in that is a user of the database `$external` or named by [`certificate_subject`](Self::certificate_subject). Needs
    /// [`tls`](Self::tls).
    pub fn client_authority(mut self, pem: impl Into<String>) -> Self {
        self.tls.client_authority = Some(pem.into());
        self
    }

    /// Lets clients in that show no certificate, even though there is a [`client_authority`](Self::client_authority). One of
    /// another authority is still refused.
    pub fn allow_connections_without_certificates(mut self) -> Self {
        self.tls.allow_connections_without_certificates = true;
        self
    }

    /// Listens on this path too: the first process of the deployment does, load balancers not counted. A socket left there by an
    /// earlier process is replaced. On platforms without such sockets the server does not start.
    pub fn unix_socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.unix_path = Some(path.into());
        self
    }

    /// Writes violations of the protocol to standard error as they happen. Default: `false`; see [`TestServer::violations`].
    pub fn print_violations(mut self, print: bool) -> Self {
        self.print_violations = print;
        self
    }

    /// The server version to claim, for example `"7.0.14"`; 4.2 to 9 are accepted.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// The port; 0 takes a free one. The further processes of a deployment take the ports after it: the members of a set, the second
    /// mongos; with load balancers first the one in front of both mongos, then the other one, then the two mongos.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Starts the server on a runtime of its own, so that it outlives the caller's runtime and is not slowed by it.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a version that is not supported, unknown parameters and compressors, certificates and keys that are
    /// none, and advertised hosts that are not one for each member of a replica set, else what binding a port on the loopback
    /// interface, or the path of a Unix domain socket, gives.
    pub async fn start(self) -> io::Result<TestServer> {
        let invalid = |error: String| io::Error::new(io::ErrorKind::InvalidInput, error);
        let settings = self.settings().map_err(invalid)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("marula-test-server")
            // Filters and expressions recurse as deep as documents may nest.
            .thread_stack_size(16 * 1024 * 1024)
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        let started = handle
            .spawn(listen(settings, self.port))
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)));
        match started {
            Ok(started) => Ok(TestServer::new(runtime, started)),
            Err(error) => {
                runtime.shutdown_background();
                Err(error)
            }
        }
    }

    fn settings(&self) -> Result<Settings, String> {
        let version: Version = self.version.parse()?;
        if let Some(hosts) = &self.advertised_hosts
            && (self.kind != Kind::ReplicaSet || hosts.len() != self.kind.processes())
        {
            return Err("advertised hosts are for replica sets, three names for three members".to_owned());
        }
        if let Some((name, password)) = &self.access.user
            && (name.is_empty() || Stored::new(Hash::Sha256, name, password, 1).is_none())
        {
            return Err("a user needs a name, and a password without control characters".to_owned());
        }
        let defaults = default_parameters(self.kind, version);
        for (name, value) in &self.parameters {
            check_parameter(&defaults, name, value)?;
        }
        let compressors = self.compressors.iter().map(|name| {
            Compressor::from_name(name).ok_or_else(|| format!("there is no compressor \"{name}\""))
        });
        Ok(Settings {
            compressors: compressors.collect::<Result<_, _>>()?,
            kind: self.kind,
            version,
            set_name: self.set_name.clone(),
            advertised_hosts: self.advertised_hosts.clone(),
            parameters: self.parameters.clone(),
            access: self.access.clone(),
            tls: self.tls.config()?,
            unix_path: self.unix_path.clone(),
            print_violations: self.print_violations,
        })
    }
}

/// What starting gives: the shared state, the processes, and the load balancers in front of all of them and of the first.
pub(crate) struct Started {
    pub(crate) deployment: Arc<Deployment>,
    pub(crate) members: Vec<Arc<Member>>,
    pub(crate) balancers: Option<[Balancer; 2]>,
}

async fn bind(port: u16) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

async fn listen(settings: Settings, first_port: u16) -> io::Result<Started> {
    let kind = settings.kind;
    let balancers = if kind == Kind::LoadBalanced { 2 } else { 0 };
    let mut bound = VecDeque::new();
    for offset in 0..balancers + kind.processes() as u16 {
        let port = if first_port == 0 {
            0
        } else {
            first_port.checked_add(offset).ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "no ports are left after the given one",
                )
            })?
        };
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
    fn settings_that_cannot_be_are_refused() {
        let refused = |builder: TestServerBuilder| builder.settings().is_err();
        assert!(refused(TestServerBuilder::default().version("4.0")));
        assert!(refused(TestServerBuilder::default().parameter("what", 1)));
        assert!(refused(TestServerBuilder::default().compressors(&["lzma"])));
        assert!(refused(TestServerBuilder::default().auth("", "x")));
        assert!(refused(TestServerBuilder::default().auth("u", "\u{7}")));
        let none = || TlsIdentity {
            certificate_pem: String::new(),
            key_pem: String::new(),
        };
        assert!(refused(TestServerBuilder::default().tls(none())));
        assert!(refused(TestServerBuilder::default().client_authority("x")));
        assert!(refused(
            TestServerBuilder::default()
                .replica_set()
                .advertised_hosts(["a:1"])
        ));
        assert!(refused(
            TestServerBuilder::default()
                .sharded()
                .advertised_hosts(["a:1", "b:2", "c:3"])
        ));
        assert!(!refused(
            TestServerBuilder::default()
                .replica_set()
                .advertised_hosts(["a:1", "b:2", "c:3"])
        ));
    }
}
