//! Client bulk writes on several namespaces, with servers that have small limits, reject writes,
//! return results in small batches and lose one reply: each write takes effect exactly once in its
//! collection, and the result or the error accounts for each.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use marula_driver::{
    ClientBulkWriteError, ClientBulkWriteResult, ClientWriteModel, Error, ErrorKind, Namespace, WriteModel,
    bson::{Bson, Document, ObjectId, doc},
};
use marula_driver_tests::{Answer, CommandRecorder, Request, ScriptedServer};

use super::{
    replies::CURSOR,
    splits::{Fault, Random},
};

/// The maximum length of a write's content, so that each fits the smallest message of these tests.
const LONGEST: usize = 250;

/// One write of a call.
#[derive(Clone)]
struct Planned {
    namespace: String,
    kind: &'static str,
    is_multi: bool,
    model: ClientWriteModel,
}

fn planned(random: &mut Random, number: i32, namespaces: usize) -> Planned {
    let collection = format!("c{}", "x".repeat(random.below(namespaces) * 3));
    let namespace = Namespace::new("d", collection);
    let filter = doc! { "_id": number };
    let filler = "x".repeat(random.below(LONGEST));
    let set = doc! { "$set": { "filler": &filler } };
    let (kind, is_multi, model) = match random.below(8) {
        0..3 => (
            "insert",
            false,
            WriteModel::insert_one(&doc! { "_id": number, "filler": filler }),
        ),
        3 => ("update", false, WriteModel::update_one(filter, set)),
        4 => ("update", true, WriteModel::update_many(filter, set)),
        5 => (
            "update",
            false,
            WriteModel::replace_one(filter, &doc! { "filler": filler }),
        ),
        6 => ("delete", false, WriteModel::delete_one(filter)),
        _ => ("delete", true, WriteModel::delete_many(filter)),
    };
    Planned {
        namespace: namespace.to_string(),
        kind,
        is_multi,
        model: ClientWriteModel::new(namespace, model),
    }
}

/// What the server does.
struct Model {
    fault: Fault,
    /// The index of the `bulkWrite` command that the fault applies to.
    at: usize,
    commands: usize,
    /// The writes that are rejected.
    rejected: BTreeSet<i32>,
    /// The size of the batches of results.
    batch_size: usize,
    /// The namespace and the kind of each write that took effect, as often as it did.
    effects: Vec<(i32, String, String)>,
    /// The replies to commands with a transaction number.
    known: BTreeMap<(String, i64), (Document, Vec<Bson>)>,
    /// The results that have not been read.
    results: Vec<Bson>,
}

/// The number, the namespace and the kind of an element of `ops`.
fn op(command: &Document, op: &Bson) -> (i32, String, String) {
    let op = op.as_document().expect("a document");
    let (kind, index) = op.iter().next().expect("a kind");
    let index = usize::try_from(index.as_i32().expect("an index")).expect("an index");
    let info = &command.get_array("nsInfo").expect("nsInfo")[index];
    let name = info.as_document().and_then(|info| info.get_str("ns").ok());
    let from = ["document", "filter"]
        .iter()
        .find_map(|key| op.get_document(key).ok());
    let number = from.and_then(|from| from.get_i32("_id").ok()).expect("a number");
    (number, name.expect("a name").to_owned(), kind.clone())
}

impl Model {
    fn answer(&mut self, request: &Request) -> Answer {
        match request.name() {
            "bulkWrite" => self.bulk_write(request),
            "getMore" => {
                let batch = self.next_batch();
                let id = if self.results.is_empty() { 0 } else { CURSOR };
                let cursor = doc! { "id": id, "ns": "admin.$cmd.bulkWrite", "nextBatch": batch };
                Answer::Reply(doc! { "ok": 1, "cursor": cursor })
            }
            _ => Answer::Success,
        }
    }

    fn next_batch(&mut self) -> Vec<Bson> {
        let size = self.results.len().min(self.batch_size);
        self.results.drain(..size).collect()
    }

