//! Operations that are dropped while the server runs their commands: the late replies are awaited in
//! the background, the connections are used again, and cursors in late replies are killed.

use std::time::Duration;

use marula_driver::{
    Client, Error, ErrorKind,
    bson::{Document, doc},
    event::{EventListener, SdamEvent, ServerType},
    internals::wait_for_topology,
    options::ClientOptions,
};
use marula_driver_tests::{
    CommandRecorder, Counts, Encrypted, PoolTally, Proxy, proxy::Action, replica_set, tap::WireTap,
};
use marula_test_server::TestServer;

const WORKERS: usize = 10;
const DROPPED: usize = 100;
/// The lowest number of commands.
const SENT: usize = 100;
/// The highest number of connections. Without reading late replies, each command that is sent needs one.
const CONNECTIONS: usize = 50;
/// The time limit, which is reached only if a test fails.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// How long the operations wait for a reply, and how long the server delays it.
const PATIENCE: Duration = Duration::from_millis(5);
const SHORT_MS: i32 = 20;
/// Long enough to drop the operation before its reply arrives.
const LONG_MS: i32 = 1_000;

async fn delay(client: &Client, delayed: &str, millis: i32, mode: &str) {
    let data = doc! { "failCommands": [delayed], "blockConnection": true, "blockTimeMS": millis };
    let command = doc! { "configureFailPoint": "failCommand", "mode": mode, "data": data };
    let admin = client.database("admin");
    admin.run_command(command).await.expect("a fail point");
}

fn tallied(uri: &str) -> (Client, PoolTally) {
    let mut options = ClientOptions::parse(uri).expect("a connection string");
    let tally = PoolTally::default();
    tally.listen(&mut options);
    (Client::with_options(options).expect("a client"), tally)
}

/// How the operations end before their replies.
#[derive(Clone, Copy, Debug)]
enum Ends {
    Dropped,
    TimeoutMs,
}

