//! Changes of one update: their grouping, their conflicts, their array filters.

use super::*;
use crate::{
    ast::filter::{Node, Op},
    base::bson::{Bson, IntoDocument, doc},
};

fn set(path: &'static str, value: i32) -> Change {
    Change::new(Operator::Set, path, Bson::Int32(value))
}

#[test]
fn operators_are_grouped_in_the_order_of_their_first_use() {
    let inc = |path: &'static str| Change::new(Operator::Inc, path, Bson::Int32(1));
    let changes = vec![
        set("a", 1),
        inc("n"),
        set("b", 2),
        Change::new(Operator::named("$new"), "c", true.into()),
    ];
    let operators = Operators::new(changes).unwrap();
    let expected = doc! { "$set": { "a": 1, "b": 2 }, "$inc": { "n": 1 }, "$new": { "c": true } };
    assert_eq!(operators.to_document(), expected);
    assert_eq!(
        operators.to_bytes().unwrap(),
        expected.into_raw_document().unwrap()
    );
}

#[test]
fn conflicts_are_found_in_few_and_in_many_changes() {
    let rename = Change::new(Operator::Rename, "from", Bson::from("a.b"));
    for (pair, field) in [
        ([set("a", 1), set("a", 2)], "a"),
        ([set("a.b.c", 1), set("a.b", 2)], "a.b"),
        ([set("a", 1), rename], "a"),
    ] {
        for others in [0, 40] {
            let mut changes = pair.to_vec();
            changes.extend((0..others).map(|n| Change::new(Operator::Unset, format!("x{n}"), "".into())));
            let error = Operators::new(changes).unwrap_err().to_string();
            assert!(error.contains(&format!("`{field}`")), "{error}");
        }
    }
    for others in [0, 40] {
        let mut changes = vec![set("a", 1), set("ab", 1), set("a_b.c", 1)];
        changes.extend((0..others).map(|n| Change::new(Operator::Unset, format!("x{n}"), "".into())));
        assert!(Operators::new(changes).is_ok());
    }
}

#[test]
fn equal_array_filters_of_one_array_have_one_identifier() {
    let change = |path: &'static str, sku: i32| Change {
        array_filters: vec![Ok(Node::leaf("sku", Op::Eq(sku.into())))],
        ..set(path, 1)
    };
    let changes = vec![
        change("lines.$[f0].qty", 1),
        change("lines.$[f0].price", 1),
        change("lines.$[f0].note", 2),
        change("gifts.$[f0].qty", 1),
    ];
    let operators = Operators::new(changes).unwrap();
    let paths: Vec<_> = operators.targets().collect();
    assert_eq!(
        paths,
        [
            "lines.$[f0].qty",
            "lines.$[f0].price",
            "lines.$[f1].note",
            "gifts.$[f2].qty"
        ]
    );
    let expected = [1, 2, 1].into_iter().enumerate();
    let expected = expected.map(|(at, sku)| doc! { format!("f{at}.sku"): { "$eq": sku } });
    assert_eq!(operators.array_filters(), expected.collect::<Vec<_>>());
    let twice = vec![change("lines.$[f0].qty", 1), change("lines.$[f0].qty", 1)];
    assert!(Operators::new(twice).is_err());
}

#[test]
fn every_operator_is_found_by_its_name() {
    for name in [
        "$set",
        "$setOnInsert",
        "$unset",
        "$inc",
        "$rename",
        "$pull",
        "$other",
    ] {
        assert_eq!(Operator::named(name).sent(), name);
    }
    assert_eq!(Operator::named("$other"), Operator::Other("$other".into()));
}
