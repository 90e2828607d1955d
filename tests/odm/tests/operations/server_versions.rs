//! Calls that need newer servers: older servers are named before anything is sent. These tests have
//! servers of their own, of given versions.

use bson::{DateTime, doc};
use marula::driver::options::{AggregateOptions, FindOptions};
use marula::expr::*;
use marula::prelude::*;
use marula::{Client, Database, Document, Error, Projection, Shape, Update, bson};
use marula_test_server::TestServer;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "entries", capped(size = 4096), soft_delete = deleted_at)]
struct Entry {
    _id: i64,
    text: String,
    deleted_at: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "readings", timeseries(time = at, meta = sensor))]
struct Reading {
    _id: i64,
    at: DateTime,
    sensor: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "people")]
struct Person {
    _id: i64,
    name: String,
    age: i64,
}

#[derive(Debug, Deserialize, Projection)]
#[document(of = Person)]
#[expect(dead_code, reason = "only the error is of interest")]
struct Name {
    name: String,
}

#[derive(Debug, Shape)]
#[expect(dead_code, reason = "only the error is of interest")]
struct WithNamesakes {
    #[document(flatten)]
    person: Person,
    namesakes: Vec<Person>,
}

struct Old {
    server: TestServer,
    client: Client,
    db: Database,
}

impl Old {
    async fn start(version: &str) -> Old {
        let server = TestServer::builder()
            .version(version)
            .start()
            .await
            .expect("the server starts");
        let client = marula::connect(server.uri())
            .await
            .expect("a valid connection string");
        let db = client.database("versions");
        Old { server, client, db }
    }

    async fn stop(self) {
        self.client.shutdown().await;
        self.server.stop().await;
    }
}

/// The error says what needs which version, and names the version of the server.
#[track_caller]
fn assert_needs<T: std::fmt::Debug>(result: Result<T, Error>, feature: &str, needed: &str, found: &str) {
    let error = result.expect_err("the server is too old").to_string();
    let expected = format!("{feature} requires MongoDB {needed} or later, and the server 127.0.0.1:");
    assert!(
        error.contains(&expected) && error.contains(&format!(" is MongoDB {found} (")),
        "{error}"
    );
}

#[tokio::test]
async fn deletions_in_capped_collections_name_the_version() {
    let old = Old::start("4.4").await;
    let entries = old.db.collection::<Entry>();
    let soft = "soft deletion in the capped collection `entries`, which changes the size of documents,";
    assert_needs(entries.delete_by_id(1).await, soft, "5.3", "4.4");
    assert_needs(entries.restore_by_id(1).await, soft, "5.3", "4.4");
    assert_needs(
        entries.find_one_and_delete(|e| e._id().eq(1)).await,
        soft,
        "5.3",
        "4.4",
    );
    let permanent = entries.delete_permanently_by_id(1).await;
    assert_needs(
        permanent,
        "a deletion in the capped collection `entries`",
        "5.0",
        "4.4",
    );
    assert_eq!(old.server.commands_seen("delete"), 0);
    assert_eq!(old.server.commands_seen("update"), 0);
    old.stop().await;
}

#[tokio::test]
async fn deletions_in_time_series_name_the_version() {
    let old = Old::start("6.0").await;
    let readings = old.db.collection::<Reading>();
    let one = "the deletion of one document of the time series `readings`";
    assert_needs(readings.delete_one(|r| r.sensor().eq(1)).await, one, "7.0", "6.0");
    assert_eq!(old.server.commands_seen("delete"), 0);
    readings.delete_many(|r| r.sensor().eq(1)).await.unwrap();
    let upsert = readings
        .update_many(|r| r.sensor().eq(1), |r| r.sensor().set(2))
        .upsert(true);
    let error = upsert.await.unwrap_err().to_string();
    assert!(
        error.contains("`readings` is a time series, in which MongoDB does not upsert"),
        "{error}"
    );
    assert_eq!(old.server.commands_seen("update"), 0);
    old.stop().await;
}