/// At least 1,000 operations of 10 tasks that end before their replies, of which at least 100 are sent: on a busy
/// machine, many end while they wait for a connection. Prints the numbers of connections.
async fn storm(uri: &str, ends: Ends) -> Counts {
    let (client, tally) = tallied(uri);
    delay(&client, "find", SHORT_MS, "alwaysOn").await;
    let workers: Vec<_> = (0..WORKERS)
        .map(|_| {
            let things = client.database("d").collection::<Document>("things");
            let tally = tally.clone();
            tokio::spawn(async move {
                let mut ended = 0;
                while ended < DROPPED || tally.counts().checked_out < SENT {
                    let find = things.find_one(doc! {});
                    let is_late = match ends {
                        Ends::Dropped => tokio::time::timeout(PATIENCE, find).await.is_err(),
                        Ends::TimeoutMs => find.timeout(PATIENCE).await.is_err_and(|error| {
                            assert!(matches!(error.kind(), ErrorKind::Timeout(_)), "{error}");
                            true
                        }),
                    };
                    ended += usize::from(is_late);
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.expect("no panic");
    }
    delay(&client, "find", 0, "off").await;
    let things = client.database("d").collection::<Document>("things");
    things.insert_one(&doc! { "_id": 1 }).await.expect("stored");
    assert_eq!(things.count_documents(doc! {}).await.expect("a count"), 1);
    let counts = tally.counts();
    client.shutdown().await;
    tally.wait_until(Counts::is_at_rest).await;
    tally.assert_nothing_left();
    println!("{ends:?}: {counts:?}");
    counts
}

#[tokio::test]
async fn a_thousand_dropped_operations_open_a_handful_of_connections() {
    let server = TestServer::builder().start().await.expect("a server");
    let counts = storm(&server.uri(), Ends::Dropped).await;
    assert!(counts.created <= CONNECTIONS, "{counts:?}");
}

#[tokio::test]
async fn a_thousand_dropped_operations_open_a_handful_of_connections_with_tls() {
    let deployment = Encrypted::start(TestServer::builder()).await;
    let counts = storm(&deployment.uri(""), Ends::Dropped).await;
    assert!(counts.created <= CONNECTIONS, "{counts:?}");
}

#[tokio::test]
async fn a_thousand_timeouts_open_a_handful_of_connections() {
    let server = TestServer::builder().start().await.expect("a server");
    let counts = storm(&server.uri(), Ends::TimeoutMs).await;
    assert!(counts.created <= CONNECTIONS, "{counts:?}");
}

/// Sends a command and drops it before its reply.
async fn drop_when_sent<T>(server: &TestServer, command: &str, running: impl Future<Output = T>) {
    let sent = server.commands_seen(command) + 1;
    tokio::select! {
        biased;
        _ = running => panic!("{command} was not delayed"),
        () = server.wait_for_command(command, sent) => {}
    }
}

async fn killed(server: &TestServer, count: usize) {
    let killed = server.wait_for_command("killCursors", count);
    tokio::time::timeout(TIME_LIMIT, killed)
        .await
        .expect("the cursor is killed");
}

#[tokio::test]
async fn the_cursor_of_a_dropped_find_is_killed() {
    let plain = TestServer::builder().auth("user", "secret");
    let balanced = TestServer::builder().load_balanced();
    for builder in [plain, balanced] {
        let server = builder.start().await.expect("a server");
        // The fail point is one of a mongos.
        let (client, tally) = tallied(&server.single_uri());
        let things = client.database("d").collection::<Document>("things");
        let all: Vec<Document> = (0..10).map(|id| doc! { "_id": id }).collect();
        things.insert_many(&all).await.expect("stored");
        delay(&client, "find", LONG_MS, "alwaysOn").await;
        let created = tally.counts().created;
        let find = things.find(doc! {}).batch_size(2).into_future();
        drop_when_sent(&server, "find", find).await;
        killed(&server, 1).await;
        delay(&client, "find", 0, "off").await;
        assert!(things.find_one(doc! {}).await.expect("a reply").is_some());
        assert!(tally.counts().created <= created + 1, "one for the fail point");
    }
}

/// Only its connection leads to the server of the cursor.
#[tokio::test]
async fn behind_a_load_balancer_the_cursor_of_a_dropped_get_more_is_killed_on_its_connection() {
    let server = TestServer::builder()
        .load_balanced()
        .start()
        .await
        .expect("a server");
    let (client, tally) = tallied(&server.single_uri());
    let things = client.database("d").collection::<Document>("things");
    let all: Vec<Document> = (0..10).map(|id| doc! { "_id": id }).collect();
    things.insert_many(&all).await.expect("stored");
    let mut cursor = things.find(doc! {}).batch_size(2).await.expect("a cursor");
    for _ in 0..2 {
        assert!(cursor.advance().await.expect("a document"));
    }
    delay(&client, "getMore", LONG_MS, "alwaysOn").await;
    drop_when_sent(&server, "getMore", cursor.advance()).await;
    drop(cursor);
    killed(&server, 1).await;
    tally.wait_until(Counts::is_at_rest).await;
    let admin = client.database("admin");
    admin.run_command(doc! { "ping": 1 }).await.expect("a reply");
    assert_eq!(tally.counts().closed, 0, "{:?}", tally.counts());
    assert_eq!(server.commands_seen("killCursors"), 1, "not killed twice");
}

/// The server is marked Unknown, as if the operation had received the reply.
#[tokio::test]
async fn a_state_change_in_a_late_reply_is_handled() {
    let server = TestServer::builder().start().await.expect("a server");
    let mut options = ClientOptions::parse(&server.uri()).expect("a connection string");
    let (changed, mut changes) = tokio::sync::mpsc::unbounded_channel();
    options.sdam_listener = Some(EventListener::new(move |event: &SdamEvent| {
        if let SdamEvent::ServerDescriptionChanged { new, .. } = event
            && let Some(code) = new.cause().and_then(Error::code)
        {
            let _ = changed.send(code);
        }
    }));
    let client = Client::with_options(options).expect("a client");
    let things = client.database("d").collection::<Document>("things");
    things.insert_one(&doc! { "_id": 1 }).await.expect("stored");
    let data = doc! {
        "failCommands": ["find"], "blockConnection": true, "blockTimeMS": LONG_MS, "errorCode": 10107,
    };
    let command = doc! { "configureFailPoint": "failCommand", "mode": { "times": 1 }, "data": data };
    client
        .database("admin")
        .run_command(command)
        .await
        .expect("a fail point");
    drop_when_sent(&server, "find", things.find_one(doc! {}).into_future()).await;
    let change = tokio::time::timeout(TIME_LIMIT, changes.recv()).await;
    assert_eq!(change.expect("the server is Unknown"), Some(10107));
    assert!(
        things
            .find_one(doc! {})
            .await
            .expect("the server is known again")
            .is_some()
    );
}

/// The server closes it with the transaction. `killCursors` would run beside its commands, without its
/// session.
#[tokio::test]
async fn the_cursor_of_a_dropped_find_in_a_transaction_is_left_to_the_transaction() {
    let server = TestServer::builder()
        .replica_set()
        .start()
        .await
        .expect("a server");
    let (client, tally) = tallied(&server.uri());
    let things = client.database("d").collection::<Document>("things");
    let all: Vec<Document> = (0..10).map(|id| doc! { "_id": id }).collect();
    things.insert_many(&all).await.expect("stored");
    delay(&client, "find", LONG_MS, "alwaysOn").await;
    let mut session = client.start_session().await.expect("a session");
    session.start_transaction().await.expect("a transaction");
    let find = things.find(doc! {}).batch_size(2).session(&mut session);
    drop_when_sent(&server, "find", find.into_future()).await;
    let checked_out = tally.counts().checked_out;
    tally.wait_until(Counts::is_at_rest).await;
    session.abort_transaction().await.expect("an abort");
    tally
        .wait_until(|counts| counts.checked_out > checked_out && counts.is_at_rest())
        .await;
    assert_eq!(server.commands_seen("killCursors"), 0);
    assert_eq!(tally.counts().closed, 0, "the connection is used again");
}

/// The close of a cursor waits for the next check of its server, and not for the end of server selection.
#[tokio::test]
async fn the_close_of_a_cursor_is_given_up_when_its_server_fails() {
    let server = TestServer::builder().start().await.expect("a server");
    let mut options = ClientOptions::parse(&server.uri()).expect("a connection string");
    options.server_selection_timeout = Duration::from_secs(3_600);
    let client = Client::with_options(options).expect("a client");
    let things = client.database("d").collection::<Document>("things");
    let all: Vec<Document> = (0..10).map(|id| doc! { "_id": id }).collect();
    things.insert_many(&all).await.expect("stored");
    let cursor = things.find(doc! {}).batch_size(2).await.expect("a cursor");
    drop(server);
    wait_for_topology(&client, |topology| {
        topology
            .servers()
            .all(|server| server.server_type() == ServerType::Unknown)
    })
    .await;
    drop(cursor);
    let shutdown = client.shutdown().deadline(Duration::MAX).into_future();
    let rest = tokio::time::timeout(TIME_LIMIT, shutdown).await;
    assert!(rest.expect("the close is given up").is_empty());
}

/// The session takes the times of the reply when it has arrived, also without another operation of the session.
#[tokio::test]
async fn a_late_reply_advances_the_times_of_its_session() {
    let deployment = replica_set().await;
    let proxy = Proxy::start(deployment.server.primary().expect("a primary")).await;
    let commands = CommandRecorder::default();
    let client = commands.client_of(&proxy.uri("maxPoolSize=1&directConnection=true"));
    let things = client.database("d").collection::<Document>("things");
    let mut session = client.start_session().await.expect("a session");
    things
        .insert_one(&doc! { "_id": 0 })
        .session(&mut session)
        .await
        .expect("stored");
    for (id, asks_session) in [(1, true), (2, false)] {
        let before = (session.operation_time(), session.cluster_time());
        proxy.set_rule(|exchange| match exchange.command {
            "insert" => Action::Delay,
            _ => Action::Pass,
        });
        let sent = proxy.requests("insert");
        let document = doc! { "_id": id };
        tokio::select! {
            biased;
            inserted = things.insert_one(&document).session(&mut session).into_future() => panic!("{inserted:?}"),
            () = proxy.wait_for_requests("insert", sent + 1) => {}
        }
        proxy.pass_everything();
        proxy.end_waits();
        if asks_session {
            // Waits for the only connection, and so for the late reply.
            let admin = client.database("admin");
            admin.run_command(doc! { "ping": 1 }).await.expect("a reply");
            assert!(
                session.operation_time() > before.0,
                "{:?}",
                session.operation_time()
            );
            assert_ne!(session.cluster_time(), before.1);
        } else {
            let found = things.find_one(document).session(&mut session).await;
            assert!(found.expect("a reply").is_some());
            let find = commands.commands().pop().expect("a command");
            let concern = find.get_document("readConcern").expect("a read concern");
            let after = concern.get_timestamp("afterClusterTime").ok();
            assert!(after > before.0, "{find}");
        }
    }
}

/// "A driver MAY" send `killCursors` in the session of the cursor (Driver Sessions), and the late reply gossips its
/// cluster time.
#[tokio::test]
async fn the_cursor_of_a_dropped_find_is_killed_in_its_session_with_the_time_of_the_reply() {
    let deployment = replica_set().await;
    let tap = WireTap::start(deployment.server.primary().expect("a primary")).await;
    let proxy = Proxy::start(tap.address()).await;
    let (client, _) = tallied(&proxy.uri("maxPoolSize=1&directConnection=true"));
    let things = client.database("d").collection::<Document>("things");
    let others = deployment.client.database("d").collection::<Document>("things");
    let all: Vec<Document> = (0..10).map(|id| doc! { "_id": id }).collect();
    things.insert_many(&all).await.expect("stored");
    let mut session = client.start_session().await.expect("a session");
    let time = |document: &Document| {
        let time = document.get_document("$clusterTime").expect("in each");
        time.get_timestamp("clusterTime").expect("the time")
    };
    // The write buffer is freed after a large request.
    let filters = [doc! {}, doc! { "text": { "$ne": "x".repeat(5 << 20) } }];
    for (filter, is_explicit) in filters.into_iter().flat_map(|f| [(f.clone(), false), (f, true)]) {
        // Only the late reply has the time of this write.
        others.insert_one(&doc! {}).await.expect("stored");
        proxy.set_rule(|exchange| match exchange.command {
            "find" => Action::Delay,
            _ => Action::Pass,
        });
        drop((tap.take_requests(), tap.take_replies()));
        let (found, killed) = (proxy.requests("find") + 1, proxy.requests("killCursors") + 1);
        let find = things.find(filter).batch_size(2);
        let find = if is_explicit {
            find.session(&mut session)
        } else {
            find
        };
        tokio::select! {
            biased;
            found = find.into_future() => panic!("{:?}", found.err()),
            () = proxy.wait_for_requests("find", found) => {}
        }
        proxy.pass_everything();
        proxy.end_waits();
        proxy.wait_for_requests("killCursors", killed).await;
        // The client has the time after the reply to `killCursors`. A command before it has another connection.
        let admin = client.database("admin");
        let mut commands = Vec::new();
        let (mut pings, mut is_known) = (0, false);
        while !is_known && pings < 1_000 {
            admin.run_command(doc! { "ping": 1 }).await.expect("a reply");
            commands.append(&mut tap.take_commands());
            let killed = commands.iter().find(|sent| sent.command() == "killCursors");
            let ping = commands.last().expect("a ping");
            is_known = killed.is_some_and(|killed| time(&ping.body) >= time(&killed.body));
            pings += 1;
        }
        assert!(is_known);
        let sent = |command: &str| {
            let sent = commands.iter().find(|sent| sent.command() == command);
            sent.unwrap_or_else(|| panic!("{command}")).body.clone()
        };
        assert_eq!(sent("killCursors").get("lsid"), sent("find").get("lsid"));
        let replies = tap.take_replies();
        let late = replies.iter().find(|reply| reply.body.contains_key("cursor"));
        let late = time(&late.expect("a cursor").body);
        assert!(late > time(&sent("find")));
        assert_eq!(late, time(&sent("killCursors")));
    }
}
