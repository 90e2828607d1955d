//! Replies truncated at each byte: the operation fails with the expected error, and the next one
//! succeeds.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use marula_driver::{
    Client, Collection, Error, ErrorKind, PoolError,
    bson::{Document, doc},
};
use marula_driver_tests::{
    Proxied, Proxy, Topology,
    proxy::{Action, Done, Exchange},
};
use tokio::sync::watch;

use super::{USER, stage::Stage, work};

/// The time limit, which is reached only if a test fails.
const TIME_LIMIT: Duration = Duration::from_secs(120);
/// The number of parallel series. A failed server is checked again half a second later, so one
/// series would take long.
const SERIES: usize = 48;

type Running = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// A command whose reply is truncated.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    /// The name of the command.
    command: &'static str,
    is_meant: fn(&Exchange<'_>) -> bool,
    operation: fn(Client, usize) -> Running,
    /// Whether the reply occurs once per connection or client. Then each truncation needs another
    /// client, and the operation may succeed with another connection or check.
    needs_new_client: bool,
}

fn things(client: &Client) -> Collection<Document> {
    client.database("cuts").collection("things")
}

fn ping(client: Client, _: usize) -> Running {
    Box::pin(async move { work::ping(&client).await })
}

/// The length of the longest reply in bytes.
async fn length_of_reply(deployment: &Proxied, case: Case) -> usize {
    let proxy = &deployment.proxies[0];
    let options = "heartbeatFrequencyMS=500&maxPoolSize=1";
    let client = Client::connect(deployment.uri(USER, options))
        .await
        .expect("a client");
    (case.operation)(client.clone(), usize::MAX)
        .await
        .expect("no reply is truncated yet");
    if case.command == "hello" {
        // The first reply, the first reply of the stream, and a further reply of it.
        proxy.wait_for_replies(case.command, 4).await;
    }
    client.shutdown().await;
    proxy.length_of_reply(case.command)
}

async fn series(deployment: Arc<Proxied>, case: Case, next: Arc<AtomicUsize>, length: usize) -> usize {
    let proxy = Proxy::start(deployment.server.addresses()[0]).await;
    let options = "retryReads=false&retryWrites=false&heartbeatFrequencyMS=500&maxPoolSize=1";
    let uri = format!(
        "mongodb://{USER}{}/?directConnection=true&{options}",
        proxy.address()
    );
    let connect = async || Client::connect(&uri).await.expect("a client");
    let mut client = connect().await;
    (case.operation)(client.clone(), usize::MAX)
        .await
        .expect("no reply is truncated yet");
    let (happened, mut cut) = watch::channel(0);
    let mut cuts = 0;
    loop {
        let offset = next.fetch_add(1, Ordering::SeqCst);
        if offset >= length {
            client.shutdown().await;
            proxy.wait_for_at_most_open(0).await;
            return cuts;
        }
        let happened = happened.clone();
        let mut is_armed = true;
        proxy.set_rule(move |exchange| {
            if !is_armed || !(case.is_meant)(exchange) {
                return Action::Pass;
            }
            is_armed = false;
            let happened = happened.clone();
            let done = Done::new(move || happened.send_modify(|count| *count += 1));
            Action::Observed(Box::new(Action::CutAfter(offset)), done)
        });
        if case.needs_new_client {
            client.shutdown().await;
            client = connect().await;
        }
        let outcome = (case.operation)(client.clone(), offset).await;
        cuts += 1;
        cut.wait_for(|count| *count == cuts)
            .await
            .expect("the sender exists");
        match outcome {
            Ok(()) => assert!(
                case.needs_new_client,
                "{} truncated after {offset} bytes succeeds",
                case.name
            ),
            // If a check fails, an operation that waits for its connection gets the error of the
            // cleared pool.
            Err(error) => assert!(
                matches!(
                    error.kind(),
                    ErrorKind::Network(_) | ErrorKind::Pool(PoolError::Cleared { .. })
                ),
                "{} truncated after {offset} bytes: {error:?}",
                case.name
            ),
        }
        proxy.pass_everything();
        work::ping(&client).await.unwrap_or_else(|error| {
            panic!(
                "after {} was truncated after {offset} bytes: {error:?}",
                case.name
            )
        });
    }
}

