//! Combinations of typed and raw parts in one call.

use crate::common::{Env, Line, Order, decimal, order};
use marula::bson::doc;
use marula::driver::options::ReturnDocument;
use marula::prelude::*;
use marula::{Collection, Filter, Update};

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
        .find(|_| Filter::expr(doc! { "$gt": ["$number", 1] }) & Filter::expr(doc! { "$lt": ["$number", 3] }))
        .all()
        .await
        .unwrap();
    assert_eq!(found.iter().map(|o| o.number).collect::<Vec<_>>(), [2]);
    env.stop().await;
}
