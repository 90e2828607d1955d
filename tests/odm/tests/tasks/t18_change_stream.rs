//! Task: follow the changes of a collection, and continue after a restart.

use marula::driver::ChangeOperation;
use marula::prelude::*;

use crate::support::{Env, Order, Status, order, orders};

#[tokio::test]
async fn a_worker_continues_where_it_stopped() {
    let env = Env::start().await;
    let collection = env.db.collection::<Order>();
    let all = orders();
    collection.insert_many(&all).await.unwrap();
    let mut events = collection
        .watch()
        .filter(|o| o.total_cents().gt(500))
        .await
        .unwrap();
    for number in 5..=7 {
        collection.insert_one(&order(number * 2)).await.unwrap();
    }
    let event = events.try_next().await.unwrap().unwrap();
    assert_eq!(event.operation, ChangeOperation::Insert);
    assert_eq!(event.full_document.unwrap().number, "N10");
    let token = events.resume_token().unwrap();
    events.close().await;

    let mut events = collection.watch().resume_after(token).await.unwrap();
    let event = events.try_next().await.unwrap().unwrap();
    assert_eq!(event.full_document.unwrap().number, "N12");
    events.close().await;

    let mut updates = collection
        .watch()
        .operations([ChangeOperation::Update])
        .await
        .unwrap();
    collection.insert_one(&order(20)).await.unwrap();
    collection
        .update_by_id(all[0].id, |o| o.status().set(Status::Paid))
        .await
        .unwrap();
    let event = updates.try_next().await.unwrap().unwrap();
    assert_eq!(
        event
            .update_description
            .unwrap()
            .updated_fields
            .get_str("status")
            .unwrap(),
        "paid"
    );
    env.stop().await;
}
