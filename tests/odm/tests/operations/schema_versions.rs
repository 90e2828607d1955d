//! Versions of documents: older documents are upgraded when they are read, and by `migrate`.

use std::sync::Mutex;

use crate::common::Env;
use marula::bson::{Bson, Document as BsonDocument, doc};
use marula::collection::MigrationFailureReason;
use marula::driver::options::FullDocument;
use marula::managed::BoxedError;
use marula::prelude::*;
use marula::{Collection, Document, Error, Pipeline, Projection, Versioned};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "people", schema_version(3, upgrade = Person::upgrade))]
struct Person {
    _id: i64,
    first: String,
    last: String,
    tags: Vec<String>,
}

impl Person {
    fn upgrade(from: u32, document: &mut BsonDocument) -> Result<(), BoxedError> {
        match from {
            1 => {
                let name = document.remove("name");
                let name = name.as_ref().and_then(Bson::as_str).ok_or("no name")?;
                let (first, last) = name.split_once(' ').ok_or("no last name")?;
                document.insert("first", first);
                document.insert("last", last);
            }
            _ => {
                document.insert("tags", Vec::<Bson>::new());
            }
        }
        Ok(())
    }
}

fn ada(id: i64) -> Person {
    Person {
        _id: id,
        first: "Ada".to_owned(),
        last: "Lovelace".to_owned(),
        tags: Vec::new(),
    }
}

/// A document of version 1, before the models had versions.
fn one(id: i64) -> BsonDocument {
    doc! { "_id": id, "name": "Ada Lovelace" }
}

/// A document of version 2.
fn two(id: i64) -> BsonDocument {
    doc! { "_id": id, "first": "Ada", "last": "Lovelace", "schema_version": 2 }
}

/// The present form.
fn three(id: i64) -> BsonDocument {
    doc! { "_id": id, "first": "Ada", "last": "Lovelace", "tags": [], "schema_version": 3 }
}

/// The collection without the model.
fn raw<D: Versioned>(people: &Collection<D>) -> marula::driver::Collection<BsonDocument> {
    people.driver().clone_with_type()
}

async fn stored(people: &Collection<Person>) -> Vec<BsonDocument> {
    let found = raw(people).find(doc! {}).sort(doc! { "_id": 1 }).await;
    let mut found = found.expect("a cursor").try_collect().await.expect("documents");
    for document in &mut found {
        let sorted: std::collections::BTreeMap<String, Bson> = std::mem::take(document).into_iter().collect();
        *document = sorted.into_iter().collect();
    }
    found
}

fn sorted(documents: impl IntoIterator<Item = BsonDocument>) -> Vec<BsonDocument> {
    let of = |document: BsonDocument| {
        let sorted: std::collections::BTreeMap<String, Bson> = document.into_iter().collect();
        sorted.into_iter().collect()
    };
    documents.into_iter().map(of).collect()
}

async fn start(documents: impl IntoIterator<Item = BsonDocument>) -> (Env, Collection<Person>) {
    let env = Env::start().await;
    let people = env.db.collection::<Person>();
    let documents: Vec<BsonDocument> = documents.into_iter().collect();
    raw(&people).insert_many(&documents).await.expect("inserted");
    (env, people)
}

#[tokio::test]
async fn each_read_upgrades_older_documents() {
    let (env, people) = start([one(1), two(2), three(3)]).await;
    let all = [ada(1), ada(2), ada(3)];
    assert_eq!(people.find_all().sort(|p| p._id().asc()).await.unwrap(), all);
    let page = people
        .find_all()
        .sort(|p| p._id().asc())
        .page(0, 2)
        .await
        .unwrap();
    assert_eq!(page.items, all[..2]);
    let first = people
        .find_all()
        .keyset(|p| p._id().asc(), None, 2)
        .await
        .unwrap();
    assert_eq!(first.items, all[..2]);
    let second = people
        .find_all()
        .keyset(|p| p._id().asc(), first.next.as_deref(), 2);
    assert_eq!(second.await.unwrap().items, all[2..]);
    assert_eq!(people.find_by_id(1).required().await.unwrap(), ada(1));
    assert_eq!(
        people.find_by_id(2).select::<Person>().await.unwrap(),
        Some(ada(2))
    );
    assert_eq!(people.load([1_i64, 3]).await.unwrap().len(), 2);
    let mut streamed = people
        .find(|p| p._id().lte(2))
        .sort(|p| p._id().desc())
        .stream()
        .await
        .unwrap();
    assert_eq!(streamed.try_next().await.unwrap(), Some(ada(2)));
    assert_eq!(streamed.next_if_any().await.unwrap(), Some(ada(1)));
    let before = people.find_one_and_update(|p| p._id().eq(2), |p| p.last().set("Byron"));
    assert_eq!(before.await.unwrap(), Some(ada(2)));
    let deleted = people.find_one_and_delete(|p| p._id().eq(1)).await.unwrap();
    assert_eq!(deleted, Some(ada(1)));
    // An update by operators changes a part of a document, so that its version remains.
    let stored = stored(&people).await;
    assert_eq!(stored[0].get("schema_version"), Some(&Bson::Int32(2)));
    env.stop().await;
}

