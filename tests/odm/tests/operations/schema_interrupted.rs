//! Instances that end while they apply a plan, and indexes that get another name.

use std::time::Duration;

use crate::common::Env;
use marula::bson::{self, doc};
use marula::driver::IndexModel;
use marula::driver::event::{CommandEvent, EventListener};
use marula::driver::options::ClientOptions;
use marula::schema::{Apply, Step, SyncMode};
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
#[document(collection = "visits", index(at, ttl = "2h"), index(email), index(page))]
struct OldVisit {
    _id: i64,
    at: bson::DateTime,
    email: String,
    page: String,
}

/// The change of an index to unique has two commands; the instance ends during the second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_that_ends_between_two_commands_is_continued_by_the_next() {
    let env = Env::start().await;
    if !env.is_own() {
        // The command is blocked by a fail point of the server.
        return env.stop().await;
    }
    let old = env.db.schema().register::<OldVisit>();
    old.sync(SyncMode::Additive).await.unwrap();
    // The third change is blocked, and fails afterwards.
    let block = doc! {
        "configureFailPoint": "failCommand", "mode": { "skip": 2 },
        "data": { "failCommands": ["collMod"], "blockConnection": true, "blockTimeMS": 600_000, "errorCode": 11_601 },
    };
    let admin = env.client().driver().database("admin");
    admin.run_command(block).await.unwrap();

    let (began, mut commands) = tokio::sync::mpsc::unbounded_channel();
    let mut options = ClientOptions::parse(&env.uri()).expect("a valid connection string");
    options.command_listener = Some(EventListener::new(move |event: &CommandEvent| {
        if matches!(event, CommandEvent::Started(_)) && event.command_name() == "collMod" {
            let _ = began.send(());
        }
    }));
    let client = Client::with_options(options).expect("a client");
    let schema = client.database(env.db.name()).schema().register::<Visit>();
    let lease = Duration::from_secs(2);
    let instance = tokio::spawn(async move {
        let plan = schema.plan().await?;
        plan.apply(Apply::full().lease(lease)).await
    });
    for _ in 0..3 {
        commands.recv().await.expect("three changes");
    }
    instance.abort();
    assert!(instance.await.unwrap_err().is_cancelled());
    let unblock = doc! { "configureFailPoint": "failCommand", "mode": "off" };
    admin.run_command(unblock).await.unwrap();

    // What is left is in a new plan, and the lease still prevents others.
    let schema = || env.db.schema().register::<Visit>();
    let plan = schema().plan().await.unwrap();
    let left: Vec<&str> = plan
        .steps()
        .filter_map(|(_, step)| match step {
            Step::Modify { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    // The command of the ended instance can reach the server after its fail point is off.
    let is_rest = |names: &[&str]| names == ["email_1", "page_1"] || names == ["page_1"];
    assert!(is_rest(&left), "{plan}");
    let verified = schema().sync(SyncMode::Verify).await.unwrap_err();
    assert!(
        matches!(verified, Error::Schema(SchemaError::NotInSync { .. })),
        "{verified}"
    );
    let early = plan
        .apply(Apply::full().lease_wait(Duration::ZERO))
        .await
        .unwrap_err();
    assert!(
        matches!(early, Error::Schema(SchemaError::LeaseTimeout { .. })),
        "{early}"
    );

    let applied = plan.apply(Apply::full().lease(lease)).await.unwrap();
    let modified: Vec<&str> = applied.modified.iter().map(|(_, name)| &**name).collect();
    assert!(is_rest(&modified), "{applied}");
    assert!(schema().sync(SyncMode::Verify).await.unwrap().is_empty());
    client.shutdown().await;
    env.stop().await;
}

#[derive(Serialize, Deserialize, Document)]
#[document(
    collection = "parcels",
    index(code, name = "by_code", renamed_from = "legacy_code")
)]
struct Parcel {
    _id: i64,
    code: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "parcels", index(code, name = "by_code"))]
struct OtherParcel {
    _id: i64,
    code: String,
}

