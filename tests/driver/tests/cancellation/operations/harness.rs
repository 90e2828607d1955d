//! A server, a proxy before it, a client with one connection through the proxy, and a client without the
//! proxy.

use std::{
    pin::Pin,
    sync::atomic::{AtomicI32, Ordering},
    time::Duration,
};

use marula_driver::{
    Client, Collection, Database, Error,
    bson::{Document, doc},
};
use marula_driver_tests::{
    Proxy,
    polling::{Held, poll_times},
    proxy::Action,
};
use marula_test_server::TestServer;

/// Catches hangs only.
pub(crate) const HANG: Duration = Duration::from_secs(60);
/// Where held replies are cut: in the header, behind it, behind the section's head, in the body.
pub(crate) const ENDS: [usize; 4] = [1, 16, 25, 30];
/// Pieces of a held reply.
pub(crate) const PIECES: usize = ENDS.len() + 1;
/// A connection and a monitor.
pub(crate) const OF_CLIENT: usize = 2;
/// A connection and a monitor.
pub(crate) const OF_DIRECT: usize = 2;

/// See the module.
pub(crate) struct Harness {
    pub(crate) server: TestServer,
    pub(crate) proxy: Proxy,
    /// Through the proxy, with one connection.
    pub(crate) client: Client,
    /// Past the proxy.
    pub(crate) direct: Client,
    rounds: AtomicI32,
}

/// What one run of an operation works on, unshared.
pub(crate) struct Round {
    pub(crate) database: Database,
    /// Holds five documents, whose `_id`s are 1 to 5.
    pub(crate) things: Collection<Document>,
}

/// An operation under way.
pub(crate) type Running = Pin<Box<dyn Future<Output = Result<(), Error>>>>;

/// An operation to be dropped.
pub(crate) struct Case {
    /// The command whose replies are held.
    command: &'static str,
    operation: Box<dyn Fn(Round) -> Running>,
    /// A dropped cursor uses the connection in the background.
    has_cursor: bool,
}

impl Case {
    pub(crate) fn new<F>(command: &'static str, operation: impl Fn(Round) -> F + 'static) -> Self
    where
        F: Future<Output = Result<(), Error>> + 'static,
    {
        Self {
            command,
            operation: Box::new(move |round| Box::pin(operation(round))),
            has_cursor: false,
        }
    }

    pub(crate) fn with_cursor(mut self) -> Self {
        self.has_cursor = true;
        self
    }
}

impl Harness {
    pub(crate) async fn start() -> Self {
        let server = TestServer::builder()
            .standalone()
            .start()
            .await
            .expect("a server");
        let proxy = Proxy::start(server.addresses()[0]).await;
        let client = Client::connect(proxy.uri("maxPoolSize=1"))
            .await
            .expect("a client");
        let direct = Client::connect(format!(
            "{}?maxPoolSize=1&serverMonitoringMode=poll",
            server.uri()
        ))
        .await
        .expect("a client");
        let harness = Self {
            server,
            proxy,
            client,
            direct,
            rounds: AtomicI32::new(0),
        };
        harness.next_round().await;
        harness.settle().await;
        harness
    }

    /// Fresh things. An operation dropped earlier may still run on the server, but not on these.
    pub(crate) async fn next_round(&self) -> Round {
        let name = format!("round_{}", self.rounds.fetch_add(1, Ordering::SeqCst));
        let all: Vec<Document> = (1..=5).map(|id| doc! { "_id": id }).collect();
        let direct = self.direct.database(&name).collection("things");
        direct.insert_many(&all).await.expect("stored");
        let database = self.client.database(&name);
        Round {
            things: database.collection("things"),
            database,
        }
    }

    /// From now on replies to this command arrive in pieces.
    pub(crate) fn hold(&self, command: &'static str) {
        self.proxy.set_rule(move |exchange| {
            if exchange.command == command {
                Action::Stepwise(ENDS.to_vec())
            } else {
                Action::Pass
            }
        });
    }

    /// An operation whose right result nothing else has.
    pub(crate) async fn probe(&self) {
        let id = self.rounds.fetch_add(1, Ordering::SeqCst);
        let probes = self.client.database("probes").collection::<Document>("probes");
        let probe = async {
            probes.insert_one(&doc! { "_id": id }).await?;
            probes.find_one(doc! { "_id": id }).await
        };
        let found = tokio::time::timeout(HANG, probe)
            .await
            .expect("no connection has leaked");
        assert_eq!(found.expect("the client works"), Some(doc! { "_id": id }));
    }

    /// The client works, and nothing but its connection and its monitor is left of it.
    pub(crate) async fn settle(&self) {
        self.proxy.pass_everything();
        self.probe().await;
        let settled = self.server.wait_for_open_connections(OF_CLIENT + OF_DIRECT);
        tokio::time::timeout(HANG, settled)
            .await
            .expect("dropped connections are closed");
    }

    /// Runs an operation with one poll more each time, until it completes by itself.
    pub(crate) async fn drop_at_every_poll(&self, case: Case) {
        for polls in 0.. {
            let round = self.next_round().await;
            self.hold(case.command);
            let before = self.proxy.accepted();
            let running = poll_times((case.operation)(round), polls, &self.proxy, Held::OfTheFuture);
            let outcome = tokio::time::timeout(HANG, running)
                .await
                .unwrap_or_else(|_| panic!("{} hangs at poll {polls}", case.command));
            self.settle().await;
            let opened = self.proxy.accepted() - before;
            match outcome {
                Some(outcome) => {
                    outcome.unwrap_or_else(|error| panic!("{} after {polls} polls: {error}", case.command));
                    assert!(
                        polls > PIECES,
                        "{} was dropped at {polls} places only",
                        case.command
                    );
                    assert_eq!(
                        opened, 0,
                        "{}: a connection whose reply was read is kept",
                        case.command
                    );
                    return;
                }
                // Sent by the first poll, and the reply never read in full: the connection must go.
                None if polls > 0 && !case.has_cursor => {
                    assert_eq!(opened, 1, "{} dropped after {polls} polls", case.command);
                }
                None => assert!(opened <= 1, "{} dropped after {polls} polls", case.command),
            }
        }
    }
}
