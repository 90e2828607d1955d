//! Models of one kind each in one collection: `#[document(kind = "…")]`.

use crate::common::{Env, Observed};
use marula::aggregate::{Merge, WhenMatched, WhenNotMatched};
use marula::bson::{DateTime, doc};
use marula::driver::{ChangeOperation, options::ChangeStreamOptions};
use marula::expr::{count, expr};
use marula::schema::Apply;
use marula::{Document, Error, Filter, Model, Shape, Update, prelude::*};

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "events", kind = "click", json_schema, index(user))]
#[serde(deny_unknown_fields)]
struct Click {
    _id: i64,
    user: i64,
    x: i32,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "events", kind = "view", json_schema, index(user), soft_delete = deleted_at)]
struct View {
    _id: i64,
    user: i64,
    page: String,
    deleted_at: Option<DateTime>,
}

/// All documents of the collection.
#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "events")]
struct Event {
    _id: i64,
    kind: String,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "events", kind("click", field = "type"))]
struct Other {
    _id: i64,
}

fn click(id: i64) -> Click {
    Click {
        _id: id,
        user: 1,
        x: 2,
    }
}

fn view(id: i64) -> View {
    View {
        _id: id,
        user: 1,
        page: "/".to_owned(),
        deleted_at: None,
    }
}

fn ids(clicks: Vec<Click>) -> Vec<i64> {
    clicks.into_iter().map(|click| click._id).collect()
}

#[tokio::test]
async fn calls_write_the_kind_and_find_only_it() {
    let env = Env::start().await;
    let (clicks, views) = (env.db.collection::<Click>(), env.db.collection::<View>());
    clicks.insert_one(&click(1)).await.unwrap();
    clicks.insert_many([click(2), click(3)]).await.unwrap();
    views.insert_one(&view(11)).await.unwrap();
    clicks.bulk().insert(&click(4)).await.unwrap();
    clicks.save(&click(5)).await.unwrap();
    clicks
        .update_one(|c| c._id().eq(6), |c| (c.user().set(1), c.x().set(2)))
        .upsert(true)
        .await
        .unwrap();
    clicks
        .upsert_with(|c| c._id().eq(7), |c| c.x().set(2), &click(7))
        .await
        .unwrap();
    clicks.replace(&click(1)).required().await.unwrap();
    clicks
        .find_one_and_replace(|c| c._id().eq(2), &click(2))
        .await
        .unwrap();
    let stored = env.db.collection::<Event>();
    let kinds = stored.find_all().sort(|e| e._id().asc()).all().await.unwrap();
    let kinds: Vec<(i64, &str)> = kinds.iter().map(|e| (e._id, e.kind.as_str())).collect();
    assert_eq!(
        kinds,
        [1, 2, 3, 4, 5, 6, 7]
            .map(|id| (id, "click"))
            .into_iter()
            .chain([(11, "view")])
            .collect::<Vec<_>>()
    );

    assert_eq!(
        ids(clicks.find_all().sort(|c| c._id().asc()).all().await.unwrap()),
        [1, 2, 3, 4, 5, 6, 7]
    );
    assert_eq!(clicks.find_by_id(11).await.unwrap(), None);
    assert_eq!(views.count(|_| Filter::everything()).await.unwrap(), 1);
    assert_eq!(
        clicks
            .distinct(|c| c._id(), |_| Filter::everything())
            .await
            .unwrap()
            .len(),
        7
    );
    assert_eq!(clicks.aggregate().limit(100).all().await.unwrap().len(), 7);
    assert_eq!(clicks.load([1_i64, 11]).await.unwrap().len(), 1);
    assert_eq!(
        clicks
            .update_by_id(11, |c| c.x().set(9))
            .await
            .unwrap()
            .matched_count,
        0
    );
    assert_eq!(clicks.replace(&click(11)).await.unwrap().matched_count, 0);
    assert_eq!(clicks.delete_by_id(11).await.unwrap(), 0);
    assert_eq!(views.delete_many(|_| Filter::everything()).await.unwrap(), 1);
    assert_eq!(views.find_all().all().await.unwrap(), []);
    assert_eq!(
        views
            .with_deleted()
            .count(|_| Filter::everything())
            .await
            .unwrap(),
        1
    );
    assert_eq!(
        views.delete_permanently(|_| Filter::everything()).await.unwrap(),
        0
    );
    assert_eq!(
        views
            .with_deleted()
            .delete_permanently(|_| Filter::everything())
            .await
            .unwrap(),
        1
    );
    assert_eq!(clicks.delete_all().await.unwrap(), 7);
    env.stop().await;
}

