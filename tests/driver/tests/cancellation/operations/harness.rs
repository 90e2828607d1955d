//! A server, a proxy in front of it, a client with one connection through the proxy, and a client
//! connected directly.

use std::{
    pin::Pin,
    sync::atomic::{AtomicI32, Ordering},
    time::Duration,
};

use marula_driver::{
    Client, Collection, Database, Error,
    bson::{Document, doc},
    internals::wait_until_idle,
};
use marula_driver_tests::{
    Proxy,
    polling::{Held, poll_times, run_for_pieces},
    proxy::Action,
};
use marula_test_server::{TestServer, TestServerBuilder};

/// The time limit, which is reached only if a test fails.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The offsets at which replies are split: within and after the header, after the kind of the
/// section, in the body.
pub(crate) const ENDS: [usize; 4] = [1, 16, 25, 30];
/// The number of pieces of a reply.
pub(crate) const PIECES: usize = ENDS.len() + 1;
/// The connections of the client through the proxy: one of the pool and one of the monitor.
pub(crate) const OF_CLIENT: usize = 2;
/// The connections of the direct client: one of the pool and one of the monitor.
pub(crate) const OF_DIRECT: usize = 2;

/// The deployment and both clients.
pub(crate) struct Harness {
    pub(crate) server: TestServer,
    pub(crate) proxy: Proxy,
    /// The client through the proxy, with one connection.
    pub(crate) client: Client,
    /// The client without the proxy.
    pub(crate) direct: Client,
    rounds: AtomicI32,
}

/// The objects of one run of an operation. No other run uses them.
pub(crate) struct Round {
    pub(crate) database: Database,
    /// A collection of five documents with the `_id`s 1 to 5.
    pub(crate) things: Collection<Document>,
}

/// A running operation.
pub(crate) type Running = Pin<Box<dyn Future<Output = Result<(), Error>>>>;

/// An operation to drop.
pub(crate) struct Case {
    /// The command whose replies arrive in pieces.
    command: &'static str,
    operation: Box<dyn Fn(Round) -> Running>,
    /// Whether the operation can be dropped while its command is being sent.
    has_large_request: bool,
    /// Checks the data on the server after each run, when nothing is in flight.
    check: Option<Check>,
}

type Check = Box<dyn Fn(Client) -> Pin<Box<dyn Future<Output = ()>>>>;

impl Case {
    pub(crate) fn new<F>(command: &'static str, operation: impl Fn(Round) -> F + 'static) -> Self
    where
        F: Future<Output = Result<(), Error>> + 'static,
    {
        Self {
            command,
            operation: Box::new(move |round| Box::pin(operation(round))),
            has_large_request: false,
            check: None,
        }
    }

    /// Adds a check, which gets a client without the proxy.
    pub(crate) fn checked<F>(mut self, check: impl Fn(Client) -> F + 'static) -> Self
    where
        F: Future<Output = ()> + 'static,
    {
        self.check = Some(Box::new(move |client| Box::pin(check(client))));
        self
    }

    pub(crate) fn with_large_request(mut self) -> Self {
        self.has_large_request = true;
        self
    }
}

impl Harness {
    /// With a standalone server.
    pub(crate) async fn start() -> Self {
        Self::of(TestServer::builder().standalone()).await
    }

    /// With a replica set, whose primary both clients are connected to.
    pub(crate) async fn replica_set() -> Self {
        Self::of(TestServer::builder().replica_set()).await
    }

