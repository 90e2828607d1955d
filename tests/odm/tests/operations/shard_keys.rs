//! Declared shard keys: the filters of writes, plans, and the commands that shard collections. These tests have clusters of
//! their own, of given versions.

use bson::{DateTime, Document as Bson, doc};
use marula::driver::options::{ClientOptions, ServerApi, ServerApiVersion};
use marula::schema::{Apply, Plan, SchemaPlan, Step, SyncMode};
use marula::{Client, Database, Document, Embedded, Error, Model, SchemaError, bson};
use marula_test_server::TestServer;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "camelCase")]
struct Address {
    country_code: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "people", shard_key(address.country_code, name), index(name))]
struct Person {
    _id: Option<bson::ObjectId>,
    name: String,
    address: Address,
    age: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "pages", shard_key(site), index(site, number, unique))]
struct Page {
    _id: i64,
    site: String,
    number: i64,
    #[document(version)]
    version: i64,
    #[document(created_at)]
    created_at: DateTime,
}

fn person(name: &str, country: Option<&str>) -> Person {
    let address = Address {
        country_code: country.map(str::to_owned),
    };
    Person {
        _id: None,
        name: name.to_owned(),
        address,
        age: 1,
    }
}

fn page(id: i64, site: &str) -> Page {
    Page {
        _id: id,
        site: site.to_owned(),
        number: id,
        version: 0,
        created_at: DateTime::MIN,
    }
}

struct Cluster {
    server: TestServer,
    client: Client,
    db: Database,
}

impl Cluster {
    async fn start(version: &str) -> Cluster {
        let builder = TestServer::builder().sharded().version(version);
        let server = builder.start().await.expect("the test server starts");
        let client = marula::connect(server.uri()).await.expect("a connection string");
        let db = client.database("shards");
        Cluster { server, client, db }
    }

    /// The shard key of a collection, with `unique`.
    async fn key(&self, collection: &str) -> Option<Bson> {
        let collections = self
            .client
            .driver()
            .database("config")
            .collection::<Bson>("collections");
        let found = collections.find_one(doc! { "_id": format!("shards.{collection}") });
        let found = found.projection(doc! { "_id": 0, "key": 1, "unique": 1 });
        found.await.expect("the collections are read")
    }

    async fn stop(self) {
        drop(self.db);
        self.client.shutdown().await;
        self.server.stop().await;
    }
}

/// The steps of shard keys.
fn steps(plan: &Plan) -> Vec<Step> {
    let is_of_shard_key = |step: &&Step| {
        matches!(
            step,
            Step::ShardCollection { .. }
                | Step::KeepShardKey { .. }
                | Step::RefineShardKey { .. }
                | Step::ShardKeyConflict { .. }
        )
    };
    let steps = plan.steps().map(|(_, step)| step);
    steps.filter(is_of_shard_key).cloned().collect()
}

async fn plan<D: Model>(db: &Database) -> SchemaPlan {
    let plan = db.schema().register::<D>().plan().await;
    plan.expect("a plan is made")
}

#[test]
fn shard_keys_are_declared() {
    let key = Person::shard_key().unwrap();
    assert_eq!(key.document(), doc! { "address.countryCode": 1, "name": 1 });
    assert_eq!(key.paths().collect::<Vec<_>>(), ["address.countryCode", "name"]);
    assert!(!key.is_unique());
}

#[tokio::test]
async fn writes_of_documents_contain_the_shard_key() {
    for version in ["4.4", "6.0", "8.2"] {
        let cluster = Cluster::start(version).await;
        cluster
            .db
            .schema()
            .register::<Person>()
            .sync(SyncMode::Additive)
            .await
            .unwrap();
        let people = cluster.db.collection::<Person>();
        let mut ada = person("Ada", Some("GB"));
        people.save(&mut ada).await.unwrap();
        ada.age = 36;
        assert_eq!(people.save(&mut ada).await.unwrap().matched_count, 1, "{version}");
        let id = bson::ObjectId::new();
        let bob = Person {
            _id: Some(id),
            ..person("Bob", None)
        };
        let saved = people.save(&bob).await.unwrap();
        assert_eq!(saved.upserted_id, Some(id.into()), "{version}");
        // A missing value is null in the shard key.
        people.replace(&bob).required().await.unwrap();
        let cy = Person {
            _id: Some(bson::ObjectId::new()),
            ..person("Cy", Some("CH"))
        };
        people.replace(&cy).upsert(true).await.unwrap();
        assert_eq!(people.replace(&cy).upsert(true).await.unwrap().matched_count, 1);
        let bulk = people
            .bulk()
            .save(&ada)
            .save(&person("Di", Some("DE")))
            .replace(&bob);
        let written = bulk.await.unwrap();
        assert_eq!(
            (written.matched_count, written.upserted_ids.len()),
            (2, 1),
            "{version}"
        );
        let older = Person {
            age: 37,
            ..ada.clone()
        };
        people.save_changes(&ada, &older).required().await.unwrap();
        assert_eq!(people.find_by_id(ada._id).required().await.unwrap().age, 37);
        cluster.stop().await;
    }
}

