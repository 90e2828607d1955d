//! Keyset pages over keys that can be null or missing, compared with the sorted list of all documents.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use crate::common::Env;
use marula::bson::{Bson, Document as BsonDocument, doc};
use marula::collection::KeysetPage;
use marula::driver::options::FindOptions;
use marula::prelude::*;
use marula::{Collection, Document, Embedded, Error, KeysetSort, Projection};
use serde::{Deserialize, Serialize};

/// A seeded random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % limit
    }

    /// A missing value, null, or one of few values, so that many are equal.
    fn set(&mut self, document: &mut BsonDocument, name: &str, value: impl Fn(u64) -> Bson) {
        match self.below(5) {
            0 => {}
            1 => {
                document.insert(name, Bson::Null);
            }
            n => {
                document.insert(name, value(n));
            }
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Embedded)]
struct Label(Option<String>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Owner {
    name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "tasks")]
struct Task {
    _id: i64,
    due: Option<i32>,
    owner: Option<Owner>,
    #[serde(default)]
    label: Label,
    scores: BTreeMap<String, i32>,
    rank: i64,
}

impl Task {
    fn owner_name(&self) -> Option<&str> {
        self.owner.as_ref()?.name.as_deref()
    }
}

#[derive(Debug, PartialEq, Projection)]
#[document(of = Task)]
struct Rank {
    rank: i64,
}

async fn tasks(env: &Env, seed: u64) -> (Collection<Task>, Vec<Task>) {
    let mut random = Random(seed);
    let documents: Vec<BsonDocument> = (0..30)
        .map(|id| {
            let mut task =
                doc! { "_id": id, "rank": i64::try_from(random.below(4)).expect("a small number") };
            random.set(&mut task, "due", |n| {
                Bson::Int32(i32::try_from(n).expect("a small number"))
            });
            random.set(&mut task, "label", |n| format!("label {n}").into());
            let mut owner = BsonDocument::new();
            random.set(&mut owner, "name", |n| format!("owner {n}").into());
            random.set(&mut task, "owner", |_| owner.clone().into());
            let mut scores = BsonDocument::new();
            if random.below(2) == 0 {
                scores.insert("a", i32::try_from(random.below(3)).expect("a small number"));
            }
            task.insert("scores", scores);
            task
        })
        .collect();
    let tasks = env.db.collection::<Task>().named(&format!("tasks_{seed}"));
    let raw = env.db.driver().collection::<BsonDocument>(tasks.name());
    raw.insert_many(&documents).await.expect("tasks are inserted");
    let all = tasks.find_all().await.expect("all tasks are read");
    (tasks, all)
}

/// The items of all pages. `read`: the page after a token.
async fn all_pages<T>(read: impl AsyncFn(Option<&str>) -> marula::Result<KeysetPage<T>>) -> Vec<T> {
    let (mut all, mut token) = (Vec::new(), None::<String>);
    loop {
        let page = read(token.as_deref()).await.expect("a page");
        all.extend(page.items);
        token = page.next;
        if token.is_none() {
            return all;
        }
    }
}

type Order = fn(&Task, &Task) -> Ordering;

/// Sorts, and what they mean: `None` is less than all values.
fn sorts() -> Vec<(&'static str, Vec<KeysetSort<Task>>, Order)> {
    let t = Task::fields();
    vec![
        ("due", vec![t.due().asc().into()], |a, b| {
            (a.due, a._id).cmp(&(b.due, b._id))
        }),
        ("-due", vec![t.due().desc().into()], |a, b| {
            (Reverse(a.due), a._id).cmp(&(Reverse(b.due), b._id))
        }),
        (
            "due,-owner.name",
            vec![t.due().asc().into(), t.owner().name().desc().into()],
            |a, b| {
                let key = |t: &Task| (t.due, Reverse(t.owner_name().map(str::to_owned)), t._id);
                key(a).cmp(&key(b))
            },
        ),
        (
            "-owner.name,-due,-_id",
            vec![
                t.owner().name().desc().into(),
                t.due().desc().into(),
                t._id().desc().into(),
            ],
            |a, b| (b.owner_name(), b.due, b._id).cmp(&(a.owner_name(), a.due, a._id)),
        ),
        (
            "-rank,owner.name,-label",
            vec![
                t.rank().desc().into(),
                t.owner().name().asc().into(),
                t.label().desc().into(),
            ],
            |a, b| {
                let key = |t: &Task| {
                    let name = t.owner_name().map(str::to_owned);
                    (Reverse(t.rank), name, Reverse(t.label.0.clone()), t._id)
                };
                key(a).cmp(&key(b))
            },
        ),
        (
            "scores.a,label",
            vec![t.scores().entry("a").asc().into(), t.label().asc().into()],
            |a, b| {
                let key = |t: &Task| (t.scores.get("a").copied(), t.label.0.clone(), t._id);
                key(a).cmp(&key(b))
            },
        ),
    ]
}

