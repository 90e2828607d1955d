//! The effects of filters and updates: arrays, variants, missing fields, positional operators.

use crate::common::{Env, Line, Order, Payment, Status, decimal, order};
use marula::prelude::*;
use marula::{BsonType, Collection, Error, Fields, Filter, IntoUpdate, Model, bson::doc};

fn line(sku: &str, qty: i32) -> Line {
    Line {
        sku: sku.to_owned(),
        qty,
        unit_price: decimal("1.50"),
    }
}

/// Order 1: tea 2, cup 1, a card, tags a and b; order 2: tea 5, a note; order 3: no lines, paid.
async fn shop() -> (Env, Collection<Order>) {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    let mut all = [order(1), order(2), order(3)];
    all[0].lines = vec![line("tea", 2), line("cup", 1)];
    all[0].payment = Payment::Card {
        last_four: "4242".to_owned(),
    };
    all[0].tags = vec!["a".to_owned(), "b".to_owned()];
    all[1].lines = vec![line("tea", 5)];
    all[1].note = Some("Take care. (fragile)".to_owned());
    all[2].lines = Vec::new();
    all[2].status = Status::Paid;
    orders.insert_many(&all).await.expect("orders are inserted");
    (env, orders)
}

async fn matches(
    orders: &Collection<Order>,
    filter: impl FnOnce(Fields<Order>) -> Filter<Order>,
) -> Vec<i64> {
    let found = orders
        .find(filter)
        .sort(|o| o.number().asc())
        .all()
        .await
        .expect("a valid filter");
    found.into_iter().map(|o| o.number).collect()
}

#[tokio::test]
async fn comparisons_and_logic() {
    let (env, orders) = shop().await;
    assert_eq!(matches(&orders, |o| o.number().ne(2)).await, [1, 3]);
    assert_eq!(
        matches(&orders, |o| o.number().gte(2) & o.number().lt(3)).await,
        [2]
    );
    assert_eq!(matches(&orders, |o| o.number().is_in([1, 3, 9])).await, [1, 3]);
    assert_eq!(matches(&orders, |o| o.status().not_in([Status::Open])).await, [3]);
    assert_eq!(
        matches(&orders, |o| o.number().eq(1) | o.status().eq(Status::Paid)).await,
        [1, 3]
    );
    assert_eq!(
        matches(&orders, |o| !(o.number().eq(1) | o.status().eq(Status::Paid))).await,
        [2]
    );
    assert_eq!(matches(&orders, |o| o.number().not(|n| n.gt(1))).await, [1]);
    assert_eq!(matches(&orders, |_| Filter::nothing()).await, [0_i64; 0]);
    assert_eq!(matches(&orders, |_| Filter::all([])).await, [1, 2, 3]);
    assert_eq!(matches(&orders, |o| o.number().modulo(2, 1)).await, [1, 3]);
    assert_eq!(matches(&orders, |o| o.number().bits_all_set(3)).await, [3]);
    env.stop().await;
}

#[tokio::test]
async fn missing_fields_and_strings() {
    let (env, orders) = shop().await;
    assert_eq!(matches(&orders, |o| o.note().exists()).await, [2]);
    assert_eq!(matches(&orders, |o| o.note().is_missing()).await, [1, 3]);
    assert_eq!(matches(&orders, |o| o.note().is_null()).await, [1, 3]);
    assert_eq!(
        matches(&orders, |o| o.note().type_is(BsonType::String)).await,
        [2]
    );
    assert_eq!(
        matches(&orders, |o| o.note().type_is(BsonType::Null)).await,
        [0_i64; 0]
    );
    assert_eq!(
        matches(&orders, |o| o.note().starts_with("Take care. (")).await,
        [2]
    );
    assert_eq!(matches(&orders, |o| o.note().regex(("^take", "i"))).await, [2]);
    assert_eq!(matches(&orders, |o| o.note().regex("^take")).await, [0_i64; 0]);
    env.stop().await;
}