#[tokio::test]
async fn results_of_aggregations_are_upgraded_by_the_field() {
    #[derive(Debug, PartialEq, Serialize, Deserialize, Projection)]
    #[document(of = Person)]
    struct First {
        first: String,
    }
    let (env, people) = start([two(2), three(3)]).await;
    let sorted = people.aggregate().sort(|p| p._id().asc());
    assert_eq!(sorted.all().await.unwrap(), [ada(2), ada(3)]);
    let names = people.aggregate().select::<First>().all().await.unwrap();
    assert_eq!(names.len(), 2);
    people
        .aggregate()
        .sort(|p| p._id().asc())
        .out_to("copies")
        .execute()
        .await
        .unwrap();
    let copies = people.named("copies");
    assert_eq!(copies.find_by_id(2).await.unwrap(), Some(ada(2)));
    let merged = Pipeline::<Person>::new().merge_into(marula::aggregate::Merge::new());
    assert!(
        merged
            .to_string()
            .contains(r#"{"$ifNull": ["$schema_version", 3]}"#),
        "{merged}"
    );
    env.stop().await;
}

#[tokio::test]
async fn each_write_of_a_document_stores_the_present_version() {
    let (env, people) = start([one(1), one(2), one(3)]).await;
    let versions = async || {
        let stored = stored(&people).await;
        let versions = stored.iter().map(|d| d.get_i32("schema_version").unwrap_or(0));
        versions.collect::<Vec<_>>()
    };
    people.replace(&ada(1)).await.unwrap();
    people.save(&ada(2)).await.unwrap();
    people
        .find_one_and_replace(|p| p._id().eq(3), &ada(3))
        .await
        .unwrap();
    people.insert_one(&ada(4)).await.unwrap();
    people.insert_many([ada(5), ada(6)]).await.unwrap();
    people.save(&ada(7)).await.unwrap();
    people.replace(&ada(8)).upsert(true).await.unwrap();
    people
        .bulk()
        .insert(&ada(9))
        .save(&ada(10))
        .replace(&ada(4))
        .await
        .unwrap();
    people
        .upsert_with(|p| p._id().eq(11), |p| p.first().set("Ada"), &ada(11))
        .await
        .unwrap();
    let values = |p: marula::Fields<Person>| {
        (
            p.first().set("Ada"),
            p.last().set("Lovelace"),
            p.tags().set(Vec::<String>::new()),
        )
    };
    people.update_by_id(12, values).upsert(true).await.unwrap();
    let bulk = people.bulk().upsert_one(|p| p._id().eq(13), values);
    bulk.await.unwrap();
    let inserted = people
        .find_one_and_update(|p| p._id().eq(14), values)
        .upsert(true)
        .returning_new()
        .required();
    assert_eq!(inserted.await.unwrap(), ada(14));
    assert_eq!(versions().await, [3; 14]);
    assert_eq!(people.find_all().await.unwrap().len(), 14);
    // An inserted document could have no version.
    let pipeline = || marula::Update::<Person>::pipeline([doc! { "$set": { "first": "Ada" } }]);
    let error = people
        .update_by_id(15, |_| pipeline())
        .upsert(true)
        .await
        .unwrap_err();
    assert!(
        matches!(&error, Error::InvalidUpdate { path, .. } if path == "schema_version"),
        "{error}"
    );
    assert_eq!(
        people
            .update_by_id(14, |_| pipeline())
            .await
            .unwrap()
            .matched_count,
        1
    );
    env.stop().await;
}

#[tokio::test]
async fn documents_that_cannot_be_upgraded_are_errors() {
    let newer = doc! { "_id": 2_i64, "schema_version": 4 };
    let (env, people) = start([doc! { "_id": 1_i64, "name": "Ada" }, newer]).await;
    let namespace = people.namespace().to_string();
    let failed = people.find_by_id(1).await.unwrap_err();
    let Error::Upgrade {
        model,
        collection,
        id,
        from: 1,
        ..
    } = &failed
    else {
        panic!("{failed}");
    };
    assert_eq!(
        (*model, collection, id.as_deref()),
        ("Person", &namespace, Some(&Bson::Int64(1)))
    );
    assert_eq!(
        std::error::Error::source(&failed).unwrap().to_string(),
        "no last name"
    );
    for error in [
        people.find_by_id(2).await.unwrap_err(),
        people.find(|p| p._id().eq(2)).await.unwrap_err(),
    ] {
        assert_eq!(
            error.to_string(),
            format!(
                "document 2 of {namespace} has the schema version 4, and the model `Person` supports versions up to 3; deploy a \
                 release of the application whose model has version 4"
            )
        );
        let is_typed = matches!(
            error,
            Error::NewerSchema {
                model: "Person",
                stored: 4,
                supported: 3,
                ..
            }
        );
        assert!(is_typed, "{error:?}");
    }
    let other = doc! { "_id": 3_i64, "schema_version": "two" };
    raw(&people).insert_one(&other).await.unwrap();
    let error = people.find_by_id(3).await.unwrap_err();
    assert!(
        matches!(&error, Error::Decode { path, .. } if path == "schema_version"),
        "{error}"
    );
    env.stop().await;
}

#[tokio::test]
async fn change_events_contain_upgraded_documents() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let people = env.db.collection::<Person>();
    let watching = people.watch().full_document(FullDocument::UpdateLookup);
    let mut changes = watching.await.unwrap();
    raw(&people).insert_one(&one(1)).await.unwrap();
    raw(&people)
        .insert_one(&doc! { "_id": 2_i64, "schema_version": 9 })
        .await
        .unwrap();
    let event = changes.try_next().await.unwrap().expect("an event");
    assert_eq!(event.full_document, Some(ada(1)));
    let error = changes.try_next().await.unwrap_err();
    assert!(matches!(error, Error::NewerSchema { stored: 9, .. }), "{error}");
    env.stop().await;
}

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
        assert_eq!(labels.migrate().await.unwrap().upgraded, 1);
        let stored = raw(&labels).find_one(doc! {}).await.unwrap().expect("a document");
        assert_eq!(stored.get_str("label"), Ok("A"));
    }
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
