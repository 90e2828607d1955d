//! Task: read a part of the fields into a smaller struct.

use marula::{Projection, prelude::*};
use serde::{Deserialize, Serialize};

use crate::support::{Env, Order, orders};

#[derive(Debug, PartialEq, Serialize, Deserialize, Projection)]
#[serde(rename_all = "camelCase")]
#[document(of = Order)]
struct Summary {
    number: String,
    total_cents: i64,
}

#[tokio::test]
async fn summaries_of_queries_pages_and_updates() {
    let env = Env::start().await;
    let collection = env.db.collection::<Order>();
    collection.insert_many(&orders()).await.unwrap();
    let n2 = Summary {
        number: "N2".to_owned(),
        total_cents: 200,
    };
    let one = collection.find_one(|o| o.number().eq("N2")).select::<Summary>();
    assert_eq!(one.required().await.unwrap(), n2);
    let all = collection
        .find(|o| o.total_cents().gt(300))
        .select::<Summary>()
        .all();
    assert_eq!(all.await.unwrap().len(), 2);
    let page = collection
        .find_all()
        .select::<Summary>()
        .keyset(|o| o.number().asc(), None, 2);
    assert_eq!(page.await.unwrap().items[1], n2);
    let updated = collection
        .find_one_and_update(|o| o.number().eq("N2"), |o| o.total_cents().inc(50))
        .returning_new()
        .select::<Summary>();
    assert_eq!(updated.required().await.unwrap().total_cents, 250);
    env.stop().await;
}
