//! Commands of cursors and change streams that are dropped before they are sent: the server session is not in use, and
//! returns to the session pool.

use futures_util::StreamExt;
use marula_driver::{
    Client, Collection, Cursor,
    bson::{Document, doc},
    internals::wait_until_idle,
    options::ClientOptions,
};
use marula_driver_tests::{
    CommandRecorder, Counts, Deployment, PoolTally, Proxy, proxy::Action, replica_set,
};
use tokio::task::JoinHandle;

/// A client with one connection, through a proxy.
struct Narrow {
    deployment: Deployment,
    proxy: Proxy,
    client: Client,
    tally: PoolTally,
    commands: CommandRecorder,
}

impl Narrow {
    async fn start() -> Self {
        let deployment = replica_set().await;
        let primary = deployment.server.primary().expect("a primary");
        let proxy = Proxy::start(primary).await;
        let uri = proxy.uri("maxPoolSize=1&directConnection=true");
        let mut options = ClientOptions::parse(&uri).expect("a connection string");
        let (tally, commands) = (PoolTally::default(), CommandRecorder::default());
        tally.listen(&mut options);
        commands.listen(&mut options);
        Self {
            client: Client::with_options(options).expect("a client"),
            deployment,
            proxy,
            tally,
            commands,
        }
    }

    /// A collection of five documents.
    async fn things(&self) -> Collection<Document> {
        let things = self.deployment.collection::<Document>();
        let all: Vec<Document> = (1..=5).map(|id| doc! { "_id": id }).collect();
        things.insert_many(&all).await.expect("stored");
        self.client
            .database(things.database().name())
            .collection("things")
    }

    /// Starts an operation that waits for a reply with the only connection, or for the connection.
    fn ping(&self) -> JoinHandle<()> {
        let admin = self.client.database("admin");
        tokio::spawn(async move { drop(admin.run_command(doc! { "ping": 1 }).await.expect("a reply")) })
    }

    /// Takes the only connection. [`release`](Self::release) ends that.
    async fn occupy(&self) -> JoinHandle<()> {
        self.proxy.set_rule(|exchange| match exchange.command {
            "ping" => Action::Delay,
            _ => Action::Pass,
        });
        let sent = self.proxy.requests("ping");
        let ping = self.ping();
        self.proxy.wait_for_requests("ping", sent + 1).await;
        ping
    }

    async fn release(&self, ping: JoinHandle<()>) {
        self.proxy.pass_everything();
        self.proxy.end_waits();
        ping.await.expect("no panic");
    }

    /// Drops the future when it waits for the connection.
    async fn drop_in_wait_queue<T>(&self, running: impl Future<Output = T>) {
        let check_outs = self.tally.counts().check_outs;
        tokio::select! {
            biased;
            _ = running => panic!("the connection is in use"),
            () = self.tally.wait_until(|counts: &Counts| counts.check_outs > check_outs) => {}
        }
    }

    /// The session of the last command with this name.
    fn session_of(&self, name: &str) -> Document {
        let commands = self.commands.commands();
        let of = |command: &&Document| command.keys().next().is_some_and(|first| first == name);
        let command = commands.iter().rfind(of).expect("a command");
        command.get_document("lsid").expect("a session").clone()
    }

    /// A cursor with further batches, and the id of its session.
    async fn open(&self) -> (Cursor<Document>, Document) {
        let things = self.things().await;
        let cursor = things.find(doc! {}).batch_size(2).await.expect("a cursor");
        (cursor, self.session_of("find"))
    }

    /// Whether the session pool has the session. Takes both sessions that it can have.
    async fn has_session(&self, id: &Document) -> bool {
        wait_until_idle(&self.client).await;
        let taken = [
            self.client.start_session().await.expect("a session"),
            self.client.start_session().await.expect("a session"),
        ];
        taken.iter().any(|session| session.id().as_ref() == Some(id))
    }
}

/// Reads the first batch, and no further one.
async fn read_batch(cursor: &mut Cursor<Document>) {
    for _ in 0..2 {
        assert!(cursor.advance().await.expect("a document"));
    }
}

/// The future of a read, which waits for a getMore.
async fn read(cursor: &mut Cursor<Document>, way: usize) {
    match way {
        0 => drop(cursor.advance().await),
        1 => drop(cursor.next_batch().await),
        _ => drop(cursor.next().await),
    }
}

