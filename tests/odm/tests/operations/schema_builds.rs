//! Schema plans beside the index builds of other clients.

use std::time::Duration;

use crate::common::{Env, Observed};
use crate::schema_setup::{OldVisit, Visit, create, fail, start};
use marula::bson::{self, Document as Doc, doc};
use marula::schema::{Apply, Step, SyncMode};
use marula::{Document, Error, SchemaError};
use marula_test_server::{HeldIndexBuilds, TestServer};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "visits", index(email, hidden))]
struct HiddenVisit {
    _id: i64,
    email: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "visits", index(email))]
struct MailedVisit {
    _id: i64,
    email: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "visits", index(old, unique))]
struct UniqueOldVisit {
    _id: i64,
    old: i32,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "visits")]
struct BareVisit {
    _id: i64,
}

/// Returns after this number of commands `listIndexes`.
async fn listed(observed: &Observed, count: usize) {
    let mut seen = 0;
    while seen < count {
        seen += observed.take("listIndexes").len();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Two visits, and a build of an index that does not end. Drop the build, and the future returns its reply.
async fn building(
    env: &Env,
    server: &TestServer,
    index: Doc,
) -> (
    HeldIndexBuilds,
    tokio::task::JoinHandle<marula::driver::Result<Doc>>,
) {
    let visits = env.db.driver().collection::<Doc>("visits");
    let visit = |id: i64| doc! { "_id": id, "at": bson::DateTime::now(), "email": id.to_string(), "old": 1 };
    let inserted = visits.insert_many(&[visit(1), visit(2)]).await;
    inserted.expect("they are inserted");
    let builds = server.hold_index_builds();
    let database = env.db.driver().clone();
    let sending = tokio::spawn(async move {
        let command = doc! { "createIndexes": "visits", "indexes": [index] };
        database.run_command(command).await
    });
    builds.wait_for_builds(1).await;
    (builds, sending)
}

/// An index that another client is building does not exist yet.
#[tokio::test]
async fn an_index_that_is_being_built_is_waited_for() {
    let deployments = [
        TestServer::builder().replica_set().version("4.4"),
        TestServer::builder().replica_set(),
        TestServer::builder().sharded(),
    ];
    for builder in deployments {
        let env = Env::start_with(builder).await;
        let Some(server) = env.server() else {
            return env.stop().await;
        };
        let index = doc! { "key": { "email": 1 }, "name": "mail" };
        let (builds, sending) = building(&env, server, index).await;
        let observed = Observed::of(&env);
        let schema = || observed.db.schema().register::<MailedVisit>();
        let plan = schema().plan().await.unwrap();
        let steps: Vec<&Step> = plan.steps().map(|(_, step)| step).collect();
        let specification = doc! { "key": { "email": 1 }, "name": "mail" };
        assert_eq!(
            steps,
            [&Step::Building {
                name: "mail".to_owned(),
                specification: specification.clone(),
            }]
        );
        let text = plan.to_string();
        assert!(
            !plan.is_empty() && text.contains("another client is building it"),
            "{text}"
        );
        let error = schema().sync(SyncMode::Verify).await.unwrap_err();
        assert!(
            matches!(&error, Error::Schema(SchemaError::NotInSync { plan }) if plan.contains("is building it")),
            "{error}"
        );
        observed.take("listIndexes");
        let mut applying = Vec::new();
        for mode in [SyncMode::Additive, SyncMode::Full] {
            applying.push(tokio::spawn(schema().sync(mode)));
            // The plan, and the wait.
            listed(&observed, 2).await;
        }
        assert!(applying.iter().all(|applying| !applying.is_finished()));
        builds.release();
        sending.await.unwrap().unwrap();
        for applying in applying {
            let applied = applying.await.unwrap().unwrap();
            assert!(applied.is_empty(), "{applied}");
        }
        assert!(observed.take("createIndexes").is_empty());
        assert!(schema().plan().await.unwrap().is_empty());
        // The index is one of the other client: it is unknown, and not obsolete, without its
        // declaration.
        let plan = env.db.schema().register::<BareVisit>().plan().await.unwrap();
        let steps: Vec<&Step> = plan.steps().map(|(_, step)| step).collect();
        assert!(matches!(steps[..], [Step::Unknown { .. }]), "{plan}");
        env.stop().await;
    }
}

/// The failure of the build of another client is reported.
#[tokio::test]
async fn a_build_of_another_client_that_fails_is_an_error() {
    let env = Env::start_with(TestServer::builder().replica_set()).await;
    let Some(server) = env.server() else {
        return env.stop().await;
    };
    let index = doc! { "key": { "old": 1 }, "name": "old_1", "unique": true };
    let (builds, sending) = building(&env, server, index).await;
    let observed = Observed::of(&env);
    let schema = observed.db.schema().register::<UniqueOldVisit>();
    let applying = tokio::spawn(schema.sync(SyncMode::Additive));
    listed(&observed, 2).await;
    builds.release();
    assert!(sending.await.unwrap().unwrap_err().is_duplicate_key());
    let error = applying.await.unwrap().unwrap_err();
    assert!(
        matches!(error, Error::Schema(SchemaError::Duplicates { .. })),
        "{error}"
    );
    env.stop().await;
}

/// The wait for the build of a declared index has a limit.
#[tokio::test]
async fn the_wait_for_a_declared_index_has_a_limit() {
    let env = Env::start_with(TestServer::builder().replica_set()).await;
    let Some(server) = env.server() else {
        return env.stop().await;
    };
    let index = doc! { "key": { "email": 1 }, "name": "mail" };
    let (builds, sending) = building(&env, server, index).await;
    let plan = env.db.schema().register::<MailedVisit>().plan().await.unwrap();
    let apply = Apply::additive().lease_wait(Duration::from_millis(20));
    let error = plan.apply(apply).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "schema: the creation of index `mail` of {}.visits has waited 20ms for index builds of other clients (mail); apply \
             again when they have ended, or wait longer with `Apply::lease_wait`",
            env.db.name()
        )
    );
    assert!(error.driver().is_none());
    builds.release();
    sending.await.unwrap().unwrap();
    env.stop().await;
}