#[tokio::test]
async fn the_filters_contain_equality_with_all_fields() {
    let cluster = Cluster::start("8.2").await;
    let people = cluster.db.collection::<Person>();
    let mut ada = person("Ada", Some("GB"));
    people.save(&mut ada).await.unwrap();
    let explained = people.replace(&ada).explain().unwrap().await.unwrap().to_string();
    for part in ["address.countryCode", "\"GB\"", "\"Ada\""] {
        assert!(explained.contains(part), "{part} in {explained}");
    }
    cluster.stop().await;
}

#[tokio::test]
async fn a_changed_shard_key_is_an_error() {
    for version in ["6.0", "8.2"] {
        let cluster = Cluster::start(version).await;
        let schema = || cluster.db.schema().register::<Person>().register::<Page>();
        schema().sync(SyncMode::Additive).await.unwrap();
        let people = cluster.db.collection::<Person>();
        let mut ada = person("Ada", Some("GB"));
        people.save(&mut ada).await.unwrap();
        let mut moved = Person {
            name: "Countess".to_owned(),
            ..ada.clone()
        };
        let of = |result: Result<_, Error>| match result.map(|_: marula::driver::UpdateResult| ()) {
            Err(Error::ShardKeyChanged { collection, id, key }) => {
                assert_eq!(*id, ada._id.expect("an id").into());
                (collection, *key)
            }
            other => panic!("{other:?}"),
        };
        let expected = (
            "shards.people".to_owned(),
            doc! { "address.countryCode": 1, "name": 1 },
        );
        assert_eq!(of(people.save(&mut moved).await), expected);
        assert_eq!(of(people.replace(&moved).await), expected);
        assert_eq!(of(people.replace(&moved).upsert(true).await), expected);
        assert_eq!(people.estimated_count().await.unwrap(), 1);
        let error = people.replace(&moved).await.unwrap_err().to_string();
        assert!(
            error.ends_with(
                "is stored with another shard key (`address.countryCode`, `name`) than that of the struct: to change the shard key, use \
                 `save_changes`, or `update_one` with a filter that has the present shard key"
            ),
            "{error}"
        );
        // The update has the present shard key.
        people.save_changes(&ada, &moved).required().await.unwrap();
        people.save(&mut moved).await.unwrap();

        let pages = cluster.db.collection::<Page>();
        let mut first = page(1, "a");
        pages.save(&mut first).await.unwrap();
        let mut other = Page {
            site: "b".to_owned(),
            ..first.clone()
        };
        let error = pages.save(&mut other).await.unwrap_err();
        assert!(matches!(error, Error::ShardKeyChanged { .. }), "{error}");
        let error = pages.replace(&other).await.unwrap_err();
        assert!(matches!(error, Error::ShardKeyChanged { .. }), "{error}");
        // Another version with the same shard key.
        let stale = Page {
            version: 7,
            ..first.clone()
        };
        assert!(pages.replace(&stale).await.unwrap_err().is_version_conflict());
        let missing = Page {
            version: 7,
            ..page(9, "z")
        };
        assert!(pages.save(&missing).await.unwrap_err().is_version_conflict());
        pages.save(&mut first).await.unwrap();
        assert_eq!((first.version, pages.estimated_count().await.unwrap()), (2, 1));
        cluster.stop().await;
    }
}

#[tokio::test]
async fn other_deployments_are_not_sharded() {
    let server = TestServer::builder().start().await.unwrap();
    let client = marula::connect(server.uri()).await.unwrap();
    let db = client.database("shards");
    let applied = db
        .schema()
        .register::<Person>()
        .sync(SyncMode::Full)
        .await
        .unwrap();
    assert_eq!(
        applied.created,
        [("shards.people".to_owned(), "name_1".to_owned())]
    );
    assert!(applied.sharded_collections.is_empty());
    let people = db.collection::<Person>();
    let mut ada = person("Ada", None);
    people.save(&mut ada).await.unwrap();
    people.save(&mut ada).await.unwrap();
    ada.name = "Countess".to_owned();
    let error = people.save(&mut ada).await.unwrap_err();
    assert!(matches!(error, Error::ShardKeyChanged { .. }), "{error}");
    drop(db);
    client.shutdown().await;
    server.stop().await;
}

