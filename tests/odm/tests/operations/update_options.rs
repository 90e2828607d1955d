//! Combinations of typed and raw parts in one call.

use crate::common::{Env, Line, Observed, Order, decimal, order};
use marula::bson::{DateTime, doc};
use marula::driver::options::ReturnDocument;
use marula::expr::{gt, lt};
use marula::prelude::*;
use marula::{Collection, Document, Fields, Filter, Projection, Update};
use serde::{Deserialize, Serialize};

/// `count` orders of tea and a cup.
async fn shop(count: i64) -> (Env, Collection<Order>) {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    let line = |sku: &str| Line {
        sku: sku.to_owned(),
        qty: 1,
        unit_price: decimal("1.50"),
    };
    let all: Vec<Order> = (1..=count)
        .map(|number| Order {
            lines: vec![line("tea"), line("cup")],
            ..order(number)
        })
        .collect();
    orders.insert_many(&all).await.expect("orders are inserted");
    (env, orders)
}

#[tokio::test]
async fn raw_array_filters_are_combined_with_those_of_typed_paths() {
    let (env, orders) = shop(1).await;
    let quantities = |order: &Order| order.lines.iter().map(|l| l.qty).collect::<Vec<_>>();
    let before = orders.find_all().first().await.unwrap().expect("an order");
    let sku = "tea";
    let raw = || Update::raw(doc! { "$set": { "lines.$[other].qty": 70 } });
    let others = || [doc! { "other.sku": { "$ne": sku } }];
    orders
        .update_by_id(before.id, |o| {
            (
                o.lines().filtered_positional(|l| l.sku().eq(sku)).qty().set(50),
                raw(),
            )
        })
        .raw_array_filters(others())
        .await
        .unwrap();
    let after = orders.find_by_id(before.id).required().await.unwrap();
    assert_eq!(quantities(&after), [50, 70]);
    let again = orders
        .find_one_and_update(
            |o| o.id().eq(before.id),
            |o| {
                (
                    o.lines().filtered_positional(|l| l.sku().eq(sku)).qty().set(51),
                    raw(),
                )
            },
        )
        .raw_array_filters(others())
        .return_document(ReturnDocument::After)
        .await
        .unwrap()
        .expect("the order");
    assert_eq!(quantities(&again), [51, 70]);
    env.stop().await;
}

#[tokio::test]
async fn two_expressions_must_both_match() {
    let (env, orders) = shop(5).await;
    let found = orders
        .find(|n| Filter::expr(gt(n.number(), 1)) & Filter::expr(lt(n.number(), 3)))
        .all()
        .await
        .unwrap();
    assert_eq!(found.iter().map(|o| o.number).collect::<Vec<_>>(), [2]);
    env.stop().await;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "people", soft_delete = deleted_at)]
struct Person {
    _id: i64,
    age: i32,
    #[document(version)]
    version: i64,
    deleted_at: Option<DateTime>,
}

#[derive(Debug, PartialEq, Deserialize, Projection)]
#[document(of = Person)]
struct Age {
    age: i32,
}

fn nothing(_: Fields<Person>) -> Update<Person> {
    Update::empty()
}

/// An empty update finds the documents that another update would find.
#[tokio::test]
async fn an_empty_update_has_the_scope_and_the_projection_of_its_call() {
    let env = Env::start().await;
    let people = env.db.collection::<Person>();
    let person = |_id| Person {
        _id,
        age: 30,
        version: 0,
        deleted_at: None,
    };
    people.insert_many([person(1), person(2)]).await.unwrap();
    people.delete_by_id(2).required().await.unwrap();
    let deleted = people.with_deleted().find_by_id(2).required().await.unwrap();
    let of_all = people
        .update_many(|_| Filter::everything(), nothing)
        .allow_empty();
    assert_eq!(of_all.await.unwrap().matched_count, 1);
    let of_deleted = people.update_by_id(2, nothing).allow_empty();
    assert!(matches!(
        of_deleted.required().await,
        Err(marula::Error::NotFound { .. })
    ));
    let all = people.with_deleted();
    let with_deleted = all.update_many(|_| Filter::everything(), nothing).allow_empty();
    let result = with_deleted.await.unwrap();
    assert_eq!((result.matched_count, result.modified_count), (2, 0));
    let found = people
        .find_one_and_update(|p| p._id().eq(1), nothing)
        .allow_empty();
    let found = found.select::<Age>().returning_new().required().await.unwrap();
    assert_eq!(found, Age { age: 30 });
    assert_eq!(people.find_all().await.unwrap(), [person(1)]);
    assert_eq!(
        people.with_deleted().find_by_id(2).required().await.unwrap(),
        deleted
    );
    env.stop().await;
}

#[tokio::test]
async fn an_empty_update_runs_in_a_transaction() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let observed = Observed::of(&env);
    let people = observed.db.collection::<Person>();
    let person = Person {
        _id: 1,
        age: 30,
        version: 4,
        deleted_at: None,
    };
    people.insert_one(&person).await.unwrap();
    let mut tx = observed.db.client().start_transaction().await.unwrap();
    let new = Person {
        _id: 2,
        ..person.clone()
    };
    people.insert_one(&new).session(&mut tx).await.unwrap();
    let one = people.update_by_id(2, nothing).allow_empty().session(&mut tx);
    one.required().await.unwrap();
    let many = people
        .update_many(|_| Filter::everything(), nothing)
        .allow_empty();
    assert_eq!(many.session(&mut tx).await.unwrap().matched_count, 2);
    let found = people
        .find_one_and_update(|p| p._id().eq(2), nothing)
        .allow_empty();
    let found = found.select::<Age>().session(&mut tx).required().await.unwrap();
    assert_eq!(found.age, 30);
    // Outside of the transaction the document does not exist yet.
    let outside = people.update_by_id(2, nothing).allow_empty().await.unwrap();
    assert_eq!(outside.matched_count, 0);
    tx.commit().await.unwrap();
    assert_eq!(people.find_by_id(2).required().await.unwrap(), new);
    let sent = observed.take("update");
    assert_eq!(
        sent.iter()
            .filter(|update| update.contains_key("autocommit"))
            .count(),
        2
    );
    env.stop().await;
}