/// The error after the wait names the index that is being built.
#[tokio::test]
async fn a_change_that_a_build_prevents_names_the_build() {
    let env = Env::start_with(TestServer::builder().replica_set()).await;
    let Some(server) = env.server() else {
        return env.stop().await;
    };
    create::<OldVisit>(&env.db).await;
    let index = doc! { "key": { "at": -1 }, "name": "newest" };
    let (builds, sending) = building(&env, server, index).await;
    let schema = || env.db.schema().register::<HiddenVisit>();
    let apply = Apply::full().lease_wait(Duration::ZERO);
    let error = schema()
        .plan()
        .await
        .unwrap()
        .apply(apply.clone())
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "schema: the change of index `email_1` of {}.visits has waited 0ns for index builds of other clients (newest); \
             apply again when they have ended, or wait longer with `Apply::lease_wait`",
            env.db.name()
        )
    );
    builds.release();
    sending.await.unwrap().unwrap();
    schema().plan().await.unwrap().apply(apply).await.unwrap();
    env.stop().await;
}

/// A network error of the list of indexes is followed by another attempt, as of other reads.
#[tokio::test]
async fn the_list_of_indexes_is_read_again_after_a_network_error() {
    let Some(env) = start("8.2").await else {
        return;
    };
    let admin = env.client().driver().database("admin");
    let close = doc! {
        "configureFailPoint": "failCommand", "mode": { "times": 1 },
        "data": { "failCommands": ["listIndexes"], "closeConnection": true },
    };
    admin.run_command(close).await.unwrap();
    let plan = env.db.schema().register::<MailedVisit>().plan().await.unwrap();
    assert!(!plan.is_empty());
    env.stop().await;
}

