//! What bulk writes did before errors, and which replacements are version conflicts.

use std::sync::{Arc, Mutex};

use crate::common::Env;
use marula::bson::{self, Bson, Timestamp, doc};
use marula::driver::ErrorKind;
use marula::driver::event::{CommandEvent, EventListener};
use marula::driver::options::{ClientOptions, ReadConcern, WriteConcern};
use marula::error::{FailedWrite, PerformedWrites};
use marula::prelude::*;
use marula::{Client, Collection, Document, Error};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "parts")]
struct Part {
    _id: i64,
    total: f64,
    changed: Timestamp,
    #[document(version)]
    version: i64,
}

fn part(id: i64, total: f64, version: i64) -> Part {
    Part {
        _id: id,
        total,
        changed: Timestamp {
            time: 1,
            increment: 1,
        },
        version,
    }
}

/// Parts of version 0 with these ids, and a lost race for the last: it has version 1.
async fn parts(env: &Env, ids: std::ops::RangeInclusive<i64>) -> Collection<Part> {
    let parts = env.db.collection::<Part>();
    let last = *ids.end();
    let inserted = parts.insert_many(ids.map(|id| part(id, 10.0, 0)));
    inserted.await.expect("the parts are inserted");
    let replaced = parts.replace(&part(last, 99.0, 0)).required().await;
    replaced.expect("the last part is replaced");
    parts
}

/// The parts of an error of a bulk write.
fn parts_of(error: &Error) -> (&[FailedWrite], &PerformedWrites, Option<&marula::driver::Error>) {
    match error {
        Error::BulkWrite {
            failed,
            performed,
            source,
            ..
        } => (failed, performed, source.as_ref()),
        other => panic!("another error: {other}"),
    }
}

/// The positions of the failed writes, and the ids of conflicts.
fn failed(error: &Error) -> Vec<(usize, bool)> {
    let (failed, ..) = parts_of(error);
    failed
        .iter()
        .map(|write| (write.operation.index, write.is_version_conflict()))
        .collect()
}

async fn fail_point(env: &Env, mode: Bson, data: bson::Document) {
    let command = doc! { "configureFailPoint": "failCommand", "mode": mode, "data": data };
    let admin = env.client().driver().database("admin");
    admin.run_command(command).await.expect("a fail point");
}

async fn total(parts: &Collection<Part>, id: i64) -> f64 {
    parts.find_by_id(id).required().await.expect("a part").total
}

#[tokio::test]
async fn a_write_concern_error_does_not_end_an_ordered_bulk_write() {
    let env = Env::start().await;
    if !env.is_own() {
        return env.stop().await;
    }
    let parts = parts(&env, 1..=3).await;
    let data = doc! { "failCommands": ["update"], "writeConcernError": { "code": 64, "errmsg": "waiting timed out" } };
    fail_point(&env, doc! { "times": 1 }.into(), data).await;
    let error = parts
        .bulk()
        .replace(&part(1, 11.0, 0))
        .update_many(|p| p._id().lte(2), |p| p.total().inc(100.0))
        .await
        .unwrap_err();
    let (failed, performed, source) = parts_of(&error);
    assert!(failed.is_empty(), "{error}");
    assert_eq!((performed.matched_count, performed.modified_count), (3, 3));
    assert_eq!(performed.write_concern_errors.len(), 1);
    assert_eq!(performed.write_concern_errors[0].code, 64);
    assert_eq!(source.and_then(marula::driver::Error::code), Some(64));
    assert!(error.to_string().contains("no write was rejected"), "{error}");
    assert_eq!((total(&parts, 1).await, total(&parts, 2).await), (111.0, 110.0));
    env.stop().await;
}

/// The write concern of the handle is not that of the transaction.
#[tokio::test]
async fn an_unacknowledged_handle_reports_conflicts_in_a_transaction() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let parts = parts(&env, 1..=2)
        .await
        .with_write_concern(WriteConcern::nodes(0));
    let mut session = env.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let bulk = parts.bulk().replace(&part(1, 1.0, 0)).replace(&part(2, 2.0, 0));
    let error = bulk.session(&mut session).await.unwrap_err();
    assert_eq!(failed(&error), [(1, true)]);
    session.abort_transaction().await.unwrap();
    env.stop().await;
}