#[tokio::test]
async fn arrays_and_variants() {
    let (env, orders) = shop().await;
    assert_eq!(matches(&orders, |o| o.tags().contains("a")).await, [1]);
    assert_eq!(
        matches(&orders, |o| o.tags().contains("a") & o.tags().contains("b")).await,
        [1]
    );
    assert_eq!(matches(&orders, |o| o.tags().all(["a", "c"])).await, [0_i64; 0]);
    assert_eq!(matches(&orders, |o| o.tags().eq(["a", "b"])).await, [1]);
    assert_eq!(
        matches(&orders, |o| o.tags().elem_match(|t| t.ne("a") & t.ne("b"))).await,
        [0_i64; 0]
    );
    assert_eq!(
        matches(&orders, |o| o.tags().elem_match(|t| t.ne("a") & t.ne("c"))).await,
        [1]
    );
    assert_eq!(matches(&orders, |o| o.lines().size(2)).await, [1]);
    assert_eq!(matches(&orders, |o| o.lines().qty().gte(5)).await, [2]);
    assert_eq!(
        matches(&orders, |o| o
            .lines()
            .elem_match(|l| l.sku().eq("tea") & l.qty().gte(2)))
        .await,
        [1, 2]
    );
    assert_eq!(
        matches(&orders, |o| o
            .lines()
            .elem_match(|l| l.sku().eq("cup") & l.qty().gte(2)))
        .await,
        [0_i64; 0]
    );
    assert_eq!(matches(&orders, |o| o.lines().nth(1).sku().eq("cup")).await, [1]);
    assert_eq!(
        matches(&orders, |o| o.payment().card().last_four().eq("4242")).await,
        [1]
    );
    assert_eq!(matches(&orders, |o| o.payment().is_cash()).await, [2, 3]);
    assert_eq!(matches(&orders, |o| o.payment().eq(Payment::Cash)).await, [2, 3]);
    env.stop().await;
}

async fn changed<U: IntoUpdate<Order>>(
    orders: &Collection<Order>,
    number: i64,
    update: impl FnOnce(Fields<Order>) -> U,
) -> Order {
    let result = orders
        .update_one(|o| o.number().eq(number), update)
        .await
        .expect("a valid update");
    assert_eq!(result.matched_count, 1);
    orders
        .find_one(|o| o.number().eq(number))
        .required()
        .await
        .expect("the order")
}

fn quantities(order: &Order) -> Vec<i32> {
    order.lines.iter().map(|l| l.qty).collect()
}

#[tokio::test]
async fn positional_updates() {
    let (env, orders) = shop().await;
    let after = changed(&orders, 1, |o| o.lines().nth(1).qty().set(7)).await;
    assert_eq!(quantities(&after), [2, 7]);
    let after = changed(&orders, 1, |o| o.lines().all_positional().qty().inc(1)).await;
    assert_eq!(quantities(&after), [3, 8]);
    let after = changed(&orders, 1, |o| {
        (
            o.lines().filtered_positional(|l| l.sku().eq("tea")).qty().inc(10),
            o.lines().filtered_positional(|l| l.sku().eq("cup")).qty().mul(2),
            o.status().set(Status::Paid),
        )
    })
    .await;
    assert_eq!((quantities(&after), after.status), (vec![13, 16], Status::Paid));
    let result = orders
        .update_one(
            |o| o.number().eq(1) & o.lines().elem_match(|l| l.sku().eq("cup")),
            |o| o.lines().positional().qty().dec(6),
        )
        .await
        .unwrap();
    assert_eq!(result.modified_count, 1);
    let after = orders.find_one(|o| o.number().eq(1)).required().await.unwrap();
    assert_eq!(quantities(&after), [13, 10]);
    env.stop().await;
}