/// `collMod` and `dropIndexes` are refused while another index of the collection is built, such as by a rolling build.
#[tokio::test]
async fn changes_wait_for_index_builds_of_others() {
    let Some(env) = start("8.2").await else {
        return;
    };
    let observed = Observed::of(&env);
    let visits = || observed.db.schema().register::<Visit>();
    create::<OldVisit>(&env.db).await;
    fail(&env, "collMod", 12_587, doc! { "times": 3 }).await;
    visits().sync(SyncMode::Full).await.unwrap();
    // `expireAfterSeconds`, `prepareUnique`, `unique`, `hidden`.
    assert_eq!(observed.take("collMod").len(), 3 + 4);

    tokio::time::sleep(Duration::from_millis(5)).await;
    fail(&env, "dropIndexes", 12_586, doc! { "times": 2 }).await;
    let soon = Apply::full().drop_obsolete(Duration::from_millis(1));
    let applied = visits().plan().await.unwrap().apply(soon).await.unwrap();
    assert_eq!(applied.dropped.len(), 1, "{applied}");
    assert_eq!(observed.take("dropIndexes").len(), 2 + 1);

    // The wait has a limit.
    let admin = env.client().driver().database("admin");
    let always = doc! {
        "configureFailPoint": "failCommand", "mode": "alwaysOn",
        "data": { "failCommands": ["collMod"], "errorCode": 12_587 },
    };
    admin.run_command(always).await.unwrap();
    let hidden = env.db.schema().register::<HiddenVisit>().plan().await.unwrap();
    let apply = Apply::full().lease_wait(Duration::from_millis(100));
    let error = hidden.apply(apply).await.unwrap_err();
    let code = error.driver().and_then(marula::driver::Error::code);
    assert_eq!(code, Some(12_587), "{error:#}");
    let Error::Schema(SchemaError::PartlyApplied { source, .. }) = &error else {
        panic!("{error}");
    };
    assert!(
        matches!(&**source, Error::Schema(SchemaError::BuildInProgress { building, .. }) if building.is_empty()),
        "{source}"
    );
    env.stop().await;
}

/// A change to unique that the end of the wait for an index build prevents is reverted, within a time of its own.
#[tokio::test]
async fn a_failed_change_to_unique_is_reverted_after_the_wait() {
    let Some(env) = start("8.2").await else {
        return;
    };
    create::<OldVisit>(&env.db).await;
    let observed = Observed::of(&env);
    let plan = observed.db.schema().register::<Visit>().plan().await.unwrap();
    // `expireAfterSeconds` and `prepareUnique` succeed.
    fail(&env, "collMod", 12_587, doc! { "skip": 2 }).await;
    let applying = tokio::spawn(async move {
        let apply = Apply::full().lease_wait(Duration::ZERO);
        plan.apply(apply).await
    });
    let mut sent = Vec::new();
    let is_reverting = |sent: &[Doc]| {
        sent.iter()
            .any(|command| command.to_string().contains("\"prepareUnique\": false"))
    };
    while !is_reverting(&sent) && !applying.is_finished() {
        tokio::time::sleep(Duration::from_millis(5)).await;
        sent.extend(observed.take("collMod"));
    }
    let off = doc! { "configureFailPoint": "failCommand", "mode": "off" };
    let admin = env.client().driver().database("admin");
    admin.run_command(off).await.unwrap();
    let error = applying.await.unwrap().unwrap_err();
    assert_eq!(
        error.driver().and_then(marula::driver::Error::code),
        Some(12_587),
        "{error:#}"
    );
    let visits = env.db.driver().collection::<Doc>("visits");
    let mut indexes = visits.list_indexes().with_type::<Doc>().await.unwrap();
    while indexes.advance().await.unwrap() {
        let index: Doc = indexes.deserialize_current().unwrap();
        assert!(!index.contains_key("prepareUnique"), "{index}");
    }
    env.stop().await;
}
