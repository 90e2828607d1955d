//! A client on its way to some moment, and what must be gone after its end.

use std::time::Duration;

use marula_driver::{Client, Error, ErrorKind, bson::doc, options::ClientOptions};
use marula_driver_tests::{PoolTally, Proxy, tasks};
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

/// A server, a proxy before it, and a client through the proxy.
pub(crate) struct Place {
    pub(crate) proxy: Proxy,
    pub(crate) tally: PoolTally,
    client: Client,
    operations: Vec<JoinHandle<Result<(), Error>>>,
}

impl Place {
    /// The client has not come so far.
    pub(crate) fn assert_no_request(&self, command: &str) {
        assert_eq!(self.proxy.requests(command), 0, "{command} was sent already");
    }

    /// The oldest ping ends with an error.
    pub(crate) async fn first_ping_fails(&mut self) {
        let ping = self.operations.remove(0).await.expect("no panic");
        ping.expect_err("it was lost");
    }

    /// Begins so many pings, each in a task of its own.
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
    /// Before the client is made.
    pub(crate) prepare: fn(&Proxy),
}

impl Way {
    pub(crate) fn new(options: &str, prepare: fn(&Proxy)) -> Self {
        Self {
            server: || TestServer::builder().standalone(),
            user: "",
            options: options.to_owned(),
            prepare,
        }
    }
}

/// Ends clients when they have reached the moment.
pub(crate) async fn nothing_is_left(way: Way, reach: impl AsyncFn(&mut Place)) {
    for end in [End::Dropped, End::ShutDown] {
        let all = end_there(&way, &reach, end);
        tokio::time::timeout(HANG, all)
            .await
            .unwrap_or_else(|_| panic!("{end:?}: something is left"));
    }
}

async fn end_there(way: &Way, reach: &impl AsyncFn(&mut Place), end: End) {
    let server = (way.server)().start().await.expect("a server");
    let proxy = Proxy::start(server.addresses()[0]).await;
    (way.prepare)(&proxy);
    let alive = tasks::alive();
    let uri = format!(
        "mongodb://{}{}/?directConnection=true&{}",
        way.user,
        proxy.address(),
        way.options
    );
    let mut options = ClientOptions::parse(&uri).expect("a connection string");
    let tally = PoolTally::default();
    tally.listen(&mut options);
    let client = Client::with_options(options).expect("a client");
    let mut place = Place {
        proxy,
        tally,
        client,
        operations: Vec::new(),
    };
    reach(&mut place).await;
    assert!(tasks::alive() > alive, "the moment was missed");
    let Place {
        proxy,
        tally,
        client,
        operations,
    } = place;
    match end {
        End::Dropped => {
            for operation in operations {
                operation.abort();
                let error = operation.await.expect_err("it cannot have ended");
                assert!(error.is_cancelled(), "{error}");
            }
        }
        End::ShutDown => {
            client.shutdown().await;
            // What was sent can be awaited to its end.
            proxy.pass_everything();
            proxy.end_waits();
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
    proxy.wait_for_at_most_open(0).await;
    server.wait_for_open_connections(0).await;
    tasks::wait_for_at_most(alive).await;
    tally.assert_nothing_left();
}
