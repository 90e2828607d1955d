//! Options of a handle or a query are inherited by handles and calls that are derived from it.

use crate::common::{Env, Order, order};
use marula::bson::doc;
use marula::driver::options::WriteConcern;
use marula::{Error, Filter};

#[tokio::test]
async fn named_keeps_the_write_concern() {
    let env = Env::start().await;
    let mut contradiction = WriteConcern::nodes(0);
    contradiction.journal = Some(true);
    let orders = env.db.collection::<Order>().with_write_concern(contradiction);
    let tenant = orders.named("orders_of_a_tenant");
    assert_eq!(tenant.name(), "orders_of_a_tenant");
    let refused = tenant.insert_one(&order(1)).await.unwrap_err();
    assert!(matches!(refused, Error::Driver(_)), "{refused}");
    env.stop().await;
}

#[tokio::test]
async fn pages_and_counts_use_the_let_variables_of_the_query() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    orders.insert_many(&[order(1), order(2), order(3)]).await.unwrap();
    let above = || Filter::expr(doc! { "$gt": ["$number", "$$least"] });
    let variables = doc! { "least": 1 };
    let page = orders
        .find(|_| above())
        .let_vars(variables.clone())
        .page(0, 1)
        .await
        .unwrap();
    assert_eq!((page.items.len(), page.total), (1, 2));
    let counted = orders.count(|_| above()).let_vars(variables).await.unwrap();
    assert_eq!(counted, 2);
    env.stop().await;
}