/// The server has aborted the transaction. Further commands would fail with an error that permits to run
/// the transaction again, although the key remains a duplicate.
#[tokio::test]
async fn a_rejected_write_ends_a_bulk_write_in_a_transaction() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let parts = parts(&env, 1..=2).await;
    let mut session = env.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let error = parts
        .bulk()
        .replace(&part(2, 2.0, 0))
        .insert(&part(1, 0.0, 0))
        .update_many(|p| p._id().lte(2), |p| p.total().inc(100.0))
        .ordered(false)
        .session(&mut session)
        .await
        .unwrap_err();
    assert_eq!(failed(&error), [(1, false)]);
    assert!(
        error
            .driver()
            .is_some_and(marula::driver::Error::is_duplicate_key)
    );
    session.abort_transaction().await.unwrap();
    env.stop().await;
}

#[tokio::test]
async fn an_error_contains_what_earlier_commands_did() {
    let env = Env::start().await;
    if !env.is_own() {
        return env.stop().await;
    }
    let parts = parts(&env, 1..=3).await;
    // The second update is the first command after the replacement. It is not retried.
    let data = doc! { "failCommands": ["update"], "closeConnection": true };
    fail_point(&env, doc! { "skip": 1 }.into(), data).await;
    let error = parts
        .bulk()
        .insert(&part(7, 7.0, 0))
        .replace(&part(1, 11.0, 0))
        .update_many(|p| p._id().lte(2), |p| p.total().inc(100.0))
        .await
        .unwrap_err();
    fail_point(&env, "off".into(), doc! {}).await;
    let (failed, performed, source) = parts_of(&error);
    assert!(failed.is_empty(), "{error}");
    assert_eq!((performed.inserted_count, performed.matched_count), (1, 1));
    assert_eq!(performed.inserted_ids.get(&0), Some(&Bson::Int64(7)));
    let Some(ErrorKind::BulkWrite(bulk)) = source.map(marula::driver::Error::kind) else {
        panic!("another error: {error}");
    };
    let cause = bulk.interrupted_by.as_ref().expect("the error of the command");
    assert!(cause.is_network(), "{cause}");
    assert!(error.is_unavailable());

    // Nothing was performed before.
    fail_point(
        &env,
        doc! { "times": 1 }.into(),
        doc! { "failCommands": ["update"], "errorCode": 13 },
    )
    .await;
    let error = parts
        .bulk()
        .update_many(|p| p._id().lte(2), |p| p.total().inc(100.0));
    let error = error.await.unwrap_err();
    assert!(error.driver().is_some_and(|e| e.code() == Some(13)), "{error}");
    env.stop().await;
}

#[tokio::test]
async fn the_indexes_of_what_was_performed_are_those_of_the_call() {
    let env = Env::start().await;
    let parts = parts(&env, 1..=3).await;
    let bulk = parts
        .bulk()
        .update_by_id(1, |p| p.total().inc(1.0))
        .insert(&part(1, 0.0, 0))
        .insert(&part(21, 0.0, 0))
        // Sent separately.
        .replace(&part(2, 20.0, 0))
        .insert(&part(2, 0.0, 0))
        .insert(&part(22, 0.0, 0))
        .save(&part(23, 0.0, 0))
        .replace(&part(3, 30.0, 0));
    let error = bulk.ordered(false).await.unwrap_err();
    assert_eq!(failed(&error), [(1, false), (4, false), (7, true)]);
    let (failed, performed, source) = parts_of(&error);
    assert_eq!(failed[1].error().map(|error| error.index), Some(4));
    assert!(source.is_some_and(marula::driver::Error::is_duplicate_key));
    assert_eq!((performed.inserted_count, performed.upserted_count), (2, 1));
    assert_eq!((performed.matched_count, performed.modified_count), (2, 2));
    let inserted: Vec<_> = performed.inserted_ids.iter().collect();
    assert_eq!(inserted, [(&2, &Bson::Int64(21)), (&5, &Bson::Int64(22))]);
    let upserted: Vec<_> = performed.upserted_ids.iter().collect();
    assert_eq!(upserted, [(&6, &Bson::Int64(23))]);

    // With conflicts only.
    let bulk = parts.bulk().insert(&part(31, 0.0, 0)).replace(&part(3, 31.0, 0));
    let error = bulk.delete_by_id(21).await.unwrap_err();
    assert_eq!(self::failed(&error), [(1, true)]);
    let (_, performed, source) = parts_of(&error);
    assert!(source.is_none());
    assert_eq!((performed.inserted_count, performed.deleted_count), (1, 1));
    assert_eq!(performed.inserted_ids.get(&0), Some(&Bson::Int64(31)));
    env.stop().await;
}

