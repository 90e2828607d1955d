//! Retries, pins and connections that fail, on sharded clusters and behind a load balancer.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use marula_driver::{
    Client, ClientSession, Collection, Error, ErrorKind, Result, SYSTEM_OVERLOADED_ERROR,
    TRANSIENT_TRANSACTION_ERROR,
    bson::{Document, doc},
    event::ServerType,
    internals::{
        fix_jitter,
        sessions::{is_dirty, pin, pinned_address},
        wait_for_topology,
    },
    options::ClientOptions,
};
use marula_driver_tests::{
    Counts, PoolTally, Proxied, Proxy,
    proxy::Action,
    tap::{Tapped, WireTap},
};
use marula_test_server::TestServer;
use tokio::task::JoinHandle;

/// A client of mongos behind proxies. Each has one connection of the monitor, so the next one that is
/// refused is of the pool.
struct Cluster {
    proxied: Proxied,
    client: Client,
    accounts: Collection<Document>,
}

impl Cluster {
    async fn start(routers: usize, change: impl FnOnce(&mut ClientOptions)) -> Self {
        let proxied = Proxied::sharded(TestServer::builder(), routers).await;
        let uri = proxied.uri("", "serverMonitoringMode=poll&localThresholdMS=60000");
        let mut options = ClientOptions::parse(&uri).expect("a connection string");
        fix_jitter(&mut options, 0.0);
        change(&mut options);
        let client = Client::with_options(options).expect("a client");
        wait_for_topology(&client, |topology| {
            let mongos = topology
                .servers()
                .filter(|server| server.server_type() == ServerType::Mongos);
            mongos.count() == routers
        })
        .await;
        Self {
            accounts: client.database("bank").collection("accounts"),
            proxied,
            client,
        }
    }

    fn proxies(&self) -> &[Proxy] {
        &self.proxied.proxies
    }

    /// The mongos that the transaction is pinned to, and the other one.
    fn pinned_and_other(&self, tx: &ClientSession) -> (&Proxy, &Proxy) {
        let address = pinned_address(tx).expect("a pinned server").to_string();
        let is_pinned = |proxy: &Proxy| proxy.address().to_string() == address;
        let index = self.proxies().iter().position(is_pinned).expect("its proxy");
        (&self.proxies()[index], &self.proxies()[1 - index])
    }

    /// Uses one connection to each of two mongos by a find, until its reply is [released](Self::release): with equal
    /// operation counts, two finds run on different mongos.
    async fn occupy(&self) -> [JoinHandle<Result<Option<Document>>>; 2] {
        for proxy in self.proxies() {
            proxy.set_rule(|exchange| match exchange.command {
                "find" => Action::Delay,
                _ => Action::Pass,
            });
        }
        let find = || {
            let accounts = self.accounts.clone();
            tokio::spawn(async move { accounts.find_one(doc! {}).await })
        };
        let finds = [find(), find()];
        for proxy in self.proxies() {
            proxy.wait_for_requests("find", 1).await;
        }
        finds
    }

    async fn release(&self, finds: [JoinHandle<Result<Option<Document>>>; 2]) {
        for proxy in self.proxies() {
            proxy.end_waits();
        }
        for found in finds {
            assert!(found.await.expect("no panic").expect("a reply").is_some());
        }
    }
}

/// An overloaded mongos closes new connections.
#[tokio::test]
async fn a_connection_that_an_overloaded_mongos_closed_is_established_again_to_the_same_mongos() {
    let cluster = Cluster::start(2, |_| {}).await;
    cluster.accounts.insert_one(&doc! {}).await.unwrap();
    let mut tx = cluster.client.start_transaction().await.unwrap();
    cluster
        .accounts
        .insert_one(&doc! {})
        .session(&mut tx)
        .await
        .unwrap();
    let address = pinned_address(&tx).unwrap();
    let (mongos, other) = cluster.pinned_and_other(&tx);
    // The connection of the transaction is used by a find.
    let finds = cluster.occupy().await;
    let inserts_elsewhere = other.requests("insert");
    mongos.control().refuse(1);
    cluster
        .accounts
        .insert_one(&doc! {})
        .session(&mut tx)
        .await
        .unwrap();
    assert_eq!(
        mongos.control().remaining_rejections(),
        0,
        "a connection was refused"
    );
    assert_eq!(pinned_address(&tx), Some(address));
    tx.commit().await.unwrap();
    assert_eq!(other.requests("insert"), inserts_elsewhere);
    assert_eq!(other.requests("commitTransaction"), 0);
    cluster.release(finds).await;
    assert_eq!(cluster.accounts.count_documents(doc! {}).await.unwrap(), 3);
}

