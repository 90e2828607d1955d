//! `#[document(soft_delete = field)]`.

use crate::common::Env;
use marula::bson::DateTime;
use marula::prelude::*;
use marula::{Collection, Document, Error, Filter};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[serde(rename_all = "camelCase")]
#[document(collection = "people", soft_delete = deleted_at)]
struct Person {
    #[serde(rename = "_id")]
    id: i64,
    age: i32,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    deleted_at: Option<DateTime>,
    #[document(version)]
    version: i64,
}

fn person(id: i64) -> Person {
    Person {
        id,
        age: 30,
        deleted_at: None,
        version: 0,
    }
}

async fn ids(people: &Collection<Person>) -> Vec<i64> {
    let all = people.find_all().sort(|p| p.id().asc()).await.expect("a reply");
    all.iter().map(|p| p.id).collect()
}

async fn five(env: &Env) -> Collection<Person> {
    let people = env.db.collection::<Person>();
    people
        .insert_many((1..=5).map(person))
        .await
        .expect("people are inserted");
    people
}

#[tokio::test]
async fn every_form_of_delete_keeps_the_document() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    if env.is_before(8, 0).await {
        return env.stop().await;
    }
    let people = five(&env).await;
    let before = DateTime::now();
    let deleted = people.delete_by_id(1).hint("_id_").comment("clean up").await;
    assert_eq!(deleted.unwrap(), 1);
    assert_eq!(people.delete_one(|p| p.id().eq(2)).required().await.unwrap(), 1);
    let deleted = people
        .find_one_and_delete(|p| p.id().eq(3))
        .required()
        .await
        .unwrap();
    assert_eq!((deleted.id, deleted.deleted_at), (3, None));
    let bulk = people.bulk().delete_by_id(4).await.unwrap();
    assert_eq!(bulk.matched_count, 1);
    assert_eq!(ids(&people).await, [5]);
    assert_eq!(people.delete_many(|p| p.id().gt(0)).await.unwrap(), 1);
    assert!(ids(&people).await.is_empty());
    assert_eq!(ids(&people.only_deleted()).await, [1, 2, 3, 4, 5]);
    assert_eq!(ids(&people.with_deleted()).await, [1, 2, 3, 4, 5]);
    for person in people.with_deleted().find_all().await.unwrap() {
        assert!(person.deleted_at >= Some(before), "{person:?}");
        assert_eq!(person.version, 1, "{person:?}");
    }
    // A deleted document is not deleted again.
    assert_eq!(people.delete_by_id(1).await.unwrap(), 0);
    let missing = people.delete_by_id(1).required().await.unwrap_err();
    assert!(matches!(missing, Error::NotFound { .. }), "{missing}");
    assert_eq!(people.delete_all().await.unwrap(), 0);
    let all = env.client().bulk().on(&people.with_deleted(), |b| {
        b.delete_many(|_| Filter::everything())
    });
    assert_eq!(all.await.unwrap().matched_count, 5);
    env.stop().await;
}

#[tokio::test]
async fn reads_and_writes_do_not_find_deleted_documents() {
    let env = Env::start().await;
    let people = five(&env).await;
    people.delete_many(|p| p.id().lt(3)).await.unwrap();
    assert_eq!(people.find_by_id(1).await.unwrap(), None);
    assert!(people.find_one(|p| p.id().eq(1)).await.unwrap().is_none());
    assert!(!people.exists(|p| p.id().eq(1)).await.unwrap());
    assert_eq!(people.count(|_| Filter::everything()).await.unwrap(), 3);
    let distinct = people
        .distinct(|p| p.id(), |_| Filter::everything())
        .await
        .unwrap();
    assert_eq!(distinct.len(), 3);
    let page = people.find_all().sort(|p| p.id().asc()).page(0, 2).await.unwrap();
    assert_eq!((page.total, page.items[0].id), (3, 3));
    let page = people.find_all().keyset(|p| p.id().asc(), None, 2).await.unwrap();
    let next = people
        .find_all()
        .keyset(|p| p.id().asc(), page.next.as_deref(), 2)
        .await
        .unwrap();
    assert_eq!((page.items[0].id, next.items[0].id), (3, 5));
    let updated = people.update_all(|p| p.age().inc(1)).await.unwrap();
    assert_eq!(updated.matched_count, 3);
    assert_eq!(people.replace(&person(1)).await.unwrap().matched_count, 0);
    let found = people
        .find_one_and_update(|p| p.id().eq(1), |p| p.age().inc(1))
        .await
        .unwrap();
    assert_eq!(found, None);
    // The id is still in use.
    let refused = people.insert_one(&person(1)).await.unwrap_err();
    assert!(matches!(refused, Error::Duplicate { .. }), "{refused}");

    let deleted = people.only_deleted();
    assert_eq!(deleted.count(|_| Filter::everything()).await.unwrap(), 2);
    assert_eq!(deleted.find_by_id(1).required().await.unwrap().age, 30);
    assert!(deleted.find_by_id(3).await.unwrap().is_none());
    let updated = deleted.update_by_id(1, |p| p.age().set(1)).await.unwrap();
    assert_eq!(updated.matched_count, 1);
    let named = people.with_deleted().named("people");
    assert_eq!(ids(&named).await, [1, 2, 3, 4, 5]);
    env.stop().await;
}

#[tokio::test]
async fn deleted_documents_are_restored_or_removed() {
    let env = Env::start().await;
    let people = five(&env).await;
    people.delete_many(|p| p.id().lt(4)).await.unwrap();
    let restored = people.restore(|p| p.id().gte(3)).await.unwrap();
    assert_eq!(restored.matched_count, 1);
    assert_eq!(ids(&people).await, [3, 4, 5]);
    assert_eq!(people.find_by_id(3).required().await.unwrap().deleted_at, None);
    // The handle decides which documents are removed.
    assert_eq!(people.delete_permanently(|p| p.id().lt(4)).await.unwrap(), 1);
    let refused = people
        .only_deleted()
        .delete_permanently(|_| Filter::all([]))
        .await;
    assert!(matches!(refused, Err(Error::InvalidFilter { .. })), "{refused:?}");
    let deleted = people.only_deleted();
    let purged = deleted.delete_permanently(|p| p.deleted_at().lt(DateTime::MAX));
    assert_eq!(purged.await.unwrap(), 2);
    assert_eq!(ids(&people.with_deleted()).await, [4, 5]);
    env.stop().await;
}
