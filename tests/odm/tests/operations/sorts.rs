//! Sorts that are chosen at run time.

use crate::common::{Env, Order, order};
use marula::bson::{Document, doc};
use marula::prelude::*;
use marula::{Collection, Direction, Error, IntoSort, KeysetSort, Sort, SortKey, SortNames};

/// Orders 0 to 5, two with each date.
async fn shop() -> (Env, Collection<Order>) {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    let all: Vec<Order> = (0..6)
        .map(|n| Order {
            created_at: order(n / 2).created_at,
            ..order(n)
        })
        .collect();
    orders.insert_many(&all).await.expect("orders are inserted");
    (env, orders)
}

fn numbers(orders: &[Order]) -> Vec<i64> {
    orders.iter().map(|o| o.number).collect()
}

#[tokio::test]
async fn erased_keys_can_be_used_in_one_match() {
    let (env, orders) = shop().await;
    let o = Order::fields();
    for (by, direction, expected) in [
        ("created", Direction::Ascending, [0, 1, 2, 3, 4, 5]),
        ("created", Direction::Descending, [4, 5, 2, 3, 0, 1]),
        ("number", Direction::Descending, [5, 4, 3, 2, 1, 0]),
    ] {
        let first: Sort<Order> = match by {
            "created" => o.created_at().by(direction).erased(),
            _ => o.number().by(direction).into(),
        };
        let found = orders
            .find_all()
            .sort(|o| vec![first, o.number().asc().erased()])
            .await
            .unwrap();
        assert_eq!(numbers(&found), expected, "{by} {direction:?}");
    }
    env.stop().await;
}

#[tokio::test]
async fn sorts_are_selected_by_name() {
    let (env, orders) = shop().await;
    let o = Order::fields();
    let names = SortNames::<Sort<Order>>::new()
        .allow("created", o.created_at().asc())
        .allow("number", o.number().desc())
        .allow("sku", o.lines().sku().asc());
    for (list, expected) in [
        ("created,number", vec![0, 1, 2, 3, 4, 5]),
        ("-created,-number", vec![5, 4, 3, 2, 1, 0]),
        (" -created , number ", vec![4, 5, 2, 3, 0, 1]),
        ("number", vec![0, 1, 2, 3, 4, 5]),
        ("sku,-number", vec![5, 4, 3, 2, 1, 0]),
    ] {
        let sort = names.parse(list).unwrap();
        let found = orders.find_all().sort(|_| sort).await.unwrap();
        assert_eq!(numbers(&found), expected, "{list}");
    }
    assert!(names.parse(" ").unwrap().is_empty());
    let by = names.by("number", Direction::Ascending).unwrap();
    assert_eq!(numbers(&orders.find_all().sort(|_| by).await.unwrap())[0], 0);
    env.stop().await;
}

#[test]
fn unknown_names_are_rejected() {
    let o = Order::fields();
    let names = SortNames::<Sort<Order>>::new()
        .allow("created", o.created_at().asc())
        .allow("number", o.number().asc());
    for list in ["total", "created,total", "--created", "created,", "-", "Created"] {
        match names.parse(list) {
            Err(Error::UnknownSort { allowed, .. }) => assert_eq!(allowed, ["created", "number"]),
            other => panic!("{list}: {other:?}"),
        }
    }
    let error = names.parse(&"ä\n".repeat(5_000)).unwrap_err().to_string();
    assert!(error.len() < 400 && !error.contains('\n'), "{error}");
    assert!(error.ends_with("expected one of created, number"), "{error}");
}

#[test]
fn a_text_score_has_one_direction() {
    let names = SortNames::<Sort<Order>>::new()
        .allow("relevance", SortKey::text_score())
        .allow("number", Order::fields().number().asc());
    for (list, expected) in [
        ("relevance", doc! { "score": { "$meta": "textScore" } }),
        (
            "-relevance,-number",
            doc! { "score": { "$meta": "textScore" }, "number": -1 },
        ),
    ] {
        let sort: Document = IntoSort::<Order>::into_sort(names.parse(list).unwrap());
        assert_eq!(sort, expected, "{list}");
    }
}

#[tokio::test]
async fn keyset_pages_accept_erased_keys() {
    let (env, orders) = shop().await;
    let o = Order::fields();
    let names = SortNames::<KeysetSort<Order>>::new()
        .allow("created", o.created_at().asc())
        .allow("number", o.number().asc());
    let page = |token: Option<String>| {
        let (orders, keys) = (orders.clone(), names.parse("-created,number").unwrap());
        async move {
            orders
                .find_all()
                .keyset(|_| keys, token.as_deref(), 4)
                .await
                .unwrap()
        }
    };
    let first = page(None).await;
    assert_eq!(numbers(&first.items), [4, 5, 2, 3]);
    let second = page(first.next).await;
    assert_eq!(numbers(&second.items), [0, 1]);
    assert_eq!(numbers(&page(second.previous).await.items), [4, 5, 2, 3]);
    env.stop().await;
}

#[tokio::test]
async fn awaiting_a_query_returns_all_documents() {
    let (env, orders) = shop().await;
    let found = orders.find(|o| o.number().gt(3)).sort(|o| o.number().asc()).await;
    assert_eq!(numbers(&found.unwrap()), [4, 5]);
    let above = Order::fields().number().gt(1);
    let below = orders.find(|o| o.number().lt(4)).filter(above.clone());
    assert_eq!(numbers(&below.sort(|o| o.number().asc()).await.unwrap()), [2, 3]);
    let broken = orders
        .find_all()
        .filter(Order::fields().number().modulo(0, 0))
        .await;
    assert!(matches!(broken, Err(Error::InvalidFilter { .. })));
    let stored = || orders.filter(above.clone());
    assert_eq!(stored().count().await.unwrap(), 4);
    assert!(stored().exists().await.unwrap());
    assert_eq!(stored().distinct(|o| o.created_at()).await.unwrap().len(), 2);
    assert!(stored().find_one().await.unwrap().is_some());
    assert_eq!(stored().delete_many().await.unwrap(), 4);
    env.stop().await;
}
