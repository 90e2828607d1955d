//! Writes reject filters without conditions, and can require a match.

use crate::common::Env;
use marula::bson::doc;
use marula::prelude::*;
use marula::{Document, Embedded, Error, Filter};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "things")]
struct Manual {
    #[serde(rename = "_id")]
    #[document(id = manual)]
    id: i64,
    number: i64,
}

impl Manual {
    fn new(id: i64, number: i64) -> Self {
        Manual { id, number }
    }
}

/// Filters that match every document and are not `Filter::everything()`.
fn filters_without_conditions() -> Vec<(&'static str, Filter<Manual>)> {
    let empty = || Filter::<Manual>::all([]);
    let condition = || Manual::fields().number().eq(1);
    let none_of = || Manual::fields().number().not_in([0_i64; 0]);
    let mut assigned = Filter::default();
    assigned &= empty();
    let mut alternative = condition();
    alternative |= empty();
    vec![
        ("all", empty()),
        ("all_some", Filter::all_some([None, None])),
        ("default", Filter::default()),
        ("raw", Filter::raw(doc! {})),
        ("and", empty() & empty()),
        ("and an Option", empty().and(None)),
        ("&=", assigned),
        ("|=", alternative),
        ("or", condition() | empty()),
        ("or, first", empty() | condition()),
        ("any of one", Filter::any([empty()])),
        ("any", Filter::any([condition(), empty()])),
        ("not any", !Filter::any([])),
        ("not nothing", !Filter::nothing()),
        ("raw $and", Filter::raw(doc! { "$and": [{}] })),
        ("raw $or", Filter::raw(doc! { "$or": [{ "number": 1 }, {}] })),
        ("everything and none", Filter::everything() & empty()),
        ("not_in", none_of()),
        ("two not_in", none_of() & Manual::fields().id().not_in([0_i64; 0])),
        ("one not_in twice", none_of() & none_of()),
        ("not is_in", !Manual::fields().number().is_in([0_i64; 0])),
        ("not_in or", condition() | none_of()),
        ("a comment", Filter::raw(doc! { "$comment": "clean up" })),
        (
            "a comment and not_in",
            Filter::raw(doc! { "$comment": "clean up" }) & none_of(),
        ),
        ("everything twice", Filter::everything() & Filter::everything()),
        ("everything and an Option", Filter::everything().and(None)),
        ("everything or an Option", Filter::everything().or(None)),
        ("everything or a condition", Filter::everything() | condition()),
        ("all of everything", Filter::all([Filter::everything()])),
        ("any of everything", Filter::any([Filter::everything()])),
        (
            "everything and no condition that is given",
            Filter::everything() & Filter::all_some([None]),
        ),
    ]
}

#[tokio::test]
async fn every_write_rejects_a_filter_without_conditions() {
    let env = Env::start().await;
    let things = env.db.collection::<Manual>();
    let stored = [Manual::new(1, 1), Manual::new(2, 2)];
    things.insert_many(&stored).await.unwrap();
    for (name, filter) in filters_without_conditions() {
        let target = || things.filter(filter.clone());
        assert_eq!(target().count().await.unwrap(), 2, "{name}: reads take it");
        assert_eq!(target().find().await.unwrap().len(), 2, "{name}");
        let new = Manual::new(1, 9);
        let writes = [
            (
                "update_one",
                target().update_one(|t| t.number().set(9)).await.err(),
            ),
            (
                "update_many",
                target().update_many(|t| t.number().set(9)).await.err(),
            ),
            (
                "upsert",
                target()
                    .update_one(|t| t.id().set_on_insert(9))
                    .upsert(true)
                    .await
                    .err(),
            ),
            ("replace_one", target().replace_one(&new).await.err()),
            ("delete_one", target().delete_one().await.err()),
            ("delete_many", target().delete_many().await.err()),
            ("required", target().delete_many().required().await.err()),
            (
                "find_one_and_update",
                target().find_one_and_update(|t| t.number().set(9)).await.err(),
            ),
            (
                "find_one_and_replace",
                target().find_one_and_replace(&new).await.err(),
            ),
            ("find_one_and_delete", target().find_one_and_delete().await.err()),
        ];
        for (write, error) in writes {
            match error {
                Some(Error::InvalidFilter { reason, .. }) => {
                    assert!(reason.contains("everything"), "{reason}");
                }
                other => panic!("{write} with {name}: {other:?}"),
            }
        }
    }
    assert_eq!(things.find_all().sort(|t| t.id().asc()).await.unwrap(), stored);
    let all = || Filter::everything();
    let chosen = things.count(|t| Filter::nothing() | t.id().is_in([0_i64; 0]) | t.id().eq(1));
    assert_eq!(chosen.await.unwrap(), 1);
    let updated = things.update_many(|_| all(), |t| t.number().inc(1)).await;
    assert_eq!(updated.unwrap().modified_count, 2, "it is named");
    assert_eq!(things.delete_many(|t| all() & t.id().eq(1)).await.unwrap(), 1);
    assert_eq!(things.delete_many(|_| all()).await.unwrap(), 1);
    env.stop().await;
}

