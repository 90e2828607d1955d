//! Capped, time series, clustered and other collections, and views.

use crate::collections::{Order, steps};
use crate::common::Env;
use marula::bson::{self, doc};
use marula::prelude::*;
use marula::schema::{Apply, Step, SyncMode};
use marula::{Document, Embedded, Error, SchemaError};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "log", capped(size = 4096, max = 2))]
struct LogEntry {
    _id: i64,
}

#[derive(Serialize, Deserialize, Document)]
#[document(
    collection = "readings",
    timeseries(time = at, meta = source, granularity = "minutes", ttl = "30d")
)]
struct Reading {
    _id: i64,
    at: bson::DateTime,
    source: Source,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Source {
    sensor: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "events", clustered(ttl = "1h"))]
struct Event {
    _id: bson::DateTime,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "names", collation(locale = "en", strength = 2))]
struct Name {
    _id: i64,
    name: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "open_orders")]
struct OpenOrder {
    _id: i64,
    status: String,
}

#[tokio::test]
async fn collections_of_each_kind_are_created_once() {
    let env = Env::start().await;
    if env.lacks_validators().await {
        return env.stop().await;
    }
    let open = || [doc! { "$match": { "status": "open" } }];
    let schema = || {
        env.db
            .schema()
            .register::<LogEntry>()
            .register::<Reading>()
            .register::<Event>()
            .register::<Name>()
            .register_view::<OpenOrder>("orders", open())
    };
    let applied = schema().sync(SyncMode::Additive).await.unwrap();
    assert_eq!(applied.created_collections.len(), 5, "{applied}");
    let plan = schema().plan().await.unwrap();
    assert!(plan.is_empty(), "{plan}");
    assert!(steps(&plan).contains(&&Step::KeepCollection));

    assert!(env.options("log").await.get_bool("capped").unwrap());
    let series = env.options("readings").await;
    assert_eq!(
        series
            .get_document("timeseries")
            .unwrap()
            .get_str("metaField")
            .unwrap(),
        "source"
    );
    let log = env.db.collection::<LogEntry>();
    for id in 1..=3 {
        log.insert_one(&LogEntry { _id: id }).await.unwrap();
    }
    assert_eq!(log.find_all().all().await.unwrap().len(), 2);

    let names = env.db.collection::<Name>();
    let name = Name {
        _id: 1,
        name: "Ada".into(),
    };
    names.insert_one(&name).await.unwrap();
    assert!(names.exists(|n| n.name().eq("ada")).await.unwrap());

    let orders = env.db.driver().collection::<bson::Document>("orders");
    let documents = [
        doc! { "_id": 1_i64, "status": "open" },
        doc! { "_id": 2_i64, "status": "paid" },
    ];
    orders.insert_many(&documents).await.unwrap();
    let view = env.db.collection::<OpenOrder>();
    let found = view.find_all().all().await.unwrap();
    assert_eq!((found.len(), found[0]._id), (1, 1));

    // A view is changed as a whole.
    let paid = [doc! { "$match": { "status": "paid" } }];
    let changed = env.db.schema().register_view::<OpenOrder>("orders", paid);
    let applied = changed.sync(SyncMode::Full).await.unwrap();
    assert_eq!(applied.modified_collections.len(), 1, "{applied}");
    assert_eq!(view.find_all().all().await.unwrap()[0]._id, 2);
    env.stop().await;
}

#[tokio::test]
async fn what_only_a_new_collection_can_have_is_a_conflict() {
    let env = Env::start().await;
    if env.lacks_validators().await {
        return env.stop().await;
    }
    let log = env.db.driver().collection::<bson::Document>("log");
    log.insert_one(&doc! { "_id": 1_i64 }).await.unwrap();
    let schema = || env.db.schema().register::<LogEntry>();
    let plan = schema().plan().await.unwrap();
    assert!(
        plan.to_string()
            .contains("! conflict collection capped: none → true size: none → 4096 max: none → 2"),
        "{plan}"
    );
    let error = schema().sync(SyncMode::Full).await.unwrap_err();
    assert!(
        matches!(
            &error,
            Error::Schema(SchemaError::CollectionConflict {
                can_change: false,
                ..
            })
        ),
        "{error}"
    );
    let applied = plan.apply(Apply::full().allow_conflicts(true)).await.unwrap();
    assert!(applied.is_empty(), "{applied}");
    env.stop().await;
}

#[tokio::test]
async fn many_instances_create_a_collection_once() {
    let env = Env::start().await;
    if env.lacks_validators().await {
        return env.stop().await;
    }
    let starts = (0..20).map(|_| {
        let schema = env.db.schema().register::<Order>().register::<LogEntry>();
        tokio::spawn(schema.sync(SyncMode::Full))
    });
    for start in starts.collect::<Vec<_>>() {
        start.await.unwrap().unwrap();
    }
    let schema = env.db.schema().register::<Order>().register::<LogEntry>();
    assert!(schema.sync(SyncMode::Verify).await.unwrap().is_empty());
    env.stop().await;
}

#[tokio::test]
async fn a_plan_says_that_a_smaller_collection_loses_documents() {
    let env = Env::start().await;
    if env.is_before(6, 0).await {
        return env.stop().await;
    }
    let log = async |size: i64, max: i64| {
        let create = doc! { "create": "log", "capped": true, "size": size, "max": max };
        env.db.driver().run_command(create).await.unwrap();
        let plan = env.db.schema().register::<LogEntry>().plan().await.unwrap();
        let log = env.db.driver().collection::<bson::Document>("log");
        log.drop().await.unwrap();
        plan.to_string()
    };
    let larger = log(4096, 1).await;
    assert!(larger.ends_with("~ modify   collection max: 1 → 2\n"), "{larger}");
    for smaller in [log(4096, 3).await, log(8192, 2).await] {
        assert!(smaller.contains(" (deletes the documents that"), "{smaller}");
    }
    env.stop().await;
}

#[tokio::test]
async fn an_empty_update_of_a_time_series_is_not_sent() {
    let env = Env::start().await;
    let readings = env.db.collection::<Reading>();
    let empty = readings.update_many(|r| r.source().sensor().eq("a"), |_| marula::Update::empty());
    let error = empty.allow_empty().await.unwrap_err();
    assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
    assert!(
        error.to_string().contains("`readings` is a time series"),
        "{error}"
    );
    env.stop().await;
}

/// Older servers list the options of collections as they were sent.
#[tokio::test]
async fn a_number_declares_a_capped_collection() {
    let env = Env::start().await;
    let create = doc! { "create": "log", "capped": 1, "size": 4096, "max": 2 };
    env.db.driver().run_command(create).await.unwrap();
    let schema = || env.db.schema().register::<LogEntry>();
    assert!(schema().plan().await.unwrap().is_empty());
    if !env.is_before(6, 0).await {
        #[derive(Serialize, Deserialize, Document)]
        #[document(collection = "log", capped(size = 8192, max = 2))]
        struct LargerLog {
            _id: i64,
        }
        let plan = env.db.schema().register::<LargerLog>().plan().await.unwrap();
        let steps: Vec<&Step> = plan.steps().map(|(_, step)| step).collect();
        assert!(matches!(steps[0], Step::ModifyCollection { .. }), "{plan}");
    }
    env.stop().await;
}
