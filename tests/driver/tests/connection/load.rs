//! More tasks than connections: the number of connections that are established at the same time,
//! the order of the wait queue, and its timeout; on a standalone server, a replica set, a sharded
//! cluster and behind a load balancer.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use marula_driver::{
    Client, Error, ErrorKind, PoolError, RETRYABLE_ERROR, SYSTEM_OVERLOADED_ERROR,
    bson::{Document, doc},
    event::{CommandEvent, EventListener},
    internals::{fix_jitter, wait_for_description},
    options::ClientOptions,
};
use marula_driver_tests::{
    Counts, PoolTally, Proxied, Proxy, Topology,
    proxy::{Action, Exchange},
};
use marula_test_server::TestServer;
use tokio::task::JoinHandle;

/// The time limit, which is reached only if a test fails.
const TIME_LIMIT: Duration = Duration::from_secs(120);
const TASKS: i32 = 500;

/// A deployment, and a client that has discovered it and has no pooled connection yet.
struct Load {
    deployment: Proxied,
    client: Client,
    tally: PoolTally,
    /// The numbers of the tasks, in the order in which they checked out a connection and sent their
    /// command.
    served: Arc<Mutex<Vec<i32>>>,
}

impl Load {
    async fn start(topology: Topology, options: &str) -> Self {
        let builder = TestServer::builder()
            .parameter("scramSHA256IterationCount", 4096)
            .auth("user", "secret");
        let deployment = Proxied::start(topology, builder).await;
        let uri = deployment.uri("user:secret@", options);
        let mut options = ClientOptions::parse(&uri).expect("a connection string");
        let tally = PoolTally::default();
        tally.listen(&mut options);
        // Backoff is not tested here.
        fix_jitter(&mut options, 0.0);
        let served = Arc::<Mutex<Vec<i32>>>::default();
        let order = Arc::clone(&served);
        options.command_listener = Some(EventListener::new(move |event: &CommandEvent| {
            if let CommandEvent::Started(started) = event
                && let Ok(command) = Document::try_from(&*started.command)
                && let Ok(task) = command.get_i32("comment")
            {
                order.lock().expect("no panic").push(task);
            }
        }));
        let client = Client::with_options(options).expect("a client");
        wait_for_description(&client, |text| text.contains(topology.server_type())).await;
        assert_eq!(
            tally.counts().created,
            0,
            "connections of monitors do not belong to the pool"
        );
        Self {
            deployment,
            client,
            tally,
            served,
        }
    }

    /// The proxy that all operations use.
    fn proxy(&self) -> &Proxy {
        self.deployment.writable()
    }

    fn spawn(&self, task: i32) -> JoinHandle<Result<(), Error>> {
        let admin = self.client.database("admin");
        tokio::spawn(async move {
            let ping = doc! { "ping": 1, "comment": task };
            admin.run_command(ping).await.map(drop)
        })
    }

    /// Checks that the client works and that no check-out is left, then shuts it down.
    async fn end(self) {
        self.tally.wait_until(Counts::is_at_rest).await;
        self.spawn(-1).await.expect("no panic").expect("a reply");
        self.client.shutdown().await;
        drop(self.client);
        self.deployment.wait_for_at_most_open(0).await;
        self.deployment.server.wait_for_open_connections(0).await;
        self.tally.assert_nothing_left();
    }
}

fn hold_logins(exchange: &Exchange<'_>) -> Action {
    if exchange.is_login() {
        Action::Delay
    } else {
        Action::Pass
    }
}

/// All tasks wait before the first connection is ready; then each is served in turn.
async fn load(topology: Topology) -> Vec<i32> {
    let load = Load::start(topology, "maxPoolSize=50&maxConnecting=2").await;
    load.proxy().set_rule(hold_logins);
    let tasks: Vec<_> = (0..TASKS).map(|task| load.spawn(task)).collect();
    load.tally
        .wait_until(|counts| counts.check_outs == TASKS as usize)
        .await;
    load.proxy().wait_for_requests("login", 2).await;
    assert_eq!(load.tally.counts().created, 2, "two are being established");
    load.proxy().pass_everything();
    load.proxy().end_waits();
    for task in tasks {
        task.await.expect("no panic").expect("a reply");
    }
    let counts = load.tally.counts();
    assert_eq!(counts.max_pending, 2, "{counts:?}");
    assert!(counts.max_open <= 50, "{counts:?}");
    assert_eq!(counts.check_outs_failed, 0, "{counts:?}");
    let served = load.served.lock().expect("no panic").clone();
    load.end().await;
    served
}

