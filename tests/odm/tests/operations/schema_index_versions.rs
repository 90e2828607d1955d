//! Indexes that only some server versions accept: partial filters, equal keys, expirations in capped collections.

use crate::common::{Env, Observed};
use crate::schema_deployments::start;
use marula::bson::{self, doc};
use marula::schema::{Step, SyncMode};
use marula::{Document, Error, SchemaError};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "tasks", index(due, name = "urgent", partial(due > 0 && rank > 5)))]
struct Task {
    _id: i64,
    due: i64,
    rank: i32,
}

/// A task with another name and another filter of its index.
#[derive(Serialize, Deserialize, Document)]
#[document(collection = "tasks", index(due, name = "ranked", partial(rank > 7)))]
struct ChangedTask {
    _id: i64,
    due: i64,
    rank: i32,
}

#[derive(Serialize, Deserialize, Document)]
#[document(
    collection = "tasks",
    index(due, name = "urgent", partial(due > 0)),
    index(due, name = "ranked", partial(rank > 7))
)]
struct TwiceIndexedTask {
    _id: i64,
    due: i64,
    rank: i32,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "tasks", index(due, partial(due > 0 || rank > 5)))]
struct EitherTask {
    _id: i64,
    due: i64,
    rank: i32,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "tasks", index(due, partial(rank.is_in([1, 2]))))]
struct RankedTask {
    _id: i64,
    due: i64,
    rank: i32,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "log", capped(size = 4096), index(at, ttl = "1h"))]
struct LogEntry {
    _id: i64,
    at: bson::DateTime,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "log", index(at, ttl = "2h"))]
struct LaterLogEntry {
    _id: i64,
    at: bson::DateTime,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "log", index(at))]
struct KeptLogEntry {
    _id: i64,
    at: bson::DateTime,
}

/// The text of the error of a plan, without its namespace.
fn unsupported<T: std::fmt::Debug>(result: marula::Result<T>) -> String {
    let error = result.expect_err("an error");
    assert!(
        matches!(error, Error::Schema(SchemaError::Unsupported { .. })),
        "{error}"
    );
    let text = error.to_string();
    text.splitn(3, ": ").last().expect("a text").to_owned()
}

fn has_created(observed: &Observed) -> bool {
    !observed.take("create").is_empty() || !observed.take("createIndexes").is_empty()
}

/// Before MongoDB 6.0 a partial filter is one conjunction.
#[tokio::test]
async fn operators_of_partial_filters_need_a_server_that_has_them() {
    for version in ["4.2", "5.0", "6.0"] {
        let Some(env) = start(version).await else {
            return;
        };
        let observed = Observed::of(&env);
        let either = observed.db.schema().register::<EitherTask>().sync(SyncMode::Full);
        let ranked = |env: &Env| env.db.schema().register_named::<RankedTask>("ranked_tasks");
        if version == "6.0" {
            assert_eq!(either.await.unwrap().created.len(), 1);
            assert_eq!(ranked(&env).sync(SyncMode::Full).await.unwrap().created.len(), 1);
        } else {
            assert_eq!(
                unsupported(either.await),
                format!(
                    "the operator `$or` in the partial filter of index `due_1` (model `EitherTask`) needs MongoDB 6.0 or \
                     later, the server is {version}"
                )
            );
            let error = unsupported(ranked(&env).plan().await);
            assert!(
                error.starts_with("the operator `$in` in the partial filter"),
                "{error}"
            );
            assert!(!has_created(&observed), "{version}");
        }
        // A conjunction is accepted by all versions.
        let task = env.db.schema().register_named::<Task>("plain_tasks");
        assert_eq!(
            task.sync(SyncMode::Full).await.unwrap().created.len(),
            1,
            "{version}"
        );
        env.stop().await;
    }
}

/// Before MongoDB 5.0 indexes with equal keys and the same collation are the same index.
#[tokio::test]
async fn a_changed_partial_filter_is_a_rebuild_where_it_is_not_another_index() {
    for version in ["4.2", "4.4", "5.0"] {
        let Some(env) = start(version).await else {
            return;
        };
        let tasks = env.db.schema().register::<Task>();
        tasks.sync(SyncMode::Additive).await.unwrap();
        let changed = || env.db.schema().register::<ChangedTask>();
        if version == "5.0" {
            let applied = changed().sync(SyncMode::Additive).await.unwrap();
            assert_eq!(applied.created.len(), 1, "{applied}");
            env.stop().await;
            continue;
        }
        let error = changed().sync(SyncMode::Additive).await.unwrap_err();
        assert!(
            matches!(&error, Error::Schema(SchemaError::OptionsConflict { index, .. }) if index == "ranked"),
            "{version}: {error}"
        );
        let applied = changed().sync(SyncMode::Full).await.unwrap();
        assert_eq!(applied.rebuilt.len(), 1, "{version}: {applied}");
        assert!(
            changed().sync(SyncMode::Full).await.unwrap().is_empty(),
            "{version}"
        );
        env.stop().await;
    }
}

#[tokio::test]
async fn indexes_with_equal_keys_need_a_server_that_has_them() {
    for version in ["4.4", "5.0"] {
        let Some(env) = start(version).await else {
            return;
        };
        let observed = Observed::of(&env);
        let tasks = || observed.db.schema().register::<TwiceIndexedTask>();
        if version == "5.0" {
            assert_eq!(tasks().sync(SyncMode::Additive).await.unwrap().created.len(), 2);
            assert!(tasks().sync(SyncMode::Full).await.unwrap().is_empty());
        } else {
            assert_eq!(
                unsupported(tasks().sync(SyncMode::Full).await),
                "index `ranked` (model `TwiceIndexedTask`) with the keys of index `urgent` needs MongoDB 5.0 or later, the \
                 server is 4.4"
            );
            assert!(!has_created(&observed));
        }
        env.stop().await;
    }
}

/// MongoDB 6.0 and 7.0 refuse indexes with an expiration in capped collections.
#[tokio::test]
async fn an_expiration_in_a_capped_collection_is_an_error_of_the_plan_where_it_is_refused() {
    for version in ["5.0", "6.0", "7.0", "8.0"] {
        let Some(env) = start(version).await else {
            return;
        };
        let observed = Observed::of(&env);
        let log = || observed.db.schema().register::<LogEntry>();
        if ["5.0", "8.0"].contains(&version) {
            let applied = log().sync(SyncMode::Additive).await.unwrap();
            assert_eq!(applied.created.len(), 1, "{version}: {applied}");
            env.stop().await;
            continue;
        }
        let refused = |model: &str| {
            format!(
                "the option `expireAfterSeconds` of index `at_1` (model `{model}`) in a capped collection needs MongoDB 7.1 or \
                 later, the server is {version}"
            )
        };
        assert_eq!(
            unsupported(log().sync(SyncMode::Additive).await),
            refused("LogEntry")
        );
        assert!(!has_created(&observed), "{version}");

        // The index exists without an expiration, in a collection whose options are not declared.
        let create = doc! { "create": "log", "capped": true, "size": 4096 };
        env.db.driver().run_command(create).await.unwrap();
        let kept = env.db.schema().register::<KeptLogEntry>();
        kept.sync(SyncMode::Additive).await.unwrap();
        let later = observed.db.schema().register::<LaterLogEntry>();
        assert_eq!(unsupported(later.plan().await), refused("LaterLogEntry"));
        let plan = env.db.schema().register::<KeptLogEntry>().plan().await.unwrap();
        assert!(
            plan.steps().all(|(_, step)| matches!(step, Step::Keep { .. })),
            "{plan}"
        );
        env.stop().await;
    }
}
