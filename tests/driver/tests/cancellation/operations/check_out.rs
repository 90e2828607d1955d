//! Dropping an operation at each poll while it waits for a connection: for server selection, in the wait
//! queue, for permission to establish one.

use marula_driver::{Client, Error, bson::doc, options::ClientOptions};
use marula_driver_tests::{
    Counts, PoolTally, Proxy,
    polling::{Held, poll_times},
    proxy::{Action, Exchange},
    tasks,
};
use marula_test_server::TestServer;
use tokio::task::JoinHandle;

use super::harness::{ENDS, HANG};

async fn ping(client: Client) -> Result<(), Error> {
    let admin = client.database("admin");
    admin.run_command(doc! { "ping": 1 }).await.map(drop)
}

/// The beginning, the end of the wait, the reply. More pieces arrive one by one as a rule, but nothing keeps two of them from
/// arriving together.
const FEWEST_POLLS: usize = 3;

/// What stands in the way of the operation.
struct Obstacle {
    options: &'static str,
    /// Which replies come in pieces.
    held: fn(&Exchange<'_>) -> bool,
    /// Operations that are ahead.
    ahead: usize,
    /// How far they are when the operation begins.
    reached: fn(&Counts) -> bool,
    /// Whether the client knows its server before.
    known: bool,
}

async fn drop_at_every_poll(obstacle: Obstacle) {
    let server = TestServer::builder()
        .standalone()
        .parameter("scramSHA256IterationCount", 4096)
        .auth("user", "secret")
        .start()
        .await
        .expect("a server");
    let proxy = Proxy::start(server.addresses()[0]).await;
    for polls in 0.. {
        let round = round(&server, &proxy, &obstacle, polls);
        let finished = tokio::time::timeout(HANG, round)
            .await
            .unwrap_or_else(|_| panic!("dropped after {polls} polls: something hangs"));
        if finished {
            assert!(polls >= FEWEST_POLLS, "dropped at {polls} polls only");
            return;
        }
    }
}

async fn round(server: &TestServer, proxy: &Proxy, obstacle: &Obstacle, polls: usize) -> bool {
    let alive = tasks::alive();
    let tally = PoolTally::default();
    let uri = format!(
        "mongodb://user:secret@{}/?directConnection=true&serverMonitoringMode=poll&{}",
        proxy.address(),
        obstacle.options
    );
    let mut options = ClientOptions::parse(&uri).expect("a connection string");
    tally.listen(&mut options);
    let held = obstacle.held;
    let rule = move |exchange: &Exchange<'_>| match held(exchange) {
        true => Action::Stepwise(ENDS.to_vec()),
        false => Action::Pass,
    };
    if !obstacle.known {
        proxy.set_rule(rule);
    }
    let client = Client::with_options(options).expect("a client");
    if obstacle.known {
        ping(client.clone()).await.expect("a reply");
        proxy.set_rule(rule);
    }
    let ahead: Vec<JoinHandle<_>> = (0..obstacle.ahead)
        .map(|_| tokio::spawn(ping(client.clone())))
        .collect();
    tally.wait_until(obstacle.reached).await;
    let operation = Box::pin(ping(client.clone()));
    let outcome = poll_times(operation, polls, proxy, Held::OfOthersToo).await;
    proxy.pass_everything();
    proxy.end_waits();
    for ping in ahead {
        ping.await.expect("no panic").expect("a reply");
    }
    tally.wait_until(Counts::is_at_rest).await;
    // No place is lost: one of these needs it.
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

/// The only connection is in use.
#[tokio::test]
async fn a_place_in_the_queue_is_not_lost() {
    drop_at_every_poll(Obstacle {
        options: "maxPoolSize=1",
        held: |exchange| exchange.command == "ping",
        ahead: 2,
        reached: |counts| counts.check_outs == 3,
        known: true,
    })
    .await;
}

/// Another connection is being established, and one at a time may be.
#[tokio::test]
async fn a_turn_to_establish_is_not_lost() {
    drop_at_every_poll(Obstacle {
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

/// Nothing is known of the server, and everything comes in pieces.
#[tokio::test]
async fn a_first_operation_is_not_missed() {
    drop_at_every_poll(Obstacle {
        options: "maxPoolSize=1",
        held: |_| true,
        ahead: 0,
        reached: |_| true,
        known: false,
    })
    .await;
}
