//! Migrations: the stored documents of older versions are upgraded.

use std::sync::Mutex;

use crate::common::{Env, Observed};
use crate::schema_versions::{Person, one, raw, sorted, start, stored, three, two};
use marula::bson::{self, Bson, Document as BsonDocument, doc};
use marula::collection::MigrationFailureReason;
use marula::managed::BoxedError;
use marula::prelude::*;
use marula::{Document, Error};
use serde::{Deserialize, Serialize};

#[tokio::test]
async fn migrations_are_batched_and_repeatable() {
    let old = (1..=25).map(|id| if id % 2 == 0 { two(id) } else { one(id) });
    let (env, people) = start(old.chain([three(26)])).await;
    let dry = people.migrate().dry_run(true).await.unwrap();
    assert_eq!(
        dry.to_string(),
        "25 examined, 25 upgraded, 0 superseded, 0 failed"
    );
    assert_eq!(
        raw(&people)
            .count_documents(doc! { "schema_version": 3 })
            .await
            .unwrap(),
        1
    );
    let part = people.migrate().filter(|p| p._id().lte(5)).await.unwrap();
    assert_eq!((part.examined, part.upgraded), (5, 5));
    let progress = Mutex::new(Vec::new());
    let migrating = people.migrate().batch_size(8).on_progress(|done| {
        progress.lock().expect("not poisoned").push(done.upgraded);
    });
    let done = migrating.await.unwrap();
    assert!(done.is_complete());
    assert_eq!((done.examined, done.upgraded), (20, 20));
    assert_eq!(*progress.lock().unwrap(), [8, 16, 20]);
    assert_eq!(stored(&people).await, sorted((1..=26).map(three)));
    assert_eq!(people.migrate().await.unwrap().examined, 0);
    let error = people.migrate().batch_size(0).await.unwrap_err();
    assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
    env.stop().await;
}

#[tokio::test]
async fn a_migration_reports_what_cannot_be_upgraded() {
    let broken = doc! { "_id": 1_i64, "name": "Ada" };
    let other_type = doc! { "_id": 2_i64, "first": 5, "last": "", "schema_version": 2 };
    let invalid = doc! { "_id": 3_i64, "schema_version": "two" };
    let (env, people) = start([
        broken.clone(),
        other_type.clone(),
        invalid.clone(),
        one(4),
        two(5),
    ])
    .await;
    let index = marula::driver::IndexModel::new(doc! { "tags": 1, "last": 1 }).unique(true);
    let lacks_tags = doc! { "tags": { "$exists": true }, "_id": { "$gte": 4 } };
    raw(&people)
        .create_index(index.partial_filter_expression(lacks_tags))
        .await
        .unwrap();
    let done = people.migrate().await.unwrap();
    assert!(!done.is_complete());
    assert_eq!((done.examined, done.upgraded, done.failed), (5, 1, 4));
    let failures: Vec<String> = done.failures.iter().map(ToString::to_string).collect();
    assert!(
        failures[0].starts_with("document 1: ") && failures[0].ends_with(": no last name"),
        "{failures:?}"
    );
    assert!(failures[1].contains("cannot be read at `first`"), "{failures:?}");
    assert!(failures[2].contains("`schema_version`"), "{failures:?}");
    assert!(failures[3].contains("(code 11000)"), "{failures:?}");
    assert!(matches!(
        done.failures[3].reason,
        MigrationFailureReason::Write(_)
    ));
    let stored = stored(&people).await;
    assert_eq!(stored[..3], sorted([broken, other_type, invalid]));
    env.stop().await;
}

/// The counter is read by its upgrade: an increment that is lost would be visible.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "counters", schema_version(2, upgrade = upgrade_counter, field = "v"))]
struct Counter {
    _id: i64,
    count: i64,
    doubled: i64,
}

