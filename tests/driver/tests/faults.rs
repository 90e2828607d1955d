//! Many tasks on one client whose connections fail in scripted ways: nothing hangs, nothing panics, every error has a type,
//! every acknowledged write is stored exactly once, and afterwards the client is as good as new.

#[path = "faults/script.rs"]
mod script;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use marula_driver::{
    Client, Collection, Error, ErrorKind,
    bson::{Bson, Document, doc},
};
use marula_driver_tests::{Proxy, proxy::Fate};
use marula_test_server::TestServer;
use script::{Random, Script};
use tokio::sync::watch;

/// Catches hangs only.
const HANG: Duration = Duration::from_secs(120);
const TASKS: usize = 64;
const POOL: usize = 8;
const FIXED: i32 = 10;

/// What a task knows of its own writes.
#[derive(Debug, Default)]
struct Log {
    pushed: Vec<i32>,
    inserted: Vec<String>,
    errors: usize,
}

/// What may happen to an operation whose connection fails. Nothing else may.
fn check(error: &Error) {
    let expected = matches!(
        error.kind(),
        ErrorKind::Network(_)
            | ErrorKind::Pool(_)
            | ErrorKind::ServerSelection(_)
            | ErrorKind::Protocol(_)
            | ErrorKind::Decode(_)
    );
    assert!(expected, "{error:?}");
}

/// Reads and writes until the script is done.
async fn work(client: Client, task: i32, seed: u64, left: Arc<AtomicUsize>) -> Log {
    let mut random = Random(seed.wrapping_add(0x1000 + u64::from(task.unsigned_abs())));
    let database = client.database("faults");
    let counters: Collection<Document> = database.collection("counters");
    let inserts: Collection<Document> = database.collection("inserts");
    let fixed: Collection<Document> = database.collection("fixed");
    let mut log = Log::default();
    let mut number = 0;
    while left.load(Ordering::SeqCst) > 0 {
        number += 1;
        let outcome = match random.below(5) {
            0 => {
                let push = doc! { "$push": { "numbers": number } };
                let pushed = counters.update_one(doc! { "_id": task }, push).await;
                pushed.map(|result| {
                    assert_eq!(result.matched_count, 1);
                    log.pushed.push(number);
                })
            }
            1 => {
                let id = format!("{task}-{number}");
                let stored = inserts.insert_one(&doc! { "_id": &id }).await;
                stored.map(|_| log.inserted.push(id))
            }
            2 => counters.find_one(doc! { "_id": task }).await.map(|found| {
                let found = found.expect("the task's counter");
                assert_eq!(found.get_i32("_id").ok(), Some(task), "the reply of another task");
                let numbers = numbers(&found);
                assert!(
                    log.pushed.iter().all(|n| numbers.contains(n)),
                    "an acknowledged write is gone"
                );
            }),
            3 => all_fixed(&fixed).await.map(|ids| {
                assert_eq!(
                    ids,
                    (0..FIXED).collect::<Vec<_>>(),
                    "documents are missing or doubled"
                );
            }),
            _ => fixed
                .count_documents(doc! { "_id": { "$lt": task } })
                .await
                .map(|count| {
                    assert_eq!(
                        count,
                        u64::from(task.min(FIXED).unsigned_abs()),
                        "the reply of another task"
                    );
                }),
        };
        if let Err(error) = outcome {
            check(&error);
            log.errors += 1;
        }
    }
    log
}

async fn all_fixed(fixed: &Collection<Document>) -> Result<Vec<i32>, Error> {
    let cursor = fixed.find(doc! {}).sort(doc! { "_id": 1 }).batch_size(3).await?;
    let all = cursor.try_collect().await?;
    Ok(all
        .iter()
        .map(|document| document.get_i32("_id").expect("a number"))
        .collect())
}

fn numbers(counter: &Document) -> Vec<i32> {
    let numbers = counter.get_array("numbers").expect("an array");
    numbers
        .iter()
        .map(|number| number.as_i32().expect("a number"))
        .collect()
}

async fn prepare(direct: &Client) {
    let database = direct.database("faults");
    let counters: Vec<Document> = (0..TASKS as i32)
        .map(|task| doc! { "_id": task, "numbers": Bson::Array(Vec::new()) })
        .collect();
    database
        .collection("counters")
        .insert_many(&counters)
        .await
        .expect("stored");
    let fixed: Vec<Document> = (0..FIXED).map(|id| doc! { "_id": id }).collect();
    database
        .collection("fixed")
        .insert_many(&fixed)
        .await
        .expect("stored");
}

