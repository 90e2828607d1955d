//! The `recoveryToken` of late replies: "Drivers MUST track the most recently received recoveryToken".

use std::time::Duration;

use marula_driver::{
    Client, ClientSession, Collection, Result,
    bson::{Bson, Document, ObjectId, Timestamp, doc},
};
use marula_driver_tests::{Answer, Proxy, Request, ScriptedServer, proxy::Action};

/// A mongos whose replies have the name of the command and the number of the transaction as `recoveryToken`, and a
/// proxy in front of it.
struct Mongos {
    server: ScriptedServer,
    proxy: Proxy,
    client: Client,
    accounts: Collection<Document>,
}

/// The times of all replies to `update`.
const TIME: Timestamp = Timestamp {
    time: 7,
    increment: 3,
};

fn token(command: &str, transaction: i64) -> Document {
    doc! { "of": command, "transaction": transaction }
}

fn reply(request: &Request) -> Answer {
    let number = request.command.get_i64("txnNumber").unwrap_or_default();
    let mut reply = match request.name() {
        "find" => doc! { "ok": 1, "cursor": { "id": 0_i64, "ns": "bank.accounts", "firstBatch": [] } },
        "update" => {
            let hash = doc! { "hash": [], "keyId": 0_i64 };
            doc! {
                "ok": 1, "n": 1, "nModified": 1, "operationTime": TIME,
                "$clusterTime": { "clusterTime": TIME, "signature": hash },
            }
        }
        "commitTransaction" => doc! { "ok": 1 },
        _ => return Answer::Success,
    };
    reply.insert("recoveryToken", token(request.name(), number));
    Answer::Reply(reply)
}

impl Mongos {
    async fn start(is_load_balanced: bool) -> Self {
        let mut hello = doc! { "logicalSessionTimeoutMinutes": 30 };
        if is_load_balanced {
            hello.insert("serviceId", ObjectId::new());
        }
        let server = ScriptedServer::start(hello, reply).await;
        let address = server.uri("");
        let address = address.trim_start_matches("mongodb://").trim_end_matches("/?");
        let proxy = Proxy::start(address.parse().expect("an address")).await;
        let uri = format!("mongodb://{}/?loadBalanced={is_load_balanced}", proxy.address());
        let client = Client::connect(uri).await.expect("a client");
        Self {
            accounts: client.database("bank").collection("accounts"),
            server,
            proxy,
            client,
        }
    }

    async fn find(&self, session: &mut ClientSession) {
        let found = self.accounts.find_one(doc! {}).session(session).await;
        found.expect("a find");
    }

    async fn update(&self, session: &mut ClientSession) -> Result<()> {
        let update = self.accounts.update_one(doc! {}, doc! { "$inc": { "a": 1 } });
        update.session(session).await.map(drop)
    }

    /// Delays the replies to this command.
    fn delay(&self, command: &'static str) {
        self.proxy.set_rule(move |exchange| {
            if exchange.command == command {
                Action::Delay
            } else {
                Action::Pass
            }
        });
    }

    /// An update whose reply is delayed, and whose future is dropped.
    async fn drop_update(&self, session: &mut ClientSession) {
        self.delay("update");
        tokio::select! {
            biased;
            updated = self.update(session) => panic!("the reply is delayed: {updated:?}"),
            () = self.proxy.wait_for_requests("update", 1) => {}
        }
    }

    /// The tokens of these commands.
    async fn tokens(&self, command: &str, count: usize) -> Vec<Document> {
        let sent = self.server.wait_for(command, count).await;
        let token = |request: &Request| request.command.get_document("recoveryToken").cloned();
        sent.iter()
            .map(|request| token(request).expect("a token"))
            .collect()
    }
}

async fn started(client: &Client) -> ClientSession {
    let mut session = client.start_session().await.expect("a session");
    session.start_transaction().await.expect("a transaction");
    session
}

/// The pool reads the late reply, or behind a load balancer the abort does.
#[tokio::test]
async fn the_recovery_token_and_the_times_of_a_late_reply_are_those_of_the_session() {
    for is_load_balanced in [false, true] {
        let mongos = Mongos::start(is_load_balanced).await;
        let mut session = started(&mongos.client).await;
        mongos.find(&mut session).await;
        mongos.drop_update(&mut session).await;
        assert_eq!(session.operation_time(), None);
        mongos.proxy.end_waits();
        session.abort_transaction().await.unwrap();
        assert_eq!(mongos.tokens("abortTransaction", 1).await, [token("update", 1)]);
        assert_eq!(session.operation_time(), Some(TIME));
        let cluster_time = session.cluster_time().expect("a cluster time");
        assert_eq!(cluster_time.get("clusterTime"), Some(&Bson::Timestamp(TIME)));
        let aborts = mongos.server.requests_named("abortTransaction");
        let gossiped = aborts[0]
            .command
            .get_document("$clusterTime")
            .expect("a cluster time");
        assert_eq!(gossiped.get("clusterTime"), Some(&Bson::Timestamp(TIME)));
    }
}

#[tokio::test]
async fn a_repeated_commit_has_the_recovery_token_of_the_late_reply_to_the_first() {
    let mongos = Mongos::start(false).await;
    let mut session = started(&mongos.client).await;
    mongos.update(&mut session).await.unwrap();
    mongos.delay("commitTransaction");
    tokio::select! {
        biased;
        committed = session.commit_transaction().into_future() => panic!("the reply is delayed: {committed:?}"),
        () = mongos.proxy.wait_for_requests("commitTransaction", 1) => {}
    }
    mongos.proxy.pass_everything();
    mongos.proxy.end_waits();
    session.commit_transaction().await.unwrap();
    assert_eq!(
        mongos.tokens("commitTransaction", 2).await,
        [token("update", 1), token("commitTransaction", 1)]
    );
}

/// The reply arrives after the next transaction of the session has begun.
#[tokio::test]
async fn the_recovery_token_of_a_late_reply_is_not_that_of_the_next_transaction() {
    const SHORT: Duration = Duration::from_secs(2);
    let mongos = Mongos::start(false).await;
    let mut session = started(&mongos.client).await;
    mongos.find(&mut session).await;
    mongos.drop_update(&mut session).await;
    // Both commands wait for the reply for half of their time.
    session.abort_transaction().timeout(SHORT).await.unwrap();
    session.start_transaction().await.unwrap();
    let find = mongos.accounts.find_one(doc! {}).timeout(SHORT);
    find.session(&mut session).await.unwrap();
    mongos.proxy.end_waits();
    session.abort_transaction().await.unwrap();
    assert_eq!(
        mongos.tokens("abortTransaction", 2).await,
        [token("find", 1), token("find", 2)]
    );
    assert_eq!(session.operation_time(), Some(TIME));
}