#[tokio::test]
async fn pages_over_nullable_keys_are_the_sorted_list() {
    let env = Env::start().await;
    for seed in 1..4 {
        let (tasks, mut expected) = tasks(&env, seed).await;
        for (name, keys, order) in sorts() {
            expected.sort_by(order);
            for size in [1, 4, 7] {
                let context = format!("seed {seed}, sort {name}, size {size}");
                let read = |token: Option<String>| {
                    let keys = keys.clone();
                    let page = tasks.find_all().keyset(|_| keys, token.as_deref(), size);
                    async { page.await.unwrap_or_else(|e| panic!("{context}: {e}")) }
                };
                let (mut forward, mut token) = (Vec::new(), None);
                let last = loop {
                    let page = read(token.clone()).await;
                    if let Some(token) = page.previous.clone() {
                        // The page before, and from there back to this one.
                        let before = read(Some(token)).await;
                        assert!(forward.ends_with(&before.items), "{context}");
                        assert_eq!(read(before.next).await.items, page.items, "{context}");
                    }
                    forward.extend(page.items);
                    token = page.next;
                    if token.is_none() {
                        break page.previous;
                    }
                };
                assert_eq!(forward, expected, "{context}");
                let (mut backward, mut token) = (Vec::new(), last);
                while token.is_some() {
                    let page = read(token).await;
                    backward.splice(0..0, page.items);
                    token = page.previous;
                }
                assert!(expected.starts_with(&backward), "{context}");
                assert!(
                    expected.len() - backward.len() <= usize::try_from(size).unwrap(),
                    "{context}"
                );
            }
        }
    }
    env.stop().await;
}

#[tokio::test]
async fn pages_of_projections_have_nullable_keys() {
    let env = Env::start().await;
    if env.is_before(4, 4).await {
        return env.stop().await;
    }
    let (tasks, mut expected) = tasks(&env, 9).await;
    let key = |t: &Task| (t.owner_name().map(str::to_owned), Reverse(t.due), t._id);
    expected.sort_by_key(key);
    let expected: Vec<i64> = expected.iter().map(|task| task.rank).collect();
    let found = all_pages(async |token| {
        let all = tasks.find_all().select::<Rank>();
        all.keyset(|t| (t.owner().name().asc(), t.due().desc()), token, 4)
            .await
    });
    let ranks: Vec<i64> = found.await.iter().map(|task| task.rank).collect();
    assert_eq!(ranks, expected);
    env.stop().await;
}

#[tokio::test]
async fn an_array_in_place_of_a_document_is_an_error() {
    let env = Env::start().await;
    if env.is_before(4, 4).await {
        return env.stop().await;
    }
    let tasks = env.db.collection::<Task>();
    let raw = env.db.driver().collection::<BsonDocument>("tasks");
    let task = |id: i32| doc! { "_id": id, "owner": [{ "name": "a" }], "scores": {}, "rank": 1_i64 };
    raw.insert_many(&[task(1), task(2)]).await.unwrap();
    let page = tasks.find_all().select::<Rank>();
    let error = page
        .keyset(|t| t.owner().name().asc(), None, 1)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("`owner.name`"), "{error}");
    env.stop().await;
}

#[derive(Clone, Debug, PartialEq, Embedded)]
struct Score {
    #[serde(default)]
    points: i64,
    level: i64,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "scored")]
struct Scored {
    _id: i64,
    score: Score,
    #[serde(flatten)]
    extra: Score,
}

/// Embedded and flattened types have such fields, too.
#[tokio::test]
async fn pages_by_fields_with_a_default_in_other_types_have_the_documents_without_them() {
    let env = Env::start().await;
    let scored = env.db.collection::<Scored>();
    let raw = scored.driver().clone_with_type::<BsonDocument>();
    for document in [
        doc! { "_id": 1_i64, "score": { "points": 3_i64, "level": 1_i64 }, "level": 1_i64 },
        doc! { "_id": 2_i64, "score": { "level": 1_i64 }, "points": 2_i64, "level": 1_i64 },
        doc! { "_id": 3_i64, "score": { "level": 1_i64 }, "level": 1_i64 },
    ] {
        raw.insert_one(&document).await.unwrap();
    }
    for (sort, expected) in [(0, [1, 2, 3]), (1, [2, 1, 3]), (2, [1, 2, 3])] {
        let found = all_pages(async |token| {
            let all = scored.find_all();
            let page = all.keyset(
                |s| match sort {
                    0 => s.score().points().desc().erased_keyset(),
                    1 => s.extra().points().desc().erased_keyset(),
                    _ => s.score().level().asc().erased_keyset(),
                },
                token,
                1,
            );
            page.await
        });
        let ids: Vec<i64> = found.await.iter().map(|s| s._id).collect();
        assert_eq!(ids, expected);
    }
    env.stop().await;
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "ranked")]
struct Ranked {
    _id: i64,
    #[serde(default)]
    rank: i64,
}

/// A field with a default can be missing, and is then before all values.
#[tokio::test]
async fn pages_by_a_field_with_a_default_have_the_documents_without_it() {
    let env = Env::start().await;
    let ranked = env.db.collection::<Ranked>();
    let raw = ranked.driver().clone_with_type::<BsonDocument>();
    for document in [
        doc! { "_id": 1_i64, "rank": 3_i64 },
        doc! { "_id": 2_i64 },
        doc! { "_id": 3_i64, "rank": 2_i64 },
        doc! { "_id": 4_i64 },
    ] {
        raw.insert_one(&document).await.unwrap();
    }
    let found = all_pages(async |token| ranked.find_all().keyset(|r| r.rank().desc(), token, 1).await);
    let ids: Vec<i64> = found.await.iter().map(|r| r._id).collect();
    assert_eq!(ids, [1, 3, 2, 4]);
    let hiding = FindOptions::default().projection(doc! { "_id": 1 });
    let page = ranked
        .find_all()
        .with_options(hiding)
        .keyset(|r| r.rank().desc(), None, 1);
    assert!(matches!(page.await, Err(Error::InvalidArgument { .. })));
    env.stop().await;
}