fn upgrade_counter(_: u32, document: &mut BsonDocument) -> Result<(), BoxedError> {
    let count = document.get_i64("count")?;
    document.insert("doubled", count * 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_writers_lose_nothing() {
    const COUNTERS: i64 = 20;
    const INCREMENTS: i64 = 50;
    let env = Env::start().await;
    let counters = env.db.collection::<Counter>();
    let old: Vec<BsonDocument> = (0..COUNTERS)
        .map(|id| doc! { "_id": id, "count": 0_i64 })
        .collect();
    raw(&counters).insert_many(&old).await.unwrap();
    // A release of version 1 increments the counters while two instances migrate them.
    let writers: Vec<_> = (0..4)
        .map(|_| {
            let counters = raw(&counters);
            tokio::spawn(async move {
                for _ in 0..INCREMENTS {
                    for id in 0..COUNTERS {
                        let increment = doc! { "$inc": { "count": 1_i64 } };
                        counters
                            .update_one(doc! { "_id": id }, increment)
                            .await
                            .expect("updated");
                    }
                }
            })
        })
        .collect();
    let migrations: Vec<_> = (0..2)
        .map(|_| {
            let counters = counters.clone();
            tokio::spawn(async move { counters.migrate().batch_size(3).await.expect("migrated") })
        })
        .collect();
    for migration in migrations {
        let done = migration.await.unwrap();
        let contended =
            |f: &marula::collection::MigrationFailure| matches!(f.reason, MigrationFailureReason::Contended);
        assert!(done.failures.iter().all(contended), "{:?}", done.failures);
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let rest = counters.migrate().await.unwrap();
    assert!(rest.is_complete(), "{rest}");
    for counter in counters.find_all().await.unwrap() {
        assert_eq!(counter.count, 4 * INCREMENTS, "{counter:?}");
    }
    assert_eq!(
        raw(&counters).count_documents(doc! { "v": 2 }).await.unwrap(),
        COUNTERS as u64
    );
    env.stop().await;
}

/// What another client does between the read and the write of a migration.
#[derive(Clone, Copy)]
enum Interference {
    Once,
    Always,
    Delete,
    /// Changes the case of a text.
    Label,
}

static INTERFERENCE: Mutex<Option<(Interference, marula::driver::Collection<BsonDocument>)>> =
    Mutex::new(None);

#[derive(Debug, Serialize, Deserialize, Document)]
#[document(collection = "totals", schema_version(2, upgrade = interrupted))]
struct Total {
    _id: i64,
    count: i64,
    doubled: i64,
}

fn interrupted(from: u32, document: &mut BsonDocument) -> Result<(), BoxedError> {
    let mut next = INTERFERENCE.lock().expect("not poisoned");
    if let Some((what, totals)) = next.take() {
        let increment = doc! { "$inc": { "count": 1_i64 } };
        let other_client = async {
            match what {
                Interference::Label => {
                    let label = doc! { "$set": { "label": "A" } };
                    totals.update_one(doc! {}, label).await.map(drop)
                }
                Interference::Delete => totals.delete_one(doc! {}).await.map(drop),
                _ => totals.update_one(doc! {}, increment).await.map(drop),
            }
        };
        let runtime = tokio::runtime::Handle::current();
        tokio::task::block_in_place(|| runtime.block_on(other_client))?;
        if matches!(what, Interference::Always) {
            *next = Some((what, totals));
        }
    }
    upgrade_counter(from, document)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_that_changes_after_it_was_read_is_read_again() {
    let env = Env::start().await;
    let totals = env.db.collection::<Total>();
    let old = doc! { "_id": 1_i64, "count": 1_i64 };
    raw(&totals).insert_one(&old).await.unwrap();
    let interfere = |what| {
        *INTERFERENCE.lock().expect("not poisoned") = Some((what, raw(&totals)));
    };
    interfere(Interference::Once);
    let done = totals.migrate().await.unwrap();
    assert_eq!(done.to_string(), "1 examined, 1 upgraded, 0 superseded, 0 failed");
    let total = totals.find_by_id(1).required().await.unwrap();
    assert_eq!((total.count, total.doubled), (2, 4));

    raw(&totals)
        .replace_one(doc! { "_id": 1_i64 }, &old)
        .await
        .unwrap();
    interfere(Interference::Always);
    let done = totals.migrate().await.unwrap();
    assert_eq!(done.to_string(), "1 examined, 0 upgraded, 0 superseded, 1 failed");
    assert!(
        matches!(done.failures[0].reason, MigrationFailureReason::Contended),
        "{done:?}"
    );

    interfere(Interference::Delete);
    let done = totals.migrate().await.unwrap();
    assert_eq!(done.to_string(), "1 examined, 0 upgraded, 1 superseded, 0 failed");

    // By the collation of the collection, the texts are equal.
    let other = doc! { "create": "labels", "collation": { "locale": "en", "strength": 2 } };
    if !env.lacks("collations", other).await {
        let labels = totals.named("labels");
        let old = doc! { "_id": 1_i64, "count": 1_i64, "label": "a" };
        raw(&labels).insert_one(&old).await.unwrap();
        *INTERFERENCE.lock().expect("not poisoned") = Some((Interference::Label, raw(&labels)));
        let observed = Observed::of(&env);
        let labels = observed.db.collection::<Total>().named("labels");
        assert_eq!(labels.migrate().await.unwrap().upgraded, 1);
        let writes = observed.take("update");
        assert!(
            !writes.is_empty() && writes.iter().all(has_collation),
            "{writes:?}"
        );
        let stored = raw(&labels).find_one(doc! {}).await.unwrap().expect("a document");
        assert_eq!(stored.get("label"), Some(&Bson::from("A")));
    }
    env.stop().await;
}

/// Whether the statements of an `update` have a collation.
fn has_collation(update: &bson::Document) -> bool {
    let statements = update.get_array("updates").expect("statements");
    statements.iter().all(|statement| {
        statement
            .as_document()
            .is_some_and(|s| s.contains_key("collation"))
    })
}

#[tokio::test]
async fn a_collection_without_a_default_collation_is_migrated_without_one() {
    let env = Env::start().await;
    let observed = Observed::of(&env);
    let totals = observed.db.collection::<Counter>();
    raw(&totals)
        .insert_one(&doc! { "_id": 1_i64, "count": 4_i64 })
        .await
        .unwrap();
    assert_eq!(totals.migrate().await.unwrap().upgraded, 1);
    let writes = observed.take("update");
    assert!(
        !writes.is_empty() && !writes.iter().any(has_collation),
        "{writes:?}"
    );
    env.stop().await;
}

#[tokio::test]
async fn a_schema_migrates_its_models() {
    let (env, people) = start([one(1), two(2)]).await;
    let counters = env.db.collection::<Counter>();
    raw(&counters)
        .insert_one(&doc! { "_id": 1_i64, "count": 4_i64 })
        .await
        .unwrap();
    let schema = || env.db.schema().register::<Person>().register::<Counter>();
    let batches = Mutex::new(Vec::new());
    let migrating = schema().migrate().dry_run(true).on_progress(|namespace, done| {
        batches
            .lock()
            .expect("not poisoned")
            .push((namespace.to_owned(), done.upgraded));
    });
    migrating.await.unwrap();
    let name = |collection: &str| format!("{}.{collection}", env.db.name());
    assert_eq!(
        *batches.lock().unwrap(),
        [(name("people"), 2), (name("counters"), 1)]
    );
    let done = schema().migrate().batch_size(1).await.unwrap();
    assert_eq!(done[0].0, name("people"));
    assert_eq!((done[0].1.upgraded, done[1].1.upgraded), (2, 1));
    assert_eq!(counters.find_by_id(1).required().await.unwrap().doubled, 8);
    assert_eq!(stored(&people).await, sorted([three(1), three(2)]));
    env.stop().await;
}