#[tokio::test]
async fn a_cursor_whose_get_more_was_not_sent_continues() {
    let narrow = Narrow::start().await;
    for way in 0..3 {
        let (mut cursor, id) = narrow.open().await;
        read_batch(&mut cursor).await;
        let ping = narrow.occupy().await;
        narrow.drop_in_wait_queue(read(&mut cursor, way)).await;
        narrow.release(ping).await;
        let mut rest = Vec::new();
        while let Some(document) = cursor.try_next().await.expect("the cursor continues") {
            rest.push(document.get_i32("_id").expect("an id"));
        }
        assert_eq!(rest, [3, 4, 5], "way {way}");
        assert_eq!(narrow.session_of("getMore"), id, "way {way}");
        assert!(narrow.has_session(&id).await, "way {way}");
    }
}

#[tokio::test]
async fn a_cursor_whose_get_more_was_not_sent_is_closed_in_its_session() {
    let narrow = Narrow::start().await;
    for (way, closes) in [(0, false), (1, true), (2, false), (2, true)] {
        let (mut cursor, id) = narrow.open().await;
        read_batch(&mut cursor).await;
        let ping = narrow.occupy().await;
        narrow.drop_in_wait_queue(read(&mut cursor, way)).await;
        let killed = narrow.deployment.server.commands_seen("killCursors");
        if closes {
            let closing = tokio::spawn(cursor.close());
            narrow.release(ping).await;
            closing.await.expect("no panic");
        } else {
            drop(cursor);
            narrow.release(ping).await;
        }
        narrow
            .deployment
            .server
            .wait_for_command("killCursors", killed + 1)
            .await;
        assert!(narrow.has_session(&id).await, "way {way}");
        assert_eq!(narrow.session_of("killCursors"), id, "way {way}");
    }
}

#[tokio::test]
async fn the_session_of_a_close_that_was_not_sent_is_used_again() {
    let narrow = Narrow::start().await;
    let (cursor, id) = narrow.open().await;
    let ping = narrow.occupy().await;
    narrow.drop_in_wait_queue(cursor.close()).await;
    narrow.release(ping).await;
    narrow.deployment.server.wait_for_command("killCursors", 1).await;
    assert!(narrow.has_session(&id).await);
    assert_eq!(narrow.session_of("killCursors"), id);
}

/// The `aggregate` of the resume waits for the connection when the stream is dropped or closed.
#[tokio::test]
async fn the_session_of_a_resume_that_was_not_sent_is_used_again() {
    let narrow = Narrow::start().await;
    let fail = doc! {
        "configureFailPoint": "failCommand", "mode": { "times": 1 },
        "data": { "failCommands": ["getMore"], "errorCode": 8000, "errorLabels": ["ResumableChangeStreamError"] },
    };
    for closes in [false, true] {
        let things = narrow.things().await;
        let mut changes = things.watch().await.expect("a stream");
        let id = narrow.session_of("aggregate");
        let admin = narrow.deployment.client.database("admin");
        admin.run_command(fail.clone()).await.expect("a fail point");
        narrow.proxy.set_rule(|exchange| match exchange.command {
            "getMore" | "ping" => Action::Delay,
            _ => Action::Pass,
        });
        let [get_mores, pings] = ["getMore", "ping"].map(|name| narrow.proxy.requests(name));
        let check_outs = narrow.tally.counts().check_outs;
        let occupied = async {
            narrow.proxy.wait_for_requests("getMore", get_mores + 1).await;
            let ping = narrow.ping();
            narrow
                .tally
                .wait_until(|counts| counts.check_outs == check_outs + 2)
                .await;
            // The reply to the getMore. The ping is next, before killCursors and aggregate.
            narrow.proxy.end_waits();
            narrow.proxy.wait_for_requests("ping", pings + 1).await;
            narrow
                .tally
                .wait_until(|counts| counts.check_outs == check_outs + 4)
                .await;
            Some(ping)
        };
        let ping = tokio::select! {
            biased;
            next = changes.try_next() => panic!("{next:?}"),
            ping = occupied => ping.expect("a ping"),
        };
        if closes {
            changes.close().await;
        } else {
            drop(changes);
        }
        narrow.release(ping).await;
        assert!(narrow.has_session(&id).await, "closed: {closes}");
    }
}