#[derive(Debug)]
struct OutOfStock;

impl From<Error> for OutOfStock {
    fn from(_: Error) -> Self {
        Self
    }
}

#[tokio::test]
async fn an_error_that_a_retry_has_mended_does_not_run_the_transaction_again() {
    let cluster = Cluster::start(1, |_| {}).await;
    cluster.proxies()[0].control().refuse(1);
    let calls = AtomicU32::new(0);
    let outcome: Result<(), OutOfStock> = cluster
        .client
        .transaction()
        .run(async |tx| {
            calls.fetch_add(1, Ordering::Relaxed);
            let inserted = cluster.accounts.insert_one(&doc! {}).session(tx).await;
            assert!(inserted.is_ok(), "{inserted:?}");
            Err(OutOfStock)
        })
        .await;
    assert!(outcome.is_err());
    assert_eq!(cluster.proxies()[0].control().remaining_rejections(), 0);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

/// No command was sent in the session.
#[tokio::test]
async fn a_session_is_not_dirty_after_a_failed_check_out() {
    let cluster = Cluster::start(1, |options| options.max_adaptive_retries = Some(0)).await;
    let mut session = cluster.client.start_session().await.unwrap();
    let proxy = &cluster.proxies()[0];
    proxy.control().refuse(1);
    let find = || cluster.accounts.find_one(doc! {});
    let error = find().session(&mut session).await.unwrap_err();
    assert!(
        error.is_network() && error.contains_label(SYSTEM_OVERLOADED_ERROR),
        "{error:?}"
    );
    assert!(!is_dirty(&session));
    let mut times = 2;
    proxy.set_rule(move |exchange| {
        if exchange.command == "find" && times > 0 {
            times -= 1;
            return Action::DropRequest;
        }
        Action::Pass
    });
    let error = find().session(&mut session).await.unwrap_err();
    assert!(error.is_network(), "{error:?}");
    assert!(is_dirty(&session), "the server may have the command");
}

/// How the tap changes a reply, after which the connection must not be used again.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Damage {
    /// The reply answers another request.
    ResponseTo,
    /// Other bytes follow the reply.
    Surplus,
}

impl Damage {
    fn of(self, reply: &[u8]) -> Vec<u8> {
        let mut reply = reply.to_vec();
        match self {
            Self::ResponseTo => reply[8] ^= 1,
            Self::Surplus => reply.extend([0; 4]),
        }
        reply
    }
}

/// A client behind a load balancer whose replies a tap can change.
async fn load_balanced() -> (TestServer, WireTap, Client, PoolTally) {
    let server = TestServer::builder()
        .load_balanced()
        .start()
        .await
        .expect("a load balancer");
    let uri = server.uri();
    let hosts = uri.trim_start_matches("mongodb://").split('/').next();
    let balancer = hosts.and_then(|host| host.parse().ok()).expect("an address");
    let tap = WireTap::start(balancer).await;
    let uri = format!("mongodb://{}/?loadBalanced=true", tap.address());
    let tally = PoolTally::default();
    let mut options = ClientOptions::parse(&uri).expect("a connection string");
    tally.listen(&mut options);
    (
        server,
        tap,
        Client::with_options(options).expect("a client"),
        tally,
    )
}

