//! Brings a client into a given state, ends it, and checks that nothing is left.

use std::time::Duration;

use marula_driver::{Client, Error, ErrorKind, bson::doc, options::ClientOptions};
use marula_driver_tests::{PoolTally, Proxied, Proxy, Topology, tasks};
use marula_test_server::{TestServer, TestServerBuilder};
use tokio::task::JoinHandle;

/// The time limit, which is reached only if a test fails.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// How the client ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Its operations are dropped, then its last handle.
    Dropped,
    /// It is shut down while operations wait; the operations end with an error.
    ShutDown,
}

/// A deployment behind proxies, and a client connected through them.
pub(crate) struct ClientInState {
    deployment: Proxied,
    pub(crate) tally: PoolTally,
    client: Client,
    operations: Vec<JoinHandle<Result<(), Error>>>,
}

impl ClientInState {
    /// The proxy that the operations use.
    pub(crate) fn proxy(&self) -> &Proxy {
        self.deployment.writable()
    }

    /// Checks that the client has not sent this command.
    pub(crate) fn assert_no_request(&self, command: &str) {
        assert_eq!(self.proxy().requests(command), 0, "{command} was sent already");
    }

    /// Waits until the oldest ping fails.
    pub(crate) async fn first_ping_fails(&mut self) {
        let ping = self.operations.remove(0).await.expect("no panic");
        ping.expect_err("the connection was closed");
    }

    /// Starts `count` pings, each in its own task.
    pub(crate) fn begin_pings(&mut self, count: usize) {
        for _ in 0..count {
            let admin = self.client.database("admin");
            self.operations.push(tokio::spawn(async move {
                admin.run_command(doc! { "ping": 1 }).await.map(drop)
            }));
        }
    }
}

/// The state in which the client ends, without the part that depends on the client.
pub(crate) struct State {
    pub(crate) server: fn() -> TestServerBuilder,
    /// The user, followed by `@`, and the options of the connection string.
    pub(crate) user: &'static str,
    pub(crate) options: String,
    /// Prepares each proxy before the client is created.
    pub(crate) prepare: fn(&Proxy),
    /// The topologies in which the state exists.
    pub(crate) topologies: Vec<Topology>,
}

impl State {
    pub(crate) fn new(options: &str, prepare: fn(&Proxy)) -> Self {
        Self {
            server: TestServer::builder,
            user: "",
            options: options.to_owned(),
            prepare,
            topologies: Topology::ALL.to_vec(),
        }
    }

    /// Limits the state to topologies with monitors, which also pause pools.
    pub(crate) fn only_monitored(mut self) -> Self {
        self.topologies.retain(|topology| topology.is_monitored());
        self
    }
}

/// Ends clients in the state that `reach` establishes, and checks that no task or connection is
/// left.
pub(crate) async fn nothing_is_left(state: State, reach: impl AsyncFn(&mut ClientInState)) {
    for topology in &state.topologies {
        for end in [End::Dropped, End::ShutDown] {
            let all = end_in_state(&state, &reach, *topology, end);
            tokio::time::timeout(TIME_LIMIT, all)
                .await
                .unwrap_or_else(|_| panic!("{topology:?}, {end:?}: a task or connection is left"));
        }
    }
}

async fn end_in_state(state: &State, reach: &impl AsyncFn(&mut ClientInState), topology: Topology, end: End) {
    let deployment = Proxied::start(topology, (state.server)()).await;
    for proxy in &deployment.proxies {
        (state.prepare)(proxy);
    }
    let alive = tasks::alive();
    let uri = deployment.uri(state.user, &state.options);
    let mut options = ClientOptions::parse(&uri).expect("a connection string");
    let tally = PoolTally::default();
    tally.listen(&mut options);
    let client = Client::with_options(options).expect("a client");
    let mut client_in_state = ClientInState {
        deployment,
        tally,
        client,
        operations: Vec::new(),
    };
    reach(&mut client_in_state).await;
    assert!(tasks::alive() > alive, "the client has no task in this state");
    let ClientInState {
        deployment,
        tally,
        client,
        operations,
    } = client_in_state;
    match end {
        End::Dropped => {
            for operation in operations {
                operation.abort();
                match operation.await {
                    Err(error) => assert!(error.is_cancelled(), "{error}"),
                    // Without a monitor, a failed connection establishment fails the operation.
                    Ok(outcome) => {
                        assert!(!topology.is_monitored(), "the operation cannot have ended");
                        outcome.expect_err("the operation cannot have succeeded");
                    }
                }
            }
        }
        End::ShutDown => {
            client.shutdown().await;
            // The futures of running operations complete.
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
