//! Plans that fail between two commands: what is recorded and reported.

use crate::common::Env;
use marula::bson::{self, Document as Doc, doc};
use marula::driver::IndexModel;
use marula::schema::{Applied, IndexChange, Schema, Step, SyncMode};
use marula::{Document, Error, SchemaError};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "visits", index(email), index(at, ttl = "2h"))]
struct Visit {
    _id: i64,
    at: bson::DateTime,
    email: String,
}

/// Without indexes.
#[derive(Serialize, Deserialize, Document)]
#[document(collection = "visits")]
struct PlainVisit {
    _id: i64,
}

/// Two changes of one index.
#[derive(Serialize, Deserialize, Document)]
#[document(collection = "visits", index(email), index(at, ttl = "1h", hidden))]
struct ChangedVisit {
    _id: i64,
    at: bson::DateTime,
    email: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "visits", index(email, unique), index(at, ttl = "2h"))]
struct UniqueVisit {
    _id: i64,
    at: bson::DateTime,
    email: String,
}

/// An index that must be built again.
#[derive(Serialize, Deserialize, Document)]
#[document(collection = "visits", index(email, sparse), index(at, ttl = "2h"))]
struct SparseVisit {
    _id: i64,
    at: bson::DateTime,
    email: String,
}

/// An explicit name for the same key is another index, which must be built again.
#[derive(Serialize, Deserialize, Document)]
#[document(collection = "visits", index(email, name = "by_email"), index(at, ttl = "2h"))]
struct NamedVisit {
    _id: i64,
    at: bson::DateTime,
    email: String,
}

fn schema<D: marula::Model>(env: &Env) -> Schema {
    env.db.schema().register::<D>()
}

/// Commands of this name fail as `mode` and `how` say.
async fn fail(env: &Env, command: &str, mode: Doc, how: Doc) {
    let mut data = doc! { "failCommands": [command] };
    data.extend(how);
    let fail_point = doc! { "configureFailPoint": "failCommand", "mode": mode, "data": data };
    let admin = env.client().driver().database("admin");
    admin.run_command(fail_point).await.expect("a fail point");
}

async fn fail_no_more(env: &Env) {
    let off = doc! { "configureFailPoint": "failCommand", "mode": "off" };
    let admin = env.client().driver().database("admin");
    admin.run_command(off).await.expect("a fail point");
}

/// Error 96 (`OperationFailed`).
fn with_error() -> Doc {
    doc! { "errorCode": 96 }
}

async fn create_email_index(env: &Env) {
    let visits = env.db.driver().collection::<Doc>("visits");
    let index = IndexModel::new(doc! { "email": 1 });
    visits.create_index(index).await.expect("an index");
}

async fn index_names(env: &Env) -> Vec<String> {
    let visits = env.db.driver().collection::<Doc>("visits");
    let mut names = visits.list_index_names().await.expect("a reply");
    names.sort();
    names
}

