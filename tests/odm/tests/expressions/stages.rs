//! Updates by typed stages: the documents that are sent, and what is refused before.

use marula::expr::*;
use marula::prelude::*;
use marula::{Document, Embedded, Error, IntoUpdate, Update};

#[derive(Embedded)]
struct Address {
    city: String,
    #[document(skip_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    floor: Option<i32>,
}

#[derive(Clone, Copy, Embedded)]
enum State {
    Paid,
}

#[derive(Embedded)]
#[serde(tag = "kind")]
enum Payment {
    Card { fee: i64 },
    Cash { given: i64 },
}

#[derive(Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    price: i64,
    qty: i32,
    total: i64,
    state: State,
    label: String,
    note: Option<String>,
    #[document(skip_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    tags: Vec<String>,
    home: Address,
    office: Option<Address>,
    payment: Payment,
}

fn sent(update: impl IntoUpdate<Order>) -> String {
    update.into_update().to_string()
}

#[test]
fn values_are_expressions_and_literals() {
    let o = Order::fields();
    assert_eq!(
        sent(
            Update::stages()
                .set(o.total(), o.price() * o.qty())
                .unset(o.note())
        ),
        r#"[{"$set": {"total": {"$multiply": ["$price", "$qty"]}}}, {"$unset": "note"}]"#
    );
    assert_eq!(
        sent(
            Update::stages()
                .set(o.state(), State::Paid)
                .set(o.label(), "$price")
        ),
        r#"[{"$set": {"state": "Paid"}}, {"$set": {"label": {"$literal": "$price"}}}]"#
    );
    assert_eq!(
        sent(
            Update::stages()
                .set_value(o.tags(), ["$a"])
                .set(o.note(), o.label())
        ),
        r#"[{"$set": {"tags": {"$literal": ["$a"]}}}, {"$set": {"note": "$label"}}]"#
    );
    assert_eq!(
        sent(
            Update::stages()
                .set(o.home().city(), "x")
                .set(o.office().city(), o.home().city())
        ),
        r#"[{"$set": {"home.city": "x"}}, {"$set": {"office.city": "$home.city"}}]"#
    );
}

#[test]
fn fields_without_null_are_removed_by_null() {
    let o = Order::fields();
    assert_eq!(
        sent(Update::stages().set(o.hint(), o.note()).set(o.hint(), "x")),
        r#"[{"$set": {"hint": {"$ifNull": ["$note", "$$REMOVE"]}}}, {"$set": {"hint": "x"}}]"#
    );
    assert_eq!(
        sent(Update::stages().set_value(o.hint(), None::<String>)),
        r#"[{"$unset": "hint"}]"#
    );
    let refused =
        Update::stages()
            .set_if(true, o.office().floor(), o.qty())
            .set_if(true, o.office().floor(), 1);
    assert!(matches!(
        refused.into_update().compile(),
        Err(Error::InvalidUpdate { .. })
    ));
}

#[test]
fn conditional_sets_create_no_documents() {
    let o = Order::fields();
    assert_eq!(
        sent(Update::stages().set_if(gt(o.price(), 5), o.home().city(), "x")),
        r#"[{"$set": {"home.city": {"$cond": [{"$gt": ["$price", 5]}, "x", "$home.city"]}}}]"#
    );
    assert_eq!(
        sent(Update::stages().set_if(gt(o.price(), 5), o.office().city(), "x")),
        concat!(
            r#"[{"$set": {"office": {"$cond": [{"$gt": ["$price", 5]}, "#,
            r#"{"$mergeObjects": ["$office", {"city": "x"}]}, "$office"]}}}]"#
        )
    );
}

#[test]
fn fields_of_variants_have_conditions() {
    let o = Order::fields();
    let fee = o.payment().card().fee();
    let update = Update::stages()
        .set(fee.clone(), if_null(fee.clone(), 0) + 1)
        .into_update();
    assert!(
        update
            .to_string()
            .ends_with(r#" where {"payment.kind": {"$eq": "Card"}}"#),
        "{update}"
    );
    let (condition, _) = update.into_parts().unwrap();
    assert_eq!(condition.to_string(), r#"{"payment.kind": {"$eq": "Card"}}"#);
    let both = Update::stages()
        .set(fee.clone(), 1)
        .set(o.payment().cash().given(), 1)
        .into_update();
    assert!(
        both.into_parts()
            .unwrap_err()
            .to_string()
            .contains("two variants")
    );
    let other = Update::stages()
        .set_value(o.payment(), Payment::Cash { given: 1 })
        .set(fee, 1)
        .into_update();
    assert!(
        other
            .into_parts()
            .unwrap_err()
            .to_string()
            .contains("a stage before")
    );
}

#[test]
fn stages_are_updates_of_their_own() {
    let o = Order::fields();
    let empty = Update::<Order>::stages().into_update();
    assert!(empty.is_empty());
    assert!(matches!(empty.compile(), Err(Error::InvalidUpdate { .. })));
    let optional = (Some(Update::stages().set(o.qty(), 1)), None::<Update<Order>>).into_update();
    assert_eq!(optional.to_string(), r#"[{"$set": {"qty": 1}}]"#);
    let mixed = (Update::stages().set(o.qty(), 1), o.price().inc(1)).into_update();
    assert!(
        mixed
            .compile()
            .unwrap_err()
            .to_string()
            .contains("cannot be combined")
    );
    assert!(!Update::stages().set(o.qty(), 1).is_empty());
    let whole = Update::<Order>::stages().replace_with(Order::fields());
    assert_eq!(whole.to_string(), r#"[{"$replaceWith": "$$ROOT"}]"#);
    assert_eq!(
        format!("{:?}", whole.clone()),
        r#"UpdateStages([{"$replaceWith": "$$ROOT"}])"#
    );
}