/// Everything acknowledged is there once; what failed is there once or not at all.
async fn compare(direct: &Client, logs: &[Log]) {
    let database = direct.database("faults");
    let counters: Collection<Document> = database.collection("counters");
    let inserts: Collection<Document> = database.collection("inserts");
    for (task, log) in logs.iter().enumerate() {
        let counter = counters
            .find_one(doc! { "_id": task as i32 })
            .await
            .expect("a reply")
            .expect("a counter");
        let stored = numbers(&counter);
        let mut once = stored.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(
            once.len(),
            stored.len(),
            "task {task}: a write was executed twice: {stored:?}"
        );
        for number in &log.pushed {
            assert!(
                stored.contains(number),
                "task {task}: {number} was acknowledged and is not stored"
            );
        }
        for id in &log.inserted {
            let found = inserts.find_one(doc! { "_id": id }).await.expect("a reply");
            assert!(found.is_some(), "{id} was acknowledged and is not stored");
        }
    }
}

/// All places of the pool are free: as many operations as it has can be under way at once.
async fn expect_whole_pool(client: &Client, proxy: &Proxy) {
    let (seen, mut count) = watch::channel(0);
    proxy.set_rule(move |exchange| {
        if exchange.command != "ping" {
            return Fate::Pass;
        }
        seen.send_modify(|seen| *seen += 1);
        Fate::Delay
    });
    let pings: Vec<_> = (0..POOL).map(|_| tokio::spawn(ping(client.clone()))).collect();
    count
        .wait_for(|count| *count == POOL)
        .await
        .expect("the rule is there");
    proxy.pass_everything();
    proxy.end_waits();
    for ping in pings {
        ping.await.expect("no panic").expect("a reply");
    }
    proxy.wait_for_at_most_open(POOL + 1).await;
}

async fn ping(client: Client) -> Result<(), Error> {
    client
        .database("admin")
        .run_command(doc! { "ping": 1 })
        .await
        .map(drop)
}

async fn survive(seed: u64, faults: usize) {
    // Writes are retried by members of replica sets only.
    let server = TestServer::builder()
        .replica_set()
        .start()
        .await
        .expect("a server");
    let direct = Client::connect(server.uri()).await.expect("a client");
    prepare(&direct).await;
    let proxy = Proxy::start(server.primary().expect("a primary")).await;
    let client = Client::connect(proxy.uri(&format!("maxPoolSize={POOL}")))
        .await
        .expect("a client");
    let script = Script::new(seed, faults);
    // Shown when the test fails.
    println!("seed {seed}: {script:#?}");
    let left = script.left();
    script.begin(&proxy);
    let tasks: Vec<_> = (0..TASKS as i32)
        .map(|task| tokio::spawn(work(client.clone(), task, seed, Arc::clone(&left))))
        .collect();
    let mut logs = Vec::new();
    for task in tasks {
        logs.push(task.await.expect("no panic"));
    }
    println!(
        "{} pushes and {} inserts acknowledged, {} errors, {} connections",
        logs.iter().map(|log| log.pushed.len()).sum::<usize>(),
        logs.iter().map(|log| log.inserted.len()).sum::<usize>(),
        logs.iter().map(|log| log.errors).sum::<usize>(),
        proxy.accepted()
    );
    proxy.pass_everything();
    proxy.end_waits();
    compare(&direct, &logs).await;
    proxy.wait_for_at_most_open(POOL + 1).await;
    // The last fault may still be news to the client, once.
    while let Err(error) = ping(client.clone()).await {
        check(&error);
    }
    expect_whole_pool(&client, &proxy).await;
    client.shutdown().await;
    proxy.wait_for_at_most_open(0).await;
}

async fn survive_in_time(seed: u64, faults: usize) {
    tokio::time::timeout(HANG, survive(seed, faults))
        .await
        .unwrap_or_else(|_| panic!("seed {seed} hangs"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_tasks_survive_seed_1() {
    survive_in_time(1, 50).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_tasks_survive_seed_2() {
    survive_in_time(2, 50).await;
}

#[tokio::test]
async fn sixty_four_tasks_survive_seed_3_on_one_thread() {
    survive_in_time(3, 50).await;
}

#[tokio::test]
async fn sixty_four_tasks_survive_seed_4_on_one_thread() {
    survive_in_time(4, 50).await;
}
