//! A client in a given state, and the checks after its end.

use std::time::Duration;

use marula_driver::{Client, Error, ErrorKind, bson::doc, options::ClientOptions};
use marula_driver_tests::{PoolTally, Proxied, Proxy, Topology, tasks};
use marula_test_server::{TestServer, TestServerBuilder};
use tokio::task::JoinHandle;

/// Catches hangs only.
const HANG: Duration = Duration::from_secs(60);

/// How a client ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Its operations are dropped, then its last handle.
    Dropped,
    /// It is shut down while its operations wait; they end by themselves.
    ShutDown,
}

/// A deployment behind proxies, and a client through them.
pub(crate) struct Place {
    deployment: Proxied,
    pub(crate) tally: PoolTally,
    client: Client,
    operations: Vec<JoinHandle<Result<(), Error>>>,
}

impl Place {
    /// The proxy that operations go through.
    pub(crate) fn proxy(&self) -> &Proxy {
        self.deployment.writable()
    }

    /// The client has not come so far.
    pub(crate) fn assert_no_request(&self, command: &str) {
        assert_eq!(self.proxy().requests(command), 0, "{command} was sent already");
    }

    /// The oldest ping ends with an error.
    pub(crate) async fn first_ping_fails(&mut self) {
        let ping = self.operations.remove(0).await.expect("no panic");
        ping.expect_err("it was lost");
    }

    /// Starts this many pings, each in a task of its own.
    pub(crate) fn begin_pings(&mut self, count: usize) {
        for _ in 0..count {
            let admin = self.client.database("admin");
            self.operations.push(tokio::spawn(async move {
                admin.run_command(doc! { "ping": 1 }).await.map(drop)
            }));
        }
    }
}

/// What leads to a moment.
pub(crate) struct Way {
    pub(crate) server: fn() -> TestServerBuilder,
    /// Of the connection string; a user before `@` and options.
    pub(crate) user: &'static str,
    pub(crate) options: String,
    /// Before the client is made, for each proxy.
    pub(crate) prepare: fn(&Proxy),
    /// Where the moment exists.
    pub(crate) topologies: Vec<Topology>,
}

impl Way {
    pub(crate) fn new(options: &str, prepare: fn(&Proxy)) -> Self {
        Self {
            server: TestServer::builder,
            user: "",
            options: options.to_owned(),
            prepare,
            topologies: Topology::ALL.to_vec(),
        }
    }

    /// A moment that only monitors, or a pool that they can pause, come to.
    pub(crate) fn of_monitored(mut self) -> Self {
        self.topologies.retain(|topology| topology.is_monitored());
        self
    }
}

/// Ends clients when they have reached the moment.
pub(crate) async fn nothing_is_left(way: Way, reach: impl AsyncFn(&mut Place)) {
    for topology in &way.topologies {
        for end in [End::Dropped, End::ShutDown] {
            let all = end_there(&way, &reach, *topology, end);
            tokio::time::timeout(HANG, all)
                .await
                .unwrap_or_else(|_| panic!("{topology:?}, {end:?}: something is left"));
        }
    }
}

async fn end_there(way: &Way, reach: &impl AsyncFn(&mut Place), topology: Topology, end: End) {
    let deployment = Proxied::start(topology, (way.server)()).await;
    for proxy in &deployment.proxies {
        (way.prepare)(proxy);
    }
    let alive = tasks::alive();
    let uri = deployment.uri(way.user, &way.options);
    let mut options = ClientOptions::parse(&uri).expect("a connection string");
    let tally = PoolTally::default();
    tally.listen(&mut options);
    let client = Client::with_options(options).expect("a client");
    let mut place = Place {
        deployment,
        tally,
        client,
        operations: Vec::new(),
    };
    reach(&mut place).await;
    assert!(tasks::alive() > alive, "the moment was missed");
    let Place {
        deployment,
        tally,
        client,
        operations,
    } = place;
    match end {
        End::Dropped => {
            for operation in operations {
                operation.abort();
                match operation.await {
                    Err(error) => assert!(error.is_cancelled(), "{error}"),
                    // Without a monitor, a failed connection fails the operation instead of its server.
                    Ok(outcome) => {
                        assert!(!topology.is_monitored(), "it cannot have ended");
                        outcome.expect_err("it cannot have succeeded");
                    }
                }
            }
        }
        End::ShutDown => {
            client.shutdown().await;
            // What was sent can be awaited to its end.
            for proxy in &deployment.proxies {
                proxy.pass_everything();
                proxy.end_waits();
            }
            for operation in operations {
                if let Err(error) = operation.await.expect("no panic") {
                    assert!(
                        matches!(
                            error.kind(),
                            ErrorKind::Shutdown | ErrorKind::Pool(_) | ErrorKind::Network(_)
                        ),
                        "{error:?}"
                    );
                }
            }
        }
    }
    drop(client);
    deployment.wait_for_at_most_open(0).await;
    deployment.server.wait_for_open_connections(0).await;
    tasks::wait_for_at_most(alive).await;
    tally.assert_nothing_left();
}