    async fn of(builder: TestServerBuilder) -> Self {
        let server = builder.start().await.expect("a server");
        let address = server.primary().unwrap_or(server.addresses()[0]);
        let proxy = Proxy::start(address).await;
        let client = Client::connect(proxy.uri("maxPoolSize=1"))
            .await
            .expect("a client");
        let direct = Client::connect(format!(
            "mongodb://{address}/?directConnection=true&maxPoolSize=1&serverMonitoringMode=poll"
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

    /// New objects. An operation dropped before may still run on the server, but not on these
    /// objects.
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

    /// Sends the replies to this command in pieces from now on.
    pub(crate) fn hold(&self, command: &'static str) {
        self.proxy.set_rule(move |exchange| {
            if exchange.command == command {
                Action::Stepwise(ENDS.to_vec())
            } else {
                Action::Pass
            }
        });
    }

    /// Runs an operation whose correct result differs from that of any other.
    pub(crate) async fn probe(&self) {
        let id = self.rounds.fetch_add(1, Ordering::SeqCst);
        let probes = self.client.database("probes").collection::<Document>("probes");
        let probe = async {
            probes.insert_one(&doc! { "_id": id }).await?;
            probes.find_one(doc! { "_id": id }).await
        };
        let found = tokio::time::timeout(TIME_LIMIT, probe)
            .await
            .expect("no connection has leaked");
        assert_eq!(found.expect("the operation succeeds"), Some(doc! { "_id": id }));
    }

    /// Ends the delay of all replies, also of those that are awaited in the background.
    pub(crate) fn pass_everything(&self) {
        self.proxy.pass_everything();
        self.proxy.end_waits();
    }

    /// Checks that the client works, and that only its connection and its monitor are left.
    pub(crate) async fn settle(&self) {
        self.pass_everything();
        self.probe().await;
        let settled = self.server.wait_for_open_connections(OF_CLIENT + OF_DIRECT);
        tokio::time::timeout(TIME_LIMIT, settled)
            .await
            .expect("dropped connections are closed");
    }

    /// Runs an operation, each time with one more poll before it is dropped, until it completes.
    pub(crate) async fn drop_at_every_poll(&self, case: Case) {
        for polls in 0.. {
            let round = self.next_round().await;
            self.hold(case.command);
            let before = self.proxy.accepted();
            let running = poll_times((case.operation)(round), polls, &self.proxy, Held::OfTheFuture);
            let outcome = tokio::time::timeout(TIME_LIMIT, running)
                .await
                .unwrap_or_else(|_| panic!("{} does not end at poll {polls}", case.command));
            self.pass_everything();
            tokio::time::timeout(TIME_LIMIT, wait_until_idle(&self.client))
                .await
                .unwrap_or_else(|_| panic!("{} leaves something in flight at {polls} polls", case.command));
            self.settle().await;
            if let Some(check) = &case.check {
                check(self.direct.clone()).await;
            }
            let opened = self.proxy.accepted() - before;
            match outcome {
                Some(outcome) => {
                    outcome.unwrap_or_else(|error| panic!("{} after {polls} polls: {error}", case.command));
                    assert!(
                        polls > PIECES,
                        "{} was dropped at {polls} polls only",
                        case.command
                    );
                    assert_eq!(opened, 0, "{}: the connection is kept", case.command);
                    return;
                }
                // A connection to which a part of the command was sent must be closed.
                None if case.has_large_request => assert!(opened <= 1, "{opened}"),
                // The command was sent at the first poll. Its late reply is awaited in the
                // background, whatever part of it was read.
                None => assert_eq!(opened, 0, "{} dropped after {polls} polls", case.command),
            }
        }
    }

    /// Runs an operation whose command runs in a task, each time until one more piece of a reply was
    /// released before it is dropped. Returns the number of runs.
    pub(crate) async fn drop_at_every_piece(&self, case: Case, pieces: usize) -> usize {
        for released in 0..pieces {
            let round = self.next_round().await;
            self.hold(case.command);
            let before = self.proxy.accepted();
            let running = run_for_pieces((case.operation)(round), released, &self.proxy);
            let outcome = tokio::time::timeout(TIME_LIMIT, running)
                .await
                .unwrap_or_else(|_| panic!("{} does not end after {released} pieces", case.command));
            assert!(
                outcome.is_none(),
                "{} ended after {released} pieces",
                case.command
            );
            self.settle().await;
            assert_eq!(self.proxy.accepted(), before, "the connection is kept");
        }
        pieces
    }
}