/// A document of another kind with the same id is a duplicate, and is not replaced.
#[tokio::test]
async fn documents_of_other_kinds_are_not_replaced() {
    let env = Env::start().await;
    let (clicks, views) = (env.db.collection::<Click>(), env.db.collection::<View>());
    views.insert_one(&view(1)).await.unwrap();
    assert!(clicks.insert_one(&click(1)).await.unwrap_err().is_duplicate());
    assert!(clicks.save(&click(1)).await.unwrap_err().is_duplicate());
    assert_eq!(views.find_by_id(1).await.unwrap(), Some(view(1)));
    env.stop().await;
}

#[tokio::test]
async fn updates_cannot_change_the_kind() {
    let env = Env::start().await;
    let clicks = env.db.collection::<Click>();
    clicks.insert_one(&click(1)).await.unwrap();
    let updates = [
        Update::raw(doc! { "$set": { "kind": "view" } }),
        Update::raw(doc! { "$unset": { "kind": "" } }),
        Update::raw(doc! { "$rename": { "kind": "other" } }),
        Update::pipeline([doc! { "$set": { "kind": "view" } }]),
        Update::pipeline([doc! { "$replaceWith": { "_id": 1 } }]),
    ];
    for update in updates {
        let error = clicks.update_by_id(1, |_| update).await.unwrap_err();
        assert!(matches!(&error, Error::InvalidUpdate { .. }), "{error:?}");
        assert!(error.to_string().contains("kind"), "{error}");
    }
    assert_eq!(clicks.find_by_id(1).await.unwrap(), Some(click(1)));
    env.stop().await;
}

#[tokio::test]
async fn documents_of_another_kind_do_not_decode() {
    let env = Env::start().await;
    let events = env.db.collection::<Event>();
    events
        .insert_one(&Event {
            _id: 1,
            kind: "click".to_owned(),
        })
        .await
        .unwrap();
    let others = env.db.collection::<Other>();
    assert_eq!(others.find_all().all().await.unwrap(), []);
    others.insert_one(&Other { _id: 2 }).await.unwrap();
    assert_eq!(others.find_all().all().await.unwrap(), [Other { _id: 2 }]);
    // Stages that the application writes can return any document.
    for (stage, text) in [
        (
            doc! { "$set": { "type": "view" } },
            "the document is of another kind, expected `click`",
        ),
        (doc! { "$unset": "type" }, "missing field `type`"),
        (doc! { "$set": { "type": 1 } }, "expected"),
    ] {
        let error = others.aggregate().stage_raw(stage).all().await.unwrap_err();
        assert!(matches!(&error, Error::Decode { .. }), "{error:?}");
        assert!(error.to_string().contains(text), "{error}");
    }
    env.stop().await;
}

#[derive(Debug, Shape)]
struct User {
    _id: i64,
    user: i64,
}

#[derive(Debug, Shape)]
struct WithViews {
    #[document(flatten)]
    click: Click,
    views: Vec<View>,
}

#[derive(Debug, Shape)]
struct WithClicks {
    #[document(flatten)]
    view: View,
    clicks: Vec<Click>,
}

/// The other kind is in the same collection.
#[tokio::test]
async fn joins_read_the_kind_of_their_model() {
    let env = Env::start().await;
    if env.is_before(5, 0).await {
        return env.stop().await;
    }
    let (clicks, views) = (env.db.collection::<Click>(), env.db.collection::<View>());
    clicks.insert_many([click(1), click(2)]).await.unwrap();
    views.insert_many([view(11), view(12)]).await.unwrap();
    let joined = clicks
        .aggregate()
        .lookup::<WithViews>()
        .on(|c| c.user(), |v| v.user());
    let found = joined.all().await.unwrap();
    assert_eq!(found.len(), 2);
    for with_views in &found {
        assert_eq!(with_views.click.user, 1);
        assert_eq!(with_views.views, [view(11), view(12)]);
    }
    let joined = views
        .aggregate()
        .lookup::<WithClicks>()
        .pipeline::<Click>(|_, clicks| clicks.sort(|c| c._id().asc()).limit(1));
    let found = joined.all().await.unwrap();
    assert_eq!(found.len(), 2);
    assert!(
        found
            .iter()
            .all(|found| found.clicks == [click(1)] && found.view.user == 1)
    );
    let users = clicks
        .aggregate()
        .project(|c| UserExpr {
            _id: expr(c._id()),
            user: expr(c.user()),
        })
        .union_with::<View>(|views| {
            views.project(|v| UserExpr {
                _id: expr(v._id()),
                user: expr(v.user()),
            })
        })
        .sort(|u| u._id().asc());
    let found = users.all().await.unwrap();
    assert!(found.iter().all(|user| user.user == 1));
    let found: Vec<i64> = found.iter().map(|user| user._id).collect();
    assert_eq!(found, [1, 2, 11, 12]);
    env.stop().await;
}