#[tokio::test]
async fn writes_can_require_a_match() {
    let env = Env::start().await;
    let things = env.db.collection::<Manual>();
    things.insert_one(&Manual::new(1, 1)).await.unwrap();
    let unsaved = Manual::new(7, 7);
    for error in [
        things
            .update_by_id(7, |t| t.number().set(1))
            .required()
            .await
            .unwrap_err(),
        things
            .update_one(|t| t.number().eq(7), |t| t.number().set(1))
            .required()
            .await
            .unwrap_err(),
        things
            .update_many(|t| t.number().eq(7), |t| t.number().set(1))
            .required()
            .await
            .unwrap_err(),
        things.replace(&unsaved).required().await.unwrap_err(),
        things
            .replace_one(|t| t.number().eq(7), &unsaved)
            .required()
            .await
            .unwrap_err(),
        things.delete_by_id(7).required().await.unwrap_err(),
        things
            .delete_one(|t| t.number().eq(7))
            .required()
            .await
            .unwrap_err(),
        things
            .delete_many(|t| t.number().eq(7))
            .required()
            .await
            .unwrap_err(),
        things
            .find_one_and_delete(|t| t.number().eq(7))
            .required()
            .await
            .unwrap_err(),
        things
            .find_one_and_update(|t| t.number().eq(7), |t| t.number().set(1))
            .required()
            .await
            .unwrap_err(),
    ] {
        assert!(
            matches!(&error, Error::NotFound { collection } if collection.ends_with(".things")),
            "{error}"
        );
    }
    let same = things
        .update_by_id(1, |t| t.number().set(1))
        .required()
        .await
        .unwrap();
    assert_eq!(
        (same.matched_count, same.modified_count),
        (1, 0),
        "a match that changes nothing"
    );
    things.replace(&Manual::new(1, 2)).required().await.unwrap();
    things.replace(&unsaved).upsert(true).required().await.unwrap();
    let before = things
        .find_one_and_update(|t| t.id().eq(7), |t| t.number().inc(1))
        .required()
        .await
        .unwrap();
    assert_eq!(before, unsaved);
    assert_eq!(things.delete_by_id(1).required().await.unwrap(), 1);
    assert_eq!(
        things.delete_many(|t| t.number().gt(0)).required().await.unwrap(),
        1
    );
    env.stop().await;
}

#[tokio::test]
async fn a_pull_without_a_condition_is_rejected() {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
    struct Line {
        sku: String,
    }
    #[derive(Serialize, Deserialize, Document)]
    #[document(collection = "carts")]
    struct Cart {
        _id: i64,
        lines: Vec<Line>,
    }
    let env = Env::start().await;
    let carts = env.db.collection::<Cart>();
    let lines = vec![Line {
        sku: "tea".to_owned(),
    }];
    carts
        .insert_one(&Cart {
            _id: 1,
            lines: lines.clone(),
        })
        .await
        .unwrap();
    for refused in [
        carts
            .update_by_id(1, |c| c.lines().pull(|_| Filter::all([])))
            .await,
        carts
            .update_by_id(1, |c| c.lines().pull(|l| l.sku().not_in(Vec::<String>::new())))
            .await,
    ] {
        assert!(
            matches!(&refused, Err(Error::InvalidUpdate { path, .. }) if path == "lines"),
            "{refused:?}"
        );
    }
    assert_eq!(carts.find_by_id(1).required().await.unwrap().lines, lines);
    carts
        .update_by_id(1, |c| c.lines().pull(|_| Filter::everything()))
        .await
        .unwrap();
    assert!(carts.find_by_id(1).required().await.unwrap().lines.is_empty());
    env.stop().await;
}
