//! More tasks than connections: how many connections are established at once, the order of the wait
//! queue, and its timeouts; on a standalone server, a replica set, a sharded cluster and a load balancer.

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

/// Catches hangs only.
const HANG: Duration = Duration::from_secs(120);
const TASKS: i32 = 500;

/// A deployment, and a client that knows it and has no connection yet.
struct Storm {
    deployment: Proxied,
    client: Client,
    tally: PoolTally,
    /// The tasks' numbers, in the order in which they got a connection and sent their command.
    served: Arc<Mutex<Vec<i32>>>,
}

impl Storm {
    async fn gather(topology: Topology, options: &str) -> Self {
        let builder = TestServer::builder()
            .parameter("scramSHA256IterationCount", 4096)
            .auth("user", "secret");
        let deployment = Proxied::start(topology, builder).await;
        let uri = deployment.uri("user:secret@", options);
        let mut options = ClientOptions::parse(&uri).expect("a connection string");
        let tally = PoolTally::default();
        tally.listen(&mut options);
        // Pauses are not what is tested here.
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
        assert_eq!(tally.counts().created, 0, "monitors use connections of their own");
        Self {
            deployment,
            client,
            tally,
            served,
        }
    }

    /// The proxy that every operation goes through.
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

    /// The client is as good as new; then it ends.
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
    match exchange.is_login() {
        true => Action::Delay,
        false => Action::Pass,
    }
}

/// All wait before the first connection is there; then each gets one in its turn.
async fn storm(topology: Topology) -> Vec<i32> {
    let storm = Storm::gather(topology, "maxPoolSize=50&maxConnecting=2").await;
    storm.proxy().set_rule(hold_logins);
    let tasks: Vec<_> = (0..TASKS).map(|task| storm.spawn(task)).collect();
    storm
        .tally
        .wait_until(|counts| counts.check_outs == TASKS as usize)
        .await;
    storm.proxy().wait_for_requests("login", 2).await;
    assert_eq!(storm.tally.counts().created, 2, "two are being established");
    storm.proxy().pass_everything();
    storm.proxy().end_waits();
    for task in tasks {
        task.await.expect("no panic").expect("a reply");
    }
    let counts = storm.tally.counts();
    assert_eq!(counts.max_pending, 2, "{counts:?}");
    assert!(counts.max_open <= 50, "{counts:?}");
    assert_eq!(counts.check_outs_failed, 0, "{counts:?}");
    let served = storm.served.lock().expect("no panic").clone();
    storm.end().await;
    served
}

/// On one thread the order of arrival is the order in which the tasks were begun.
#[tokio::test]
async fn a_storm_is_served_in_the_order_of_arrival() {
    for topology in Topology::ALL {
        let served = tokio::time::timeout(HANG, storm(topology))
            .await
            .expect("nothing hangs");
        assert_eq!(served, (0..TASKS).collect::<Vec<_>>(), "{topology:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_storm_on_many_threads_is_served() {
    for topology in Topology::ALL {
        let mut served = tokio::time::timeout(HANG, storm(topology))
            .await
            .expect("nothing hangs");
        served.sort_unstable();
        assert_eq!(served, (0..TASKS).collect::<Vec<_>>(), "{topology:?}");
    }
}

/// A request that waits too long fails with the limit in its message; the others succeed.
#[tokio::test]
async fn who_waits_too_long_is_told_so() {
    for topology in Topology::ALL {
        let waiting = wait_too_long(topology);
        tokio::time::timeout(HANG, waiting).await.expect("nothing hangs");
    }
}

async fn wait_too_long(topology: Topology) {
    let storm = Storm::gather(topology, "maxPoolSize=1&waitQueueTimeoutMS=100").await;
    storm.proxy().set_rule(|exchange| match exchange.command {
        "ping" => Action::Delay,
        _ => Action::Pass,
    });
    let holder = storm.spawn(0);
    storm.proxy().wait_for_requests("ping", 1).await;
    let waiting: Vec<_> = (1..50).map(|task| storm.spawn(task)).collect();
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
    storm.proxy().pass_everything();
    storm.proxy().end_waits();
    holder.await.expect("no panic").expect("a reply");
    assert_eq!(
        *storm.served.lock().expect("no panic"),
        [0],
        "the others sent nothing"
    );
    storm.end().await;
}

/// A server that ends every other new connection: operations are tried again, errors say why, and the pool is not cleared.
async fn half_refused(topology: Topology) {
    let storm = Storm::gather(topology, "maxPoolSize=50&maxConnecting=2").await;
    let seen = Arc::<AtomicUsize>::default();
    let refused = Arc::<AtomicUsize>::default();
    let (all, lost) = (Arc::clone(&seen), Arc::clone(&refused));
    storm.proxy().set_rule(move |exchange| {
        if exchange.is_login() && all.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) {
            lost.fetch_add(1, Ordering::SeqCst);
            return Action::DropRequest;
        }
        Action::Pass
    });
    let tasks: Vec<_> = (0..TASKS).map(|task| storm.spawn(task)).collect();
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
    let counts = storm.tally.counts();
    let refused = refused.load(Ordering::SeqCst);
    println!("{refused} connections were refused, {failed} operations failed: {counts:?}");
    // Each refusal is blamed on one operation, if one waits, which tries again.
    assert!(
        counts.check_outs_failed > 0 && counts.check_outs_failed <= refused,
        "{counts:?}"
    );
    assert!(failed < TASKS, "some connections were not refused");
    assert_eq!(counts.cleared, 0, "{counts:?}");
    assert!(counts.max_pending <= 2, "{counts:?}");
    storm.proxy().pass_everything();
    storm.end().await;
}

#[tokio::test]
async fn refused_connections_clear_no_pool() {
    for topology in Topology::ALL {
        tokio::time::timeout(HANG, half_refused(topology))
            .await
            .unwrap_or_else(|_| panic!("{topology:?} hangs"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn refused_connections_clear_no_pool_on_many_threads() {
    for topology in Topology::ALL {
        tokio::time::timeout(HANG, half_refused(topology))
            .await
            .unwrap_or_else(|_| panic!("{topology:?} hangs"));
    }
}
