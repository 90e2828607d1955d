//! Operations, transactions and warm-ups of a client whose runtime has ended.

use std::{
    thread::{self, JoinHandle},
    time::Duration,
};

use marula_driver::{
    Client, Error, ErrorKind, Result, UNKNOWN_TRANSACTION_COMMIT_RESULT,
    bson::{Document, doc},
    options::ClientOptions,
};
use marula_driver_tests::{PoolTally, Proxy, proxy::Action, replica_set};
use marula_test_server::TestServer;
use tokio::runtime::{Builder, Runtime};

/// The time limit, which is reached only if a test fails.
const TIME_LIMIT: Duration = Duration::from_secs(120);

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

fn one_thread() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

fn assert_shut_down(error: &Error) {
    assert!(matches!(error.kind(), ErrorKind::Shutdown), "{error:?}");
    assert!(!error.is_unavailable(), "{error:?}");
}

/// Runs an operation in a thread with a runtime of its own.
fn in_thread<F: Future<Output = Result<()>>>(
    running: impl FnOnce() -> F + Send + 'static,
) -> JoinHandle<Result<()>> {
    thread::spawn(move || {
        one_thread().block_on(async {
            tokio::time::timeout(TIME_LIMIT, running())
                .await
                .expect("no hang")
        })
    })
}

async fn ping(client: Client) -> Result<()> {
    let admin = client.database("admin");
    admin.run_command(doc! { "ping": 1 }).await.map(drop)
}

/// A server behind a proxy, and a client with one connection on a runtime of its own.
struct Fixture {
    servers: Runtime,
    own: Runtime,
    server: TestServer,
    proxy: Proxy,
    client: Client,
    tally: PoolTally,
}

impl Fixture {
    fn start(options: &str) -> Self {
        let (servers, own) = (runtime(), runtime());
        let (proxy, server) = servers.block_on(async {
            let server = TestServer::builder()
                .standalone()
                .start()
                .await
                .expect("a server");
            (Proxy::start(server.addresses()[0]).await, server)
        });
        let tally = PoolTally::default();
        let client = own.block_on(async {
            let mut options = ClientOptions::parse(&proxy.uri(options)).expect("options");
            tally.listen(&mut options);
            let client = Client::with_options(options).expect("a client");
            ping(client.clone()).await.expect("a reply");
            client
        });
        Self {
            servers,
            own,
            server,
            proxy,
            client,
            tally,
        }
    }
}

/// One operation has the only connection, and another waits for it.
#[test]
fn operations_in_the_wait_queue_fail_with_shutdown() {
    let Fixture {
        servers,
        own,
        server: _server,
        proxy,
        client,
        tally,
    } = Fixture::start("maxPoolSize=1");
    proxy.set_rule(|exchange| match exchange.command {
        "find" => Action::Silence,
        _ => Action::Pass,
    });
    let things = client.database("d").collection::<Document>("things");
    let sent = in_thread(move || async move { things.find_one(doc! {}).await.map(drop) });
    servers.block_on(proxy.wait_for_requests("find", 1));
    let (waiting, warming) = (client.clone(), client.clone());
    let queued = in_thread(move || ping(waiting));
    servers.block_on(tally.wait_until(|counts| counts.check_outs == 3));
    drop(own);
    assert_shut_down(&queued.join().expect("no panic").unwrap_err());
    // The command was sent, so the operation reports what happened to its connection.
    let error = sent.join().expect("no panic").unwrap_err();
    assert!(error.is_network(), "{error:?}");
    let warmed = in_thread(move || async move { warming.warm_up().await });
    assert_shut_down(&warmed.join().expect("no panic").unwrap_err());
}

/// The connection is not established when the runtime ends.
#[test]
fn operations_whose_connection_is_being_established_fail_with_shutdown() {
    let Fixture {
        servers,
        own,
        server: _server,
        proxy,
        client,
        tally,
    } = Fixture::start("");
    let (waiting, warming) = (client.clone(), client.clone());
    proxy.control().ignore(1);
    let warmed = in_thread(move || async move { warming.warm_up().connections(2).await });
    servers.block_on(tally.wait_until(|counts| counts.created == 2));
    proxy.set_rule(|exchange| match exchange.command {
        "find" => Action::Silence,
        _ => Action::Pass,
    });
    let things = client.database("d").collection::<Document>("things");
    let sent = in_thread(move || async move { things.find_one(doc! {}).await.map(drop) });
    servers.block_on(proxy.wait_for_requests("find", 1));
    let queued = in_thread(move || ping(waiting));
    servers.block_on(tally.wait_until(|counts| counts.check_outs == 3));
    drop(own);
    assert_shut_down(&queued.join().expect("no panic").unwrap_err());
    assert_shut_down(&warmed.join().expect("no panic").unwrap_err());
    assert!(sent.join().expect("no panic").is_err());
}

/// As after [`Client::shutdown`].
#[test]
fn transactions_are_refused() {
    let (servers, own) = (runtime(), runtime());
    let deployment = servers.block_on(replica_set());
    let uri = deployment.server.uri();
    let (client, mut session, mut committed) = own.block_on(async {
        let client = Client::connect(uri).await.expect("a client");
        let things = client.database("d").collection::<Document>("things");
        let mut committed = client.start_transaction().await.expect("a transaction");
        let insert = things.insert_one(&doc! {}).session(&mut committed).await;
        insert.expect("a part of the transaction");
        committed.commit().await.expect("committed");
        let mut session = client.start_session().await.expect("a session");
        session.start_transaction().await.expect("a transaction");
        (client, session, committed)
    });
    drop(own);
    one_thread().block_on(async {
        assert_shut_down(&client.start_transaction().await.map(drop).unwrap_err());
        let run = client.transaction().run(async |_| Ok::<_, Error>(()));
        assert_shut_down(&run.await.unwrap_err());
        // Nothing would be sent.
        assert_shut_down(&session.commit_transaction().await.unwrap_err());
        assert_shut_down(&session.start_transaction().await.unwrap_err());
        // The result of the first commit is known.
        let error = committed.commit().await.unwrap_err();
        assert_shut_down(&error);
        assert!(
            !error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT),
            "{error:?}"
        );
    });
    drop(deployment);
}