/// A handle can have a scope as well.
#[tokio::test]
async fn scopes_narrow_the_kind() {
    let env = Env::start().await;
    let clicks = env.db.collection::<Click>();
    clicks
        .insert_many([click(1), Click { user: 2, ..click(2) }])
        .await
        .unwrap();
    env.db.collection::<View>().insert_one(&view(11)).await.unwrap();
    let own = clicks.scoped(|c| c.user().eq(1));
    assert_eq!(ids(own.find_all().all().await.unwrap()), [1]);
    own.update_all(|c| c.x().inc(1)).await.unwrap();
    assert_eq!(own.delete_all().await.unwrap(), 1);
    assert_eq!(clicks.count(|_| Filter::everything()).await.unwrap(), 1);
    env.stop().await;
}

#[tokio::test]
async fn watched_events_are_of_the_kind() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let (clicks, views) = (env.db.collection::<Click>(), env.db.collection::<View>());
    let mut events = clicks.watch().await.unwrap();
    views.insert_one(&view(11)).await.unwrap();
    clicks.insert_one(&click(1)).await.unwrap();
    views.update_by_id(11, |v| v.page().set("/a")).await.unwrap();
    clicks.update_by_id(1, |c| c.x().set(3)).await.unwrap();
    let event = events.try_next().await.unwrap().expect("an event");
    assert_eq!(
        (event.operation, event.full_document),
        (ChangeOperation::Insert, Some(click(1)))
    );
    let event = events.try_next().await.unwrap().expect("an event");
    assert_eq!(event.operation, ChangeOperation::Update);
    assert_eq!(event.full_document, Some(Click { x: 3, ..click(1) }));
    env.stop().await;
}

#[tokio::test]
async fn validators_of_all_kinds_are_one() {
    let env = Env::start().await;
    let properties = Click::json_schema();
    assert_eq!(
        properties
            .get_document("properties")
            .unwrap()
            .get_document("kind")
            .unwrap(),
        &doc! { "enum": ["click"] }
    );
    let schema = || env.db.schema().register::<Click>().register::<View>();
    schema()
        .plan()
        .await
        .unwrap()
        .apply(Apply::additive())
        .await
        .unwrap();
    let (clicks, views) = (env.db.collection::<Click>(), env.db.collection::<View>());
    clicks.insert_one(&click(1)).await.unwrap();
    views.insert_one(&view(2)).await.unwrap();
    let events = env.db.collection::<Event>();
    let error = events
        .insert_one(&Event {
            _id: 3,
            kind: "click".to_owned(),
        })
        .await
        .unwrap_err();
    assert!(error.is_validation(), "{error:?}");
    // The collection is as it is declared.
    let plan = schema().plan().await.unwrap();
    assert!(plan.is_empty(), "{plan}");
    env.stop().await;
}

#[tokio::test]
async fn the_condition_is_in_every_filter() {
    let env = Env::start().await;
    let observed = Observed::of(&env);
    let clicks = observed.db.collection::<Click>();
    clicks.find_by_id(1).await.unwrap();
    let sent = observed.take("find");
    assert_eq!(
        sent[0].get_document("filter").unwrap(),
        &doc! { "_id": 1_i64, "kind": { "$eq": "click" } }
    );
    env.stop().await;
}

/// The results of a pipeline, with the ids of other documents.
#[derive(Clone, Debug, PartialEq, Document, Shape)]
#[document(collection = "events", kind = "total")]
struct Total {
    _id: i64,
    count: i64,
}

