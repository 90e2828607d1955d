//! Paths through enum variants: the sent filters and updates, and those that are rejected.

use marula::prelude::*;
use marula::{Document, Embedded, Error, IntoUpdate};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Bank {
    iban: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum Payment {
    Card { last4: String },
    Transfer(Bank),
    Cash,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(untagged)]
enum Loose {
    Bank(Bank),
    Text { body: String },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "state")]
enum State {
    Paid { by: Payment, parts: Vec<Payment> },
    Open,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "bills")]
struct Bill {
    _id: i64,
    payment: Payment,
    loose: Loose,
    states: Vec<State>,
    #[serde(flatten)]
    flat: Payment,
}

#[test]
fn tags_are_added_to_filters_and_updates() {
    let b = Bill::fields();
    let filters = [
        (
            b.payment().card().last4().eq("1") & b.payment().is_card(),
            r#"{"payment.last4": {"$eq": "1"}, "payment.kind": {"$eq": "Card"}}"#,
        ),
        (
            b.states().paid().by().card().last4().eq("1"),
            r#"{"states": {"$elemMatch": {"by.last4": {"$eq": "1"}, "state": {"$eq": "Paid"}, "by.kind": {"$eq": "Card"}}}}"#,
        ),
        (
            b.states().paid().parts().card().last4().eq("1"),
            r#"{"states": {"$elemMatch": {"parts": {"$elemMatch": {"last4": {"$eq": "1"}, "kind": {"$eq": "Card"}}}, "state": {"$eq": "Paid"}}}}"#,
        ),
        (
            b.states().nth(0).paid().parts().card().last4().eq("1"),
            r#"{"states.0.parts": {"$elemMatch": {"last4": {"$eq": "1"}, "kind": {"$eq": "Card"}}}, "states.0.state": {"$eq": "Paid"}}"#,
        ),
        (
            b.flat().transfer().iban().eq("1"),
            r#"{"iban": {"$eq": "1"}, "kind": {"$eq": "Transfer"}}"#,
        ),
    ];
    for (filter, sent) in filters {
        assert_eq!(filter.to_string(), sent);
    }
    let updates = [
        (
            b.payment().transfer().iban().set("DE1"),
            r#"{"$set": {"payment.iban": "DE1"}} where {"payment.kind": {"$eq": "Transfer"}}"#,
        ),
        (
            b.states()
                .all_positional()
                .paid()
                .parts()
                .all_positional()
                .card()
                .last4()
                .set("1"),
            r#"{"$set": {"states.$[f0].parts.$[f1].last4": "1"}} arrayFilters [{"f0.state": {"$eq": "Paid"}}, {"f1.kind": {"$eq": "Card"}}]"#,
        ),
        (
            b.states()
                .filtered_positional(|s| s.is_paid())
                .paid()
                .by()
                .card()
                .last4()
                .set("1"),
            r#"{"$set": {"states.$[f0].by.last4": "1"}} arrayFilters [{"f0.state": {"$eq": "Paid"}, "f0.by.kind": {"$eq": "Card"}}]"#,
        ),
    ];
    for (update, sent) in updates {
        assert_eq!(update.to_string(), sent);
    }
}

#[test]
fn filters_on_an_untagged_variant_are_rejected() {
    let b = Bill::fields();
    for filter in [
        b.loose().bank().iban().eq("1"),
        b.loose().bank().iban().ne("1"),
        b.loose().text().body().exists(),
        b.loose().text().body().contains_text("1"),
        !b.loose().text().body().between("1", "2"),
    ] {
        match filter.into_document() {
            Err(Error::InvalidFilter { path, reason }) => {
                assert!(path.starts_with("loose."), "{path}");
                assert!(reason.contains("untagged"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
    let whole = Loose::Bank(Bank { iban: "1".to_owned() });
    assert_eq!(
        b.loose().eq(&whole).to_string(),
        r#"{"loose": {"$eq": {"iban": "1"}}}"#
    );
}

#[test]
fn updates_without_a_condition_on_the_variant_are_rejected() {
    let b = Bill::fields();
    let both = (
        b.payment().card().last4().set("1"),
        b.payment().transfer().iban().set("2"),
    )
        .into_update();
    for (update, part) in [
        (b.loose().bank().iban().set("1"), "untagged"),
        (b.loose().text().body().unset(), "untagged"),
        (
            b.payment().card().last4().rename(b.loose().bank().iban()),
            "untagged",
        ),
        (both, "two variants"),
        (
            b.payment().card().last4().rename(b.payment().transfer().iban()),
            "two variants",
        ),
    ] {
        let shown = update.to_string();
        match update.into_parts() {
            Err(Error::InvalidUpdate { reason, .. }) => assert!(reason.contains(part), "{reason}"),
            other => panic!("{shown}: {other:?}"),
        }
    }
    // `compile` has no filter for the condition, so it fails.
    let update = b.payment().card().last4().set("1");
    assert!(
        matches!(update.clone().compile(), Err(Error::InvalidUpdate { path, .. }) if path == "payment.kind")
    );
    let (condition, _) = update.into_parts().unwrap();
    assert_eq!(condition.to_string(), r#"{"payment.kind": {"$eq": "Card"}}"#);
}
