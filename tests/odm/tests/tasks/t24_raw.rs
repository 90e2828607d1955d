//! Task: use what has no typed form, next to what has.

use marula::bson::{Document as Bson, doc};
use marula::{Filter, Update, prelude::*};

use crate::support::{Env, Order, orders};

#[tokio::test]
async fn raw_parts_of_typed_calls() {
    let env = Env::start().await;
    let collection = env.db.collection::<Order>();
    let mut all = orders();
    all[0].tags = vec!["gift".to_owned()];
    collection.insert_many(&all).await.unwrap();

    let odd = || Filter::raw(doc! { "totalCents": { "$mod": [200, 100] } });
    assert_eq!(
        collection
            .count(|o| odd() & o.tags().contains("gift"))
            .await
            .unwrap(),
        1
    );
    let update = Update::raw(doc! { "$set": { "imported": true } });
    let done = collection
        .update_many(|_| odd(), |o| o.total_cents().inc(1).and(update))
        .await
        .unwrap();
    assert_eq!(done.modified_count, 3);

    let filter = odd().into_document().unwrap();
    let raw = collection
        .driver()
        .find_one(doc! { "imported": true })
        .await
        .unwrap();
    assert_eq!(raw.unwrap().total_cents % 100, 1);
    assert_eq!(collection.driver().count_documents(filter).await.unwrap(), 0);
    let reply = env
        .db
        .driver()
        .run_command(doc! { "count": "orders", "query": { "imported": true } });
    assert_eq!(reply.await.unwrap().get_i32("n").unwrap(), 3);

    let documents = env.db.driver().collection::<Bson>("orders");
    let sum = [doc! { "$group": { "_id": null, "sum": { "$sum": "$totalCents" } } }];
    let sums = documents
        .aggregate(sum)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(sums[0].get_i64("sum").unwrap(), 1503);
    env.stop().await;
}