#[tokio::test]
async fn a_positional_update_needs_a_condition_on_the_array() {
    let (env, orders) = shop().await;
    let o = Order::fields();
    let tea = || o.lines().sku().eq("tea");
    for filter in [
        o.number().eq(1),
        o.number().eq(1) & o.lines().sku().ne("tea"),
        o.number().eq(1) & o.lines().sku().not(|sku| sku.eq("tea")),
        o.number().eq(1) & !tea(),
        o.number().eq(1) & o.tags().contains("a"),
        o.number().eq(1) & Filter::raw(doc! { "linesOfOthers.sku": "tea" }),
    ] {
        let text = filter.to_string();
        let updating = orders.update_one(|_| filter, |o| o.lines().positional().qty().inc(1));
        let error = updating.await.unwrap_err();
        assert!(matches!(error, Error::InvalidUpdate { .. }), "{text}: {error:?}");
        let message = error.to_string();
        assert!(
            message.contains("no condition on `lines`") && message.contains("lines.$.qty"),
            "{text}: {message}"
        );
    }
    for filter in [
        tea(),
        o.number().eq(1) & (tea() | o.lines().qty().gt(100)),
        o.lines().elem_match(|l| l.sku().ne("cup")),
        o.number().eq(1) & Filter::raw(doc! { "lines.sku": "tea" }),
    ] {
        let text = filter.to_string();
        let updating = orders.update_one(|_| filter, |o| o.lines().positional().qty().inc(1));
        assert_eq!(updating.await.unwrap().matched_count, 1, "{text}");
    }
    let upsert = orders
        .update_one(|_| tea(), |o| o.lines().positional().qty().inc(1))
        .upsert(true);
    let message = upsert.await.unwrap_err().to_string();
    assert!(message.contains("an upsert cannot use it"), "{message}");
    let bulk = orders
        .bulk()
        .update_one(|o| o.number().eq(1), |o| o.lines().positional().qty().inc(1));
    let message = format!("{:#}", bulk.await.unwrap_err());
    assert!(message.contains("no condition on `lines`"), "{message}");
    env.stop().await;
}

#[tokio::test]
async fn array_updates() {
    let (env, orders) = shop().await;
    let after = changed(&orders, 3, |o| o.lines().push(line("tea", 1))).await;
    assert_eq!(quantities(&after), [1]);
    let after = changed(&orders, 3, |o| {
        o.lines()
            .push_each([line("cup", 5), line("pot", 3)])
            .sort(|l| l.qty().desc())
            .slice(2)
    })
    .await;
    assert_eq!(quantities(&after), [5, 3]);
    let after = changed(&orders, 3, |o| o.lines().pull(|l| l.sku().eq("pot"))).await;
    assert_eq!(quantities(&after), [5]);
    let after = changed(&orders, 1, |o| o.tags().add_each_to_set(["b", "c"])).await;
    assert_eq!(after.tags, ["a", "b", "c"]);
    let after = changed(&orders, 1, |o| o.tags().pull_all(["a", "c"])).await;
    assert_eq!(after.tags, ["b"]);
    let after = changed(&orders, 1, |o| o.tags().push_each(["x", "y"]).position(0)).await;
    assert_eq!(after.tags, ["x", "y", "b"]);
    let after = changed(&orders, 1, |o| o.tags().pop_first()).await;
    assert_eq!(after.tags, ["y", "b"]);
    env.stop().await;
}

#[tokio::test]
async fn field_updates() {
    let (env, orders) = shop().await;
    let after = changed(&orders, 2, |o| o.note().unset()).await;
    assert_eq!(after.note, None);
    let after = changed(&orders, 2, |o| (o.note().set("n"), o.created_at().current_date())).await;
    assert_eq!(after.note.as_deref(), Some("n"));
    assert!(after.created_at.timestamp_millis() > 1_700_000_000_000);
    let after = changed(&orders, 2, |o| o.number().max(1)).await;
    assert_eq!(after.number, 2);
    let after = changed(&orders, 2, |o| {
        o.payment().set(Payment::Card {
            last_four: "1".to_owned(),
        })
    })
    .await;
    assert_eq!(
        after.payment,
        Payment::Card {
            last_four: "1".to_owned()
        }
    );
    let after = changed(&orders, 2, |o| o.payment().card().last_four().set("2")).await;
    assert_eq!(
        after.payment,
        Payment::Card {
            last_four: "2".to_owned()
        }
    );
    env.stop().await;
}

#[tokio::test]
async fn next_if_any_does_not_wait() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    orders.insert_many(&[order(1), order(2), order(3)]).await.unwrap();
    let mut documents = orders
        .find_all()
        .sort(|o| o.number().asc())
        .batch_size(2)
        .stream()
        .await
        .unwrap();
    let mut found = Vec::new();
    while let Some(order) = documents.next_if_any().await.unwrap() {
        found.push(order.number);
    }
    assert_eq!(found, [1, 2, 3]);
    env.stop().await;
}
