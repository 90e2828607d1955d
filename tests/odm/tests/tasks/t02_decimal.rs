//! Task: exact money, added up and compared by the server.

use marula::{Document, prelude::*};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::support::Env;

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "accounts")]
struct Account {
    _id: i64,
    balance: Decimal,
}

fn money(text: &str) -> Decimal {
    text.parse().expect("a number")
}

#[tokio::test]
async fn decimals_are_exact() {
    let env = Env::start().await;
    let accounts = env.db.collection::<Account>();
    let balance = money("0.10");
    accounts.insert_one(&Account { _id: 1, balance }).await.unwrap();
    let add = accounts.update_by_id(1, |a| a.balance().inc(money("0.20")));
    add.required().await.unwrap();
    let account = accounts.find_by_id(1).required().await.unwrap();
    assert_eq!(account.balance.to_string(), "0.30");
    assert!(accounts.exists(|a| a.balance().eq(money("0.3"))).await.unwrap());
    assert!(!accounts.exists(|a| a.balance().gt(money("0.3"))).await.unwrap());
    env.stop().await;
}
