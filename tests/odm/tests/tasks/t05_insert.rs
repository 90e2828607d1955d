//! Task: insert documents; a duplicate is reported with its index, as a web handler needs for 409.

use marula::Error;
use marula::bson::doc;
use marula::schema::SyncMode;

use crate::support::{Env, Order, order, orders};

#[tokio::test]
async fn a_duplicate_names_its_index() {
    let env = Env::start().await;
    env.db
        .schema()
        .register::<Order>()
        .sync(SyncMode::Additive)
        .await
        .unwrap();
    let collection = env.db.collection::<Order>();
    collection.insert_one(&order(1)).await.unwrap();
    let error = collection.insert_one(&order(1)).await.unwrap_err();
    let Error::Duplicate { index, key, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(index.as_deref(), Some("number_1"));
    assert_eq!(key.as_deref(), Some(&doc! { "number": 1 }));

    // N1 exists; the others are inserted in spite of it.
    let error = collection.insert_many(orders()).ordered(false).await.unwrap_err();
    let Error::Duplicate { source, .. } = &error else {
        panic!("{error}")
    };
    let failed: Vec<_> = source.write_errors().iter().map(|e| e.index).collect();
    assert_eq!(failed, [0]);
    assert_eq!(collection.find_all().all().await.unwrap().len(), 5);
    let none: [Order; 0] = [];
    collection.insert_many(none).await.unwrap();
    env.stop().await;
}