    fn bulk_write(&mut self, request: &Request) -> Answer {
        let fault = (self.commands == self.at).then_some(self.fault);
        self.commands += 1;
        if fault == Some(Fault::Unread) {
            return Answer::Close;
        }
        let command = &request.command;
        let key = command.get_i64("txnNumber").ok().map(|number| {
            (
                request.lsid().expect("a number has a session").to_string(),
                number,
            )
        });
        let known = key.as_ref().and_then(|key| self.known.get(key).cloned());
        let (mut reply, results) = known.unwrap_or_else(|| self.execute(command));
        if let Some(key) = key {
            self.known.insert(key, (reply.clone(), results.clone()));
        }
        self.results = results;
        match fault {
            Some(Fault::Lost) => return Answer::Close,
            Some(Fault::Refused) => {
                return Answer::Reply(doc! {
                    "ok": 0, "code": 262, "errmsg": "retryable error", "errorLabels": ["RetryableWriteError"],
                });
            }
            _ => {}
        }
        let batch = self.next_batch();
        let id = if self.results.is_empty() { 0 } else { CURSOR };
        reply.insert(
            "cursor",
            doc! { "id": id, "ns": "admin.$cmd.bulkWrite", "firstBatch": batch },
        );
        Answer::Reply(reply)
    }

    /// The counts of the reply, and all results.
    fn execute(&mut self, command: &Document) -> (Document, Vec<Bson>) {
        let is_set = |key| command.get_bool(key).expect("always sent");
        let mut counts = BTreeMap::<&str, i32>::new();
        let mut results = Vec::new();
        for (index, write) in command.get_array("ops").expect("ops").iter().enumerate() {
            let index = i32::try_from(index).expect("a few");
            let (number, namespace, kind) = op(command, write);
            if self.rejected.contains(&number) {
                *counts.entry("nErrors").or_default() += 1;
                results
                    .push(doc! { "ok": 0.0, "idx": index, "code": 121, "errmsg": "rejected", "n": 0 }.into());
                if is_set("ordered") {
                    break;
                }
                continue;
            }
            let (count, mut result) = match kind.as_str() {
                "insert" => ("nInserted", doc! { "ok": 1.0, "idx": index, "n": 1 }),
                "update" => (
                    "nMatched",
                    doc! { "ok": 1.0, "idx": index, "n": 1, "nModified": 1 },
                ),
                _ => ("nDeleted", doc! { "ok": 1.0, "idx": index, "n": 1 }),
            };
            // Results can be large.
            result.insert("filler", "x".repeat(10));
            *counts.entry(count).or_default() += 1;
            if !is_set("errorsOnly") {
                results.push(result.into());
            }
            self.effects.push((number, namespace, kind));
        }
        let mut reply = doc! { "ok": 1 };
        for count in [
            "nErrors",
            "nInserted",
            "nUpserted",
            "nMatched",
            "nModified",
            "nDeleted",
        ] {
            reply.insert(count, counts.get(count).copied().unwrap_or_default());
        }
        (reply, results)
    }
}

/// Checks the counts and the verbose results against the writes that took effect.
fn check_result(seed: u64, result: &ClientBulkWriteResult, verbose: bool, effects: &[(i32, String, String)]) {
    let count = |kind: &str| effects.iter().filter(|(_, _, other)| other == kind).count() as u64;
    assert_eq!(result.inserted_count, count("insert"), "seed {seed}");
    assert_eq!(result.matched_count, count("update"), "seed {seed}");
    assert_eq!(result.deleted_count, count("delete"), "seed {seed}");
    assert_eq!(result.verbose_results.is_some(), verbose, "seed {seed}");
    let Some(results) = &result.verbose_results else {
        return;
    };
    let numbers = |kind: &str| -> BTreeSet<usize> {
        let of_kind = effects.iter().filter(|(_, _, other)| other == kind);
        of_kind
            .map(|(number, ..)| usize::try_from(*number).expect("a few"))
            .collect()
    };
    assert!(
        results.insert_results.keys().copied().eq(numbers("insert")),
        "seed {seed}"
    );
    assert!(
        results.update_results.keys().copied().eq(numbers("update")),
        "seed {seed}"
    );
    assert!(
        results.delete_results.keys().copied().eq(numbers("delete")),
        "seed {seed}"
    );
    for (index, result) in &results.insert_results {
        assert_eq!(
            result.inserted_id.as_i32(),
            i32::try_from(*index).ok(),
            "seed {seed}"
        );
    }
}

