//! The sizes of the futures of the ODM's calls: the actions, which are part of the caller's future,
//! and the futures that they allocate.

use crate::common::{Env, Order, order};
use marula::prelude::*;

/// Prints the size of an action and of the future that awaiting it allocates.
macro_rules! sizes {
    ($($name:literal: $action:expr;)*) => {{
        let mut largest = (0, 0);
        $(
            let action = $action;
            let value = size_of_val(&action);
            let boxed = size_of_val(&*action.into_future());
            println!("{:<24} action {value:>5}, behind the box {boxed:>5}", $name);
            largest = (largest.0.max(value), largest.1.max(boxed));
        )*
        largest
    }};
}

/// Prints the sizes of futures that are not boxed.
macro_rules! futures {
    ($($name:literal: $future:expr;)*) => {{
        let mut largest = 0;
        $(
            let size = size_of_val(&$future);
            println!("{:<24} future {size:>5}", $name);
            largest = largest.max(size);
        )*
        largest
    }};
}

#[tokio::test]
async fn futures_of_the_calls_are_small() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    let order = order(1);
    let many = [order.clone()];
    let (value, boxed) = sizes! {
        "insert_one": orders.insert_one(&order);
        "insert_many": orders.insert_many(&many);
        "count": orders.count(|o| o.number().gt(1));
        "distinct": orders.distinct(|o| o.number(), |o| o.number().gt(1));
        "update_one": orders.update_one(|o| o.number().eq(1), |o| o.note().set("x"));
        "update_many": orders.update_many(|o| o.number().eq(1), |o| o.note().set("x"));
        "replace": orders.replace(&order);
        "save": orders.save(&order);
        "bulk": orders.bulk().insert(&order);
        "client bulk": env.client().bulk().on(&orders, |b| b.insert(&order));
        "watch": orders.watch();
        "delete_by_id": orders.delete_by_id(order.id);
        "find_one_and_update": orders.find_one_and_update(|o| o.number().eq(1), |o| o.note().set("x"));
        "find_one_and_delete": orders.find_one_and_delete(|o| o.number().eq(1));
    };
    let largest = futures! {
        "find_one": orders.find_by_id(order.id).into_future();
        "find_one().required": orders.find_by_id(order.id).required();
        "update_one.required": orders.update_one(|o| o.number().eq(1), |o| o.note().set("x")).required();
        "replace.required": orders.replace(&order).required();
        "delete_by_id.required": orders.delete_by_id(order.id).required();
        "find_one_and_delete.req.": orders.find_one_and_delete(|o| o.number().eq(1)).required();
        "filter().exists": orders.filter(Order::fields().number().eq(1)).exists();
        "find": orders.find_all().into_future();
        "find().stream": orders.find_all().stream();
        "find().all": orders.find_all().all();
        "find().first": orders.find_all().first();
        "find().one": orders.find_all().one();
        "find().page": orders.find_all().page(0, 10);
        "find().keyset": orders.find_all().keyset(|o| o.number().asc(), None, 10);
        "exists": orders.exists(|o| o.number().eq(1));
        "estimated_count": orders.estimated_count();
    };
    println!("largest: {value}, {boxed}; futures {largest}");
    assert!(value <= 1_024 && boxed <= 1_024, "{value}, {boxed}");
    assert!(largest <= 1_024, "{largest}");
    env.stop().await;
}