#[tokio::test]
async fn plans_shard_collections() {
    for version in ["4.2", "5.0", "8.2"] {
        let cluster = Cluster::start(version).await;
        let people = cluster.db.collection::<Person>();
        people.insert_one(&person("Ada", Some("GB"))).await.unwrap();
        let planned = plan::<Person>(&cluster.db).await;
        let key = doc! { "address.countryCode": 1, "name": 1 };
        assert_eq!(
            steps(&planned),
            [Step::ShardCollection {
                key: key.clone(),
                unique: false
            }]
        );
        assert_eq!(
            planned.to_string(),
            "shards.people\n  + create   name_1 {\"name\": 1}\n  + create   address.countryCode_1_name_1 \
             {\"address.countryCode\": 1, \"name\": 1}\n  + shard    collection {\"address.countryCode\": 1, \"name\": 1}\n"
        );
        let applied = planned.apply(Apply::additive()).await.unwrap();
        assert_eq!(applied.sharded_collections, ["shards.people"]);
        assert_eq!(
            cluster.key("people").await,
            Some(doc! { "key": key.clone(), "unique": false })
        );
        let again = plan::<Person>(&cluster.db).await;
        assert_eq!(steps(&again), [Step::KeepShardKey { key }]);
        assert!(again.is_empty(), "{again}");
        let verified = cluster
            .db
            .schema()
            .register::<Person>()
            .sync(SyncMode::Verify)
            .await;
        assert!(verified.unwrap().is_empty());
        cluster.stop().await;
    }
}

#[tokio::test]
async fn a_declared_index_supports_the_shard_key() {
    let cluster = Cluster::start("8.2").await;
    let schema = || cluster.db.schema().register::<Page>();
    let applied = schema().sync(SyncMode::Additive).await.unwrap();
    assert_eq!(
        applied.created,
        [("shards.pages".to_owned(), "site_1_number_1".to_owned())]
    );
    assert_eq!(applied.sharded_collections, ["shards.pages"]);
    let full = schema().sync(SyncMode::Full).await.unwrap();
    assert!(full.is_empty(), "{full}");
    cluster.stop().await;
}

#[derive(Debug, Serialize, Deserialize, Document)]
#[document(
    collection = "accounts",
    shard_key(email, unique),
    collation(locale = "en", strength = 2)
)]
struct Account {
    _id: i64,
    email: String,
}

/// The default collation of a collection does not support a shard key.
#[tokio::test]
async fn the_index_of_a_unique_shard_key_is_unique_and_simple() {
    let cluster = Cluster::start("8.2").await;
    let applied = cluster
        .db
        .schema()
        .register::<Account>()
        .sync(SyncMode::Additive)
        .await;
    assert_eq!(applied.unwrap().sharded_collections, ["shards.accounts"]);
    assert_eq!(
        cluster.key("accounts").await,
        Some(doc! { "key": { "email": 1 }, "unique": true })
    );
    assert!(plan::<Account>(&cluster.db).await.is_empty());
    let accounts = cluster.db.collection::<Account>();
    let account = |id| Account {
        _id: id,
        email: "a@example.org".to_owned(),
    };
    accounts.insert_one(&account(1)).await.unwrap();
    let error = accounts.insert_one(&account(2)).await.unwrap_err();
    assert!(error.is_duplicate(), "{error}");
    cluster.stop().await;
}

#[derive(Debug, Serialize, Deserialize, Document)]
#[document(collection = "visits", shard_key(country))]
struct Visit {
    _id: i64,
    country: String,
    user: i64,
}

#[derive(Debug, Serialize, Deserialize, Document)]
#[document(collection = "visits", shard_key(country, user))]
struct RefinedVisit {
    _id: i64,
    country: String,
    user: i64,
}

#[derive(Debug, Serialize, Deserialize, Document)]
#[document(collection = "visits", shard_key(hashed(user)))]
struct HashedVisit {
    _id: i64,
    country: String,
    user: i64,
}

#[derive(Debug, Serialize, Deserialize, Document)]
#[document(collection = "visits", shard_key(country, hashed(user)))]
struct PartlyHashedVisit {
    _id: i64,
    country: String,
    user: i64,
}