async fn truncate_at_every_byte(case: Case) {
    let deployment = Arc::new(Stage::start(Topology::Standalone).await.deployment);
    let direct = Client::connect(deployment.direct_uri()).await.expect("a client");
    let documents: Vec<Document> = (0..6).map(|id| doc! { "_id": id, "text": "some text" }).collect();
    things(&direct).insert_many(&documents).await.expect("stored");
    let length = length_of_reply(&deployment, case).await;
    assert!(length > 30, "a reply has a header and a body");
    let next = Arc::<AtomicUsize>::default();
    let lanes: Vec<_> = (0..SERIES)
        .map(|_| tokio::spawn(series(Arc::clone(&deployment), case, Arc::clone(&next), length)))
        .collect();
    let all = async {
        let mut cuts = 0;
        for series in lanes {
            cuts += series.await.expect("no panic");
        }
        cuts
    };
    let cuts = tokio::time::timeout(TIME_LIMIT, all).await.expect("no hang");
    println!("{}: truncated at {cuts} offsets", case.name);
    assert_eq!(cuts, length);
    if case.name == "insert" {
        // Every request was executed, although the client received no complete reply.
        let inserted = doc! { "cut": true };
        let count = things(&direct).count_documents(inserted).await.expect("a count");
        assert_eq!(count, cuts as u64);
    }
    direct.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_recovers_from_a_truncated_reply_to_ping() {
    truncate_at_every_byte(Case {
        name: "ping",
        command: "ping",
        is_meant: |exchange| exchange.command == "ping",
        operation: ping,
        needs_new_client: false,
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_recovers_from_a_truncated_reply_to_insert() {
    truncate_at_every_byte(Case {
        name: "insert",
        command: "insert",
        is_meant: |exchange| exchange.command == "insert",
        operation: |client, offset| {
            Box::pin(async move {
                // The first insert of each series is not truncated.
                let document = match offset {
                    usize::MAX => doc! {},
                    offset => doc! { "_id": format!("cut at {offset}"), "cut": true },
                };
                things(&client).insert_one(&document).await.map(drop)
            })
        },
        needs_new_client: false,
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_recovers_from_a_truncated_reply_to_find() {
    truncate_at_every_byte(Case {
        name: "find",
        command: "find",
        is_meant: |exchange| exchange.command == "find",
        operation: |client, _| {
            Box::pin(async move {
                let found = things(&client).find_one(doc! { "_id": 3 }).await?;
                assert_eq!(found, Some(doc! { "_id": 3, "text": "some text" }));
                Ok(())
            })
        },
        needs_new_client: false,
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_recovers_from_a_truncated_reply_to_get_more() {
    truncate_at_every_byte(Case {
        name: "getMore",
        command: "getMore",
        is_meant: |exchange| exchange.command == "getMore",
        operation: |client, _| {
            Box::pin(async move {
                let first = doc! { "_id": { "$lt": 3 } };
                let cursor = things(&client)
                    .find(first)
                    .sort(doc! { "_id": 1 })
                    .batch_size(2)
                    .await?;
                assert_eq!(cursor.try_collect().await?.len(), 3);
                Ok(())
            })
        },
        needs_new_client: false,
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_recovers_from_a_truncated_reply_to_the_handshake() {
    truncate_at_every_byte(Case {
        name: "hello",
        command: "login",
        is_meant: |exchange| exchange.is_login(),
        operation: ping,
        needs_new_client: true,
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_recovers_from_a_truncated_reply_to_a_monitor() {
    truncate_at_every_byte(Case {
        name: "hello of a monitor",
        command: "hello",
        is_meant: |exchange| exchange.is_first && !exchange.is_login(),
        operation: ping,
        needs_new_client: true,
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_recovers_from_a_truncated_streamed_hello_reply() {
    truncate_at_every_byte(Case {
        name: "streamed hello",
        command: "hello",
        is_meant: |exchange| exchange.is_streamed,
        operation: ping,
        needs_new_client: true,
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_recovers_from_a_truncated_reply_to_sasl_continue() {
    truncate_at_every_byte(Case {
        name: "saslContinue",
        command: "saslContinue",
        is_meant: |exchange| exchange.command == "saslContinue",
        operation: ping,
        needs_new_client: true,
    })
    .await;
}
