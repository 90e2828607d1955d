//! Transactions while connections and servers fail: no transfer is executed twice or in part, no
//! acknowledged one is lost, none that failed is stored, every session is given back, and the
//! server has no transaction that the client could have aborted.

use marula_driver::bson::doc;
use marula_driver_tests::Topology;
use marula_test_server::ViolationKind;

use super::{
    TIME_LIMIT,
    bank::{self, Bank, Journal},
    kinds::{Load, Mode},
    other_seeds,
    script::Script,
    server_faults::{
        ServerFault::{self, FailPoint, StepDown},
        ServerFaults, failing,
    },
    session_log::SessionLog,
    stage::{Connected, Stage},
    transfers,
};

const TASKS: i32 = 32;

fn server_faults() -> Vec<ServerFault> {
    let overloaded = ["SystemOverloadedError", "RetryableError"];
    let concern = doc! { "code": 64, "errmsg": "waiting for replication timed out" };
    vec![
        StepDown,
        FailPoint(1, failing("commitTransaction", doc! { "errorCode": 91 })),
        FailPoint(2, failing("commitTransaction", doc! { "closeConnection": true })),
        FailPoint(2, failing("update", doc! { "errorCode": 24 })),
        StepDown,
        FailPoint(
            1,
            failing("commitTransaction", doc! { "writeConcernError": concern }),
        ),
        FailPoint(2, failing("abortTransaction", doc! { "closeConnection": true })),
        FailPoint(2, failing("insert", doc! { "errorCode": 112 })),
        FailPoint(
            4,
            failing("update", doc! { "blockConnection": true, "blockTimeMS": 50 }),
        ),
        FailPoint(1, failing("commitTransaction", doc! { "errorCode": 50 })),
        StepDown,
        FailPoint(
            4,
            failing(
                "update",
                doc! { "errorCode": 462, "errorLabels": &overloaded[..] },
            ),
        ),
        FailPoint(
            2,
            failing(
                "commitTransaction",
                doc! { "errorCode": 462, "errorLabels": &overloaded[..] },
            ),
        ),
    ]
}

/// Waits until the server has only transactions with a command without a reply, which the client cannot
/// abort if their abort is lost as well, or if it arrives before the lost command, transactions
/// whose commit failed, which the client must not abort, and transactions that failed because no command
/// could be sent. Then waits until the server has aborted them, after their time limit.
async fn expect_no_transaction(stage: &Stage, connected: &Connected, log: &SessionLog) -> usize {
    let server = &stage.deployment.server;
    // The transactions of dropped guards are aborted in the background.
    let aborted = async {
        while !log.were_interrupted(&server.open_transactions()) {
            tokio::task::yield_now().await;
        }
    };
    if tokio::time::timeout(TIME_LIMIT / 2, aborted).await.is_err() {
        panic!("not aborted: {}", log.describe(&server.open_transactions()));
    }
    let left = server.open_transactions().len();
    let bank = Bank::of(&connected.client);
    loop {
        let run = connected
            .client
            .transaction()
            .run(async |tx| bank.use_all(tx).await);
        run.await.expect("no transaction blocks an account for longer");
        if server.open_transactions().is_empty() {
            return left;
        }
    }
}

/// After a commit whose future was dropped or whose time limit has passed, a task commits again. The
/// first reply is awaited in the background, on a connection that stays open, and the server can
/// still execute that commit.
fn expect_repeated_commits_only(stage: &Stage) {
    for violation in stage.deployment.server.take_violations() {
        let is_commit = violation.kind == ViolationKind::SessionInUse
            && violation.command == "commitTransaction"
            && violation.detail.starts_with("sent again");
        assert!(is_commit, "{violation}");
    }
}

async fn run(kind: Topology, mode: Mode, seed: u64, script: &Script) {
    let stage = Stage::start(kind).await;
    Bank::open(&stage.direct).await;
    let of_servers = ServerFaults::connect(&stage).await;
    let log = SessionLog::default();
    let connected = stage.connect(mode, |options| log.listen(options));
    let faults = server_faults();
    let _shown = script.print_on_panic();
    script.begin(&stage.deployment.proxies);
    let started: Vec<_> = (0..TASKS)
        .map(|task| transfers::work(connected.client.clone(), task, seed, script.clone(), log.clone()))
        .map(tokio::spawn)
        .collect();
    let mut journals: Vec<Journal> = Vec::new();
    let all = async {
        for task in started {
            journals.push(task.await.expect("no panic"));
        }
    };
    tokio::select! {
        () = all => {}
        () = of_servers.run(&stage.deployment.server, script, &faults) => {}
    }
    println!("all tasks have ended");
    stage.end_faults();
    let of_servers = of_servers.end().await;
    println!("the faults have ended");
    stage.wait_for_recovery(&connected, script).await;
    println!("the client has recovered");
    let left = expect_no_transaction(&stage, &connected, &log).await;
    println!("all transactions have ended, {left} of them by their time limit");
    Bank::of(&stage.direct).compare(&journals).await;
    let counts = stage.end(connected).await;
    expect_repeated_commits_only(&stage);
    let sessions = log.assert_all_returned();
    println!(
        "{kind:?}, {mode:?}, seed {seed}: {of_servers} faults of servers, {} attempts of transactions, {}, {sessions}\n\
         {counts:?}\n{}",
        log.transactions(),
        bank::sum(&journals),
        script.table()
    );
    script.assert_every_kind_occurred();
}

async fn run_in_time(kind: Topology, mode: Mode, seed: u64) {
    let seed = seed + other_seeds();
    let script = Script::new(seed, mode, Load::Transactions);
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
    let faults = |mode| Script::new(0, mode, Load::Transactions).left();
    let all = [Mode::Stream, Mode::Stream, Mode::Unmonitored].map(faults);
    assert!(all.iter().sum::<usize>() >= 500, "{all:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn transactions_of_a_replica_set_survive_faults() {
    run_in_time(Topology::ReplicaSet, Mode::Stream, 21).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_of_a_sharded_cluster_survive_faults() {
    run_in_time(Topology::Sharded, Mode::Stream, 22).await;
}

#[tokio::test]
async fn transactions_behind_a_load_balancer_survive_faults_on_one_thread() {
    run_in_time(Topology::LoadBalanced, Mode::Unmonitored, 23).await;
}
