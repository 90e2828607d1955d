//! Many tasks with few connections, on both kinds of runtime, and a client that is used from
//! another runtime than its own.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use marula_driver::{
    Client, Collection, ErrorKind,
    bson::{Document, doc},
};
use marula_driver_tests::{Deployment, Target, any_deployment, standalone};
use tokio::{
    runtime::{Builder, Runtime},
    sync::oneshot,
};

/// The time limit, which is reached only if a test fails.
const TIME_LIMIT: Duration = Duration::from_secs(120);
const TASKS: i32 = 64;
const ROUNDS: usize = 40;

fn one_thread() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

fn many_threads() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .expect("a runtime")
}

async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIME_LIMIT, future).await.expect("no hang")
}

/// Runs one operation whose result only this task expects.
async fn step(things: &Collection<Document>, task: i32, round: usize) {
    let update = doc! { "$set": { "round": i64::try_from(round).expect("small") } };
    let before = things
        .find_one_and_update(doc! { "_id": task }, update)
        .await
        .expect("a reply");
    let before = before.expect("the task's document");
    assert_eq!(before.get_i32("_id").ok(), Some(task));
    assert_eq!(
        before.get_i64("round").ok(),
        i64::try_from(round).ok().map(|round| round - 1)
    );
}

async fn prepared(client: &Client, database: &str) -> Collection<Document> {
    let things = client.database(database).collection("things");
    let all: Vec<Document> = (0..TASKS).map(|id| doc! { "_id": id, "round": -1_i64 }).collect();
    things.insert_many(&all).await.expect("stored");
    things
}

/// Waits until all tasks have finished. Returns by how many rounds a task was ahead of the slowest
/// one at most.
async fn run_tasks(deployment: &Target) -> usize {
    let client = deployment.client_with("maxPoolSize=4").await;
    let things = prepared(&client, &deployment.database_name()).await;
    let done: Arc<Vec<AtomicUsize>> = Arc::new((0..TASKS).map(|_| AtomicUsize::new(0)).collect());
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let (things, done) = (things.clone(), Arc::clone(&done));
            tokio::spawn(async move {
                let mut ahead = 0;
                for round in 0..ROUNDS {
                    step(&things, task, round).await;
                    done[task.unsigned_abs() as usize].store(round + 1, Ordering::SeqCst);
                    let last = done.iter().map(|done| done.load(Ordering::SeqCst)).min();
                    ahead = ahead.max(round + 1 - last.expect("some tasks"));
                }
                ahead
            })
        })
        .collect();
    let mut ahead = 0;
    for task in tasks {
        ahead = ahead.max(in_time(task).await.expect("no panic"));
    }
    // The pooled connections of this client, and for each of both clients a streaming connection
    // and an RTT connection.
    if let Some(server) = deployment.in_process("the number of open connections") {
        in_time(server.wait_for_open_connections(4 + 2 + 2)).await;
    }
    ahead
}

#[test]
fn sixty_four_tasks_share_four_connections_fairly_on_one_thread() {
    let ahead = one_thread().block_on(async { run_tasks(&any_deployment().await).await });
    // The wait queue is served in order, so a task can be ahead only by the operations in flight.
    assert!(ahead <= 4, "a task was {ahead} rounds ahead of another");
}

#[test]
fn sixty_four_tasks_share_four_connections_on_many_threads() {
    many_threads().block_on(async { run_tasks(&any_deployment().await).await });
}

/// A deployment and its client on a runtime that runs in its own thread until the sender is
/// dropped.
fn in_background(runtime: Runtime) -> (Deployment, oneshot::Sender<()>, thread::JoinHandle<()>) {
    let (stop, stopped) = oneshot::channel::<()>();
    let (started, deployment) = std::sync::mpsc::channel();
    let thread = thread::spawn(move || {
        runtime.block_on(async {
            started.send(standalone().await).expect("the test waits");
            let _ = stopped.await;
        });
    });
    (deployment.recv().expect("a deployment"), stop, thread)
}

#[test]
fn a_client_can_be_used_from_two_runtimes() {
    for own in [one_thread(), many_threads()] {
        let (deployment, stop, thread) = in_background(own);
        let things = one_thread().block_on(in_time(prepared(&deployment.client, "concurrency")));
        let users: Vec<_> = [one_thread(), many_threads()]
            .into_iter()
            .enumerate()
            .map(|(user, runtime)| {
                let things = things.clone();
                thread::spawn(move || {
                    runtime.block_on(in_time(async {
                        let tasks: Vec<_> = (0..TASKS)
                            .filter(|task| *task as usize % 2 == user)
                            .map(|task| {
                                let things = things.clone();
                                tokio::spawn(async move {
                                    for round in 0..5 {
                                        step(&things, task, round).await;
                                    }
                                })
                            })
                            .collect();
                        for task in tasks {
                            task.await.expect("no panic");
                        }
                    }));
                })
            })
            .collect();
        for user in users {
            user.join().expect("no panic");
        }
        drop((things, deployment, stop));
        thread.join().expect("no panic");
    }
}

#[test]
fn operations_fail_after_the_runtime_of_the_client_was_dropped() {
    for own in [one_thread(), many_threads()] {
        let servers = many_threads();
        let deployment = servers.block_on(standalone());
        let client = own.block_on(async {
            // No operation waits for the default `serverSelectionTimeoutMS`.
            let client = deployment.client_with("").await;
            client.list_database_names().await.expect("a reply");
            client
        });
        // The monitors and the connections end with the runtime.
        drop(own);
        one_thread().block_on(in_time(async {
            for _ in 0..3 {
                let error = client
                    .list_database_names()
                    .await
                    .expect_err("the runtime was dropped");
                assert!(matches!(error.kind(), ErrorKind::Shutdown), "{error}");
                assert!(error.to_string().contains("tokio runtime"), "{error}");
            }
            client.shutdown().await;
            let error = client.list_database_names().await.expect_err("shut down");
            assert!(matches!(error.kind(), ErrorKind::Shutdown), "{error}");
        }));
    }
}

#[test]
fn operations_fail_while_the_runtime_of_the_client_does_not_run() {
    let servers = many_threads();
    let deployment = servers.block_on(standalone());
    // The runtime never runs, so no server is discovered.
    let (idle, own) = (one_thread(), one_thread());
    let never = {
        let _entered = idle.enter();
        let uri = format!("{}?serverSelectionTimeoutMS=200", deployment.server.uri());
        let options = uri.parse().expect("options");
        Client::with_options(options).expect("a client")
    };
    // The runtime has stopped: a server is known and a connection idle, but its socket is not
    // polled.
    let stopped = own.block_on(async {
        let client = deployment.client_with("socketTimeoutMS=1000").await;
        client.list_database_names().await.expect("a reply");
        client
    });
    one_thread().block_on(in_time(async {
        let error = never
            .list_database_names()
            .await
            .expect_err("no server was found");
        assert!(matches!(error.kind(), ErrorKind::ServerSelection(_)), "{error}");
        let admin = stopped.database("admin");
        let error = admin
            .run_command(doc! { "ping": 1 })
            .await
            .expect_err("the socket is not polled");
        assert!(error.is_network() && error.is_timeout(), "{error}");
    }));
}
