//! Task: change documents of two collections, or none of them.

use marula::{Document, Error, prelude::*};
use serde::{Deserialize, Serialize};

use crate::support::{Env, Order, order};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "stock")]
struct Stock {
    #[serde(rename = "_id")]
    sku: String,
    left: i32,
}

#[tokio::test]
async fn an_order_without_stock_is_not_stored() {
    let env = Env::start().await;
    let (orders, stock) = (env.db.collection::<Order>(), env.db.collection::<Stock>());
    let tea = Stock {
        sku: "tea".to_owned(),
        left: 3,
    };
    stock.insert_one(&tea).await.unwrap();
    let buy = async |order: &Order| {
        let transaction = env.client.transaction();
        let done = transaction.run(async |tx| {
            orders.insert_one(order).session(tx).await?;
            for line in &order.lines {
                let (sku, qty) = (&line.sku, line.qty);
                stock
                    .update_one(|s| s.sku().eq(sku) & s.left().gte(qty), |s| s.left().inc(-qty))
                    .session(tx)
                    .required()
                    .await?;
            }
            Ok::<_, Error>(())
        });
        done.await
    };
    buy(&order(1)).await.unwrap();
    let refused = buy(&order(2)).await.unwrap_err();
    assert!(matches!(refused, Error::NotFound { .. }), "{refused}");
    assert_eq!(orders.find_all().one().await.unwrap().number, "N1");
    assert_eq!(stock.find_by_id("tea").required().await.unwrap().left, 1);
    env.stop().await;
}
