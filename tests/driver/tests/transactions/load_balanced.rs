//! Aborts behind a load balancer: the connection of a transaction whose replies do not arrive.

use std::time::Duration;

use marula_driver::{
    Client, ClientSession, Collection,
    bson::{Document, doc},
    internals::sessions::pin,
    options::ClientOptions,
};
use marula_driver_tests::{Counts, PoolTally, Proxied, Proxy, proxy::Action};
use marula_test_server::TestServer;

/// A client behind a load balancer, and one document.
struct Balanced {
    proxied: Proxied,
    client: Client,
    accounts: Collection<Document>,
    tally: PoolTally,
}

impl Balanced {
    async fn start() -> Self {
        let proxied = Proxied::load_balanced(TestServer::builder()).await;
        let tally = PoolTally::default();
        let mut options = ClientOptions::parse(&proxied.uri("", "")).expect("a connection string");
        tally.listen(&mut options);
        let client = Client::with_options(options).expect("a client");
        let accounts = client.database("bank").collection::<Document>("accounts");
        let account = doc! { "_id": 1, "a": 0 };
        accounts.insert_one(&account).await.expect("an insert");
        Self {
            proxied,
            client,
            accounts,
            tally,
        }
    }

    fn proxy(&self) -> &Proxy {
        &self.proxied.proxies[0]
    }

    /// A session whose transaction is pinned to a connection.
    async fn begin(&self) -> ClientSession {
        let mut session = self.client.start_session().await.expect("a session");
        session.start_transaction().await.expect("a transaction");
        let found = self.accounts.find_one(doc! {}).session(&mut session);
        found.await.expect("a find");
        assert!(pin(&session).is_some());
        session
    }

    /// The replies to this command do not arrive, or are delayed.
    fn hold_replies(&self, command: &'static str, action: fn() -> Action) {
        self.proxy().set_rule(move |exchange| {
            if exchange.command == command {
                action()
            } else {
                Action::Pass
            }
        });
    }
}

/// The connection cannot be used: its reply is outstanding. Another one may lead to the same mongos.
#[tokio::test]
async fn an_abort_is_sent_on_another_connection_if_the_late_reply_does_not_arrive() {
    let balanced = Balanced::start().await;
    let mut session = balanced.begin().await;
    balanced.hold_replies("update", || Action::Silence);
    let update = balanced
        .accounts
        .update_one(doc! { "_id": 1 }, doc! { "$inc": { "a": 1 } });
    tokio::select! {
        biased;
        _ = update.session(&mut session).into_future() => panic!("no reply arrives"),
        () = balanced.proxy().wait_for_requests("update", 1) => {}
    }
    let abort = session.abort_transaction();
    abort.timeout(Duration::from_secs(6)).await.unwrap();
    assert_eq!(balanced.proxy().requests("abortTransaction"), 1);
    assert_eq!(pin(&session), None);
    balanced
        .tally
        .wait_until(|counts| counts.closed == 1 && counts.is_at_rest())
        .await;
}

/// The session lives on: it must not keep the connection of a transaction that has ended.
#[tokio::test]
async fn the_connection_of_a_dropped_abort_returns_to_its_pool() {
    let balanced = Balanced::start().await;
    let mut session = balanced.begin().await;
    balanced.hold_replies("abortTransaction", || Action::Delay);
    tokio::select! {
        biased;
        _ = session.abort_transaction().into_future() => panic!("the reply is delayed"),
        () = balanced.proxy().wait_for_requests("abortTransaction", 1) => {}
    }
    assert_eq!(pin(&session), None);
    balanced.proxy().end_waits();
    balanced.tally.wait_until(Counts::is_at_rest).await;
    assert_eq!(balanced.tally.counts().closed, 0, "the late reply was read");
    session.start_transaction().await.unwrap();
    let update = balanced
        .accounts
        .update_one(doc! { "_id": 1 }, doc! { "$inc": { "a": 1 } });
    update.session(&mut session).await.unwrap();
    session.commit_transaction().await.unwrap();
    assert_eq!(balanced.proxied.server.open_transactions(), []);
}

/// Drops an update of the transaction when it was sent.
async fn drop_update(balanced: &Balanced, session: &mut ClientSession) {
    let update = balanced
        .accounts
        .update_one(doc! { "_id": 1 }, doc! { "$inc": { "a": 1 } });
    tokio::select! {
        biased;
        _ = update.session(session).into_future() => panic!("no reply arrives"),
        () = balanced.proxy().wait_for_requests("update", 1) => {}
    }
}

/// "A network error after the handshake" clears the pool of the service.
#[tokio::test]
async fn a_connection_that_fails_while_its_late_reply_is_awaited_clears_the_pool() {
    let balanced = Balanced::start().await;
    let mut session = balanced.begin().await;
    balanced.hold_replies("update", || Action::Hang);
    drop_update(&balanced, &mut session).await;
    assert_eq!(balanced.tally.counts().cleared, 0);
    balanced.proxy().end_waits();
    session.abort_transaction().await.unwrap();
    assert_eq!(balanced.tally.counts().cleared, 1);
    assert_eq!(balanced.proxy().requests("abortTransaction"), 1);
}