/// The steps of a model that declares no index: which of the existing ones were created from
/// declarations.
async fn obsolete(env: &Env) -> Vec<String> {
    let plan = schema::<PlainVisit>(env).plan().await.expect("a plan");
    let names = plan.steps().filter_map(|(_, step)| match step {
        Step::Obsolete { name, .. } => Some(name.clone()),
        _ => None,
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn partly(error: Error) -> (Applied, Error) {
    match error {
        Error::Schema(SchemaError::PartlyApplied { applied, source }) => (*applied, *source),
        other => panic!("another error: {other}"),
    }
}

fn of_visits(env: &Env, name: &str) -> (String, String) {
    (format!("{}.visits", env.db.name()), name.to_owned())
}

#[tokio::test]
async fn an_index_whose_creation_failed_is_not_recorded() {
    let env = Env::start().await;
    if !env.is_own() {
        return env.stop().await;
    }
    fail(&env, "createIndexes", doc! { "times": 1 }, with_error()).await;
    let error = schema::<Visit>(&env).sync(SyncMode::Additive).await.unwrap_err();
    assert_eq!(
        error.driver().and_then(marula::driver::Error::code),
        Some(96),
        "{error}"
    );
    let recorded = env.db.driver().collection::<Doc>("marula_schema");
    assert_eq!(recorded.count_documents(doc! {}).await.unwrap(), 0);
    // Another client creates an index of this name.
    create_email_index(&env).await;
    assert_eq!(obsolete(&env).await, Vec::<String>::new());
    let applied = schema::<PlainVisit>(&env).sync(SyncMode::Full).await.unwrap();
    assert!(applied.is_empty(), "{applied}");
    env.stop().await;
}

#[tokio::test]
async fn an_index_without_a_reply_is_recorded_when_it_is_found() {
    let env = Env::start().await;
    if !env.is_own() {
        return env.stop().await;
    }
    let closed = doc! { "closeConnection": true };
    fail(&env, "createIndexes", doc! { "times": 1 }, closed).await;
    let error = schema::<Visit>(&env).sync(SyncMode::Additive).await.unwrap_err();
    assert!(error.driver().is_some_and(|e| e.code().is_none()), "{error}");
    // Whether it exists is not known, so that it is not one that may be dropped.
    create_email_index(&env).await;
    assert_eq!(obsolete(&env).await, Vec::<String>::new());
    // The next instance finds it as it is declared.
    schema::<Visit>(&env).sync(SyncMode::Additive).await.unwrap();
    assert_eq!(obsolete(&env).await, ["at_1", "email_1"]);
    env.stop().await;
}

#[tokio::test]
async fn an_index_that_was_dropped_and_not_created_is_not_recorded() {
    let env = Env::start().await;
    if !env.is_own() {
        return env.stop().await;
    }
    schema::<Visit>(&env).sync(SyncMode::Additive).await.unwrap();
    let visits = env.db.driver().collection::<Doc>("visits");
    visits.drop_index("email_1").await.unwrap();
    fail(&env, "createIndexes", doc! { "times": 1 }, with_error()).await;
    schema::<Visit>(&env).sync(SyncMode::Additive).await.unwrap_err();
    create_email_index(&env).await;
    assert_eq!(obsolete(&env).await, ["at_1"]);
    env.stop().await;
}

#[tokio::test]
async fn a_rebuild_that_fails_after_the_drop_reports_the_drop() {
    let env = Env::start().await;
    if !env.is_own() {
        return env.stop().await;
    }
    schema::<Visit>(&env).sync(SyncMode::Additive).await.unwrap();
    fail(&env, "createIndexes", doc! { "times": 1 }, with_error()).await;
    let error = schema::<SparseVisit>(&env)
        .sync(SyncMode::Full)
        .await
        .unwrap_err();
    let text = error.to_string();
    let (applied, source) = partly(error);
    let mut expected = Applied::default();
    expected.dropped.push(of_visits(&env, "email_1"));
    assert_eq!(applied, expected);
    assert!(text.contains("visits email_1"), "{text}");
    assert_eq!(
        source.driver().and_then(marula::driver::Error::code),
        Some(96),
        "{source}"
    );
    assert_eq!(index_names(&env).await, ["_id_", "at_1"]);
    // An index of this name by another client is unknown.
    create_email_index(&env).await;
    assert_eq!(obsolete(&env).await, ["at_1"]);
    let applied = schema::<SparseVisit>(&env).sync(SyncMode::Full).await.unwrap();
    assert_eq!(applied.rebuilt, [of_visits(&env, "email_1")]);
    assert!(
        applied.created.is_empty() && applied.dropped.is_empty(),
        "{applied}"
    );
    assert_eq!(obsolete(&env).await, ["at_1", "email_1"]);
    env.stop().await;
}

#[tokio::test]
async fn a_rebuild_with_another_name_leaves_no_record_of_the_former() {
    let env = Env::start().await;
    if !env.is_own() {
        return env.stop().await;
    }
    schema::<Visit>(&env).sync(SyncMode::Additive).await.unwrap();
    let applied = schema::<NamedVisit>(&env).sync(SyncMode::Full).await.unwrap();
    assert_eq!(applied.rebuilt, [of_visits(&env, "by_email")], "{applied}");
    let visits = env.db.driver().collection::<Doc>("visits");
    visits.drop_index("by_email").await.unwrap();
    create_email_index(&env).await;
    assert_eq!(obsolete(&env).await, ["at_1"]);
    env.stop().await;
}

#[tokio::test]
async fn each_change_of_an_index_is_reported() {
    let env = Env::start().await;
    if !env.is_own() {
        return env.stop().await;
    }
    schema::<Visit>(&env).sync(SyncMode::Additive).await.unwrap();
    let once_after_one = doc! { "skip": 1 };
    fail(&env, "collMod", once_after_one, with_error()).await;
    let error = schema::<ChangedVisit>(&env)
        .sync(SyncMode::Full)
        .await
        .unwrap_err();
    fail_no_more(&env).await;
    let (applied, _) = partly(error);
    let (namespace, name) = of_visits(&env, "at_1");
    let shorter = IndexChange::ExpireAfter {
        seconds: 3600,
        before: Some(7200),
    };
    assert_eq!(applied.modified, [(namespace.clone(), name.clone())]);
    assert_eq!(
        applied.index_changes,
        [(namespace.clone(), name.clone(), shorter.clone())]
    );
    let text = applied.to_string();
    assert!(text.contains("at_1 (expireAfterSeconds: 7200 → 3600"), "{text}");

    let applied = schema::<ChangedVisit>(&env).sync(SyncMode::Full).await.unwrap();
    assert_eq!(
        applied.index_changes,
        [(namespace, name, IndexChange::Hidden(true))]
    );
    env.stop().await;
}

#[tokio::test]
async fn an_index_that_remains_prepared_for_unique_is_reported() {
    let env = Env::start().await;
    if !env.is_own() {
        return env.stop().await;
    }
    schema::<Visit>(&env).sync(SyncMode::Additive).await.unwrap();
    // The change to `unique` and the change back fail.
    fail(&env, "collMod", doc! { "skip": 1 }, with_error()).await;
    let error = schema::<UniqueVisit>(&env)
        .sync(SyncMode::Full)
        .await
        .unwrap_err();
    fail_no_more(&env).await;
    let (applied, _) = partly(error);
    let (namespace, name) = of_visits(&env, "email_1");
    assert_eq!(
        applied.index_changes,
        [(namespace.clone(), name.clone(), IndexChange::PrepareUnique)]
    );
    let applied = schema::<UniqueVisit>(&env).sync(SyncMode::Full).await.unwrap();
    assert_eq!(applied.index_changes, [(namespace, name, IndexChange::Unique)]);
    env.stop().await;
}
