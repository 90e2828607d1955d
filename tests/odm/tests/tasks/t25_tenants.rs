//! Task: a database for each tenant, and a collection for each year.

use marula::schema::SyncMode;
use marula::{Collection, Error};

use crate::support::{Env, Order, order};

#[tokio::test]
async fn tenants_do_not_see_each_other() {
    let env = Env::start().await;
    let tenant = |name: &str| env.db.in_db(&format!("{}_{name}", env.db.name()));
    for name in ["ada", "bob"] {
        let schema = tenant(name).schema().register::<Order>();
        schema.sync(SyncMode::Additive).await.unwrap();
    }
    let ada: Collection<Order> = tenant("ada").collection();
    let bob = ada.in_db(tenant("bob").name());
    ada.insert_one(&order(1)).await.unwrap();
    bob.insert_one(&order(1)).await.unwrap();
    let error = ada.insert_one(&order(1)).await.unwrap_err();
    assert!(matches!(error, Error::Duplicate { .. }), "{error}");
    assert_eq!(ada.find_all().await.unwrap().len(), 1);

    let archive = ada.named("orders_2025");
    assert_eq!(archive.find_all().await.unwrap(), []);
    let schema = tenant("ada").schema().register_named::<Order>("orders_2025");
    let applied = schema.sync(SyncMode::Additive).await.unwrap();
    assert_eq!(applied.created.len(), 3);
    for name in ["ada", "bob"] {
        tenant(name).driver().drop().await.unwrap();
    }
    env.stop().await;
}
