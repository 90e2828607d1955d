//! Settings of a server, and starting it.

use crate::deployment::Deployment;
use crate::member::Member;
use crate::server::TestServer;
use crate::version::Version;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;

/// The version that a server claims unless told otherwise.
const DEFAULT_VERSION: &str = "8.2.0";
/// The name of every replica set.
const SET_NAME: &str = "rs0";

/// How often expired documents are removed, as often as the server does.
const TTL_INTERVAL: std::time::Duration = std::time::Duration::from_secs(60);

/// Settings of a [`TestServer`]: by default a standalone of version 8.2.0 on a free port.
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until started"]
pub struct TestServerBuilder {
    replica_set: bool,
    version: String,
    port: u16,
}

impl Default for TestServerBuilder {
    fn default() -> Self {
        TestServerBuilder {
            replica_set: false,
            version: DEFAULT_VERSION.to_owned(),
            port: 0,
        }
    }
}

impl TestServerBuilder {
    /// Plays a replica set of three members named `rs0`.
    pub fn replica_set(mut self) -> Self {
        self.replica_set = true;
        self
    }

    /// Plays a standalone server.
    pub fn standalone(mut self) -> Self {
        self.replica_set = false;
        self
    }

    /// The server version to claim, for example `"7.0.14"`; 4.2 to 9 are accepted.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// The port; 0 takes a free one. The further members of a replica set take the ports after it.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Starts the server on a runtime of its own, so that it outlives the caller's runtime and is not slowed by it.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a version that is not supported, else what binding a port on the loopback interface gives.
    pub async fn start(self) -> io::Result<TestServer> {
        let invalid = |error: String| io::Error::new(io::ErrorKind::InvalidInput, error);
        let version: Version = self.version.parse().map_err(invalid)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("marula-test-server")
            // Filters and expressions recurse as deep as documents may nest.
            .thread_stack_size(16 * 1024 * 1024)
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        let started = handle
            .spawn(self.listen(version))
            .await
            .map_err(io::Error::other)
            .flatten();
        match started {
            Ok((deployment, members)) => Ok(TestServer::new(runtime, deployment, members)),
            Err(error) => {
                runtime.shutdown_background();
                Err(error)
            }
        }
    }

    async fn listen(self, version: Version) -> io::Result<(Arc<Deployment>, Vec<Arc<Member>>)> {
        let count = if self.replica_set { 3 } else { 1 };
        let mut listeners = Vec::new();
        for offset in 0..count {
            let port = if self.port == 0 {
                0
            } else {
                self.port.checked_add(offset).ok_or_else(|| {
                    io::Error::new(
                        io::ErrorKind::InvalidInput,
                        "no ports are left after the given one",
                    )
                })?
            };
            listeners.push(TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?);
        }
        let addresses = listeners
            .iter()
            .map(TcpListener::local_addr)
            .collect::<io::Result<Vec<_>>>()?;
        let set_name = self.replica_set.then(|| SET_NAME.to_owned());
        let deployment = Arc::new(Deployment::new(version, set_name, addresses.clone()));
        let expiring = Arc::downgrade(&deployment);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(TTL_INTERVAL).await;
                let Some(deployment) = expiring.upgrade() else {
                    return;
                };
                deployment.run_ttl_monitor();
            }
        });
        let mut members = Vec::new();
        for (index, (listener, address)) in listeners.into_iter().zip(addresses).enumerate() {
            let member = Arc::new(Member::new(index, address));
            member.start(listener, &deployment);
            members.push(member);
        }
        Ok((deployment, members))
    }
}