/// Checks one command.
fn check_request(seed: u64, request: &Request, writes: &[Planned], (batch, size): (usize, usize)) {
    let command = &request.command;
    assert!(
        request.size <= size,
        "seed {seed}: {} of {size} bytes",
        request.size
    );
    let ops = command.get_array("ops").expect("ops");
    assert!(!ops.is_empty() && ops.len() <= batch, "seed {seed}");
    let ns_info = command.get_array("nsInfo").expect("nsInfo");
    let mut namespaces = BTreeSet::new();
    let mut is_multi = false;
    for write in ops {
        let (number, namespace, kind) = op(command, write);
        let planned = &writes[usize::try_from(number).expect("a few")];
        assert_eq!(
            (namespace.as_str(), kind.as_str()),
            (planned.namespace.as_str(), planned.kind)
        );
        namespaces.insert(namespace);
        is_multi |= planned.is_multi;
    }
    assert_eq!(
        namespaces.len(),
        ns_info.len(),
        "seed {seed}: each namespace once, and no other"
    );
    assert_eq!(command.contains_key("txnNumber"), !is_multi, "seed {seed}");
}

/// Runs one operation with its own server.
async fn run(seed: u64) {
    let mut random = Random(seed);
    let count = 1 + random.below(24);
    let limits = (1 + random.below(12), 1_600 + random.below(1_000));
    let namespaces = 1 + random.below(5);
    let writes: Vec<Planned> = (0..count)
        .map(|number| planned(&mut random, i32::try_from(number).expect("a few"), namespaces))
        .collect();
    let rejections = random.below(3);
    let rejected = (0..rejections).map(|_| i32::try_from(random.below(count)).expect("a few"));
    let state = Arc::new(Mutex::new(Model {
        rejected: rejected.collect(),
        fault: [Fault::Unread, Fault::Lost, Fault::Refused][random.below(3)],
        at: random.below(12),
        commands: 0,
        batch_size: 1 + random.below(6),
        effects: Vec::new(),
        known: BTreeMap::new(),
        results: Vec::new(),
    }));
    let shared = Arc::clone(&state);
    let hello = doc! {
        "logicalSessionTimeoutMinutes": 30, "maxWriteBatchSize": i32::try_from(limits.0).expect("small"),
        "maxMessageSizeBytes": i32::try_from(limits.1).expect("small"),
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
    let (ordered, verbose) = (random.below(2) == 0, random.below(2) == 0);
    let models: Vec<ClientWriteModel> = writes.iter().map(|write| write.model.clone()).collect();
    let outcome = client
        .bulk_write(models)
        .ordered(ordered)
        .verbose_results(verbose)
        .await;
    assert_eq!(recorder.operations().len(), 1, "seed {seed}: one operation");
    let requests = server.requests_named("bulkWrite");
    for request in &requests {
        check_request(seed, request, &writes, limits);
    }
    let model = state.lock().unwrap_or_else(PoisonError::into_inner);
    let numbers: BTreeSet<i32> = model.effects.iter().map(|(number, ..)| *number).collect();
    assert_eq!(
        numbers.len(),
        model.effects.len(),
        "seed {seed}: no write took effect twice"
    );
    let failed = requests.get(model.at);
    let retried = failed.is_none_or(|request| request.command.contains_key("txnNumber"));
    let error = match outcome {
        Ok(result) => {
            assert!(retried && model.rejected.is_empty(), "seed {seed}");
            assert_eq!(numbers.len(), count, "seed {seed}");
            return check_result(seed, &result, verbose, &model.effects);
        }
        Err(error) => error,
    };
    let interrupted = ClientBulkWriteError::default();
    let bulk = match error.kind() {
        ErrorKind::ClientBulkWrite(bulk) => bulk,
        _ => {
            assert!(!retried && model.at == 0, "seed {seed}: {error}");
            &interrupted
        }
    };
    if bulk.error.is_none() && retried {
        let last = model.rejected.first().copied();
        let expected: Vec<i32> = if ordered {
            last.into_iter().collect()
        } else {
            model.rejected.iter().copied().collect()
        };
        let found = bulk
            .write_errors
            .iter()
            .map(|error| i32::try_from(error.index).expect("a few"));
        assert!(found.eq(expected), "seed {seed}: {error}");
        assert_eq!(bulk.partial_result.is_some(), !numbers.is_empty(), "seed {seed}");
        if let Some(partial) = &bulk.partial_result {
            check_result(seed, partial, verbose, &model.effects);
        }
    } else {
        assert!(!retried, "seed {seed}: {error}");
        assert_eq!(
            model.commands,
            model.at + 1,
            "seed {seed}: no command is sent after it"
        );
    }
}

#[tokio::test]
async fn each_write_takes_effect_once_and_is_accounted_for() {
    // The cases run concurrently, because a server is not checked again for half a second after a
    // lost reply.
    futures_util::future::join_all((0..250).map(run)).await;
}

/// A reply whose results cursor cannot be trusted ends the call with an error, and the cursor is
/// closed.
#[tokio::test]
async fn malformed_results_are_errors() {
    for row in [
        doc! { "ok": 1.0, "idx": 7, "n": 1 },
        doc! { "ok": 1.0, "n": 1 },
        doc! { "ok": 1.0, "idx": 0 },
        doc! { "ok": 0.0, "idx": -1 },
    ] {
        let server = ScriptedServer::start(doc! {}, move |request| match request.name() {
            "bulkWrite" => Answer::Reply(doc! {
                "ok": 1, "nErrors": 0, "nInserted": 1, "nMatched": 0, "nModified": 0, "nUpserted": 0, "nDeleted": 0,
                "cursor": { "id": CURSOR, "ns": "admin.$cmd.bulkWrite", "firstBatch": [row.clone()] },
            }),
            _ => Answer::Success,
        })
        .await;
        let client = CommandRecorder::default().client_of(&server.uri(""));
        let things = client.database("d").collection::<Document>("c");
        let error = client
            .bulk_write([things.insert_one_model(&doc! {})])
            .await
            .expect_err("malformed");
        let ErrorKind::ClientBulkWrite(bulk) = error.kind() else {
            panic!("{error:?}");
        };
        let cause = bulk.error.as_ref().expect("the error that ended the call");
        assert!(matches!(cause.kind(), ErrorKind::InvalidReply(_)), "{cause:?}");
        assert_eq!(
            bulk.partial_result.as_ref().map(|partial| partial.inserted_count),
            Some(1)
        );
        assert_eq!(server.requests_named("killCursors").len(), 1);
        assert!(server.requests_named("getMore").is_empty());
    }
}

/// The cursor of an ordered bulk write is closed after the first failed write. The error of killCursors
/// does not change the outcome of the call, which is known.
#[tokio::test]
async fn an_error_of_kill_cursors_does_not_replace_the_outcome() {
    let refused = |code: i32| Answer::Reply(doc! { "ok": 0, "code": code, "errmsg": "refused" });
    for (row, ends_with) in [
        (
            doc! { "ok": 0.0, "idx": 0, "code": 11000, "errmsg": "duplicate" },
            None,
        ),
        // The getMore fails.
        (doc! { "ok": 1.0, "idx": 0, "n": 1 }, Some(8)),
    ] {
        let server = ScriptedServer::start(doc! {}, move |request| match request.name() {
            "bulkWrite" => Answer::Reply(doc! {
                "ok": 1, "nErrors": 1, "nInserted": 0, "nMatched": 0, "nModified": 0, "nUpserted": 0, "nDeleted": 0,
                "cursor": { "id": CURSOR, "ns": "admin.$cmd.bulkWrite", "firstBatch": [row.clone()] },
            }),
            "getMore" => refused(8),
            "killCursors" => refused(13),
            _ => Answer::Success,
        })
        .await;
        let client = CommandRecorder::default().client_of(&server.uri(""));
        let things = client.database("d").collection::<Document>("c");
        let models = [(); 2].map(|()| things.insert_one_model(&doc! {}));
        let error = client.bulk_write(models).await.expect_err("an error");
        let ErrorKind::ClientBulkWrite(bulk) = error.kind() else {
            panic!("{error:?}");
        };
        let cause = bulk.error.as_ref().map(Error::code);
        assert_eq!(cause, ends_with.map(Some), "{error:?}");
        assert_eq!(bulk.write_errors.len(), usize::from(ends_with.is_none()));
        assert!(!error.is_timeout(), "{error:?}");
        assert_eq!(server.requests_named("killCursors").len(), 1);
    }
}

/// Behind a load balancer, another connection may lead to another server.
#[tokio::test]
async fn the_results_are_read_on_the_connection_of_their_command() {
    let cursor = |id: i64, batch: &str| {
        let rows = [doc! { "ok": 1.0, "idx": 0, "n": 1 }];
        doc! { "id": id, "ns": "admin.$cmd.bulkWrite", batch: rows }
    };
    let mut opened = 0_i64;
    let hello = doc! { "msg": Bson::Null, "serviceId": ObjectId::new() };
    let server = ScriptedServer::start(hello, move |request| match request.name() {
        "bulkWrite" => {
            opened += 1;
            let cursor = cursor(opened, "firstBatch");
            Answer::Reply(doc! {
                "ok": 1, "nErrors": 0, "nInserted": 2, "nMatched": 0, "nModified": 0, "nUpserted": 0, "nDeleted": 0,
                "cursor": cursor,
            })
        }
        // The getMore of the first cursor fails.
        "getMore" => match request.command.get_i64("getMore") {
            Ok(1) => Answer::Reply(doc! { "ok": 0, "code": 8, "errmsg": "failed" }),
            _ => Answer::Reply(doc! { "ok": 1, "cursor": cursor(0, "nextBatch") }),
        },
        _ => Answer::Success,
    })
    .await;
    let client = CommandRecorder::default().client_of(&server.uri("loadBalanced=true"));
    let things = client.database("d").collection::<Document>("c");
    let write = async || {
        let models = [(); 2].map(|()| things.insert_one_model(&doc! {}));
        client.bulk_write(models).verbose_results(true).await
    };
    let outcomes = futures_util::future::join_all((0..8).map(|_| write())).await;
    let failed: Vec<&Error> = outcomes
        .iter()
        .filter_map(|outcome| outcome.as_ref().err())
        .collect();
    assert_eq!(failed.len(), 1);
    assert!(
        matches!(failed[0].kind(), ErrorKind::ClientBulkWrite(_)),
        "{failed:?}"
    );
    let opened: Vec<usize> = server
        .requests_named("bulkWrite")
        .iter()
        .map(|request| request.connection)
        .collect();
    let more = server.requests_named("getMore");
    assert_eq!(more.len(), 8);
    for request in &more {
        let id = usize::try_from(request.command.get_i64("getMore").expect("an id")).expect("positive");
        assert_eq!(request.connection, opened[id - 1], "{}", request.command);
    }
    let killed = server.requests_named("killCursors");
    assert_eq!(killed.len(), 1);
    assert_eq!(killed[0].connection, opened[0]);
}
