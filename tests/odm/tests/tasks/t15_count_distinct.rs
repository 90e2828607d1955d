//! Task: counts, existence, and the values of a field for a list of choices.

use marula::{Filter, prelude::*};

use crate::support::{Env, Order, Status, orders};

#[tokio::test]
async fn counts_and_distinct_values() {
    let env = Env::start().await;
    let collection = env.db.collection::<Order>();
    let mut all = orders();
    all[0].tags = vec!["gift".to_owned(), "new".to_owned()];
    all[1].tags = vec!["gift".to_owned()];
    all[2].status = Status::Paid;
    collection.insert_many(&all).await.unwrap();
    assert_eq!(
        collection.count(|o| o.status().eq(Status::Open)).await.unwrap(),
        4
    );
    assert_eq!(collection.estimated_count().await.unwrap(), 5);
    assert!(collection.exists(|o| o.tags().contains("new")).await.unwrap());
    assert!(!collection.exists(|o| o.tags().size(3)).await.unwrap());
    let mut tags: Vec<String> = collection
        .distinct(|o| o.tags().any(), |_| Filter::everything())
        .await
        .unwrap();
    tags.sort();
    assert_eq!(tags, ["gift", "new"]);
    let states = collection
        .distinct(|o| o.status(), |o| o.total_cents().gt(300))
        .await
        .unwrap();
    assert_eq!(states, [Status::Open]);
    env.stop().await;
}
