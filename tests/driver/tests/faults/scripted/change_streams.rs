//! Change streams while connections and servers fail: no event is lost or returned twice, their
//! order is kept, and the cursors are closed at the end.

use marula_driver::bson::doc;
use marula_driver_tests::Topology;
use tokio::{sync::watch, task::JoinHandle};

use super::{
    TIME_LIMIT,
    cursor_log::CursorLog,
    kinds::{Load, Mode, Random},
    numbers::{self, Reader, Reading, Report, Scope},
    other_seeds,
    script::Script,
    server_faults::{
        ServerFault::{self, FailPoint, Restart, StepDown},
        ServerFaults, failing,
    },
    stage::{Connected, Stage},
};

/// A writer and the streams of its readers. Each reader holds a connection while it awaits events.
const GROUPS: [[(Scope, Reading); 2]; 6] = [
    [
        (Scope::Collection, Reading::Next),
        (Scope::Collection, Reading::Select),
    ],
    [
        (Scope::Database, Reading::Next),
        (Scope::Database, Reading::Select),
    ],
    [
        (Scope::Deployment, Reading::Next),
        (Scope::Deployment, Reading::Select),
    ],
    [
        (Scope::Collection, Reading::NextIfAny),
        (Scope::Collection, Reading::Select),
    ],
    [
        (Scope::Collection, Reading::Next),
        (Scope::Database, Reading::NextIfAny),
    ],
    [
        (Scope::Collection, Reading::Next),
        (Scope::Collection, Reading::Select),
    ],
];

fn server_faults() -> Vec<ServerFault> {
    let overloaded = ["SystemOverloadedError", "RetryableError"];
    vec![
        Restart,
        FailPoint(3, failing("getMore", doc! { "errorCode": 43 })),
        FailPoint(3, failing("getMore", doc! { "closeConnection": true })),
        StepDown,
        FailPoint(2, failing("aggregate", doc! { "errorCode": 6 })),
        FailPoint(
            3,
            failing(
                "getMore",
                doc! { "errorCode": 6, "errorLabels": ["ResumableChangeStreamError"] },
            ),
        ),
        FailPoint(2, failing("killCursors", doc! { "closeConnection": true })),
        Restart,
        FailPoint(
            3,
            failing(
                "getMore",
                doc! { "errorCode": 462, "errorLabels": &overloaded[..] },
            ),
        ),
        FailPoint(2, failing("aggregate", doc! { "closeConnection": true })),
        FailPoint(
            4,
            failing("getMore", doc! { "blockConnection": true, "blockTimeMS": 50 }),
        ),
    ]
}

/// A writer and its readers.
struct Group {
    writer: JoinHandle<i64>,
    readers: Vec<JoinHandle<Report>>,
}

impl Group {
    fn start(connected: &Connected, number: usize, seed: u64, script: &Script) -> Self {
        let numbers = numbers::collection(&connected.client, number);
        let (opened, all_opened) = watch::channel(0);
        let (written, news) = watch::channel(0);
        let streams = GROUPS[number];
        let writing = numbers::write(
            numbers.clone(),
            script.clone(),
            all_opened,
            streams.len(),
            written,
        );
        let readers = streams.iter().enumerate().map(|(index, (scope, reading))| {
            let reader = Reader {
                numbers: numbers.clone(),
                scope: *scope,
                reading: *reading,
                random: Random(seed + (number * 10 + index) as u64),
                opened: opened.clone(),
                written: news.clone(),
            };
            tokio::spawn(reader.read())
        });
        Self {
            readers: readers.collect(),
            writer: tokio::spawn(writing),
        }
    }
}

async fn run(kind: Topology, mode: Mode, seed: u64, script: &Script) {
    let stage = Stage::start(kind).await;
    for group in 0..GROUPS.len() {
        let numbers = numbers::collection(&stage.direct, group);
        let database = numbers.database();
        database.create_collection(numbers.name()).await.expect("created");
    }
    let of_servers = ServerFaults::connect(&stage).await;
    let log = CursorLog::default();
    let connected = stage.connect(mode, |options| log.listen(options));
    let faults = server_faults();
    let _shown = script.print_on_panic();
    script.begin(&stage.deployment.proxies);
    let mut readers = Vec::new();
    let mut writers = Vec::new();
    for number in 0..GROUPS.len() {
        let group = Group::start(&connected, number, seed, script);
        writers.push(group.writer);
        readers.extend(group.readers);
    }
    let mut counts: Vec<i64> = Vec::new();
    let all_written = async {
        for writer in &mut writers {
            counts.push(writer.await.expect("no panic"));
        }
    };
    tokio::select! {
        () = all_written => {}
        () = of_servers.run(&stage.deployment.server, script, &faults) => {}
    }
    println!("all writers have ended: {counts:?}");
    stage.end_faults();
    let of_servers = of_servers.end().await;
    stage.wait_for_recovery(&connected, script).await;
    log.begin_calm();
    for (number, count) in counts.iter().enumerate() {
        numbers::end(&numbers::collection(&connected.client, number), *count).await;
    }
    let mut reports = Vec::new();
    for reader in readers {
        reports.push(reader.await.expect("no event is lost or doubled"));
    }
    println!("all readers have ended: {reports:?}");
    for (index, report) in reports.iter().enumerate() {
        assert_eq!(report.events, counts[index / GROUPS[0].len()] + 1);
    }
    let server = &stage.deployment.server;
    // Cursors are also closed in the background.
    let used = log.used_in_calm();
    while server.open_cursors().iter().any(|open| used.contains(open)) {
        tokio::task::yield_now().await;
    }
    let counts = stage.end(connected).await;
    println!(
        "{kind:?}, {mode:?}, seed {seed}: {} faults of servers, {} cursors opened, {} of them open after faults\n\
         {counts:?}\n{}",
        of_servers,
        log.opened(),
        server.open_cursors().len(),
        script.table()
    );
    script.assert_every_kind_occurred();
}

async fn run_in_time(kind: Topology, mode: Mode, seed: u64) {
    let seed = seed + other_seeds();
    let script = Script::new(seed, mode, Load::ChangeStreams);
    let run = Box::pin(run(kind, mode, seed, &script));
    let ended = tokio::time::timeout(TIME_LIMIT, run).await;
    assert!(
        ended.is_ok(),
        "{kind:?}, {mode:?}, seed {seed} does not end\n{}",
        script.outline()
    );
}

/// The number of faults of connections in the runs below.
#[test]
fn the_runs_perform_at_least_500_faults() {
    let faults = |mode| Script::new(0, mode, Load::ChangeStreams).left();
    let all = [Mode::Stream, Mode::Poll, Mode::Unmonitored].map(faults);
    assert!(all.iter().sum::<usize>() >= 500, "{all:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn change_streams_of_a_replica_set_survive_faults() {
    run_in_time(Topology::ReplicaSet, Mode::Stream, 31).await;
}

#[tokio::test]
async fn change_streams_of_a_sharded_cluster_survive_faults_on_one_thread() {
    run_in_time(Topology::Sharded, Mode::Poll, 32).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn change_streams_behind_a_load_balancer_survive_faults() {
    run_in_time(Topology::LoadBalanced, Mode::Unmonitored, 33).await;
}