/// With one thread, the order of the wait queue is the order in which the tasks were started.
#[tokio::test]
async fn waiting_check_outs_are_served_in_order() {
    for topology in Topology::ALL {
        let served = tokio::time::timeout(TIME_LIMIT, load(topology))
            .await
            .expect("nothing hangs");
        assert_eq!(served, (0..TASKS).collect::<Vec<_>>(), "{topology:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn all_check_outs_are_served_on_many_threads() {
    for topology in Topology::ALL {
        let mut served = tokio::time::timeout(TIME_LIMIT, load(topology))
            .await
            .expect("nothing hangs");
        served.sort_unstable();
        assert_eq!(served, (0..TASKS).collect::<Vec<_>>(), "{topology:?}");
    }
}

/// A check-out that exceeds waitQueueTimeoutMS fails with the limit in its message; the others
/// succeed.
#[tokio::test]
async fn a_check_out_fails_after_wait_queue_timeout() {
    for topology in Topology::ALL {
        let waiting = exceed_wait_queue_timeout(topology);
        tokio::time::timeout(TIME_LIMIT, waiting)
            .await
            .expect("nothing hangs");
    }
}

async fn exceed_wait_queue_timeout(topology: Topology) {
    let load = Load::start(topology, "maxPoolSize=1&waitQueueTimeoutMS=100").await;
    load.proxy().set_rule(|exchange| match exchange.command {
        "ping" => Action::Delay,
        _ => Action::Pass,
    });
    let holder = load.spawn(0);
    load.proxy().wait_for_requests("ping", 1).await;
    let waiting: Vec<_> = (1..50).map(|task| load.spawn(task)).collect();
    for task in waiting {
        let error = task
            .await
            .expect("no panic")
            .expect_err("the connection is in use");
        let ErrorKind::Pool(PoolError::WaitQueueTimeout {
            timeout,
            connections,
            max_pool_size,
            ..
        }) = error.kind()
        else {
            panic!("{error:?}");
        };
        assert_eq!(
            (*timeout, *connections, *max_pool_size),
            (Duration::from_millis(100), 1, 1)
        );
    }
    load.proxy().pass_everything();
    load.proxy().end_waits();
    holder.await.expect("no panic").expect("a reply");
    assert_eq!(
        *load.served.lock().expect("no panic"),
        [0],
        "the others sent no command"
    );
    load.end().await;
}

/// A server that closes every other new connection: operations are retried, errors name the cause,
/// and the pool is not cleared.
async fn refuse_every_other_connection(topology: Topology) {
    let load = Load::start(topology, "maxPoolSize=50&maxConnecting=2").await;
    let seen = Arc::<AtomicUsize>::default();
    let refused = Arc::<AtomicUsize>::default();
    let (all, lost) = (Arc::clone(&seen), Arc::clone(&refused));
    load.proxy().set_rule(move |exchange| {
        if exchange.is_login() && all.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) {
            lost.fetch_add(1, Ordering::SeqCst);
            return Action::DropRequest;
        }
        Action::Pass
    });
    let tasks: Vec<_> = (0..TASKS).map(|task| load.spawn(task)).collect();
    let mut failed = 0;
    for task in tasks {
        if let Err(error) = task.await.expect("no panic") {
            assert!(matches!(error.kind(), ErrorKind::Network(_)), "{error:?}");
            for label in [SYSTEM_OVERLOADED_ERROR, RETRYABLE_ERROR] {
                assert!(error.contains_label(label), "{error:?}");
            }
            failed += 1;
        }
    }
    let counts = load.tally.counts();
    let refused = refused.load(Ordering::SeqCst);
    println!("{refused} connections were refused, {failed} operations failed: {counts:?}");
    // Each failed establishment fails one waiting operation, if there is one, which is retried.
    assert!(
        counts.check_outs_failed > 0 && counts.check_outs_failed <= refused,
        "{counts:?}"
    );
    assert!(failed < TASKS, "some connections were not refused");
    assert_eq!(counts.cleared, 0, "{counts:?}");
    assert!(counts.max_pending <= 2, "{counts:?}");
    load.proxy().pass_everything();
    load.end().await;
}

#[tokio::test]
async fn refused_connections_do_not_clear_the_pool() {
    for topology in Topology::ALL {
        tokio::time::timeout(TIME_LIMIT, refuse_every_other_connection(topology))
            .await
            .unwrap_or_else(|_| panic!("{topology:?} hangs"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn refused_connections_do_not_clear_the_pool_on_many_threads() {
    for topology in Topology::ALL {
        tokio::time::timeout(TIME_LIMIT, refuse_every_other_connection(topology))
            .await
            .unwrap_or_else(|_| panic!("{topology:?} hangs"));
    }
}