#[tokio::test]
async fn stages_and_operators_name_the_version() {
    let old = Old::start("4.2").await;
    let people = old.db.collection::<Person>();
    people
        .insert_one(&Person {
            _id: 1,
            name: "Ada".into(),
            age: 36,
        })
        .await
        .unwrap();
    let union = people.aggregate().union_with::<Person>(|p| p).all().await;
    assert_needs(union, "`$unionWith`", "4.4", "4.2");
    let merged = people.aggregate().merge_into(marula::aggregate::Merge::new());
    assert_needs(
        merged.execute().await,
        "`$merge` into the collection that the pipeline reads",
        "4.4",
        "4.2",
    );
    let readings = old.db.collection::<Reading>();
    let days = readings
        .aggregate()
        .match_expr(|r| eq(date_trunc(r.at(), Unit::Day), r.at()))
        .all();
    assert_needs(days.await, "`$dateTrunc`", "5.0", "4.2");
    assert_eq!(old.server.commands_seen("aggregate"), 0);
    // Values with such a name are values.
    let named = people
        .aggregate()
        .match_(|p| p.name().eq("$unionWith"))
        .all()
        .await
        .unwrap();
    assert!(named.is_empty());
    old.stop().await;
}

/// The setters of options, and options that are set together.
#[tokio::test]
async fn options_name_the_version() {
    let old = Old::start("4.2").await;
    let people: marula::Collection<Person> = old.db.collection();
    let person = Person {
        _id: 1,
        name: "Ada".to_owned(),
        age: 36,
    };
    let needs = |result: Result<(), Error>, option: &str, version: &str| {
        assert_needs(result, &format!("the option `{option}`"), version, "4.2");
    };

    let found = people.find_all().allow_disk_use(true).await.map(|_| ());
    needs(found, "allow_disk_use", "4.4");
    let found = people.find_one(|p| p.name().eq("Ada")).let_vars(doc! {}).await;
    needs(found.map(|_| ()), "let_vars", "5.0");
    let found = people.aggregate().let_vars(doc! {}).all().await;
    needs(found.map(|_| ()), "let_vars", "5.0");
    let options = AggregateOptions::default().let_vars(doc! {});
    let found = people.aggregate().with_options(options).all().await;
    needs(found.map(|_| ()), "let_vars", "5.0");
    let inserted = people.insert_one(&person).comment("nightly").await;
    needs(inserted.map(|_| ()), "comment", "4.4");
    let deleted = people.delete_one(|p| p.age().eq(36)).hint("age_1").await;
    needs(deleted.map(|_| ()), "hint", "4.4");
    let taken = people.find_one_and_delete(|p| p.age().eq(36)).hint("age_1").await;
    needs(taken.map(|_| ()), "hint", "4.4");
    let updated = people
        .update_one(|p| p.age().eq(36), |p| p.age().set(37))
        .sort(|p| p.age().asc())
        .await;
    needs(updated.map(|_| ()), "sort", "8.0");
    let distinct = people
        .distinct(|p| p.name(), |p| p.age().gt(1))
        .hint("name_1")
        .await;
    needs(distinct.map(|_| ()), "hint", "7.1");
    let watched = people.watch().show_expanded_events(true).await;
    needs(watched.map(|_| ()), "show_expanded_events", "6.0");
    let options = FindOptions::default().allow_disk_use(true).let_vars(doc! {});
    let found = people.find_all().with_options(options).await;
    needs(found.map(|_| ()), "let_vars", "5.0");
    for command in [
        "find",
        "insert",
        "delete",
        "findAndModify",
        "update",
        "distinct",
        "aggregate",
    ] {
        assert_eq!(old.server.commands_seen(command), 0, "{command} was sent");
    }
    old.stop().await;
}

