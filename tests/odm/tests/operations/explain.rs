//! `explain` of typed calls.

use crate::common::{Env, Order, Status, order};
use marula::bson::{Bson, Document};
use marula::driver::options::ExplainVerbosity;
use marula::prelude::*;
use marula::{Error, Filter};

fn is_explained(reply: &Document) -> bool {
    reply.contains_key("queryPlanner") || reply.contains_key("stages")
}

#[tokio::test]
async fn typed_calls_are_explained_and_not_run() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    orders.insert_many([order(1), order(2)]).await.unwrap();
    let query = orders
        .find(|o| o.number().gte(2))
        .sort(|o| o.number().desc())
        .limit(1);
    let reply = query
        .explain()
        .unwrap()
        .verbosity(ExplainVerbosity::ExecutionStats)
        .await
        .unwrap();
    let returned = reply
        .get_document("executionStats")
        .unwrap()
        .get("nReturned")
        .and_then(Bson::as_i32);
    assert_eq!(returned, Some(1), "{reply}");
    let replies = [
        orders
            .find_one(|o| o.number().eq(1))
            .explain()
            .unwrap()
            .await
            .unwrap(),
        orders
            .count(|o| o.number().gte(1))
            .explain()
            .unwrap()
            .await
            .unwrap(),
        orders
            .distinct(|o| o.number(), |_| Filter::everything())
            .explain()
            .unwrap()
            .await
            .unwrap(),
        orders
            .update_one(|o| o.number().eq(1), |o| o.status().set(Status::Paid))
            .explain()
            .unwrap()
            .await
            .unwrap(),
        orders
            .aggregate()
            .match_(|o| o.number().gte(1))
            .explain()
            .unwrap()
            .await
            .unwrap(),
    ];
    assert!(replies.iter().all(is_explained), "{replies:?}");
    let paid = orders.count(|o| o.status().eq(Status::Paid)).await.unwrap();
    assert_eq!(paid, 0);
    let invalid = orders
        .update_many(|_| Filter::all([]), |o| o.number().inc(1))
        .explain();
    assert!(matches!(invalid, Err(Error::InvalidFilter { .. })));
    env.stop().await;
}