#[tokio::test]
async fn pipelines_keep_documents_of_other_kinds() {
    let env = Env::start().await;
    let (clicks, views) = (env.db.collection::<Click>(), env.db.collection::<View>());
    clicks.insert_many([click(5), click(6)]).await.unwrap();
    views.insert_one(&view(1)).await.unwrap();
    for pipeline in [clicks.aggregate().out(), clicks.aggregate().out_to("events")] {
        let error = pipeline.execute().await.unwrap_err();
        assert!(matches!(&error, Error::InvalidPipeline { .. }), "{error:?}");
        assert!(error.to_string().contains("other kinds"), "{error}");
    }
    let named = clicks.named("others");
    let error = named.aggregate().out_to("others").execute().await.unwrap_err();
    assert!(error.to_string().contains("other kinds"), "{error}");
    // `$merge` into the collection that the pipeline reads.
    if env.is_before(4, 4).await {
        return env.stop().await;
    }
    let totals = || {
        clicks.aggregate().group(|c| TotalGroup {
            _id: expr(c.user()),
            count: count(),
        })
    };
    for when in [
        WhenMatched::Replace(WhenNotMatched::Insert),
        WhenMatched::Merge(WhenNotMatched::Insert),
    ] {
        totals()
            .merge_into(Merge::new().when_matched(when))
            .execute()
            .await
            .unwrap();
        assert_eq!(views.find_by_id(1).await.unwrap(), Some(view(1)));
    }
    views
        .with_deleted()
        .delete_permanently(|_| Filter::everything())
        .await
        .unwrap();
    for count in [2, 3] {
        totals().merge_into(Merge::new()).execute().await.unwrap();
        let stored = env.db.collection::<Total>().find_all().all().await.unwrap();
        assert_eq!(stored, [Total { _id: 1, count }]);
        clicks.insert_one(&click(7 + count)).await.unwrap();
    }
    env.stop().await;
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(
    collection = "sessions",
    kind = "web",
    index(token, unique),
    index(seen, ttl = "1d")
)]
struct WebSession {
    _id: i64,
    token: String,
    seen: DateTime,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "sessions", kind = "job")]
struct JobSession {
    _id: i64,
    token: String,
    seen: DateTime,
}

#[tokio::test]
async fn unique_and_ttl_indexes_are_of_the_kind() {
    let env = Env::start().await;
    let schema = || env.db.schema().register::<WebSession>().register::<JobSession>();
    let plan = schema().plan().await.unwrap();
    plan.apply(Apply::additive()).await.unwrap();
    assert!(schema().plan().await.unwrap().is_empty());
    let (web, jobs) = (
        env.db.collection::<WebSession>(),
        env.db.collection::<JobSession>(),
    );
    let (token, seen) = (String::new(), DateTime::now());
    web.insert_one(&WebSession {
        _id: 1,
        token: token.clone(),
        seen,
    })
    .await
    .unwrap();
    for id in [2, 3] {
        jobs.insert_one(&JobSession {
            _id: id,
            token: token.clone(),
            seen,
        })
        .await
        .unwrap();
    }
    let twice = web
        .insert_one(&WebSession { _id: 4, token, seen })
        .await
        .unwrap_err();
    assert!(twice.is_duplicate());
    env.stop().await;
}

/// The validator of one kind accepts the others.
#[tokio::test]
async fn a_validator_is_of_its_kind() {
    let env = Env::start().await;
    let schema = env.db.schema().register::<Click>();
    schema
        .plan()
        .await
        .unwrap()
        .apply(Apply::additive())
        .await
        .unwrap();
    env.db.collection::<View>().insert_one(&view(1)).await.unwrap();
    env.db.collection::<Click>().insert_one(&click(2)).await.unwrap();
    let events = env.db.collection::<Event>();
    let invalid = events
        .insert_one(&Event {
            _id: 3,
            kind: "click".to_owned(),
        })
        .await
        .unwrap_err();
    assert!(invalid.is_validation());
    env.stop().await;
}

#[tokio::test]
async fn watched_updates_have_a_document_with_other_options() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let clicks = env.db.collection::<Click>();
    clicks.insert_one(&click(1)).await.unwrap();
    let options = ChangeStreamOptions::default().batch_size(10);
    let mut events = clicks.watch().with_options(options).await.unwrap();
    clicks.update_by_id(1, |c| c.x().set(3)).await.unwrap();
    let event = events.try_next().await.unwrap().expect("an event");
    assert_eq!(event.full_document, Some(Click { x: 3, ..click(1) }));
    env.stop().await;
}
