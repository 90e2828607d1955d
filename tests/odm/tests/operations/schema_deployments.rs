//! Plans on older servers, on standalones, and with the strict Stable API.

use std::time::Duration;

use crate::common::{Env, Observed};
use crate::schema_setup::{OldVisit, Visit, changes, create, fail, start, unsupported};
use marula::bson::doc;
use marula::driver::options::{ServerApi, ServerApiVersion};
use marula::schema::{Apply, SearchMode, Step, SyncMode};
use marula::{Document, Error, SchemaError};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "visits", index(email, hidden))]
struct HiddenVisit {
    _id: i64,
    email: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "log", capped(size = 4096))]
struct LogEntry {
    _id: i64,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "log", capped(size = 8192))]
struct LargerLogEntry {
    _id: i64,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "audit", pre_and_post_images)]
struct AuditEntry {
    _id: i64,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "audit")]
struct PlainAuditEntry {
    _id: i64,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "films", search_index(name = "titles", string(title)))]
struct Film {
    _id: i64,
    title: String,
}

fn strict(env: &Env) -> Observed {
    Observed::with_options(env, |options| {
        options.server_api = Some(ServerApi::new(ServerApiVersion::V1).with_strict(true));
    })
}

/// `prepareUnique` and `unique` need MongoDB 6.0, `expireAfterSeconds` of an index that has none MongoDB 5.1.
#[tokio::test]
async fn an_older_server_builds_indexes_again_that_newer_ones_change() {
    for version in ["4.2", "4.4", "5.0"] {
        let Some(env) = start(version).await else {
            return;
        };
        create::<OldVisit>(&env.db).await;
        let observed = Observed::of(&env);
        let plan = observed.db.schema().register::<Visit>().plan().await.unwrap();
        let rebuilt = plan
            .steps()
            .filter(|(_, step)| matches!(step, Step::Conflict { .. }));
        assert_eq!(rebuilt.count(), 2, "{version}: {plan}");
        let apply = Apply::full().drop_obsolete(Duration::ZERO);
        let applied = plan.apply(apply).await.unwrap();
        assert_eq!(applied.rebuilt.len(), 2, "{version}: {applied}");
        assert!(observed.take("collMod").is_empty(), "{version}");
        let schema = env.db.schema().register::<Visit>();
        assert!(
            schema.sync(SyncMode::Verify).await.unwrap().is_empty(),
            "{version}"
        );
        env.stop().await;
    }
}

#[tokio::test]
async fn hidden_indexes_need_a_server_that_has_them() {
    let Some(env) = start("4.2").await else {
        return;
    };
    let observed = Observed::of(&env);
    let error = observed
        .db
        .schema()
        .register::<HiddenVisit>()
        .sync(SyncMode::Full)
        .await
        .unwrap_err();
    assert_eq!(
        unsupported(&error),
        "the option `hidden` of index `email_1` (model `HiddenVisit`) needs MongoDB 4.4 or later, the server is 4.2"
    );
    assert!(changes(&observed).is_empty());
    env.stop().await;
}

/// MongoDB 4.2 cannot hide indexes. The time is counted from when an apply found them.
#[tokio::test]
async fn obsolete_indexes_are_dropped_later_by_servers_that_cannot_hide_them() {
    let Some(env) = start("4.2").await else {
        return;
    };
    create::<OldVisit>(&env.db).await;
    env.db
        .schema()
        .register::<Visit>()
        .sync(SyncMode::Full)
        .await
        .unwrap();
    let observed = Observed::of(&env);
    let schema = || observed.db.schema().register::<Visit>();
    let plan = schema().plan().await.unwrap();
    let is_found = |step: &Step| {
        matches!(
            step,
            Step::Obsolete {
                hidden_at: Some(_),
                ..
            }
        )
    };
    assert!(plan.steps().any(|(_, step)| is_found(step)), "{plan}");
    assert!(schema().sync(SyncMode::Full).await.unwrap().is_empty());

    // Declared again, it is obsolete from a later time.
    env.db
        .schema()
        .register::<OldVisit>()
        .sync(SyncMode::Full)
        .await
        .unwrap();
    let plan = schema().plan().await.unwrap();
    assert!(!plan.steps().any(|(_, step)| is_found(step)), "{plan}");
    plan.apply(Apply::full()).await.unwrap();

    tokio::time::sleep(Duration::from_millis(5)).await;
    let soon = Apply::full().drop_obsolete(Duration::from_millis(1));
    let applied = schema().plan().await.unwrap().apply(soon).await.unwrap();
    assert_eq!(applied.dropped.len(), 1, "{applied}");
    assert!(
        observed
            .take("collMod")
            .iter()
            .all(|command| !command.to_string().contains("hidden"))
    );
    env.stop().await;
}

/// A hidden index that is shown again is obsolete from a later time.
#[tokio::test]
async fn an_index_that_was_declared_again_is_not_dropped_at_once() {
    let Some(env) = start("8.2").await else {
        return;
    };
    let old = || env.db.schema().register::<OldVisit>();
    let new = || env.db.schema().register::<Visit>();
    old().sync(SyncMode::Additive).await.unwrap();
    new().sync(SyncMode::Full).await.unwrap();
    let apply = Apply::full().coll_mod(true);
    old().plan().await.unwrap().apply(apply).await.unwrap();
    let plan = new().plan().await.unwrap();
    let is_new = |step: &Step| matches!(step, Step::Obsolete { hidden_at: None, .. });
    assert!(plan.steps().any(|(_, step)| is_new(step)), "{plan}");
    let apply = Apply::full().drop_obsolete(Duration::from_nanos(1));
    let applied = plan.apply(apply).await.unwrap();
    assert_eq!((applied.hidden.len(), applied.dropped.len()), (1, 0), "{applied}");
    env.stop().await;
}