#[tokio::test]
async fn an_extended_shard_key_is_refined() {
    for version in ["4.2", "4.4", "8.2"] {
        let cluster = Cluster::start(version).await;
        let db = &cluster.db;
        db.schema()
            .register::<Visit>()
            .sync(SyncMode::Additive)
            .await
            .unwrap();
        let refined = || db.schema().register::<RefinedVisit>();
        let planned = plan::<RefinedVisit>(db).await;
        let (existing, declared) = (doc! { "country": 1 }, doc! { "country": 1, "user": 1 });
        let step = Step::RefineShardKey {
            existing: existing.clone(),
            declared: declared.clone(),
        };
        assert_eq!(steps(&planned), [step]);
        if version == "4.2" {
            let refused = refined().sync(SyncMode::Full).await.unwrap_err().to_string();
            assert!(
                refused.contains("the command `refineCollectionShardKey` needs MongoDB 4.4 or later"),
                "{refused}"
            );
            cluster.stop().await;
            continue;
        }
        let refused = refined().sync(SyncMode::Additive).await.unwrap_err();
        assert!(
            matches!(
                &refused,
                Error::Schema(SchemaError::ShardKeyConflict { can_change: true, .. })
            ),
            "{refused}"
        );
        let applied = refined().sync(SyncMode::Full).await.unwrap();
        assert_eq!(applied.refined_shard_keys, ["shards.visits"]);
        assert_eq!(
            cluster.key("visits").await,
            Some(doc! { "key": declared, "unique": false })
        );
        let visits = db.collection::<RefinedVisit>();
        let visit = RefinedVisit {
            _id: 1,
            country: "CH".to_owned(),
            user: 1,
        };
        visits.save(&visit).await.unwrap();
        cluster.stop().await;
    }
}

#[tokio::test]
async fn another_shard_key_is_a_conflict() {
    let cluster = Cluster::start("8.2").await;
    let db = &cluster.db;
    db.schema()
        .register::<Visit>()
        .sync(SyncMode::Additive)
        .await
        .unwrap();
    let planned = plan::<HashedVisit>(db).await;
    let error = planned.conflict().expect("a conflict").to_string();
    assert_eq!(
        error,
        "shards.visits is sharded by {\"country\": 1}, declared is {\"user\": \"hashed\"}, or only one of them is unique; change the \
         declaration, or run the command `reshardCollection` (MongoDB 5.0+)"
    );
    let refused = planned.apply(Apply::full()).await.unwrap_err();
    assert!(
        matches!(
            refused,
            Error::Schema(SchemaError::ShardKeyConflict {
                can_change: false,
                ..
            })
        ),
        "{refused}"
    );
    let allowed = Apply::additive().allow_conflicts(true);
    planned.apply(allowed).await.unwrap();
    assert_eq!(
        cluster.key("visits").await,
        Some(doc! { "key": { "country": 1 }, "unique": false })
    );
    let both = db
        .schema()
        .register::<Visit>()
        .register::<HashedVisit>()
        .plan()
        .await;
    let error = both.unwrap_err().to_string();
    assert!(
        error.contains("`Visit`") && error.contains("`HashedVisit`"),
        "{error}"
    );
    cluster.stop().await;
}

#[tokio::test]
async fn hashed_shard_keys() {
    for version in ["4.2", "4.4", "8.2"] {
        let cluster = Cluster::start(version).await;
        let synced = cluster
            .db
            .schema()
            .register::<PartlyHashedVisit>()
            .sync(SyncMode::Additive)
            .await;
        if version == "4.2" {
            let error = synced.unwrap_err().to_string();
            assert!(
                error.contains("a hashed field beside others in the shard key needs MongoDB 4.4"),
                "{error}"
            );
        } else {
            assert_eq!(
                synced.unwrap().sharded_collections,
                ["shards.visits"],
                "{version}"
            );
            assert!(plan::<PartlyHashedVisit>(&cluster.db).await.is_empty());
        }
        cluster.stop().await;
    }
}

#[derive(Debug, Serialize, Deserialize, Document)]
#[document(collection = "visits", index(user, unique))]
struct UniqueVisit {
    _id: i64,
    user: i64,
}

/// Of two models of a collection, the derive knows only one.
#[tokio::test]
async fn a_unique_index_of_another_model_begins_with_the_shard_key() {
    let cluster = Cluster::start("8.2").await;
    let schema = || cluster.db.schema().register::<Visit>().register::<UniqueVisit>();
    let error = schema().plan().await.unwrap_err();
    assert!(
        matches!(
            &error,
            Error::Schema(SchemaError::InvalidIndex {
                model: "UniqueVisit",
                ..
            })
        ),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("does not begin with the shard key {\"country\": 1} of model `Visit`"),
        "{error}"
    );
    cluster.stop().await;
}

#[tokio::test]
async fn the_strict_stable_api_has_no_command_that_shards() {
    let cluster = Cluster::start("8.2").await;
    let mut options = ClientOptions::parse(&cluster.server.uri()).unwrap();
    options.server_api = Some(ServerApi::new(ServerApiVersion::V1).with_strict(true));
    let client = Client::with_options(options).unwrap();
    let synced = client
        .database("shards")
        .schema()
        .register::<Visit>()
        .sync(SyncMode::Additive)
        .await;
    let error = synced.unwrap_err().to_string();
    assert!(
        error.contains("the command `shardCollection` needs a client without `apiStrict`"),
        "{error}"
    );
    client.shutdown().await;
    cluster.stop().await;
}