#[tokio::test]
async fn an_error_of_a_bulk_write_of_the_client_contains_what_was_performed() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    if env.is_before(8, 0).await {
        return env.stop().await;
    }
    let parts = parts(&env, 1..=3).await;
    let bulk = env.client().bulk().on(&parts, |b| {
        b.insert(&part(7, 7.0, 0))
            .save(&part(8, 8.0, 0))
            .replace(&part(3, 30.0, 0))
    });
    let error = bulk.on(&parts, |b| b.delete_by_id(1)).await.unwrap_err();
    assert_eq!(failed(&error), [(2, true)]);
    let (_, performed, source) = parts_of(&error);
    assert!(source.is_none());
    assert_eq!((performed.inserted_count, performed.upserted_count), (1, 1));
    assert_eq!(performed.deleted_count, 1);
    assert_eq!(performed.inserted_ids.get(&0), Some(&Bson::Int64(7)));
    assert_eq!(performed.upserted_ids.get(&1), Some(&Bson::Int64(8)));
    assert!(performed.verbose_results.is_some());

    // The counts are known without verbose results, too.
    let bulk = env.client().bulk();
    let bulk = bulk.on(&parts, |b| b.insert(&part(9, 9.0, 0)).insert(&part(7, 7.0, 0)));
    let error = bulk.await.unwrap_err();
    assert_eq!(failed(&error), [(1, false)]);
    assert_eq!(parts_of(&error).1.inserted_count, 1);
    env.stop().await;
}

#[tokio::test]
async fn an_error_of_the_comparison_is_reported_with_what_was_performed() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    if !env.is_own() {
        return env.stop().await;
    }
    let parts = parts(&env, 1..=3).await;
    let data = || doc! { "failCommands": ["find"], "errorCode": 13 };
    fail_point(&env, "alwaysOn".into(), data()).await;
    let bulk = parts.bulk().insert(&part(7, 7.0, 0)).replace(&part(1, 11.0, 0));
    let bulk = bulk.replace(&part(3, 30.0, 0)).insert(&part(1, 0.0, 0));
    let on_collection = bulk.ordered(false).await.unwrap_err();
    let bulk = env.client().bulk().on(&parts, |b| {
        b.insert(&part(8, 8.0, 0))
            .replace(&part(2, 22.0, 0))
            .replace(&part(3, 30.0, 0))
    });
    let on_client = bulk.await.unwrap_err();
    fail_point(&env, "off".into(), doc! {}).await;
    // The rejected write is reported as well.
    assert_eq!(failed(&on_collection), [(3, false)]);
    assert_eq!(failed(&on_client), []);
    for error in [&on_collection, &on_client] {
        let (_, performed, source) = parts_of(error);
        assert_eq!((performed.inserted_count, performed.matched_count), (1, 1));
        assert_eq!(source.and_then(marula::driver::Error::code), Some(13));
    }
    env.stop().await;
}

/// The comparison does not read the snapshot of the majority, which need not contain the writes.
#[tokio::test]
async fn the_comparison_reads_with_read_concern_local() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    if env.is_before(8, 0).await {
        return env.stop().await;
    }
    parts(&env, 1..=2).await;
    let concerns = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&concerns);
    let mut options = ClientOptions::parse(&env.uri()).expect("a valid connection string");
    options.read_concern = ReadConcern::majority();
    options.command_listener = Some(EventListener::new(move |event: &CommandEvent| {
        if let CommandEvent::Started(started) = event
            && event.command_name() == "find"
        {
            let concern = started.command.get_document("readConcern");
            let level = concern.and_then(|concern| concern.get_str("level"));
            seen.lock().unwrap().push(level.unwrap_or_default().to_owned());
        }
    }));
    let client = Client::with_options(options).expect("a client");
    let parts = client.database(env.db.name()).collection::<Part>();
    let error = parts.bulk().replace(&part(2, 2.0, 0)).await.unwrap_err();
    assert_eq!(failed(&error), [(0, true)]);
    let error = client
        .bulk()
        .on(&parts, |b| b.replace(&part(2, 2.0, 0)))
        .await
        .unwrap_err();
    assert_eq!(failed(&error), [(0, true)]);
    {
        let concerns = concerns.lock().unwrap();
        assert_eq!(*concerns, ["local", "local"]);
    }
    client.shutdown().await;
    env.stop().await;
}