#[tokio::test]
async fn an_index_with_another_name_is_kept_if_that_is_declared() {
    let env = Env::start().await;
    let parcels = env.db.driver().collection::<bson::Document>("parcels");
    let legacy = {
        let mut index = IndexModel::new(doc! { "code": 1 });
        index.options.name = Some("legacy_code".to_owned());
        index
    };
    parcels.create_index(legacy).await.unwrap();
    let plan = env.db.schema().register::<Parcel>().plan().await.unwrap();
    assert!(plan.is_empty(), "{plan}");
    assert!(
        plan.to_string()
            .contains("= keep     legacy_code, declared as by_code"),
        "{plan}"
    );
    assert!(plan.apply(Apply::full()).await.unwrap().is_empty());
    // Without the former name it is another index on the same keys.
    let other = || env.db.schema().register::<OtherParcel>();
    let error = other().sync(SyncMode::Additive).await.unwrap_err();
    assert!(
        matches!(&error, Error::Schema(SchemaError::OptionsConflict { index, .. }) if index == "by_code"),
        "{error}"
    );
    let applied = other().sync(SyncMode::Full).await.unwrap();
    assert_eq!(
        applied.rebuilt,
        [(format!("{}.parcels", env.db.name()), "by_code".to_owned())]
    );
    assert!(other().sync(SyncMode::Verify).await.unwrap().is_empty());
    env.stop().await;
}

/// The only connection is in use by a change, so that the lease cannot be renewed: another instance takes
/// it, and this one must not go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_that_cannot_renew_its_lease_ends_and_reports_what_it_did() {
    let env = Env::start().await;
    if !env.is_own() {
        // The command is blocked by a fail point of the server.
        return env.stop().await;
    }
    let old = env.db.schema().register::<OldVisit>();
    old.sync(SyncMode::Additive).await.unwrap();
    // The second change is blocked.
    let block = doc! {
        "configureFailPoint": "failCommand", "mode": { "skip": 1 },
        "data": { "failCommands": ["collMod"], "blockConnection": true, "blockTimeMS": 600_000, "errorCode": 11_601 },
    };
    let admin = env.client().driver().database("admin");
    admin.run_command(block).await.unwrap();

    let mut options = ClientOptions::parse(&env.uri()).expect("a valid connection string");
    options.max_pool_size = 1;
    let client = Client::with_options(options).expect("a client");
    let schema = client.database(env.db.name()).schema().register::<Visit>();
    let plan = schema.plan().await.unwrap();
    let error = plan
        .apply(Apply::full().lease(Duration::from_secs(1)))
        .await
        .unwrap_err();
    let Error::Schema(SchemaError::PartlyApplied { applied, source }) = &error else {
        panic!("another error: {error}");
    };
    let modified: Vec<&str> = applied.modified.iter().map(|(_, name)| &**name).collect();
    assert_eq!(modified, ["at_1"], "{applied}");
    assert!(
        matches!(&**source, Error::Schema(SchemaError::LeaseLost)),
        "{source}"
    );
    let unblock = doc! { "configureFailPoint": "failCommand", "mode": "off" };
    admin.run_command(unblock).await.unwrap();
    env.db
        .schema()
        .register::<Visit>()
        .sync(SyncMode::Full)
        .await
        .unwrap();
    client.shutdown().await;
    env.stop().await;
}

/// A write to the records of indexes that fails.
async fn fail_records(env: &Env, commands: &[&str]) {
    let namespace = format!("{}.marula_schema", env.db.name());
    let fail = doc! {
        "configureFailPoint": "failCommand", "mode": "alwaysOn",
        "data": { "failCommands": commands.to_vec(), "errorCode": 13, "namespace": namespace },
    };
    let admin = env.client().driver().database("admin");
    admin.run_command(fail).await.expect("a fail point");
}

/// An index is not dropped before the record of the new one is written, and it is built again even if the
/// record of the old one cannot be removed.
#[tokio::test]
async fn a_rebuild_does_not_depend_on_the_records_of_indexes() {
    let env = Env::start().await;
    if !env.is_own() {
        return env.stop().await;
    }
    let parcels = env.db.driver().collection::<bson::Document>("parcels");
    let legacy = {
        let mut index = IndexModel::new(doc! { "code": 1 });
        index.options.name = Some("legacy_code".to_owned());
        index
    };
    parcels.create_index(legacy).await.unwrap();
    let plan = env.db.schema().register::<OtherParcel>().plan().await.unwrap();
    let lease = Duration::from_secs(1);
    fail_records(&env, &["findAndModify", "delete"]).await;
    plan.apply(Apply::full().lease(lease)).await.unwrap_err();
    let names = parcels.list_index_names().await.unwrap();
    assert_eq!(names, ["_id_", "legacy_code"]);

    fail_records(&env, &["delete"]).await;
    let error = plan.apply(Apply::full().lease(lease)).await.unwrap_err();
    assert!(
        matches!(&error, Error::Schema(SchemaError::PartlyApplied { .. })),
        "{error}"
    );
    let names = parcels.list_index_names().await.unwrap();
    assert_eq!(names, ["_id_", "by_code"]);
    env.stop().await;
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "letters", index(sender))]
struct Letter {
    _id: i64,
    sender: String,
    code: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "letters", index(sender), index(code, unique))]
