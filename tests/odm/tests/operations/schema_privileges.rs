//! Plans of users who may not list the collections of the database.

use crate::common::Env;
use marula::bson::{Document as Doc, doc};
use marula::schema::{SchemaPlan, SyncMode};
use marula::{Document, Error};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "names", index(last), index(text(note)))]
struct Name {
    _id: i64,
    last: String,
    note: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "events", clustered, index(last))]
struct Event {
    _id: i64,
    last: String,
}

/// An event of a collection whose options are not declared.
#[derive(Serialize, Deserialize, Document)]
#[document(collection = "events", index(last), index(text(note)))]
struct PlainEvent {
    _id: i64,
    last: String,
    note: String,
}

impl Env {
    /// Refuses `listCollections` as for a user without the privilege for it.
    async fn refuse_list_collections(&self) {
        let fail = doc! {
            "configureFailPoint": "failCommand", "mode": "alwaysOn",
            "data": { "failCommands": ["listCollections"], "errorCode": 13 },
        };
        let admin = self.client().driver().database("admin");
        admin.run_command(fail).await.expect("a fail point");
    }
}

fn code(result: marula::Result<SchemaPlan>) -> Option<i32> {
    match result {
        Err(Error::Driver(error)) => error.code(),
        _ => None,
    }
}

#[tokio::test]
async fn models_without_options_do_not_need_to_list_collections() {
    let env = Env::start().await;
    if !env.is_own() {
        return env.stop().await;
    }
    let english = doc! { "locale": "en", "strength": 2 };
    let create = doc! { "create": "names", "collation": &english };
    env.db.driver().run_command(create).await.unwrap();
    env.refuse_list_collections().await;
    let schema = || env.db.schema().register::<Name>();
    let applied = schema().sync(SyncMode::Additive).await.unwrap();
    assert_eq!(applied.created.len(), 2, "{applied}");
    for mode in [SyncMode::Verify, SyncMode::Additive, SyncMode::Full] {
        assert!(schema().sync(mode).await.unwrap().is_empty(), "{mode:?}");
    }

    // The index on `_id` is listed with the default collation, from which this index differs.
    let names = env.db.driver().collection::<Doc>("names");
    names.drop_index("last_1").await.unwrap();
    let simple = doc! { "createIndexes": "names", "indexes": [
        { "key": { "last": 1 }, "name": "last_1", "collation": { "locale": "simple" } },
    ] };
    env.db.driver().run_command(simple).await.unwrap();
    let plan = schema().plan().await.unwrap();
    assert!(plan.conflict().is_some(), "{plan}");

    // A collection that does not exist.
    let applied = env.db.schema().register::<PlainEvent>().sync(SyncMode::Additive);
    assert_eq!(applied.await.unwrap().created.len(), 2);
    env.stop().await;
}

/// A clustered collection has no index that is listed with the default collation.
#[tokio::test]
async fn an_unknown_default_collation_is_equal_to_each() {
    let env = Env::start().await;
    if !env.is_own() {
        return env.stop().await;
    }
    let create = doc! {
        "create": "events", "collation": { "locale": "en", "strength": 2 },
        "clusteredIndex": { "key": { "_id": 1 }, "unique": true },
    };
    env.db.driver().run_command(create).await.unwrap();
    env.refuse_list_collections().await;
    let schema = || env.db.schema().register::<PlainEvent>();
    let applied = schema().sync(SyncMode::Additive).await.unwrap();
    assert_eq!(applied.created.len(), 2, "{applied}");
    for mode in [SyncMode::Verify, SyncMode::Additive, SyncMode::Full] {
        assert!(schema().sync(mode).await.unwrap().is_empty(), "{mode:?}");
    }
    env.stop().await;
}

#[tokio::test]
async fn models_with_options_need_to_list_collections() {
    let env = Env::start().await;
    if !env.is_own() {
        return env.stop().await;
    }
    env.refuse_list_collections().await;
    let schema = env.db.schema().register::<Name>().register::<Event>();
    assert_eq!(code(schema.plan().await), Some(13));
    env.stop().await;
}