fn damage_replies_to(tap: &WireTap, command: &'static str, damage: Damage) {
    let mut times = 1;
    tap.set_replies(move |passing| {
        if passing.command == command && times > 0 {
            times -= 1;
            return damage.of(passing.bytes);
        }
        passing.bytes.to_vec()
    });
}

#[tokio::test]
async fn a_broken_connection_of_a_transaction_is_closed() {
    for damage in [Damage::ResponseTo, Damage::Surplus] {
        let (_server, tap, client, tally) = load_balanced().await;
        let accounts = client.database("bank").collection::<Document>("accounts");
        accounts.insert_one(&doc! {}).await.unwrap();
        let _ = tap.take_commands();
        let mut tx = client.start_transaction().await.unwrap();
        damage_replies_to(&tap, "insert", damage);
        let inserted = accounts.insert_one(&doc! {}).session(&mut tx).await;
        assert_eq!(inserted.is_ok(), damage == Damage::Surplus, "{inserted:?}");
        assert_eq!(pin(&tx), None, "{damage:?}");
        tally.wait_until(|counts| counts.closed == 1).await;
        // Other connections may lead to another mongos.
        let error = accounts.find_one(doc! {}).session(&mut tx).await.unwrap_err();
        assert!(error.contains_label(TRANSIENT_TRANSACTION_ERROR), "{error:?}");
        let error = tx.commit().await.unwrap_err();
        assert!(error.contains_label(TRANSIENT_TRANSACTION_ERROR), "{error:?}");
        tx.abort().await.unwrap();
        let commands = tap.take_commands();
        let names: Vec<_> = commands.iter().map(Tapped::command).collect();
        assert_eq!(names, ["insert", "abortTransaction"], "{damage:?}");
        tally.wait_until(Counts::is_at_rest).await;
    }
}

#[tokio::test]
async fn a_commit_on_a_broken_connection_is_repeated_on_another() {
    for damage in [Damage::ResponseTo, Damage::Surplus] {
        let (server, tap, client, tally) = load_balanced().await;
        let accounts = client.database("bank").collection::<Document>("accounts");
        let mut tx = client.start_transaction().await.unwrap();
        accounts.insert_one(&doc! {}).session(&mut tx).await.unwrap();
        damage_replies_to(&tap, "commitTransaction", damage);
        let committed = tx.commit().await;
        assert_eq!(committed.is_ok(), damage == Damage::Surplus, "{committed:?}");
        tx.commit().await.unwrap();
        let commands = tap.take_commands();
        let connections: Vec<usize> = commands.iter().map(|tapped| tapped.connection).collect();
        let [insert, first, second] = connections[..] else {
            panic!("{commands:?}");
        };
        assert!(insert == first && first != second, "{connections:?}");
        drop(tx);
        tally
            .wait_until(|counts| counts.closed == 1 && counts.is_at_rest())
            .await;
        assert_eq!(server.violations().len(), 0);
    }
}

/// The commands of a transaction, each with the index of its connection.
#[derive(Clone, Debug, Default)]
struct Exchanges(Arc<Mutex<Vec<(String, usize)>>>);

impl Exchanges {
    /// Delays the reply to the next `update`, and records all commands.
    fn record(&self, proxy: &Proxy) {
        let exchanges = self.clone();
        let mut times = 1;
        proxy.set_rule(move |exchange| {
            let mut all = exchanges.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.push((exchange.command.to_owned(), exchange.connection));
            if exchange.command == "update" && times > 0 {
                times -= 1;
                return Action::Delay;
            }
            Action::Pass
        });
    }

    /// The connections that these commands were sent on.
    fn connections_of(&self, command: &str) -> Vec<usize> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_command = all.iter().filter(|(name, _)| name == command);
        of_command.map(|(_, connection)| *connection).collect()
    }
}