/// The document that a replacement by a filter changed no longer matches, but another does.
#[tokio::test]
async fn replacements_by_a_filter_are_compared_with_the_document_of_their_id() {
    let env = Env::start().await;
    let parts = parts(&env, 1..=3).await;
    let error = parts
        .bulk()
        .replace_one(|p| p.total().eq(10.0), &part(1, 11.0, 0))
        .replace(&part(3, 30.0, 0))
        .await
        .unwrap_err();
    assert_eq!(failed(&error), [(1, true)]);
    assert_eq!(total(&parts, 1).await, 11.0);
    env.stop().await;
}

/// Equal ids of other types of numbers.
#[tokio::test]
async fn conflicts_are_found_for_ids_of_another_type() {
    let env = Env::start().await;
    let parts = parts(&env, 1..=2).await;
    let raw = env.db.driver().collection::<bson::Document>("parts");
    for (id, version) in [(11, 5_i64), (12, 0)] {
        let stored = doc! {
            "_id": id, "total": 1.0, "changed": Timestamp { time: 1, increment: 1 }, "version": version,
        };
        raw.insert_one(&stored).await.unwrap();
    }
    let error = parts
        .bulk()
        .replace(&part(1, 11.0, 0))
        // Stored with an id of 32 bits, and another version.
        .replace(&part(11, 110.0, 0))
        // Stored with an id of 32 bits, and replaced.
        .replace(&part(12, 120.0, 0))
        .await
        .unwrap_err();
    assert_eq!(failed(&error), [(1, true)]);
    assert_eq!((total(&parts, 11).await, total(&parts, 12).await), (1.0, 120.0));
    env.stop().await;
}

#[tokio::test]
async fn the_first_of_two_replacements_of_a_document_can_be_lost() {
    let env = Env::start().await;
    let parts = parts(&env, 1..=2).await;
    // Part 2 has version 1.
    let error = parts
        .bulk()
        .replace(&part(2, 20.0, 0))
        .replace(&part(2, 21.0, 1))
        .replace(&part(1, 11.0, 0))
        .await
        .unwrap_err();
    assert_eq!(failed(&error), [(0, true)]);
    assert_eq!((total(&parts, 1).await, total(&parts, 2).await), (11.0, 21.0));
    env.stop().await;
}

#[tokio::test]
async fn a_replacement_before_a_save_of_the_document_is_not_a_conflict() {
    let env = Env::start().await;
    let parts = parts(&env, 1..=2).await;
    let error = parts
        .bulk()
        .replace(&part(1, 11.0, 0))
        .save(&part(1, 12.0, 1))
        .replace(&part(2, 20.0, 0))
        .await
        .unwrap_err();
    assert_eq!(failed(&error), [(2, true)]);
    assert_eq!(total(&parts, 1).await, 12.0);
    env.stop().await;
}

/// `NaN` is not equal to itself, and the server sets empty timestamps.
#[tokio::test]
async fn stored_values_that_are_not_equal_to_those_sent_are_not_conflicts() {
    let env = Env::start().await;
    let parts = parts(&env, 1..=3).await;
    let filled = Part {
        changed: Timestamp {
            time: 0,
            increment: 0,
        },
        ..part(2, 22.0, 0)
    };
    let error = parts
        .bulk()
        .replace(&part(1, f64::NAN, 0))
        .replace(&filled)
        .replace(&part(3, 30.0, 0))
        .await
        .unwrap_err();
    assert_eq!(failed(&error), [(2, true)]);
    assert_eq!(total(&parts, 2).await, 22.0);
    env.stop().await;
}
