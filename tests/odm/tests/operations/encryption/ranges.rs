//! Ranges of encrypted decimals.

use super::Hospital;
use marula::bson::{Decimal128, doc};
use marula::{Document, Error, Model};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "bills")]
struct Bill {
    _id: i64,
    #[document(encrypted(range(min = 1, max = 1000, precision = 2)))]
    amount: Decimal128,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "bills")]
struct Reversed {
    _id: i64,
    #[document(encrypted(range(min = 11, max = 9, precision = 2)))]
    amount: Decimal128,
}

fn decimal(text: &str) -> Decimal128 {
    text.parse().expect("a decimal")
}

fn bill(id: i64, amount: &str) -> Bill {
    Bill {
        _id: id,
        amount: decimal(amount),
    }
}

#[tokio::test]
async fn decimals_outside_of_the_range_of_a_field_are_errors_that_name_it() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let bills = hospital.with::<Bill>().await.collection::<Bill>();
    let reason = "model `Bill` declares the values of this encrypted field from 1 to 1000";
    for amount in [
        "0.99",
        "1000.01",
        "-1E+2",
        "1E+4",
        "1000.000000000000000000000000000001",
    ] {
        let error = bills.insert_one(&bill(1, amount)).await.unwrap_err();
        assert!(
            matches!(&error, Error::Encode { path, .. } if path == "amount"),
            "{error:?}"
        );
        let text = format!("{error:#}");
        assert!(text.contains(reason) && !text.contains(amount), "{text}");
        let error = bills
            .find(|b| b.amount().gte(decimal(amount)))
            .all()
            .await
            .unwrap_err();
        assert!(
            matches!(&error, Error::InvalidFilter { path, reason: found } if path == "amount" && found.contains(reason)),
            "{error:?}"
        );
        let update = bills.update_by_id(1, |b| b.amount().set(decimal(amount)));
        let error = update.await.unwrap_err();
        assert!(
            matches!(&error, Error::InvalidUpdate { path, reason: found } if path == "amount" && found.contains(reason)),
            "{error:?}"
        );
    }
    // The bounds themselves, in other forms than those of the declaration.
    let all = [bill(1, "1.00"), bill(2, "1E+3"), bill(3, "12.50")];
    bills.insert_many(&all).await.unwrap();
    let between = bills.count(|b| b.amount().between(decimal("1.0"), decimal("1000.0")));
    assert_eq!(between.await.unwrap(), 3);
    assert_eq!(bills.count(|b| b.amount().lt(13)).await.unwrap(), 2);
    // What libmongocrypt says of the others.
    let error = bills.insert_one(&bill(4, "NaN")).await.unwrap_err();
    assert!(matches!(error, Error::Driver(_)), "{error:?}");
    let raw = hospital
        .db()
        .driver()
        .collection::<marula::bson::Document>("bills");
    assert_eq!(raw.count_documents(doc! {}).await.unwrap(), 3);
}

#[test]
fn the_bounds_of_decimals_are_compared() {
    let error = Reversed::encrypted_fields().unwrap_err();
    assert!(
        error.to_string().contains("`min` must be less than `max`"),
        "{error}"
    );
}