/// Each connection leads to one of two mongos, and the other one does not have the transaction.
#[tokio::test]
async fn the_abort_after_a_dropped_operation_uses_the_connection_of_the_transaction() {
    let proxied = Proxied::load_balanced(TestServer::builder()).await;
    let tally = PoolTally::default();
    let mut options = ClientOptions::parse(&proxied.uri("", "")).expect("a connection string");
    tally.listen(&mut options);
    let client = Client::with_options(options).expect("a client");
    client.warm_up().connections(4).await.unwrap();
    let accounts = client.database("bank").collection::<Document>("accounts");
    accounts.insert_one(&doc! { "_id": 1, "a": 0 }).await.unwrap();
    let increment = |by: i32| accounts.update_one(doc! { "_id": 1 }, doc! { "$inc": { "a": by } });
    let proxy = &proxied.proxies[0];
    for is_first in [true, false] {
        let exchanges = Exchanges::default();
        let mut tx = client.start_transaction().await.unwrap();
        if !is_first {
            accounts.find_one(doc! {}).session(&mut tx).await.unwrap();
        }
        exchanges.record(proxy);
        let before = proxy.requests("update");
        tokio::select! {
            biased;
            _ = increment(1).session(&mut tx).into_future() => panic!("the reply is delayed"),
            () = proxy.wait_for_requests("update", before + 1) => {}
        }
        assert!(pin(&tx).is_some(), "the session stays pinned");
        drop(tx);
        // Other operations use the other connections.
        for _ in 0..8 {
            accounts.count_documents(doc! {}).await.unwrap();
        }
        let aborts = proxy.requests("abortTransaction");
        proxy.end_waits();
        proxy
            .wait_for_replies("abortTransaction", 1 + usize::from(!is_first))
            .await;
        assert_eq!(aborts, usize::from(!is_first), "the abort waits for the reply");
        assert_eq!(
            exchanges.connections_of("abortTransaction"),
            exchanges.connections_of("update"),
            "first: {is_first}"
        );
        assert_eq!(proxied.server.open_transactions(), []);
        increment(5).await.expect("the transaction has no locks");
    }
    let account = accounts.find_one(doc! {}).await.unwrap().expect("an account");
    assert_eq!(account.get_i32("a").expect("an int32"), 10);
    tally.wait_until(Counts::is_at_rest).await;
    assert_eq!(tally.counts().closed, 0);
}

/// The connection is closed with its session, and the pin with the connection.
#[tokio::test]
async fn a_session_that_is_dropped_returns_the_connection_of_its_transaction() {
    let (_server, _tap, client, tally) = load_balanced().await;
    let accounts = client.database("bank").collection::<Document>("accounts");
    let mut session = client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    accounts.insert_one(&doc! {}).session(&mut session).await.unwrap();
    assert!(pin(&session).is_some());
    drop(session);
    tally.wait_until(Counts::is_at_rest).await;
    client.shutdown().await;
    tally.assert_nothing_left();
}

/// An error has unpinned the session, so that the abort does not wait for the mongos.
#[tokio::test]
async fn an_abort_does_not_wait_for_a_mongos_that_timed_out() {
    let cluster = Cluster::start(2, |_| {}).await;
    cluster.accounts.insert_one(&doc! {}).await.unwrap();
    let mut tx = cluster.client.start_transaction().await.unwrap();
    cluster.accounts.find_one(doc! {}).session(&mut tx).await.unwrap();
    for proxy in cluster.proxies() {
        proxy.set_rule(|exchange| match exchange.command {
            "insert" => Action::Silence,
            _ => Action::Pass,
        });
    }
    let document = doc! {};
    let insert = cluster.accounts.insert_one(&document).session(&mut tx);
    let error = insert.timeout(Duration::from_secs(1)).await.unwrap_err();
    assert!(error.contains_label(TRANSIENT_TRANSACTION_ERROR), "{error:?}");
    assert_eq!(pinned_address(&tx), None);
    // A late reply is awaited for 3 s.
    let aborted = tokio::time::timeout(Duration::from_millis(2_500), tx.abort()).await;
    aborted.expect("no wait for the reply").unwrap();
}

