//! Changes of existing indexes: options, rebuilds, obsolete indexes, and many instances at once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::Env;
use marula::bson::{self, doc};
use marula::driver::{
    IndexModel,
    event::{CommandEvent, EventListener},
    options::ClientOptions,
};
use marula::schema::{Apply, Schema, Step, SyncMode};
use marula::{Client, Document, Error, SchemaError};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(
    collection = "visits",
    index(at, ttl = "1h"),
    index(email, unique),
    index(page, hidden)
)]
struct Visit {
    _id: i64,
    at: bson::DateTime,
    email: String,
    page: String,
}

/// An earlier version of the model.
#[derive(Serialize, Deserialize, Document)]
#[document(
    collection = "visits",
    index(at, ttl = "2h"),
    index(email),
    index(page),
    index(old)
)]
struct OldVisit {
    _id: i64,
    at: bson::DateTime,
    email: String,
    page: String,
    old: i32,
}

impl Env {
    fn visits(&self) -> Schema {
        self.db.schema().register::<Visit>()
    }

    async fn index(&self, name: &str) -> bson::Document {
        let visits = self.db.driver().collection::<bson::Document>("visits");
        let listed = visits
            .list_indexes()
            .with_type::<bson::Document>()
            .await
            .expect("a cursor");
        let listed: Vec<bson::Document> = listed.try_collect().await.expect("a reply");
        let index = listed
            .into_iter()
            .find(|index| index.get_str("name").is_ok_and(|found| found == name));
        index.unwrap_or_default()
    }

    async fn insert(&self, emails: &[&str]) {
        let visits = self.db.driver().collection::<bson::Document>("visits");
        let documents: Vec<bson::Document> = (1_i64..)
            .zip(emails)
            .map(|(id, email)| doc! { "_id": id, "email": *email })
            .collect();
        visits.insert_many(&documents).await.expect("a reply");
    }

    /// Whether the server has `prepareUnique` and `hidden`.
    async fn lacks_changes(&self) -> bool {
        let index = doc! { "key": { "a": 1 }, "name": "a", "prepareUnique": true, "hidden": true };
        let probe = doc! { "createIndexes": "probe", "indexes": [index] };
        self.lacks("changes of indexes", probe).await
    }
}

#[tokio::test]
async fn options_are_changed_without_a_build() {
    let env = Env::start().await;
    if env.lacks_changes().await {
        return env.stop().await;
    }
    env.insert(&["a", "b"]).await;
    let old = env.db.schema().register::<OldVisit>();
    old.sync(SyncMode::Additive).await.unwrap();

    let plan = env.visits().plan().await.unwrap();
    let text = plan.to_string();
    assert!(
        text.contains("~ modify   at_1 {\"at\": 1} expireAfterSeconds: 7200 → 3600 (deletes"),
        "{text}"
    );
    assert!(
        text.contains("email_1 {\"email\": 1} unique: false → true"),
        "{text}"
    );
    assert!(
        text.contains("page_1 {\"page\": 1} hidden: false → true"),
        "{text}"
    );
    assert!(text.contains("- obsolete old_1"), "{text}");
    let refused = plan.apply(Apply::additive()).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Schema(SchemaError::OptionsConflict { index, .. }) if index == "at_1"),
        "{refused}"
    );
    let verified = env.visits().sync(SyncMode::Verify).await.unwrap_err();
    assert!(
        matches!(&verified, Error::Schema(SchemaError::NotInSync { plan }) if plan.contains("at_1")),
        "{verified}"
    );
    assert_eq!(
        env.index("at_1").await.get_i32("expireAfterSeconds").ok(),
        Some(7200)
    );

    let applied = plan.apply(Apply::additive().coll_mod(true)).await.unwrap();
    let modified: Vec<&str> = applied.modified.iter().map(|(_, name)| &**name).collect();
    assert_eq!(modified, ["at_1", "email_1", "page_1"], "{applied}");
    assert!(env.index("email_1").await.get_bool("unique").unwrap());
    assert!(env.index("page_1").await.get_bool("hidden").unwrap());
    assert!(env.visits().sync(SyncMode::Verify).await.unwrap().is_empty());
    env.stop().await;
}

#[tokio::test]
async fn duplicates_are_named_as_they_are_stored() {
    let env = Env::start().await;
    if env.lacks_changes().await {
        return env.stop().await;
    }
    let email = doc! { "q": { "$date": "soon" } };
    let visits = env.db.driver().collection::<bson::Document>("visits");
    let stored = |id: i64| doc! { "_id": id, "email": &email };
    visits.insert_many(&[stored(1), stored(2)]).await.unwrap();
    let error = env.visits().sync(SyncMode::Additive).await.unwrap_err();
    let Error::Schema(SchemaError::Duplicates { samples, .. }) = &error else {
        panic!("another error: {error}");
    };
    assert_eq!(samples[0].key, doc! { "email": email });
    env.stop().await;
}

