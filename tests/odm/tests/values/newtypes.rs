//! Newtypes around values of other crates.

use crate::database::Env;
use marula::{Document, Embedded, prelude::*};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, Embedded)]
struct Money(Decimal);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "accounts")]
struct Account {
    _id: i64,
    balance: Money,
}

#[tokio::test]
async fn a_newtype_has_the_operators_of_its_content() {
    let env = Env::open().await;
    let accounts = env.collection::<Account>();
    let account = Account {
        _id: 1,
        balance: Money("10.50".parse().unwrap()),
    };
    accounts.insert_one(&account).await.unwrap();
    let found = accounts.find(|a| a.balance().gte(account.balance)).await.unwrap();
    assert_eq!(found, std::slice::from_ref(&account));
    accounts
        .update_one(|a| a._id().eq(1), |a| a.balance().inc(Money(Decimal::ONE)))
        .await
        .unwrap();
    let changed = accounts.find_by_id(1).required().await.unwrap();
    assert_eq!(changed.balance.0.to_string(), "11.50");
    env.close().await;
}
