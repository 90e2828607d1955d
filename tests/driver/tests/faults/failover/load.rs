//! Sixty-four tasks that read and write through proxies, and the checks that hold during every
//! failure.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use marula_driver::{
    Client, Collection, Error, ErrorKind, ServerAddress,
    bson::{Document, doc},
    event::{EventListener, SdamEvent},
    options::{ClientOptions, ReadPreference, ReadPreferenceMode},
};
use marula_driver_tests::{PoolTally, Proxied, Topology, tasks};
use marula_test_server::TestServer;
use tokio::{sync::watch, task::JoinHandle};

use crate::ledger::{self, Ledger, numbers};

/// The time limit, which is reached only if a test fails.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(120);
const TASKS: i32 = 64;
const OPTIONS: &str =
    "maxPoolSize=20&heartbeatFrequencyMS=500&connectTimeoutMS=1000&serverSelectionTimeoutMS=5000";

/// A deployment, a client connected through the proxies, and its tasks.
pub(crate) struct Failover {
    pub(crate) deployment: Proxied,
    pub(crate) client: Client,
    /// The index of the primary in the client's description.
    pub(crate) primary: watch::Receiver<Option<ServerAddress>>,
    tally: PoolTally,
    /// The number of tasks of the runtime before the client was created.
    tasks_before: usize,
    stop: Arc<AtomicBool>,
    progress: Vec<watch::Receiver<usize>>,
    load: Vec<JoinHandle<Ledger>>,
}

/// Runs a failure with a replica set, then checks the writes and the resources.
pub(crate) async fn run(fail: impl AsyncFnOnce(&mut Failover)) {
    run_with(Topology::ReplicaSet, fail).await;
}

/// As [`run`], with a deployment of this topology.
pub(crate) async fn run_with(topology: Topology, fail: impl AsyncFnOnce(&mut Failover)) {
    let whole = async {
        let mut begun = Failover::begin(topology).await;
        fail(&mut begun).await;
        begun.end().await
    };
    let ledgers = tokio::time::timeout(TIME_LIMIT, whole).await.expect("no hang");
    println!("{}", ledger::sum(&ledgers));
}

/// As [`run`]; no operation may fail.
pub(crate) async fn run_without_errors(fail: impl AsyncFnOnce(&mut Failover)) {
    let whole = async {
        let mut begun = Failover::begin(Topology::ReplicaSet).await;
        fail(&mut begun).await;
        begun.end().await
    };
    let ledgers = tokio::time::timeout(TIME_LIMIT, whole).await.expect("no hang");
    println!("{}", ledger::sum(&ledgers));
    let errors: usize = ledgers.iter().map(|ledger| ledger.errors).sum();
    assert_eq!(errors, 0, "no operation fails");
}

/// Checks that the error is one that a failover may cause.
fn check(error: &Error) {
    let state_change = matches!(
        error.code(),
        Some(10107 | 13435 | 13436 | 189 | 91 | 11600 | 11602)
    );
    let expected = match error.kind() {
        ErrorKind::Network(_) | ErrorKind::Pool(_) | ErrorKind::ServerSelection(_) => true,
        ErrorKind::Command(_) => state_change,
        _ => false,
    };
    assert!(expected, "{error:?}");
}

impl Failover {
    async fn begin(topology: Topology) -> Self {
        let deployment = match topology {
            Topology::Sharded => Proxied::sharded(TestServer::builder(), 2).await,
            _ => Proxied::start(topology, TestServer::builder()).await,
        };
        let direct = Client::connect(deployment.direct_uri()).await.expect("a client");
        ledger::prepare(&direct, TASKS).await;
        direct.shutdown().await;
        drop(direct);
        deployment.server.wait_for_open_connections(0).await;
        let tasks_before = tasks::alive();
        let tally = PoolTally::default();
        let (found, primary) = watch::channel(None);
        let mut options = ClientOptions::parse(&deployment.uri("", OPTIONS)).expect("a connection string");
        tally.listen(&mut options);
        options.sdam_listener = Some(EventListener::new(move |event: &SdamEvent| {
            if let SdamEvent::TopologyDescriptionChanged { new, .. } = event {
                found.send_replace(new.primary().map(|server| server.address().clone()));
            }
        }));
        let client = Client::with_options(options).expect("a client");
        let stop = Arc::<AtomicBool>::default();
        let mut progress = Vec::new();
        let mut load = Vec::new();
        for task in 0..TASKS {
            let (sender, receiver) = watch::channel(0);
            progress.push(receiver);
            load.push(tokio::spawn(work(
                client.clone(),
                task,
                sender,
                Arc::clone(&stop),
            )));
        }
        let mut failover = Self {
            deployment,
            client,
            primary,
            tally,
            tasks_before,
            stop,
            progress,
            load,
        };
        failover.wait_for_all_tasks().await;
        failover
    }