#[tokio::test]
async fn duplicates_are_named_and_nothing_is_changed() {
    let env = Env::start().await;
    if env.lacks_changes().await {
        return env.stop().await;
    }
    env.insert(&["a", "b", "a", "a"]).await;
    let created = env.visits().sync(SyncMode::Additive).await.unwrap_err();
    let Error::Schema(SchemaError::Duplicates { index, samples, .. }) = &created else {
        panic!("another error: {created}");
    };
    assert_eq!((&**index, samples.len()), ("email_1", 1));
    assert_eq!((samples[0].count, &samples[0].key), (3, &doc! { "email": "a" }));
    assert!(
        created
            .driver()
            .is_some_and(marula::driver::Error::is_duplicate_key)
    );
    let text = created.to_string();
    assert!(
        text.contains("ids 1 and 4 and 1 more") && !text.contains("\"a\""),
        "{text}"
    );

    env.db
        .schema()
        .register::<OldVisit>()
        .sync(SyncMode::Additive)
        .await
        .unwrap();
    let changed = env.visits().sync(SyncMode::Full).await.unwrap_err();
    let Error::Schema(SchemaError::PartlyApplied { applied, source }) = &changed else {
        panic!("another error: {changed}");
    };
    assert_eq!(applied.modified.len(), 1, "{applied}");
    assert!(
        matches!(&**source, Error::Schema(SchemaError::Duplicates { .. })),
        "{source}"
    );
    let email = env.index("email_1").await;
    assert!(
        !email.contains_key("unique") && !email.contains_key("prepareUnique"),
        "{email}"
    );
    env.stop().await;
}

#[tokio::test]
async fn conflicting_indexes_are_built_again_if_allowed() {
    let env = Env::start().await;
    if env.lacks_changes().await {
        return env.stop().await;
    }
    env.insert(&["a", "b"]).await;
    let visits = env.db.driver().collection::<bson::Document>("visits");
    let mut sparse = IndexModel::new(doc! { "email": 1 });
    sparse.options.sparse = Some(true);
    visits.create_index(sparse).await.unwrap();
    visits
        .create_index(IndexModel::new(doc! { "mine": 1 }))
        .await
        .unwrap();

    let plan = env.visits().plan().await.unwrap();
    assert!(plan.to_string().contains("! conflict email_1"), "{plan}");
    let refused = plan.apply(Apply::additive().coll_mod(true)).await.unwrap_err();
    assert!(
        matches!(refused, Error::Schema(SchemaError::OptionsConflict { .. })),
        "{refused}"
    );
    let applied = plan.apply(Apply::full()).await.unwrap();
    assert_eq!(applied.rebuilt.len(), 1, "{applied}");
    assert_eq!(applied.created.len(), 2, "{applied}");
    let email = env.index("email_1").await;
    assert!(
        email.get_bool("unique").unwrap() && !email.contains_key("sparse"),
        "{email}"
    );
    assert!(!env.index("mine_1").await.is_empty(), "an unknown index is kept");
    env.stop().await;
}

#[tokio::test]
async fn obsolete_indexes_are_hidden_and_dropped_later() {
    let env = Env::start().await;
    if env.lacks_changes().await {
        return env.stop().await;
    }
    env.db
        .schema()
        .register::<OldVisit>()
        .sync(SyncMode::Additive)
        .await
        .unwrap();
    let applied = env.visits().sync(SyncMode::Full).await.unwrap();
    assert_eq!(applied.hidden.len(), 1, "{applied}");
    assert!(env.index("old_1").await.get_bool("hidden").unwrap());
    let plan = env.visits().plan().await.unwrap();
    assert!(
        plan.steps().any(|(_, step)| matches!(
            step,
            Step::Obsolete {
                hidden_at: Some(_),
                ..
            }
        )),
        "{plan}"
    );
    assert!(
        env.visits().sync(SyncMode::Full).await.unwrap().is_empty(),
        "hidden for a week"
    );
    let soon = Apply::full().drop_obsolete(Duration::from_millis(1));
    tokio::time::sleep(Duration::from_millis(5)).await;
    let applied = plan.apply(soon).await.unwrap();
    assert_eq!(applied.dropped.len(), 1, "{applied}");
    assert!(env.index("old_1").await.is_empty());
    env.stop().await;
}

/// The names of the commands that change indexes.
#[derive(Clone, Debug, Default)]
struct Changes(Arc<Mutex<Vec<String>>>);