#[tokio::test]
async fn joins_with_soft_deletion_and_computed_projections_name_the_version() {
    let old = Old::start("4.2").await;
    let people = old.db.collection::<Person>();
    let page = people
        .find_all()
        .select::<Name>()
        .keyset(|p| p.age().asc(), None, 1);
    assert_needs(
        page.await.map(|page| page.items),
        "a keyset page whose projection does not contain all fields of the sort and `_id`",
        "4.4",
        "4.2",
    );
    let sorted = people.find_all().sort(|_| marula::sort::SortKey::text_score());
    let by_score = "a sort by the score of a text search that is not read";
    assert_needs(sorted.await, by_score, "4.4", "4.2");
    assert_eq!(old.server.commands_seen("find"), 0);
    let joined = people
        .aggregate()
        .lookup::<WithNamesakes>()
        .on(|p| p.name(), |p| p.name())
        .all();
    assert!(joined.await.unwrap().is_empty());
    old.stop().await;
}

#[tokio::test]
async fn an_upsert_with_an_expression_is_not_sent() {
    let new = Old::start("8.2").await;
    let people = new.db.collection::<Person>();
    let adult = || marula::Filter::<Person>::raw(doc! { "$and": [{ "$expr": { "$gt": ["$age", 17] } }] });
    let update = people.update_one(|_| adult(), |p| p.age().inc(1)).upsert(true);
    let error = update.await.unwrap_err().to_string();
    let expected = "invalid filter at `$expr`: MongoDB does not allow `$expr` in the filter of an upsert";
    assert!(error.contains(expected), "{error}");
    let ada = Person {
        _id: 1,
        name: "Ada".into(),
        age: 36,
    };
    let replaced = people.replace_one(|_| adult(), &ada).upsert(true).await;
    assert!(replaced.unwrap_err().to_string().contains(expected));
    let modified = people
        .find_one_and_update(|_| adult(), |p| p.age().inc(1))
        .upsert(true);
    assert!(modified.await.unwrap_err().to_string().contains(expected));
    let bulk = people.bulk().upsert_one(|_| adult(), |p| p.age().inc(1));
    assert!(matches!(bulk.await, Err(Error::InvalidBulkWrite { .. })));
    people.update_many(|_| adult(), |p| p.age().inc(1)).await.unwrap();
    let raw = people.update_one(|_| adult(), |_| Update::raw(doc! { "$inc": { "age": 1 } }));
    raw.await.unwrap();
    assert_eq!(new.server.commands_seen("findAndModify"), 0);
    new.stop().await;
}

#[tokio::test]
async fn a_write_without_the_shard_key_names_it() {
    for version in ["4.2", "6.0"] {
        let server = TestServer::builder()
            .sharded()
            .version(version)
            .start()
            .await
            .unwrap();
        server
            .shard_collection("versions.people", &doc! { "name": 1 })
            .unwrap();
        let client = marula::connect(server.uri()).await.unwrap();
        let people = client.database("versions").collection::<Person>();
        let ada = Person {
            _id: 1,
            name: "Ada".into(),
            age: 36,
        };
        people.insert_one(&ada).await.unwrap();
        let named = |result: Result<(), Error>, advice: &str| {
            let error = result.unwrap_err();
            let text = error.to_string();
            let expected = format!("versions.people is sharded by `name`, and {advice}. The server: ");
            assert!(text.starts_with(&expected), "{version}: {text}");
            assert!(matches!(error, Error::ShardKey { key: Some(_), .. }));
        };
        let adult = || people.update_one(|p| p.age().eq(36), |p| p.age().inc(1));
        let upsert = "before MongoDB 7.0 an upsert needs equality with the whole shard key in its filter: use `replace_one` or \
                      `update_one` with such a filter and `upsert(true)`";
        named(people.save(&ada).await.map(drop), upsert);
        let by_id = people.update_one(|p| p._id().eq(1) & p.age().eq(36), |p| p.age().inc(1));
        named(by_id.upsert(true).await.map(drop), upsert);
        named(
            adult().await.map(drop),
            "before MongoDB 7.0 `update_one` needs equality with `_id` or with the whole shard key in its filter",
        );
        // The message of the server contains the filter.
        let by_text = marula::Filter::raw(doc! { "note": "upsert" });
        named(
            people.update_one(|_| by_text, |p| p.age().inc(1)).await.map(drop),
            "before MongoDB 7.0 `update_one` needs equality with `_id` or with the whole shard key in its filter",
        );
        named(
            people.delete_one(|p| p.age().eq(36)).await.map(drop),
            "before MongoDB 7.0 `delete_one` needs equality with `_id` or with the whole shard key in its filter",
        );
        named(
            people
                .find_one_and_update(|p| p._id().eq(1), |p| p.age().inc(1))
                .await
                .map(drop),
            "before MongoDB 7.0 `find_one_and_update` needs equality with the whole shard key in its filter, also beside `_id`",
        );
        named(
            people.update_by_id(1, |p| p.name().set("Eva")).await.map(drop),
            "`update_one` changes the shard key of a document: its filter needs equality with the whole present shard key",
        );
        named(
            people
                .update_many(|p| p.age().eq(36), |p| p.name().set("Eva"))
                .await
                .map(drop),
            "`update_many` cannot change the shard key: change the documents one by one with `update_one`, whose filter needs \
             equality with the whole present shard key",
        );
        let Err(Error::BulkWrite { failed, .. }) = people.bulk().save(&ada).await else {
            panic!("the save has no shard key");
        };
        assert!(
            failed[0]
                .to_string()
                .ends_with("(code 61, without the shard key name)"),
            "{}",
            failed[0]
        );
        let by_key = people.update_one(|p| p.name().eq("Ada"), |p| p.age().inc(1));
        assert_eq!(by_key.await.unwrap().modified_count, 1);
        client.shutdown().await;
    }
    let server = TestServer::builder().sharded().start().await.unwrap();
    server
        .shard_collection("versions.people", &doc! { "name": 1 })
        .unwrap();
    let client = marula::connect(server.uri()).await.unwrap();
    let people = client.database("versions").collection::<Person>();
    let ada = Person {
        _id: 1,
        name: "Ada".into(),
        age: 36,
    };
    people.save(&ada).await.unwrap();
    client.shutdown().await;
}