    /// Waits until every task has succeeded again, that is, until the operations in flight have
    /// ended.
    pub(crate) async fn wait_for_all_tasks(&mut self) {
        let now = self.progress.iter().map(|progress| *progress.borrow());
        let enough: Vec<usize> = now.map(|done| done + 3).collect();
        for (progress, enough) in self.progress.iter_mut().zip(enough) {
            progress
                .wait_for(|done| *done >= enough)
                .await
                .expect("the task continues");
        }
    }

    /// Waits until the client's description has this member as the primary, or no primary.
    pub(crate) async fn wait_for_primary(&mut self, member: Option<usize>) {
        let address = member.map(|member| self.deployment.proxies[member].address().to_string());
        self.primary
            .wait_for(|now| now.as_ref().map(ToString::to_string) == address)
            .await
            .expect("the client exists");
    }

    /// Waits until this member is not the primary in the client's description.
    pub(crate) async fn wait_for_loss_of_primary(&mut self, member: usize) {
        let address = self.deployment.proxies[member].address().to_string();
        self.primary
            .wait_for(|now| now.as_ref().is_none_or(|now| now.to_string() != address))
            .await
            .expect("the client exists");
    }

    async fn end(mut self) -> Vec<Ledger> {
        self.wait_for_all_tasks().await;
        self.stop.store(true, Ordering::SeqCst);
        let mut ledgers = Vec::new();
        for task in self.load {
            ledgers.push(task.await.expect("no panic"));
        }
        self.client.shutdown().await;
        drop(self.client);
        self.deployment.wait_for_at_most_open(0).await;
        self.deployment.server.wait_for_open_connections(0).await;
        // The tasks of the operations end, too.
        tasks::wait_for_at_most(self.tasks_before).await;
        self.tally.assert_nothing_left();
        let direct = Client::connect(self.deployment.direct_uri())
            .await
            .expect("a client");
        ledger::compare(&direct, &ledgers).await;
        ledgers
    }
}

/// Reads and writes until it is stopped, and reports each success.
async fn work(client: Client, task: i32, progress: watch::Sender<usize>, stop: Arc<AtomicBool>) -> Ledger {
    let database = client.database("faults");
    let counters: Collection<Document> = database.collection("counters");
    let inserts: Collection<Document> = database.collection("inserts");
    let nearest = counters.with_read_preference(ReadPreference::new(ReadPreferenceMode::Nearest));
    let mut ledger = Ledger::default();
    let mut step = 0;
    while !stop.load(Ordering::SeqCst) {
        step += 1;
        let outcome = match step % 4 {
            0 => {
                let id = format!("{task}-{step}");
                let inserted = inserts.insert_one(&doc! { "_id": &id }).await;
                inserted.map(|_| ledger.inserted.push(id))
            }
            1 => {
                // All members share one storage, so each has every acknowledged write.
                let found = nearest.find_one(doc! { "_id": task }).await;
                found.map(|found| {
                    let numbers = numbers(&found.expect("the task's counter"));
                    let missing = ledger.pushed.iter().find(|number| !numbers.contains(number));
                    assert_eq!(missing, None, "an acknowledged write is missing");
                })
            }
            _ => {
                let push = doc! { "$push": { "numbers": step } };
                let pushed = counters.update_one(doc! { "_id": task }, push).await;
                pushed.map(|result| {
                    assert_eq!(result.matched_count, 1);
                    ledger.pushed.push(step);
                })
            }
        };
        match outcome {
            Ok(()) => {
                ledger.successes += 1;
                progress.send_replace(ledger.successes);
            }
            Err(error) => {
                check(&error);
                ledger.errors += 1;
            }
        }
    }
    ledger
}
