//! The values of operators, computed by a deployment.

use crate::models::*;
use marula::bson::{DateTime, Decimal128};
use marula::expr::*;
use marula::prelude::*;
use marula::{Direction, Shape};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
struct Numbers {
    added: i64,
    quotient: f64,
    remainder: i64,
    negative: Option<i64>,
    absolute: i64,
    rounded: f64,
    truncated: f64,
    floor: f64,
    ceiling: f64,
    root: f64,
    power: i64,
    long: i64,
    double: f64,
    decimal: Decimal128,
    int: Option<i32>,
    average: Option<f64>,
    least: Option<i32>,
    greatest: Option<i64>,
}

#[tokio::test]
async fn numbers() {
    let shop = Shop::open().await;
    let numbers = shop
        .orders
        .aggregate()
        .match_(|o| o.id().eq(2))
        .project(|o| NumbersExpr {
            added: o.total() + o.id() * 2,
            quotient: o.total() / 2,
            remainder: modulo(o.total(), 300),
            negative: expr(o.discount() * -1),
            absolute: abs(o.id() - 5),
            rounded: round(lit::<_, f64>(2.55), 1),
            truncated: trunc(lit::<_, f64>(2.59), 1),
            floor: floor(2.5),
            ceiling: ceil(2.5),
            root: sqrt(16),
            power: pow(o.id(), 3),
            long: to_long(2.9),
            double: to_double(o.id()),
            decimal: to_decimal(o.id()),
            int: to_int(o.discount()),
            average: avg_of(o.lines(), |l| l.quantity()),
            least: min_of(o.lines(), |l| l.quantity()),
            greatest: max_of(o.lines(), |l| l.price_cents()),
        })
        .first()
        .await
        .unwrap()
        .unwrap();
    let expected = Numbers {
        added: 704,
        quotient: 350.0,
        remainder: 100,
        negative: Some(-50),
        absolute: 3,
        rounded: numbers.rounded,
        truncated: 2.5,
        floor: 2.0,
        ceiling: 3.0,
        root: 4.0,
        power: 8,
        long: 2,
        double: 2.0,
        decimal: "2".parse().unwrap(),
        int: Some(50),
        average: Some(1.5),
        least: Some(1),
        greatest: Some(500),
    };
    assert!((2.5..=2.6).contains(&numbers.rounded));
    assert_eq!(numbers, expected);
    shop.close().await;
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
struct Texts {
    lower: String,
    upper: String,
    length: i32,
    part: String,
    words: Vec<String>,
    trimmed: String,
    replaced: String,
    at: i32,
    is_match: bool,
    number: String,
    size: String,
}

#[tokio::test]
async fn strings_and_conditions() {
    let shop = Shop::open().await;
    let texts = shop
        .orders
        .aggregate()
        .match_(|o| o.id().eq(2))
        .project(|o| TextsExpr {
            lower: to_lower(o.address().city()),
            upper: to_upper("a$b"),
            length: char_count("äbc"),
            part: substring("abcd", 1, 2),
            words: split("a b", " "),
            trimmed: trim("  a "),
            replaced: replace_all("a-b-c", "-", "+"),
            at: index_of_text("abc", "c"),
            is_match: regex_match(o.address().city(), "^zur", "i"),
            number: to_text(o.id()),
            size: switch(
                [
                    (gt(o.total(), 10_000), lit("large")),
                    (gt(o.total(), 650), lit("medium")),
                ],
                "small",
            ),
        })
        .first()
        .await
        .unwrap()
        .unwrap();
    let expected = Texts {
        lower: "zurich".to_owned(),
        upper: "A$B".to_owned(),
        length: 3,
        part: "bc".to_owned(),
        words: vec!["a".to_owned(), "b".to_owned()],
        trimmed: "a".to_owned(),
        replaced: "a+b+c".to_owned(),
        at: 2,
        is_match: true,
        number: "2".to_owned(),
        size: "medium".to_owned(),
    };
    assert_eq!(texts, expected);
    shop.close().await;
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
struct Dates {
    year: i32,
    month: i32,
    day: i32,
    weekday: i32,
    day_of_year: i32,
    hour: i32,
    minute: i32,
    second: i32,
    millisecond: i32,
    start: DateTime,
    later: DateTime,
    days: i64,
    text: String,
}

#[tokio::test]
async fn dates() {
    let shop = Shop::open().await;
    let dates = shop
        .orders
        .aggregate()
        .match_(|o| o.id().eq(2))
        .project(|o| DatesExpr {
            year: year(o.created_at()),
            month: month(o.created_at()),
            day: day_of_month(o.created_at()),
            weekday: day_of_week(o.created_at()),
            day_of_year: day_of_year(o.created_at()),
            hour: hour(o.created_at()),
            minute: minute(o.created_at()),
            second: second(o.created_at()),
            millisecond: millisecond(o.created_at()),
            start: date_trunc(o.created_at(), Unit::Month),
            later: date_add(o.created_at(), Unit::Hour, 1),
            days: date_diff(DateTime::from_millis(0), o.created_at(), Unit::Day),
            text: format_date(o.created_at(), "%Y-%m-%d"),
        })
        .first()
        .await
        .unwrap()
        .unwrap();
    let days = |n: i64| DateTime::from_millis(n * 86_400_000);
    let expected = Dates {
        year: 1970,
        month: 2,
        day: 10,
        weekday: 3,
        day_of_year: 41,
        hour: 0,
        minute: 0,
        second: 0,
        millisecond: 0,
        start: days(31),
        later: DateTime::from_millis(40 * 86_400_000 + 3_600_000),
        days: 40,
        text: "1970-02-10".to_owned(),
    };
    assert_eq!(dates, expected);
    shop.close().await;
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
struct Arrays {
    size: i32,
    lower: Vec<String>,
    large: Vec<Line>,
    any: bool,
    all: bool,
    joined: String,
    last: Option<String>,
    contains: bool,
    first: Vec<String>,
    reversed: Vec<String>,
    sorted: Vec<String>,
    by_price: Vec<Line>,
    both: Vec<String>,
    union: Vec<String>,
    common: Vec<String>,
    rest: Vec<String>,
    is_subset: bool,
}

#[tokio::test]
async fn arrays() {
    let shop = Shop::open().await;
    let arrays = shop
        .orders
        .aggregate()
        .match_(|o| o.id().eq(2))
        .project(|o| ArraysExpr {
            size: size(o.tags()),
            lower: map(o.tags(), to_lower),
            large: filter(o.lines(), |l| gt(l.price_cents(), 100) & lt(l.quantity(), 5)),
            any: any_of(o.lines(), |l| eq(l.sku(), "pot")),
            all: all_of(o.lines(), |l| eq(l.sku(), "pot")),
            joined: reduce(o.tags(), "", |text, tag| concat([text, expr(tag)])),
            last: element_at(o.tags(), -1),
            contains: contains(o.tags(), "Gift"),
            first: slice(o.tags(), 1),
            reversed: reverse(o.tags()),
            sorted: sort_array(o.tags(), Direction::Descending),
            by_price: sort_array_by(o.lines(), |l| l.price_cents().desc()),
            both: concat_arrays(o.tags(), o.tags()),
            union: sort_array(
                set_union(o.tags(), lit::<_, Vec<String>>(["x", "n2"])),
                Direction::Ascending,
            ),
            common: set_intersection(o.tags(), lit::<_, Vec<String>>(["n2", "$x"])),
            rest: set_difference(o.tags(), lit::<_, Vec<String>>(["n2"])),
            is_subset: is_subset(lit::<_, Vec<String>>(["n2"]), o.tags()),
        })
        .first()
        .await
        .unwrap()
        .unwrap();
    let texts = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
    let lines = orders()[1].lines.clone();
    let expected = Arrays {
        size: 2,
        lower: texts(&["gift", "n2"]),
        large: vec![lines[1].clone()],
        any: true,
        all: false,
        joined: "Giftn2".to_owned(),
        last: Some("n2".to_owned()),
        contains: true,
        first: texts(&["Gift"]),
        reversed: texts(&["n2", "Gift"]),
        sorted: texts(&["n2", "Gift"]),
        by_price: vec![lines[1].clone(), lines[0].clone()],
        both: texts(&["Gift", "n2", "Gift", "n2"]),
        union: texts(&["Gift", "n2", "x"]),
        common: texts(&["n2"]),
        rest: texts(&["Gift"]),
        is_subset: true,
    };
    assert_eq!(arrays, expected);
    shop.close().await;
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
struct Codes {
    card: Option<String>,
    voucher: Option<i32>,
    is_open: bool,
    has_no_discount: bool,
}

/// Both variants have a field `code`, of different types.
#[tokio::test]
async fn fields_of_another_variant_are_null() {
    let shop = Shop::open().await;
    let codes = shop
        .orders
        .aggregate()
        .match_(|o| o.id().gte(3))
        .sort(|o| o.id().asc())
        .project(|o| CodesExpr {
            card: expr(o.payment().card().code()),
            voucher: expr(o.payment().voucher().code()),
            is_open: eq(o.status(), Status::Open) | !not(lit::<_, bool>(false)) & ne(o.id(), o.id()),
            has_no_discount: is_null(o.discount()),
        })
        .all()
        .await
        .unwrap();
    let codes: Vec<(Option<&str>, Option<i32>)> =
        codes.iter().map(|c| (c.card.as_deref(), c.voucher)).collect();
    assert_eq!(codes, [(Some("c3"), None), (None, Some(7))]);
    shop.close().await;
}

#[test]
fn nested_closures_have_their_own_variables() {
    let o = Order::fields();
    let nested = map(o.lines(), |outer| {
        let inner = map(Order::fields().lines(), |inner| {
            inner.quantity() + outer.quantity()
        });
        size(inner)
    });
    assert_eq!(
        nested.to_string(),
        concat!(
            r#"{"$map": {"input": "$lines", "as": "v0", "in": {"$size": {"$map": {"input": "$lines", "#,
            r#""as": "v1", "in": {"$add": ["$$v1.quantity", "$$v0.quantity"]}}}}}}"#
        )
    );
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
struct Nested {
    text: String,
}

/// The inner `$reduce` has its own `$$this` and `$$value`.
#[tokio::test]
async fn nested_reductions_use_the_variables_of_both() {
    let shop = Shop::open().await;
    let nested = shop
        .orders
        .aggregate()
        .match_(|o| o.id().eq(2))
        .project(|o| NestedExpr {
            text: reduce(o.lines(), "", |text, line| {
                reduce(o.tags(), text, |inner, tag| {
                    concat([inner, expr(line.sku()), expr(tag), expr(" ")])
                })
            }),
        })
        .first()
        .await
        .unwrap();
    let expected = Nested {
        text: "teaGift tean2 potGift potn2 ".to_owned(),
    };
    assert_eq!(nested, Some(expected));
    shop.close().await;
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
struct Fees {
    fees: Decimal128,
}

#[tokio::test]
async fn the_sum_of_no_decimals_is_a_decimal() {
    let shop = Shop::open().await;
    let fees = shop
        .orders
        .aggregate()
        .match_(|o| o.id().eq(2))
        .project(|_| FeesExpr {
            fees: sum_of(lit::<_, Vec<i64>>(Vec::<i64>::new()), to_decimal),
        })
        .first()
        .await
        .unwrap();
    let expected = Fees {
        fees: "0".parse().unwrap(),
    };
    assert_eq!(fees, Some(expected));
    shop.close().await;
}

/// Arguments that an application may take from its users.
#[test]
fn text_arguments_are_not_paths() {
    let o = Order::fields();
    assert_eq!(
        date_trunc_in(o.created_at(), Unit::Day, "$status").to_string(),
        r#"{"$dateTrunc": {"date": "$createdAt", "unit": "day", "timezone": {"$literal": "$status"}}}"#
    );
    assert_eq!(
        regex_match::<Order, _>("x", "$a", "$status").to_string(),
        r#"{"$regexMatch": {"input": "x", "regex": {"$literal": "$a"}, "options": {"$literal": "$status"}}}"#
    );
}
