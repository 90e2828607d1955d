//! Indexes that only some server versions accept: partial filters, equal keys, expirations, wildcard keys.

use crate::common::{Env, Observed};
use crate::schema_setup::{Visit, start, unsupported};
use marula::bson::{self, doc};
use marula::schema::{Step, SyncMode};
use marula::{Document, Error, SchemaError};
use marula_test_server::TestServer;
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
                unsupported(&either.await.unwrap_err()),
                format!(
                    "the operator `$or` in the partial filter of index `due_1` (model `EitherTask`) needs MongoDB 6.0 or \
                     later, the server is {version}"
                )
            );
            let error = unsupported(&ranked(&env).sync(SyncMode::Verify).await.unwrap_err());
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
                unsupported(&tasks().sync(SyncMode::Full).await.unwrap_err()),
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
            unsupported(&log().sync(SyncMode::Additive).await.unwrap_err()),
            refused("LogEntry")
        );
        assert!(!has_created(&observed), "{version}");

        // The index exists without an expiration, in a collection whose options are not declared.
        let create = doc! { "create": "log", "capped": true, "size": 4096 };
        env.db.driver().run_command(create).await.unwrap();
        let kept = env.db.schema().register::<KeptLogEntry>();
        kept.sync(SyncMode::Additive).await.unwrap();
        let later = observed.db.schema().register::<LaterLogEntry>();
        assert_eq!(
            unsupported(&later.sync(SyncMode::Verify).await.unwrap_err()),
            refused("LaterLogEntry")
        );
        let plan = env.db.schema().register::<KeptLogEntry>().plan().await.unwrap();
        assert!(
            plan.steps().all(|(_, step)| matches!(step, Step::Keep { .. })),
            "{plan}"
        );
        env.stop().await;
    }
}

#[derive(Serialize, Deserialize, Document)]
#[document(
    collection = "pages",
    index(wildcard(fields), site, name = "by_site"),
    index(seen, ttl = "3000w"),
    index(rank, hidden)
)]
struct Page {
    _id: i64,
    rank: i32,
    site: String,
    fields: marula::bson::Document,
    seen: bson::DateTime,
}

/// A plan contains all that the server does not support, and is not applied.
#[tokio::test]
async fn a_plan_lists_all_that_the_server_does_not_support() {
    let Some(env) = start("4.2").await else {
        return;
    };
    let observed = Observed::of(&env);
    let pages = || observed.db.schema().register::<Page>();
    let plan = pages().plan().await.unwrap();
    assert!(!plan.is_empty() && plan.conflict().is_none());
    let lines: Vec<String> = [
        ("a wildcard key beside other keys", "by_site", "7.0"),
        (
            "the option `expireAfterSeconds`, with more seconds than have passed since 1970,",
            "seen_1",
            "6.0",
        ),
        ("the option `hidden`", "rank_1", "4.4"),
    ]
    .iter()
    .map(|(what, index, version)| {
        format!(
            "{what} of index `{index}` (model `Page`) needs MongoDB {version} or later, the server is 4.2"
        )
    })
    .collect();
    let text = plan.to_string();
    for line in &lines {
        assert!(text.contains(&format!("  ! refused  {line}\n")), "{text}");
    }
    for mode in [SyncMode::Verify, SyncMode::Additive, SyncMode::Full] {
        let error = pages().sync(mode).await.unwrap_err();
        assert_eq!(unsupported(&error), lines.join("; "));
        assert_eq!(error.to_string().matches(".pages: ").count(), 3, "{error}");
    }
    assert!(!has_created(&observed));
    env.stop().await;
    let Some(env) = start("7.0").await else {
        return;
    };
    let applied = env
        .db
        .schema()
        .register::<Page>()
        .sync(SyncMode::Full)
        .await
        .unwrap();
    assert_eq!(applied.created.len(), 3);
    env.stop().await;
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "sharded_tasks", index(rank, sparse))]
struct SparseTask {
    _id: i64,
    rank: i32,
}

/// The only index of the shard key cannot be dropped to build it again.
#[tokio::test]
async fn the_index_of_the_shard_key_is_not_rebuilt() {
    let env = Env::start_with(TestServer::builder().sharded()).await;
    let Some(server) = env.server() else {
        return env.stop().await;
    };
    let namespace = format!("{}.sharded_tasks", env.db.name());
    server.shard_collection(&namespace, &doc! { "rank": 1 }).unwrap();
    let tasks = || env.db.schema().register::<SparseTask>();
    let error = tasks().sync(SyncMode::Full).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "schema: index `rank_1` of {namespace} cannot be dropped: it is the only index that begins with the shard key \
             {{\"rank\": 1}}; create another index that begins with the shard key first, with a name and keys of its own"
        )
    );
    let error = tasks().sync(SyncMode::Additive).await.unwrap_err().to_string();
    assert!(
        error.contains("differs in sparse:") && error.contains("let `SyncMode::Full` or `Apply::rebuild`"),
        "{error}"
    );
    env.stop().await;
}

/// An expiration that a rebuild adds deletes documents, as that of a new index.
#[tokio::test]
async fn a_rebuild_says_that_documents_expire() {
    let Some(env) = start("5.0").await else {
        return;
    };
    let create = doc! { "createIndexes": "visits", "indexes": [{ "key": { "at": 1 }, "name": "at_1" }] };
    env.db.driver().run_command(create).await.unwrap();
    let plan = env.db.schema().register::<Visit>().plan().await.unwrap();
    let text = plan.to_string();
    let line = text
        .lines()
        .find(|line| line.contains("! conflict at_1"))
        .expect("a rebuild");
    assert!(
        line.ends_with("must be dropped and built again (deletes the documents that have expired)"),
        "{text}"
    );
    env.stop().await;
}