/// Starts 50 instances at once, of which some may be ended early. Returns the commands.
async fn start_instances(env: &Env, ended: usize) -> Vec<String> {
    let changes = Changes::default();
    let mut options = ClientOptions::parse(&env.uri()).expect("a valid connection string");
    let seen = changes.clone();
    options.command_listener = Some(EventListener::new(move |event: &CommandEvent| {
        let name = event.command_name();
        if matches!(event, CommandEvent::Started(_)) && ["collMod", "dropIndexes"].contains(&name) {
            seen.0.lock().expect("not poisoned").push(name.to_owned());
        }
    }));
    let client = Client::with_options(options).expect("a client");
    let db = client.database(env.db.name());
    let instances: Vec<_> = (0..50)
        .map(|_| {
            let schema = db.schema().register::<Visit>();
            tokio::spawn(async move {
                let apply = Apply::full().lease(Duration::from_secs(10));
                schema.plan().await?.apply(apply).await
            })
        })
        .collect();
    for instance in instances.iter().take(ended) {
        tokio::task::yield_now().await;
        instance.abort();
    }
    for instance in instances {
        match instance.await {
            Ok(applied) => drop(applied.expect("no instance fails")),
            Err(error) => assert!(error.is_cancelled() && ended > 0, "{error}"),
        }
    }
    client.shutdown().await;
    let seen = changes.0.lock().expect("not poisoned");
    seen.clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_instances_change_each_index_once() {
    let env = Env::start().await;
    if env.lacks_changes().await {
        return env.stop().await;
    }
    env.insert(&["a", "b"]).await;
    env.db
        .schema()
        .register::<OldVisit>()
        .sync(SyncMode::Additive)
        .await
        .unwrap();
    let commands = start_instances(&env, 0).await;
    // `expireAfterSeconds`, `prepareUnique`, `unique`, `hidden`, and the obsolete index.
    assert_eq!(commands.len(), 5, "{commands:?}");
    assert!(env.visits().sync(SyncMode::Verify).await.unwrap().is_empty());
    env.stop().await;
}

/// An instance that ends while it holds the lease is followed by another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_that_ends_with_the_lease_is_followed_by_another() {
    let env = Env::start().await;
    if env.lacks_changes().await {
        return env.stop().await;
    }
    env.db
        .schema()
        .register::<OldVisit>()
        .sync(SyncMode::Additive)
        .await
        .unwrap();
    let lease = doc! { "_id": "lease", "holder": "an instance that has ended" };
    let schema = env.db.driver().collection::<bson::Document>("marula_schema");
    schema.insert_one(&lease).await.unwrap();
    let expires_in = async |millis: i64| {
        let expiry = vec![doc! { "$set": { "expires_at": { "$add": ["$$NOW", millis] } } }];
        schema.update_one(doc! { "_id": "lease" }, expiry).await.unwrap();
    };
    expires_in(3_600_000).await;
    let plan = env.visits().plan().await.unwrap();
    let timed_out = plan
        .apply(Apply::full().lease_wait(Duration::ZERO))
        .await
        .unwrap_err();
    assert!(
        matches!(&timed_out, Error::Schema(SchemaError::LeaseTimeout { holder, .. }) if holder.contains("ended")),
        "{timed_out}"
    );
    expires_in(500).await;
    start_instances(&env, 10).await;
    assert!(env.visits().sync(SyncMode::Verify).await.unwrap().is_empty());
    assert_eq!(schema.count_documents(doc! { "_id": "lease" }).await.unwrap(), 0);
    env.stop().await;
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "visits", index(tags))]
struct Tagged {
    _id: i64,
    tags: Vec<String>,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "visits", index(tags, unique))]
struct UniquelyTagged {
    _id: i64,
    tags: Vec<String>,
}

/// Only the server finds equal elements of different arrays.
#[tokio::test]
async fn an_index_that_cannot_be_unique_permits_duplicates_as_before() {
    let env = Env::start().await;
    if env.lacks_changes().await {
        return env.stop().await;
    }
    env.db
        .schema()
        .register::<Tagged>()
        .sync(SyncMode::Additive)
        .await
        .unwrap();
    let visits = env.db.collection::<Tagged>();
    let tagged = |id: i64, tags: &[&str]| Tagged {
        _id: id,
        tags: tags.iter().map(ToString::to_string).collect(),
    };
    visits
        .insert_many(&[tagged(1, &["a", "b"]), tagged(2, &["b"])])
        .await
        .unwrap();
    let schema = env.db.schema().register::<UniquelyTagged>();
    let error = schema.sync(SyncMode::Full).await.unwrap_err();
    let Error::Schema(SchemaError::Duplicates {
        index,
        source,
        samples,
        ..
    }) = &error
    else {
        panic!("another error: {error}");
    };
    assert!(
        index == "tags_1" && source.is_some() && samples.is_empty(),
        "{error}"
    );
    let index = env.index("tags_1").await;
    assert!(!index.contains_key("prepareUnique"), "{index}");
    visits.insert_one(&tagged(3, &["b"])).await.unwrap();
    env.stop().await;
}
