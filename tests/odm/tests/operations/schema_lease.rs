//! How the lease of schema changes is taken, and what plans read.

use std::time::Duration;

use crate::common::{Env, Observed};
use crate::schema_setup::{OldVisit, Visit, create, start};
use marula::bson::{self, Document as Doc, doc};
use marula::driver::options::{ReadPreference, ReadPreferenceMode};
use marula::schema::{Apply, SyncMode};
use marula::{Error, SchemaError};
use marula_test_server::TestServer;

/// The filter of an upsert must not contain `$expr`.
#[tokio::test]
async fn the_lease_is_taken_by_its_id() {
    let deployments = [
        TestServer::builder().standalone(),
        TestServer::builder().replica_set(),
        TestServer::builder().sharded(),
        TestServer::builder().load_balanced(),
    ];
    for builder in deployments {
        let env = Env::start_with(builder).await;
        let observed = Observed::of(&env);
        create::<OldVisit>(&env.db).await;
        let schema = env.db.driver().collection::<Doc>("marula_schema");
        // No lease, and leases without a date of expiry.
        for content in [
            doc! {},
            doc! { "_id": "lease" },
            doc! { "_id": "lease", "holder": "another", "expires_at": "soon" },
            doc! { "_id": "lease", "holder": "another", "expires_at": bson::DateTime::from_millis(1) },
        ] {
            if !content.is_empty() {
                schema.insert_one(&content).await.unwrap();
            }
            let apply = Apply::full()
                .lease_wait(Duration::ZERO)
                .drop_obsolete(Duration::ZERO);
            let index =
                doc! { "createIndexes": "visits", "indexes": [{ "key": { "at": -1 }, "name": "at_1x" }] };
            env.db.driver().run_command(index).await.unwrap();
            let record = doc! { "_id": { "collection": "visits", "index": "at_1x" } };
            schema.insert_one(&record).await.unwrap();
            let plan = observed.db.schema().register::<OldVisit>().plan().await.unwrap();
            let applied = plan.apply(apply).await.unwrap();
            assert_eq!(applied.dropped.len(), 1, "{content}: {applied}");
            assert_eq!(schema.count_documents(doc! { "_id": "lease" }).await.unwrap(), 0);

            let sent = observed.take("findAndModify");
            assert_eq!(sent.len(), 1, "{sent:?}");
            assert_eq!(sent[0].get_document("query").unwrap(), &doc! { "_id": "lease" });
            assert!(sent[0].get_bool("upsert").unwrap() && sent[0].get_bool("new").unwrap());
            assert_eq!(
                sent[0].get_document("writeConcern").unwrap(),
                &doc! { "w": "majority" }
            );
            assert!(!sent[0].to_string().contains("$expr"), "{}", sent[0]);
        }
        let is_own = env.is_own();
        env.stop().await;
        if !is_own {
            return;
        }
    }
}

/// Records and duplicates are read from the primary.
#[tokio::test]
async fn plans_do_not_depend_on_the_read_preference() {
    let Some(env) = start("8.2").await else {
        return;
    };
    let observed = Observed::with_options(&env, |options| {
        options.read_preference = ReadPreference::new(ReadPreferenceMode::Secondary);
    });
    let visits = env.db.driver().collection::<Doc>("visits");
    let documents = [
        doc! { "_id": 1_i64, "email": "a" },
        doc! { "_id": 2_i64, "email": "a" },
    ];
    visits.insert_many(&documents).await.unwrap();
    let error = observed
        .db
        .schema()
        .register::<Visit>()
        .sync(SyncMode::Additive)
        .await
        .unwrap_err();
    assert!(
        matches!(&error, Error::Schema(SchemaError::Duplicates { samples, .. }) if samples.len() == 1),
        "{error}"
    );
    let reads: Vec<Doc> = ["find", "aggregate"]
        .iter()
        .flat_map(|name| observed.take(name))
        .collect();
    assert_eq!(reads.len(), 2, "{reads:?}");
    for read in reads {
        let text = |document: &str, name: &str| {
            let found = read.get_document(document).ok();
            found.and_then(|found| found.get_str(name).ok())
        };
        let mode = text("$readPreference", "mode");
        assert!(mode.is_none_or(|mode| mode == "primary"), "{read}");
        assert_eq!(text("readConcern", "level"), Some("local"), "{read}");
    }
    env.stop().await;
}

/// A lease that was written without the acknowledgement of a majority is given back.
#[tokio::test]
async fn a_lease_is_given_back_after_a_write_concern_error() {
    let Some(env) = start("8.2").await else {
        return;
    };
    create::<OldVisit>(&env.db).await;
    let fail = doc! {
        "configureFailPoint": "failCommand", "mode": { "times": 1 },
        "data": {
            "failCommands": ["findAndModify"],
            "writeConcernError": { "code": 100, "errmsg": "not enough data-bearing nodes" },
        },
    };
    let admin = env.client().driver().database("admin");
    admin.run_command(fail).await.unwrap();
    let visits = || env.db.schema().register::<Visit>();
    let error = visits().sync(SyncMode::Full).await.unwrap_err();
    assert_eq!(
        error.driver().and_then(marula::driver::Error::code),
        Some(100),
        "{error}"
    );
    let lease = env.db.driver().collection::<Doc>("marula_schema");
    assert_eq!(lease.count_documents(doc! { "_id": "lease" }).await.unwrap(), 0);
    let apply = Apply::full().lease_wait(Duration::ZERO);
    visits().plan().await.unwrap().apply(apply).await.unwrap();
    env.stop().await;
}

/// A lease of no time would be lost at once.
#[tokio::test]
async fn a_lease_is_valid_for_at_least_a_second() {
    let Some(env) = start("8.2").await else {
        return;
    };
    create::<OldVisit>(&env.db).await;
    let plan = env.db.schema().register::<Visit>().plan().await.unwrap();
    let applied = plan.apply(Apply::full().lease(Duration::ZERO)).await.unwrap();
    assert!(!applied.is_empty(), "{applied}");
    env.stop().await;
}
