//! Bulk writes and `insert_many` with servers that have small limits and lose one reply: each
//! statement takes effect exactly once, or the operation fails. Whether a command has a transaction
//! number depends on its own statements only.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use marula_driver::{
    ErrorKind, WriteModel,
    bson::{Bson, Document, Timestamp, doc},
};
use marula_driver_tests::{Answer, CommandRecorder, Request, ScriptedServer};

use super::replies::statements;

/// The generator splitmix64, so that each case can be repeated.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) >> 33).expect("31 bits") % limit
    }
}

/// The maximum length of a statement's content, so that each fits the smallest message of these
/// tests.
const LONGEST: usize = 300;

/// What happens to one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not executed, and the connection is closed.
    Unread,
    /// It is executed, and the connection is closed instead of a reply.
    Lost,
    /// It is executed, and the reply has the label RetryableWriteError and a cluster time, which
    /// the retry then has as well.
    Refused,
}

/// The number of a statement: `_id` of the document to insert, or in the filter.
fn number(statement: &Bson) -> i32 {
    let statement = statement.as_document().expect("a document");
    let from = statement.get_document("q").unwrap_or(statement);
    from.get_i32("_id").expect("a number")
}

fn is_multi(statement: &Bson) -> bool {
    let statement = statement.as_document().expect("a document");
    statement.get_bool("multi").unwrap_or(false) || statement.get_i32("limit").ok() == Some(0)
}

/// Executes each statement of a session and transaction number once.
struct Model {
    fault: Fault,
    /// The index of the command that the fault applies to.
    at: usize,
    commands: usize,
    /// How often each statement took effect.
    effects: BTreeMap<i32, usize>,
    known: BTreeSet<(String, i64)>,
}

impl Model {
    fn answer(&mut self, request: &Request) -> Answer {
        if !matches!(request.name(), "insert" | "update" | "delete") {
            return Answer::Success;
        }
        let fault = (self.commands == self.at).then_some(self.fault);
        self.commands += 1;
        if fault == Some(Fault::Unread) {
            return Answer::Close;
        }
        let statements = statements(&request.command);
        let transaction = request.command.get_i64("txnNumber").ok();
        let seen = transaction.is_some_and(|number| {
            let lsid = request.lsid().expect("a number has a session").to_string();
            !self.known.insert((lsid, number))
        });
        if !seen {
            for statement in statements {
                *self.effects.entry(number(statement)).or_default() += 1;
            }
        }
        match fault {
            Some(Fault::Lost) => Answer::Close,
            Some(Fault::Refused) => Answer::Reply(doc! {
                "ok": 0, "code": 262, "errmsg": "retryable error", "errorLabels": ["RetryableWriteError"],
                "$clusterTime": {
                    "clusterTime": Timestamp { time: 1, increment: 1 }, "signature": "x".repeat(150),
                },
            }),
            _ => {
                let n = i32::try_from(statements.len()).expect("a few");
                Answer::Reply(doc! { "ok": 1, "n": n, "nModified": n })
            }
        }
    }
}

fn model(random: &mut Random, number: i32) -> WriteModel {
    let filter = doc! { "_id": number };
    let filler = "x".repeat(random.below(LONGEST));
    match random.below(10) {
        0..4 => WriteModel::insert_one(&doc! { "_id": number, "filler": filler }),
        4..6 => WriteModel::update_one(filter, doc! { "$set": { "filler": filler } }),
        6 => WriteModel::update_many(filter, doc! { "$set": { "filler": filler } }),
        7 => WriteModel::replace_one(filter, &doc! { "filler": filler }),
        8 => WriteModel::delete_one(filter),
        _ => WriteModel::delete_many(filter),
    }
}

