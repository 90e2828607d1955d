//! The operators of each decimal type.

use crate::database::Env;
use marula::bson::{Bson, Decimal128, doc};
use marula::expr::{avg, expr, gt, sum, sum_of};
use marula::{Document, Shape, prelude::*};
use serde::{Deserialize, Serialize};

macro_rules! decimals {
    ($($name:ident: $t:ty, $average:ty;)*) => { $(
        mod $name {
            use super::*;

            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
            #[document(collection = "prices")]
            struct Price {
                _id: i64,
                amount: $t,
                before: Option<$t>,
                steps: Vec<$t>,
            }

            #[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
            struct Sums {
                total: $t,
                taxed: $t,
                mean: $average,
            }

            fn decimal(text: &str) -> $t {
                text.parse().unwrap()
            }

            fn price(id: i64, amount: &str) -> Price {
                Price { _id: id, amount: decimal(amount), before: None, steps: vec![decimal("-0.10"), decimal(amount)] }
            }

            #[tokio::test]
            async fn are_stored_as_decimal128_and_used_by_every_operator() {
                let env = Env::open().await;
                let prices = env.collection::<Price>();
                prices.insert_many(&[price(1, "12.50"), price(2, "7"), price(3, "0.001")]).await.unwrap();

                let raw = prices.driver().clone_with_type::<marula::bson::Document>().find_one(doc! { "_id": 1 }).await.unwrap().unwrap();
                let stored = |text: &str| Bson::Decimal128(text.parse::<Decimal128>().unwrap());
                assert_eq!(
                    raw,
                    doc! { "_id": 1_i64, "amount": stored("12.50"), "before": null, "steps": [stored("-0.10"), stored("12.50")] }
                );

                let read = prices.find_by_id(1).required().await.unwrap();
                assert_eq!(read, price(1, "12.50"));
                assert_eq!(read.amount.to_string(), "12.50");
                assert_eq!(prices.find(|p| p.amount().gt(decimal("7"))).await.unwrap(), [price(1, "12.50")]);
                assert_eq!(prices.find(|p| p.amount().eq(7)).await.unwrap(), [price(2, "7")]);
                assert_eq!(prices.count(|p| p.amount().lt("0.01".parse::<Decimal128>().unwrap())).await.unwrap(), 1);

                prices
                    .update_one(|p| p._id().eq(2), |p| (p.amount().inc(decimal("0.25")), p.before().set(decimal("7"))))
                    .await
                    .unwrap();
                let changed = prices.find_by_id(2).required().await.unwrap();
                assert_eq!((changed.amount.to_string().as_str(), changed.before), ("7.25", Some(decimal("7"))));

                let sums = prices
                    .aggregate()
                    .match_expr(|p| gt(p.amount(), decimal("1")))
                    .group_all(|p| SumsGroup {
                        total: sum(p.amount()),
                        taxed: sum(p.amount() * decimal("1.2")),
                        mean: avg(p.amount()),
                    })
                    .first()
                    .await
                    .unwrap()
                    .unwrap();
                assert_eq!(sums.total, decimal("19.75"));
                assert_eq!(sums.taxed, decimal("23.700"));
                assert_eq!(sums.mean.to_string(), "9.875");
                let added = prices
                    .aggregate()
                    .match_(|p| p._id().eq(3))
                    .project(|p| AmountExpr { amount: expr(p.amount() + 1_i64) })
                    .first()
                    .await
                    .unwrap();
                assert_eq!(added, Some(Amount { amount: decimal("1.001") }));

                prices.update_by_id(3, |p| p.steps().set(Vec::<$t>::new())).await.unwrap();
                let steps = prices
                    .aggregate()
                    .sort(|p| p._id().asc())
                    .project(|p| AmountExpr { amount: sum_of(p.steps(), |step| step) })
                    .all()
                    .await
                    .unwrap();
                let steps: Vec<String> = steps.iter().map(|step| step.amount.to_string()).collect();
                assert_eq!(steps, ["12.40", "6.90", "0"]);
                env.close().await;
            }

            #[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
            struct Amount {
                amount: $t,
            }
        }
    )* };
}

decimals! {
    of_rust_decimal: rust_decimal::Decimal, Decimal128;
    of_bigdecimal: bigdecimal::BigDecimal, bigdecimal::BigDecimal;
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "long")]
struct Long {
    _id: i64,
    amount: rust_decimal::Decimal,
}

/// A `Decimal` has 96 bits for its digits, and up to 28 places.
#[tokio::test]
async fn zeros_at_the_end_do_not_prevent_a_decimal() {
    let env = Env::open().await;
    let all = env.collection::<Long>();
    let raw = all.driver().clone_with_type::<marula::bson::Document>();
    let cases = [
        ("123.0000000000000000000000000000", Some("123")),
        ("-1.5000000000000000000000000000000", Some("-1.5")),
        ("0E-6176", Some("0")),
        ("0E+6000", Some("0")),
        (
            "79228162514264337593543950335",
            Some("79228162514264337593543950335"),
        ),
        ("79228162514264337593543950336", None),
        ("123.0000000000000000000000000001", None),
        ("1E-29", None),
    ];
    for (id, (stored, expected)) in (1_i64..).zip(cases) {
        let amount = stored.parse::<Decimal128>().unwrap();
        raw.insert_one(&doc! { "_id": id, "amount": amount })
            .await
            .unwrap();
        let read = all.find_by_id(id).required().await;
        let read = read.ok().map(|long| long.amount);
        assert_eq!(read, expected.map(|text| text.parse().unwrap()), "{stored}");
    }
    env.close().await;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "extremes")]
struct Extreme {
    _id: i64,
    number: bigdecimal::BigDecimal,
}

/// Exponents that a Decimal128 does not have are replaced by zeros, if it can hold the number.
#[tokio::test]
async fn exponents_are_clamped_where_the_number_is_exact() {
    let env = Env::open().await;
    let extremes = env.collection::<Extreme>();
    let number = |text: &str| text.parse::<bigdecimal::BigDecimal>().unwrap();
    let clamped = [
        ("1E+6120", "1.000000000E+6120"),
        ("-25E+6143", "-2.500000000000000000000000000000000E+6144"),
        ("0E+7000", "0E+6111"),
        ("30E-6177", "3E-6176"),
    ];
    for (id, (text, stored)) in (1_i64..).zip(clamped) {
        let extreme = Extreme {
            _id: id,
            number: number(text),
        };
        extremes.insert_one(&extreme).await.unwrap();
        let raw = extremes.driver().clone_with_type::<marula::bson::Document>();
        let raw = raw.find_one(doc! { "_id": id }).await.unwrap().unwrap();
        assert_eq!(raw.get("number").unwrap().to_string(), stored, "{text}");
        assert_eq!(extremes.find_by_id(id).required().await.unwrap(), extreme);
        let same = extremes.count(|e| e.number().eq(number(text))).await.unwrap();
        assert_eq!(same, 1, "{text}");
    }
    for text in ["1E+6145", "12E+6144", "1E-6177", "1E+9000000000000"] {
        let extreme = Extreme {
            _id: 9,
            number: number(text),
        };
        let error = extremes.insert_one(&extreme).await.unwrap_err();
        assert!(
            matches!(&error, marula::Error::Encode { path, .. } if path == "number")
                && error.to_string().contains("a larger exponent than a Decimal128"),
            "{text}: {error}"
        );
        let error = extremes.find(|e| e.number().gt(number(text))).await.unwrap_err();
        assert!(matches!(&error, marula::Error::Encode { .. }), "{text}: {error}");
    }
    env.close().await;
}
