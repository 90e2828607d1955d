//! Task: an import that inserts, updates and deletes in few commands.

use marula::{Error, prelude::*};

use crate::support::{Env, Order, Status, order, orders};

#[tokio::test]
async fn different_writes_in_one_call() {
    let env = Env::start().await;
    let collection = env.db.collection::<Order>();
    let all = orders();
    collection.insert_many(&all).await.unwrap();
    let mut changed = all[3].clone();
    changed.note = Some("imported".to_owned());
    let done = collection
        .bulk()
        .insert(&order(6))
        .update_one(
            |o| o.number().eq("N1"),
            |o| o.lines().filtered_positional(|l| l.sku().eq("tea")).qty().inc(5),
        )
        .update_many(|o| o.total_cents().gte(500), |o| o.status().set(Status::Paid))
        .replace(&changed)
        .delete_by_id(all[1].id)
        .await
        .unwrap();
    assert_eq!(
        (done.inserted_count, done.matched_count, done.deleted_count),
        (1, 4, 1)
    );
    let first = collection.find_by_id(all[0].id).required().await.unwrap();
    assert_eq!(first.lines[0].qty, 7);
    assert_eq!(
        collection.count(|o| o.status().eq(Status::Paid)).await.unwrap(),
        2
    );

    // The second write fails; without order the third one is sent in spite of it.
    let bulk = collection
        .bulk()
        .insert(&order(7))
        .insert(&changed)
        .insert(&order(8));
    let error = bulk.ordered(false).await.unwrap_err();
    let Error::BulkWrite { failed, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(failed.iter().map(|f| f.operation.index).collect::<Vec<_>>(), [1]);
    assert!(collection.exists(|o| o.number().eq("N8")).await.unwrap());
    env.stop().await;
}