/// The server may still run the command: the identifier of the session is not used by another operation.
#[tokio::test]
async fn a_session_is_dirty_after_a_reply_that_violates_the_protocol() {
    let (_server, tap, client, _tally) = load_balanced().await;
    let accounts = client.database("bank").collection::<Document>("accounts");
    accounts.insert_one(&doc! {}).await.unwrap();
    let mut session = client.start_session().await.unwrap();
    damage_replies_to(&tap, "aggregate", Damage::ResponseTo);
    let count = accounts.count_documents(doc! {}).session(&mut session);
    let error = count.await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Protocol(_)), "{error:?}");
    assert!(is_dirty(&session));

    let _ = tap.take_commands();
    damage_replies_to(&tap, "aggregate", Damage::ResponseTo);
    accounts.count_documents(doc! {}).await.unwrap_err();
    accounts.count_documents(doc! {}).await.unwrap();
    let commands = tap.take_commands();
    let lsid = |tapped: &Tapped| tapped.body.get_document("lsid").ok().cloned();
    let ids: Vec<_> = commands.iter().map(lsid).collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
}

/// The future of an operation was dropped, so that no error has unpinned the session.
#[tokio::test]
async fn the_abort_after_a_dropped_operation_does_not_wait_for_a_mongos_that_is_not_available() {
    let cluster = Cluster::start(2, |options| {
        options.connect_timeout = Duration::from_secs(2);
        options.heartbeat_frequency = Duration::from_millis(500);
        options.server_selection_timeout = Duration::from_secs(60);
    })
    .await;
    cluster.accounts.insert_one(&doc! { "_id": 1 }).await.unwrap();
    let mut tx = cluster.client.start_transaction().await.unwrap();
    cluster.accounts.find_one(doc! {}).session(&mut tx).await.unwrap();
    let address = pinned_address(&tx).unwrap();
    let (mongos, other) = cluster.pinned_and_other(&tx);
    mongos.set_rule(|exchange| {
        if exchange.command == "update" || exchange.is_hello() {
            Action::Silence
        } else {
            Action::Pass
        }
    });
    let update = cluster.accounts.update_one(doc! {}, doc! { "$set": { "a": 1 } });
    tokio::select! {
        biased;
        _ = update.session(&mut tx).into_future() => panic!("no reply arrives"),
        () = mongos.wait_for_requests("update", 1) => {}
    }
    wait_for_topology(&cluster.client, |topology| {
        let mongos = topology
            .servers()
            .filter(|server| server.server_type() == ServerType::Mongos);
        mongos.count() == 1
    })
    .await;
    assert_eq!(pinned_address(&tx), Some(address));
    let aborted = tokio::time::timeout(Duration::from_secs(20), tx.abort()).await;
    aborted.expect("no wait for the mongos").unwrap();
    assert_eq!(other.requests("abortTransaction"), 1);
    assert_eq!(mongos.requests("abortTransaction"), 0);
}

/// A mongos that refuses connections may be gone: "commitTransaction" and "abortTransaction" are unpinned before their
/// retry ("When to unpin", rules 3 and 1), so that another mongos ends the transaction.
#[tokio::test]
async fn another_mongos_ends_the_transaction_of_one_that_refuses_connections() {
    for end in ["commitTransaction", "abortTransaction"] {
        let cluster = Cluster::start(2, |options| options.max_pool_size = 2).await;
        cluster.accounts.insert_one(&doc! {}).await.unwrap();
        let mut tx = cluster.client.start_transaction().await.unwrap();
        let inserted = cluster.accounts.insert_one(&doc! {}).session(&mut tx).await;
        inserted.unwrap();
        let (mongos, other) = cluster.pinned_and_other(&tx);
        // The connection of the transaction is in use.
        let finds = cluster.occupy().await;
        mongos.control().refuse(usize::MAX);
        match end {
            // The other mongos finds that the first did not begin to commit.
            "commitTransaction" => {
                let error = tx.commit().await.unwrap_err();
                assert!(error.contains_label(TRANSIENT_TRANSACTION_ERROR), "{error}");
            }
            _ => tx.abort().await.unwrap(),
        }
        assert_eq!((mongos.requests(end), other.requests(end)), (0, 1));
        cluster.release(finds).await;
    }
}
