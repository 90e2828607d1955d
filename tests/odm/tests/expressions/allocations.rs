//! Allocations of filters and updates, built by the typed API. Their bytes are written by calls, whose allocations
//! `marula-bench check` limits.

use marula::prelude::*;
use marula::{Document, Embedded, Filter, IntoUpdate, Update};

#[derive(Clone, Debug, Embedded)]
struct Line {
    sku: String,
    qty: i32,
}

#[derive(Clone, Debug, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    customer: i64,
    total: i64,
    note: Option<String>,
    lines: Vec<Line>,
}

/// Fails if building the value allocates another number of times than stated.
fn check<T>(what: &str, expected: u64, build: impl FnOnce() -> T) {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(build())));
    assert_eq!(counted.count_total, expected, "{what}");
}

#[test]
fn filters_are_built_with_one_list() {
    let o = Order::fields;
    type F = Filter<Order>;
    check("eq", 0, || -> F { o().customer().eq(1) });
    check("two fields", 1, || -> F {
        o().customer().eq(1) & o().total().eq(2)
    });
    // One of its three is the text.
    check("three fields, one of text", 3, || -> F {
        o().customer().eq(1) & o().total().eq(2) & o().note().eq("a")
    });
    check("exists", 0, || -> F { o().note().exists() });
    // A list of operators, and one of conditions.
    check("between", 2, || -> F { o().total().between(1, 5) });
    check("two conditions on a field", 1, || -> F {
        o().total().gte(1) & o().total().lt(5)
    });
    check("or", 1, || -> F { o().customer().eq(1) | o().total().eq(2) });
    check("not", 1, || -> F { !o().customer().eq(1) });
    check("elem_match of two, one of text", 4, || -> F {
        o().lines().elem_match(|l| l.sku().eq("a") & l.qty().gt(1))
    });
}

#[test]
fn updates_are_built_with_one_list() {
    let o = Order::fields;
    type U = Update<Order>;
    check("inc", 1, || -> U { o().total().inc(1).into_update() });
    check("inc and set", 2, || -> U {
        (o().total().inc(1), o().customer().set(2)).into_update()
    });
    check("set of text", 2, || -> U { o().note().set("a").into_update() });
}
