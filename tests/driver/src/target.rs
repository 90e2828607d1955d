//! The deployment for tests of plain commands: one in this process, or the one that `MONGODB_URI`
//! names.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use marula_driver::{Client, Collection, Database, bson::doc, options::ServerVersion};
use marula_test_server::TestServer;

use crate::{Deployment, replica_set, standalone};

/// The environment variable with the connection string of the deployment to use.
const VARIABLE: &str = "MONGODB_URI";

/// A deployment, a client connected to it, and databases that no other test uses.
#[derive(Debug)]
pub struct Target {
    /// A client of the deployment.
    pub client: Client,
    uri: String,
    server: Option<TestServer>,
    /// The databases created by the test. They are dropped with this value if the deployment is not
    /// in this process.
    databases: Mutex<Vec<String>>,
}

/// The deployment that `MONGODB_URI` names, otherwise a new standalone server.
///
/// # Panics
/// If it cannot be started, or the connection string is invalid.
pub async fn any_deployment() -> Target {
    match real().await {
        Some(target) => target,
        None => standalone().await.into(),
    }
}

/// The deployment that `MONGODB_URI` names, otherwise a new replica set. Prints a message and
/// returns `None` if the named deployment has no logical clock, as a standalone server.
///
/// # Panics
/// If it cannot be started, or the connection string is invalid.
pub async fn with_logical_clock() -> Option<Target> {
    let Some(target) = real().await else {
        return Some(replica_set().await.into());
    };
    let admin = target.client.database("admin");
    let reply = admin.run_command(doc! { "ping": 1 }).await;
    let reply = reply.expect("the deployment answers");
    if reply.contains_key("operationTime") {
        return Some(target);
    }
    target.skip("it has no logical clock");
    None
}

impl Target {
    /// Whether the deployment is older than MongoDB `major.minor`, which the test needs. The reason is
    /// printed, and the test should return.
    ///
    /// # Panics
    /// If the deployment does not reply.
    pub async fn is_before(&self, major: u32, minor: u32) -> bool {
        let admin = self.client.database("admin");
        let reply = admin.run_command(doc! { "hello": 1 }).await;
        let reply = reply.expect("the deployment replies");
        let found = reply.get_i32("maxWireVersion").unwrap_or_default();
        let is_before = ServerVersion::of_wire_version(found) < ServerVersion::release(major, minor);
        if is_before {
            self.skip(&format!("it is older than MongoDB {major}.{minor}"));
        }
        is_before
    }
}

/// As [`any_deployment`], but a sharded cluster is used through one of its routers. Another router
/// can be behind: it does not know the fail points of the first, nor the end of its unacknowledged
/// writes. With one server there is also no choice for which a pool could be left.
///
/// # Panics
/// If it cannot be started, or the connection string is invalid.
pub async fn any_single_router() -> Target {
    let target = any_deployment().await;
    let hello = target
        .client
        .database("admin")
        .run_command(doc! { "hello": 1 })
        .await;
    let hello = hello.expect("the deployment replies");
    let uri = with_first_host(&target.uri);
    if hello.get_str("msg").ok() == Some("isdbgrid") && uri != target.uri {
        connected(uri).await
    } else {
        target
    }
}

/// The connection string without the hosts after the first.
fn with_first_host(uri: &str) -> String {
    let begin = uri.find("://").map_or(0, |at| at + 3);
    let end = uri[begin..].find('/').map_or(uri.len(), |at| begin + at);
    let first = uri[begin..end].find(',').map_or(end, |at| begin + at);
    format!("{}{}", &uri[..first], &uri[end..])
}

async fn real() -> Option<Target> {
    let uri = std::env::var(VARIABLE).ok().filter(|uri| !uri.is_empty())?;
    Some(connected(uri).await)
}

async fn connected(uri: String) -> Target {
    let client = Client::connect(&uri)
        .await
        .expect("MONGODB_URI holds a valid connection string");
    Target {
        client,
        uri,
        server: None,
        databases: Mutex::default(),
    }
}

impl From<Deployment> for Target {
    fn from(deployment: Deployment) -> Self {
        Self {
            uri: deployment.server.uri(),
            client: deployment.client,
            server: Some(deployment.server),
            databases: Mutex::default(),
        }
    }
}

impl Target {
    /// The connection string, with options such as `maxPoolSize=1` appended.
    #[must_use]
    pub fn uri_with(&self, options: &str) -> String {
        let joint = match (self.uri.contains('?'), self.uri.matches('/').count() > 2) {
            (true, _) => "&",
            (false, true) => "?",
            (false, false) => "/?",
        };
        format!("{}{joint}{options}", self.uri)
    }

    /// Another client, with options such as `maxPoolSize=1` appended to the connection string.
    ///
    /// # Panics
    /// If the connection string is invalid.
    pub async fn client_with(&self, options: &str) -> Client {
        let client = Client::connect(self.uri_with(options)).await;
        client.expect("a valid connection string")
    }

    /// The name of a database that no other test uses.
    #[must_use]
    pub fn database_name(&self) -> String {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        if self.server.is_some() {
            return format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        }
        let name = format!("marula_{}", uuid::Uuid::now_v7().simple());
        let mut databases = self.databases.lock().unwrap_or_else(PoisonError::into_inner);
        databases.push(name.clone());
        name
    }

    /// A database that no other test uses.
    #[must_use]
    pub fn database(&self) -> Database {
        self.client.database(&self.database_name())
    }

    /// A collection in a database that no other test uses.
    #[must_use]
    pub fn collection<T>(&self) -> Collection<T> {
        self.database().collection("things")
    }

    /// The in-process server, for checks of its counters. Otherwise prints what is not checked and
    /// returns `None`.
    #[must_use]
    pub fn in_process(&self, check: &str) -> Option<&TestServer> {
        if self.server.is_none() {
            eprintln!("not checked on the deployment of {VARIABLE}: {check}");
        }
        self.server.as_ref()
    }

    /// Whether the server runs in this process. It then supports every feature that the tests need.
    #[must_use]
    pub fn is_in_process(&self) -> bool {
        self.server.is_some()
    }

    /// Prints that the test is skipped on the deployment of `MONGODB_URI`, and why.
    pub fn skip(&self, reason: &str) {
        eprintln!("skipped on the deployment of {VARIABLE}: {reason}");
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let databases = std::mem::take(&mut *self.databases.lock().unwrap_or_else(PoisonError::into_inner));
        if databases.is_empty() {
            return;
        }
        // The runtime of the test may be shutting down, so the databases are dropped on another
        // runtime.
        let uri = self.uri.clone();
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let client = Client::connect(uri).await?;
                for name in databases {
                    client.database(&name).drop().await?;
                }
                client.shutdown().await;
                Ok::<_, marula_driver::Error>(())
            })
        });
        if let Ok(Err(error)) = dropped.join() {
            eprintln!("a database of a test could not be dropped: {error}");
        }
    }
}
