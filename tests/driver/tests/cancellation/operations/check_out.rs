//! Dropping an operation at each poll while it waits for a connection: in server selection, in the
//! wait queue, and for a permit to establish a connection (`maxConnecting`).

use marula_driver::{Client, Error, bson::doc, options::ClientOptions};
use marula_driver_tests::{
    Counts, PoolTally, Proxy,
    polling::{Held, poll_times},
    proxy::{Action, Exchange},
    tasks,
};
use marula_test_server::TestServer;
use tokio::task::JoinHandle;

use super::harness::{ENDS, TIME_LIMIT};

async fn ping(client: Client) -> Result<(), Error> {
    let admin = client.database("admin");
    admin.run_command(doc! { "ping": 1 }).await.map(drop)
}

/// One poll at the beginning, one at the end of the wait, one for the reply. Usually there are
/// more, but pieces of a reply can arrive together.
const MIN_POLLS: usize = 3;

/// A state in which the operation has to wait.
struct Blocked {
    options: &'static str,
    /// Which replies the proxy sends in pieces.
    held: fn(&Exchange<'_>) -> bool,
    /// The number of operations started before.
    ahead: usize,
    /// The state of those operations when the operation begins.
    reached: fn(&Counts) -> bool,
    /// Whether the client has discovered the server before.
    known: bool,
}

async fn drop_at_every_poll(blocked: Blocked) {
    let server = TestServer::builder()
        .standalone()
        .parameter("scramSHA256IterationCount", 4096)
        .auth("user", "secret")
        .start()
        .await
        .expect("a server");
    let proxy = Proxy::start(server.addresses()[0]).await;
    for polls in 0.. {
        let round = round(&server, &proxy, &blocked, polls);
        let finished = tokio::time::timeout(TIME_LIMIT, round)
            .await
            .unwrap_or_else(|_| panic!("dropped after {polls} polls: the round does not end"));
        if finished {
            assert!(polls >= MIN_POLLS, "dropped at {polls} polls only");
            return;
        }
    }
}

async fn round(server: &TestServer, proxy: &Proxy, blocked: &Blocked, polls: usize) -> bool {
    let alive = tasks::alive();
    let tally = PoolTally::default();
    let uri = format!(
        "mongodb://user:secret@{}/?directConnection=true&serverMonitoringMode=poll&{}",
        proxy.address(),
        blocked.options
    );
    let mut options = ClientOptions::parse(&uri).expect("a connection string");
    tally.listen(&mut options);
    let held = blocked.held;
    let rule = move |exchange: &Exchange<'_>| {
        if held(exchange) {
            Action::Stepwise(ENDS.to_vec())
        } else {
            Action::Pass
        }
    };
    if !blocked.known {
        proxy.set_rule(rule);
    }
    let client = Client::with_options(options).expect("a client");
    if blocked.known {
        ping(client.clone()).await.expect("a reply");
        proxy.set_rule(rule);
    }
    let ahead: Vec<JoinHandle<_>> = (0..blocked.ahead)
        .map(|_| tokio::spawn(ping(client.clone())))
        .collect();
    tally.wait_until(blocked.reached).await;
    let operation = Box::pin(ping(client.clone()));
    let outcome = poll_times(operation, polls, proxy, Held::OfOthersToo).await;
    proxy.pass_everything();
    proxy.end_waits();
    for ping in ahead {
        ping.await.expect("no panic").expect("a reply");
    }
    tally.wait_until(Counts::is_at_rest).await;
    // Neither a connection nor a permit has leaked: one of these operations needs it.
    for _ in 0..3 {
        ping(client.clone()).await.expect("a reply");
    }
    tally.wait_until(Counts::is_at_rest).await;
    client.shutdown().await;
    drop(client);
    proxy.wait_for_at_most_open(0).await;
    server.wait_for_open_connections(0).await;
    tasks::wait_for_at_most(alive).await;
    tally.assert_nothing_left();
    match outcome {
        Some(outcome) => {
            outcome.expect("a reply");
            true
        }
        None => false,
    }
}

/// The only connection of the pool is in use.
#[tokio::test]
async fn an_operation_dropped_in_the_wait_queue_leaks_no_connection() {
    drop_at_every_poll(Blocked {
        options: "maxPoolSize=1",
        held: |exchange| exchange.command == "ping",
        ahead: 2,
        reached: |counts| counts.check_outs == 3,
        known: true,
    })
    .await;
}

/// Another connection is being established, and `maxConnecting` is 1.
#[tokio::test]
async fn an_operation_dropped_before_establishment_leaks_no_permit() {
    drop_at_every_poll(Blocked {
        options: "maxPoolSize=3&maxConnecting=1",
        held: |exchange| {
            exchange.is_login() || exchange.command.starts_with("sasl") || exchange.command == "ping"
        },
        ahead: 2,
        reached: |counts| counts.check_outs == 2 && counts.max_pending == 1,
        known: false,
    })
    .await;
}

/// The server has not been discovered, and all replies arrive in pieces.
#[tokio::test]
async fn an_operation_dropped_in_server_selection_leaks_nothing() {
    drop_at_every_poll(Blocked {
        options: "maxPoolSize=1",
        held: |_| true,
        ahead: 0,
        reached: |_| true,
        known: false,
    })
    .await;
}
