//! Task: take the oldest open order and mark it, so that no other worker takes it.

use marula::prelude::*;

use crate::support::{Env, Order, Status, numbers, orders};

#[tokio::test]
async fn each_worker_takes_another_order() {
    let env = Env::start().await;
    let collection = env.db.collection::<Order>();
    collection.insert_many(&orders()).await.unwrap();
    let take = async || {
        collection
            .find_one_and_update(|o| o.status().eq(Status::Open), |o| o.status().set(Status::Paid))
            .sort(|o| o.created_at().asc())
            .returning_new()
            .await
    };
    let (a, b) = tokio::join!(take(), take());
    let mut taken = [a.unwrap().unwrap(), b.unwrap().unwrap()];
    taken.sort_by(|a, b| a.number.cmp(&b.number));
    assert_eq!(numbers(&taken), ["N1", "N2"]);
    assert!(taken.iter().all(|o| o.status == Status::Paid));
    for _ in 0..3 {
        assert!(take().await.unwrap().is_some());
    }
    assert_eq!(take().await.unwrap(), None);
    env.stop().await;
}