/// Runs one operation with its own server.
async fn run(seed: u64) {
    let mut random = Random(seed);
    let count = 1 + random.below(24);
    let (batch, size) = (1 + random.below(12), 1_500 + random.below(1_000));
    let faults = [Fault::Unread, Fault::Lost, Fault::Refused];
    let state = Arc::new(Mutex::new(Model {
        fault: faults[random.below(3)],
        at: random.below(8),
        commands: 0,
        effects: BTreeMap::new(),
        known: BTreeSet::new(),
    }));
    let shared = Arc::clone(&state);
    let hello = doc! {
        "logicalSessionTimeoutMinutes": 30, "maxWriteBatchSize": i32::try_from(batch).expect("small"),
        "maxMessageSizeBytes": i32::try_from(size).expect("small"),
    };
    let server = ScriptedServer::start(hello, move |request| {
        shared
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .answer(request)
    })
    .await;
    let recorder = CommandRecorder::default();
    let client = recorder.client_of(&server.uri("serverMonitoringMode=poll"));
    let things = client.database("d").collection::<Document>("c");
    let numbers = 0..i32::try_from(count).expect("a few");
    let ordered = random.below(2) == 0;
    let outcome = if random.below(3) == 0 {
        let documents: Vec<Document> = numbers
            .clone()
            .map(|number| doc! { "_id": number, "filler": "x".repeat(random.below(LONGEST)) })
            .collect();
        things.insert_many(&documents).ordered(ordered).await.map(drop)
    } else {
        let models: Vec<WriteModel> = numbers.clone().map(|number| model(&mut random, number)).collect();
        things.bulk_write(models).ordered(ordered).await.map(drop)
    };
    assert_eq!(recorder.operations().len(), 1, "seed {seed}: one operation");
    let requests = server.requests();
    let mut tries = BTreeMap::<(String, i64), Vec<i32>>::new();
    for request in &requests {
        let held = statements(&request.command);
        assert!(!held.is_empty() && held.len() <= batch, "seed {seed}");
        assert!(
            request.size <= size,
            "seed {seed}: {} of {size} bytes",
            request.size
        );
        let multi = held.iter().any(is_multi);
        let transaction = request.command.get_i64("txnNumber").ok();
        assert_eq!(transaction.is_none(), multi, "seed {seed}: {}", request.command);
        if let Some(transaction) = transaction {
            let numbers: Vec<i32> = held.iter().map(number).collect();
            let lsid = request.lsid().expect("a number has a session").to_string();
            let first = tries
                .entry((lsid, transaction))
                .or_insert_with(|| numbers.clone());
            assert_eq!(
                *first, numbers,
                "seed {seed}: the retry has the statements of the first attempt"
            );
        }
    }
    let model = state.lock().unwrap_or_else(PoisonError::into_inner);
    let failed = requests.get(model.at);
    let retried = failed.is_none_or(|request| request.command.contains_key("txnNumber"));
    match outcome {
        Ok(()) => {
            assert!(retried, "seed {seed}: a command that is not retryable failed");
            let once: BTreeMap<i32, usize> = numbers.map(|number| (number, 1)).collect();
            assert_eq!(model.effects, once, "seed {seed}");
        }
        Err(error) => {
            assert!(!retried, "seed {seed}: {error}");
            let interrupted =
                matches!(error.kind(), ErrorKind::BulkWrite(bulk) if bulk.interrupted_by.is_some());
            assert!(interrupted, "seed {seed}: {error}");
            assert!(model.effects.values().all(|effects| *effects == 1), "seed {seed}");
            assert_eq!(
                model.commands,
                model.at + 1,
                "seed {seed}: no command is sent after it"
            );
        }
    }
}

#[tokio::test]
async fn each_statement_takes_effect_once_if_a_reply_is_lost() {
    // The cases run concurrently, because a server is not checked again for half a second after a
    // lost reply.
    futures_util::future::join_all((0..250).map(run)).await;
}

/// Regression test: single statements, and a later command with a statement that can change several
/// documents.
#[tokio::test]
async fn a_transaction_number_depends_only_on_the_statements_of_its_command() {
    let hello = doc! { "logicalSessionTimeoutMinutes": 30, "maxWriteBatchSize": 2 };
    for ordered in [true, false] {
        let server = ScriptedServer::start(hello.clone(), |request| match request.name() {
            "update" => super::replies::written(request),
            _ => Answer::Success,
        })
        .await;
        let recorder = CommandRecorder::default();
        let client = recorder.client_of(&server.uri(""));
        let things = client.database("d").collection::<Document>("c");
        let set = doc! { "$set": { "a": 1 } };
        let one = WriteModel::update_one(doc! {}, &set);
        let many = WriteModel::update_many(doc! {}, &set);
        let models = [one.clone(), one.clone(), many.clone(), one.clone(), one];
        things.bulk_write(models).ordered(ordered).await.expect("written");
        let numbered: Vec<bool> = server
            .requests_named("update")
            .iter()
            .map(|request| request.command.contains_key("txnNumber"))
            .collect();
        assert_eq!(numbered, [true, false, true]);
    }
}