struct NewLetter {
    _id: i64,
    sender: String,
    code: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "letters")]
struct PlainLetter {
    _id: i64,
    sender: String,
    code: String,
}

/// A plan from before another instance created one of its indexes fails at the other index.
#[tokio::test]
async fn a_failed_creation_keeps_the_record_of_an_index_that_another_instance_created() {
    let env = Env::start().await;
    let letters = env.db.collection::<Letter>();
    let letter = |id| Letter {
        _id: id,
        sender: "a".to_owned(),
        code: "same".to_owned(),
    };
    letters.insert_many([letter(1), letter(2)]).await.unwrap();
    let early = env.db.schema().register::<NewLetter>().plan().await.unwrap();
    let first = env.db.schema().register::<Letter>();
    let applied = first.sync(SyncMode::Additive).await.unwrap();
    assert_eq!(applied.created.len(), 1, "{applied}");
    let error = early.apply(Apply::additive()).await.unwrap_err();
    assert!(
        matches!(&error, Error::Schema(SchemaError::Duplicates { index, .. }) if index == "code_1"),
        "{error}"
    );
    // The index is known to come from a declaration.
    assert!(is_obsolete(&env, "sender_1").await);
    env.stop().await;
}

/// Whether the plan without indexes drops the index: it is known to come from a declaration.
async fn is_obsolete(env: &Env, index: &str) -> bool {
    let plan = env.db.schema().register::<PlainLetter>().plan().await;
    plan.expect("a plan")
        .steps()
        .any(|(_, step)| matches!(step, Step::Obsolete { name, .. } if name == index))
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "letters", index(code, name = "sender_1"))]
struct OtherLetter {
    _id: i64,
    sender: String,
    code: String,
}

#[tokio::test]
async fn an_index_that_could_not_be_dropped_keeps_its_record() {
    let env = Env::start().await;
    if !env.is_own() {
        return env.stop().await;
    }
    let declared = env.db.schema().register::<Letter>();
    declared.sync(SyncMode::Additive).await.unwrap();
    let plan = env.db.schema().register::<OtherLetter>().plan().await.unwrap();
    let fail = doc! {
        "configureFailPoint": "failCommand", "mode": "alwaysOn",
        "data": { "failCommands": ["dropIndexes"], "errorCode": 13 },
    };
    let admin = env.client().driver().database("admin");
    admin.run_command(fail).await.unwrap();
    let error = plan.apply(Apply::full()).await.unwrap_err();
    assert_eq!(
        error.driver().and_then(marula::driver::Error::code),
        Some(13),
        "{error}"
    );
    assert!(is_obsolete(&env, "sender_1").await);
    let off = doc! { "configureFailPoint": "failCommand", "mode": "off" };
    admin.run_command(off).await.unwrap();
    let applied = plan.apply(Apply::full()).await.unwrap();
    assert_eq!(applied.rebuilt.len(), 1, "{applied}");
    assert!(is_obsolete(&env, "sender_1").await);
    env.stop().await;
}

/// After these errors the server may go on building an index.
#[tokio::test]
async fn the_record_of_a_creation_remains_if_the_server_may_continue_it() {
    let env = Env::start().await;
    if !env.is_own() {
        return env.stop().await;
    }
    let admin = env.client().driver().database("admin");
    let records = env.db.driver().collection::<bson::Document>("marula_schema");
    // 13 Unauthorized, 6 HostUnreachable, 262 ExceededTimeLimit
    for (code, remain) in [(13, 0), (6, 1), (262, 1)] {
        let fail = doc! {
            "configureFailPoint": "failCommand", "mode": "alwaysOn",
            "data": { "failCommands": ["createIndexes"], "errorCode": code },
        };
        admin.run_command(fail).await.unwrap();
        let declared = env.db.schema().register::<Letter>();
        declared.sync(SyncMode::Additive).await.unwrap_err();
        let begun = doc! { "_id.index": "sender_1", "creating": { "$exists": true } };
        assert_eq!(records.count_documents(begun).await.unwrap(), remain, "{code}");
    }
    let off = doc! { "configureFailPoint": "failCommand", "mode": "off" };
    admin.run_command(off).await.unwrap();
    env.stop().await;
}
