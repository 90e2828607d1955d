//! What the tests of schema plans have in common.

use crate::common::{Env, Observed};
use marula::bson::{self, Document as Doc, doc};
use marula::schema::SyncMode;
use marula::{Database, Document, Error, Model, SchemaError};
use marula_test_server::TestServer;
use serde::{Deserialize, Serialize};

/// An earlier version of [`Visit`].
#[derive(Serialize, Deserialize, Document)]
#[document(collection = "visits", index(at), index(email), index(old))]
pub(crate) struct OldVisit {
    _id: i64,
    at: bson::DateTime,
    email: String,
    old: i32,
}

/// A visit of a page.
#[derive(Serialize, Deserialize, Document)]
#[document(collection = "visits", index(at, ttl = "1h"), index(email, unique))]
pub(crate) struct Visit {
    _id: i64,
    at: bson::DateTime,
    email: String,
}

/// An in-process server of this version. `None` with a message if the tests run on another deployment.
pub(crate) async fn start(version: &str) -> Option<Env> {
    if std::env::var("MONGODB_URI").is_ok() {
        eprintln!("skipped: the test needs a server of version {version}");
        return None;
    }
    Some(Env::start_with(TestServer::builder().replica_set().version(version)).await)
}

/// Creates what a model declares.
pub(crate) async fn create<D: Model>(database: &Database) {
    let creating = database.schema().register::<D>().sync(SyncMode::Additive);
    creating.await.expect("it is created");
}

/// What an error of plans says that the deployment does not support, without the namespaces.
///
/// # Panics
/// If it is another error.
pub(crate) fn unsupported(error: &Error) -> String {
    let Error::Schema(SchemaError::Unsupported { features }) = error else {
        panic!("{error}");
    };
    let features: Vec<String> = features
        .iter()
        .map(|lacking| format!("{} needs {}", lacking.feature, lacking.requirement))
        .collect();
    features.join("; ")
}

/// The commands that write or change.
pub(crate) fn changes(observed: &Observed) -> Vec<Doc> {
    [
        "create",
        "createIndexes",
        "collMod",
        "dropIndexes",
        "findAndModify",
        "update",
        "insert",
    ]
    .iter()
    .flat_map(|name| observed.take(name))
    .collect()
}

pub(crate) async fn fail(env: &Env, command: &str, code: i32, mode: Doc) {
    let fail = doc! {
        "configureFailPoint": "failCommand", "mode": mode, "data": { "failCommands": [command], "errorCode": code },
    };
    let admin = env.client().driver().database("admin");
    admin.run_command(fail).await.expect("a fail point");
}