/// Only a newer server changes the size of a capped collection, and has images.
#[tokio::test]
async fn changes_of_collections_need_a_server_that_can_make_them() {
    let Some(env) = start("5.0").await else {
        return;
    };
    create::<LogEntry>(&env.db).await;
    let observed = Observed::of(&env);
    let larger = || observed.db.schema().register::<LargerLogEntry>();
    let text = larger().plan().await.unwrap().to_string();
    assert!(
        text.contains("! conflict collection size: 4096 → 8192 (the change of size needs MongoDB 6.0 or later, the server is 5.0"),
        "{text}"
    );
    let error = larger().sync(SyncMode::Full).await.unwrap_err();
    assert_eq!(
        unsupported(&error),
        "the change of the option `size` of the collection needs MongoDB 6.0 or later, the server is 5.0"
    );
    let plan = larger().plan().await.unwrap();
    let kept = plan.apply(Apply::full().allow_conflicts(true)).await.unwrap();
    assert!(kept.is_empty(), "{kept}");

    let audit = || observed.db.schema().register::<AuditEntry>();
    let error = audit().sync(SyncMode::Additive).await.unwrap_err();
    assert_eq!(
        unsupported(&error),
        "the option `changeStreamPreAndPostImages` of the collection needs MongoDB 6.0 or later, the server is 5.0"
    );
    assert!(changes(&observed).is_empty());
    env.stop().await;
}

/// The strict Stable API has neither the change to unique, nor images, nor capped collections.
#[tokio::test]
async fn the_strict_stable_api_permits_fewer_changes() {
    let Some(env) = start("8.2").await else {
        return;
    };
    create::<OldVisit>(&env.db).await;
    env.db
        .driver()
        .run_command(doc! { "create": "audit" })
        .await
        .unwrap();
    let strict = strict(&env);
    let applied = strict
        .db
        .schema()
        .register::<Visit>()
        .sync(SyncMode::Full)
        .await
        .unwrap();
    assert_eq!(
        (applied.rebuilt.len(), applied.modified.len()),
        (1, 1),
        "{applied}"
    );
    let modified = strict.take("collMod");
    assert!(
        modified
            .iter()
            .all(|command| !command.to_string().to_lowercase().contains("unique")),
        "{modified:?}"
    );
    changes(&strict);

    let images = strict
        .db
        .schema()
        .register::<AuditEntry>()
        .sync(SyncMode::Full)
        .await
        .unwrap_err();
    let needs = "needs a client without `apiStrict`: it is not part of the Stable API, version 1";
    assert_eq!(
        unsupported(&images),
        format!("the change of the option `changeStreamPreAndPostImages` of the collection {needs}")
    );
    let images = strict.db.schema().register_named::<AuditEntry>("another_audit");
    assert_eq!(
        unsupported(&images.sync(SyncMode::Verify).await.unwrap_err()),
        format!("the option `changeStreamPreAndPostImages` of the collection {needs}")
    );
    let capped = strict
        .db
        .schema()
        .register::<LogEntry>()
        .sync(SyncMode::Full)
        .await
        .unwrap_err();
    assert_eq!(
        unsupported(&capped),
        format!("the option `capped` of the collection {needs}")
    );
    assert!(changes(&strict).is_empty());
    // A model without options does not change them.
    let plain = strict
        .db
        .schema()
        .register::<PlainAuditEntry>()
        .sync(SyncMode::Full)
        .await;
    assert!(plain.unwrap().is_empty());
    env.stop().await;
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "articles", index(text(title)))]
struct Article {
    _id: i64,
    title: String,
}

/// The strict Stable API cannot create text indexes. An existing one is not an error.
#[tokio::test]
async fn the_strict_stable_api_creates_no_text_indexes() {
    let Some(env) = start("8.2").await else {
        return;
    };
    let strict = strict(&env);
    let schema = || strict.db.schema().register::<Article>();
    let error = schema().sync(SyncMode::Verify).await.unwrap_err();
    assert_eq!(
        unsupported(&error),
        "a text key of index `title_text` (model `Article`) needs a client without `apiStrict`: it is not part of the Stable \
         API, version 1"
    );
    create::<Article>(&env.db).await;
    assert!(schema().sync(SyncMode::Full).await.unwrap().is_empty());
    env.stop().await;
}

/// The strict Stable API has no search indexes (323 APIStrictError).
#[tokio::test]
async fn the_strict_stable_api_has_no_search_indexes() {
    let Some(env) = start("8.2").await else {
        return;
    };
    fail(&env, "aggregate", 323, doc! { "times": 2 }).await;
    let strict = strict(&env);
    let error = strict.db.schema().register::<Film>().plan().await.unwrap_err();
    assert!(
        matches!(&error, Error::Schema(SchemaError::SearchUnsupported { .. })),
        "{error}"
    );
    assert!(
        error.to_string().contains("use a client without `apiStrict`"),
        "{error}"
    );
    let optional = strict.db.schema().register::<Film>().search(SearchMode::Optional);
    let plan = optional.plan().await.unwrap();
    assert!(plan.is_empty(), "{plan}");
    env.stop().await;
}