#[derive(Clone, Debug, Serialize, Deserialize, Document)]
#[document(collection = "stamped")]
struct Stamped {
    _id: i64,
    name: String,
    #[document(version)]
    version: i64,
    #[document(created_at)]
    created_at: DateTime,
}

#[tokio::test]
async fn an_error_of_the_shard_key_says_whether_the_call_is_an_upsert() {
    let server = TestServer::builder().sharded().version("6.0").start().await;
    let server = server.unwrap();
    for collection in ["versions.people", "versions.stamped"] {
        server.shard_collection(collection, &doc! { "name": 1 }).unwrap();
    }
    let client = marula::connect(server.uri()).await.unwrap();
    let is_upsert = |result: Result<(), Error>| match result {
        Err(Error::ShardKey { upsert, .. }) => upsert,
        other => panic!("another result: {other:?}"),
    };
    let people = client.database("versions").collection::<Person>();
    for upsert in [false, true] {
        let update = people.find_one_and_update(|p| p._id().eq(1), |p| p.age().inc(1));
        assert_eq!(is_upsert(update.upsert(upsert).await.map(drop)), upsert);
        let ada = Person {
            _id: 1,
            name: "Ada".into(),
            age: 36,
        };
        let replacement = people.find_one_and_replace(|p| p._id().eq(1), &ada);
        assert_eq!(is_upsert(replacement.upsert(upsert).await.map(drop)), upsert);
    }
    // A document that was stored before is not inserted.
    let stamped = client.database("versions").collection::<Stamped>();
    let ada = Stamped {
        _id: 1,
        name: "Ada".into(),
        version: 0,
        created_at: DateTime::from_millis(0),
    };
    assert!(is_upsert(stamped.save(&ada).await.map(drop)));
    stamped.insert_one(&ada).await.unwrap();
    let update = stamped.update_by_id(1, |s| s.name().set("Ada"));
    update.required().await.unwrap();
    let mut eva = stamped.find_by_id(1).required().await.unwrap();
    eva.name = "Eva".into();
    assert_eq!(eva.version, 1);
    assert!(!is_upsert(stamped.save(&eva).await.map(drop)));
    client.shutdown().await;
}
