//! Types and fields that are stored as what their `Serialize` writes.

use std::collections::BTreeMap;

use crate::database::Env;
use marula::bson::{Bson, Document as BsonDocument, doc};
use marula::{Document, Embedded, prelude::*};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An amount that is stored as text by a `Serialize` of its own.
#[derive(Clone, Debug, PartialEq, Embedded)]
#[document(opaque)]
struct Money {
    cents: i64,
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{} ct", self.cents))
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let cents = text.strip_suffix(" ct").and_then(|cents| cents.parse().ok());
        let cents = cents.ok_or_else(|| serde::de::Error::custom("expected a number of cents"))?;
        Ok(Money { cents })
    }
}

/// A pair, of which serde's derive writes the form: the conversion is its business.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(from = "(i32, String)", into = "(i32, String)")]
#[document(opaque)]
struct Pair(i32, String);

impl From<(i32, String)> for Pair {
    fn from((number, name): (i32, String)) -> Self {
        Pair(number, name)
    }
}

impl From<Pair> for (i32, String) {
    fn from(pair: Pair) -> Self {
        (pair.0, pair.1)
    }
}

/// A type that is only written.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct Computed(i32);

/// A type of another crate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Foreign {
    name: String,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "bills", index(total, unique))]
struct Bill {
    _id: i64,
    total: Money,
    parts: Vec<Money>,
    by_name: BTreeMap<String, Money>,
    discount: Option<Money>,
    pair: Pair,
    #[serde(skip_deserializing)]
    #[document(opaque)]
    computed: Computed,
    #[document(opaque)]
    foreign: Foreign,
}

fn bill() -> Bill {
    Bill {
        _id: 1,
        total: Money { cents: 5 },
        parts: vec![Money { cents: 2 }, Money { cents: 3 }],
        by_name: BTreeMap::from([("a".to_owned(), Money { cents: 7 })]),
        discount: None,
        pair: Pair(1, "x".to_owned()),
        computed: Computed(0),
        foreign: Foreign { name: "n".to_owned() },
    }
}

#[tokio::test]
async fn an_opaque_type_is_stored_by_serde_at_every_place() {
    let env = Env::open().await;
    let bills = env.collection::<Bill>();
    bills.insert_one(&bill()).await.unwrap();
    let raw = bills.driver().clone_with_type::<BsonDocument>();
    let stored = raw.find_one(doc! {}).await.unwrap().unwrap();
    let expected = doc! {
        "_id": 1_i64, "total": "5 ct", "parts": ["2 ct", "3 ct"], "by_name": { "a": "7 ct" }, "discount": null,
        "pair": [1, "x"], "computed": 0, "foreign": { "name": "n" },
    };
    assert_eq!(stored, expected);
    assert_eq!(bills.find_by_id(1).required().await.unwrap(), bill());

    // A reference is sent in the form that its `Serialize` writes; the stored form is given as `Bson`.
    let bill = bill();
    let count = bills.count(|b| {
        b.total().eq(&bill.total)
            & b.total().eq(Bson::from("5 ct"))
            & b.parts().contains(&Money { cents: 3 })
            & b.by_name().entry("a").is_in([&Money { cents: 7 }])
            & b.pair().eq(&bill.pair)
            & b.foreign().eq(&bill.foreign)
            & b.foreign().eq(doc! { "name": "n" })
    });
    assert_eq!(count.await.unwrap(), 1);
    bills
        .update_by_id(1, |b| {
            (
                b.total().set(&Money { cents: 9 }),
                b.discount().set(Some(&Money { cents: 1 })),
                b.parts().push(&Money { cents: 4 }),
                b.foreign().set(&Foreign { name: "m".to_owned() }),
            )
        })
        .await
        .unwrap();
    let changed = bills.find_by_id(1).required().await.unwrap();
    assert_eq!(changed.total, Money { cents: 9 });
    assert_eq!(changed.discount, Some(Money { cents: 1 }));
    assert_eq!(changed.parts.len(), 3);
    assert_eq!(changed.foreign.name, "m");

    raw.update_one(doc! {}, doc! { "$set": { "total": "many" } })
        .await
        .unwrap();
    let error = bills.find_by_id(1).await.unwrap_err().to_string();
    assert!(
        error.contains("`total`") && error.contains("a number of cents"),
        "{error}"
    );
    env.close().await;
}
