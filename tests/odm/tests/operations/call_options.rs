//! The options and the session of aggregations and of loads by keys.

use crate::common::{Env, Observed};
use marula::bson::{Bson, doc};
use marula::driver::options::{
    AggregateOptions, Collation, FindOneAndUpdateOptions, FindOptions, Hint, ReadConcern, WriteConcern,
};
use marula::prelude::*;
use marula::relation::LoadOptions;
use marula::{Collection, Document, Fields, Projection, Ref};
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "customers")]
struct Customer {
    _id: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    customer: Ref<Customer>,
}

fn order(id: i64, customer: i64) -> Order {
    Order {
        _id: id,
        customer: Ref::new(customer),
    }
}

#[tokio::test]
async fn each_option_of_an_aggregation_is_sent() {
    let env = Env::start().await;
    if env.is_before(5, 0).await {
        return env.stop().await;
    }
    let observed = Observed::of(&env);
    let orders = observed.db.collection::<Order>();
    orders.insert_one(&order(1, 1)).await.unwrap();
    let pipeline = || orders.aggregate().match_(|o| o.customer().eq(Ref::new(1)));
    let found = pipeline()
        .max_time(Duration::from_secs(60))
        .comment("nightly")
        .read_concern(ReadConcern::local())
        .hint(Hint::Name("_id_".to_owned()))
        .collation(Collation::new("de"))
        .batch_size(7)
        .allow_disk_use(true)
        .bypass_document_validation(true)
        .let_vars(doc! { "least": 1 })
        .all();
    assert_eq!(found.await.unwrap(), [order(1, 1)]);
    let sent = observed.take("aggregate").remove(0);
    let text = |name: &str| sent.get(name).map(Bson::to_string).unwrap_or_default();
    for (name, expected) in [
        ("maxTimeMS", "60000"),
        ("comment", "\"nightly\""),
        ("hint", "\"_id_\""),
        ("allowDiskUse", "true"),
        ("bypassDocumentValidation", "true"),
    ] {
        assert_eq!(text(name), expected, "{name}: {sent}");
    }
    let part = |name: &str, field: &str| sent.get_document(name).unwrap().get(field).cloned();
    assert_eq!(part("readConcern", "level"), Some("local".into()));
    assert_eq!(part("collation", "locale"), Some("de".into()));
    assert_eq!(
        part("cursor", "batchSize").map(|size| size.to_string()),
        Some("7".to_owned())
    );
    assert_eq!(part("let", "least"), Some(1.into()));
    // The write concern is that of a pipeline that writes.
    let mut concern = WriteConcern::nodes(1);
    concern.journal = Some(true);
    pipeline()
        .write_concern(concern)
        .out_to("copies")
        .execute()
        .await
        .unwrap();
    let sent = observed.take("aggregate").remove(0);
    assert_eq!(
        sent.get_document("writeConcern").unwrap().get("j"),
        Some(&true.into())
    );
    // All options replace those that were set before.
    let options = AggregateOptions::default().comment("all");
    let counted = pipeline().allow_disk_use(true).with_options(options).all();
    assert_eq!(counted.await.unwrap().len(), 1);
    let sent = observed.take("aggregate").remove(0);
    assert_eq!(sent.get("comment"), Some(&"all".into()));
    assert!(!sent.contains_key("allowDiskUse"), "{sent}");
    env.stop().await;
}

#[tokio::test]
async fn relations_are_loaded_within_a_transaction() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    if env.is_before(4, 4).await {
        return env.stop().await;
    }
    let observed = Observed::of(&env);
    let customers: Collection<Customer> = env.db.collection();
    let orders: Collection<Order> = env.db.collection();
    let mut tx = env.client().start_transaction().await.unwrap();
    customers
        .insert_one(&Customer { _id: 1 })
        .session(&mut tx)
        .await
        .unwrap();
    orders.insert_one(&order(2, 1)).session(&mut tx).await.unwrap();
    assert!(customers.load([1_i64]).await.unwrap().is_empty());
    let by_customer = || orders.load_by(|o| o.customer(), [1_i64]);
    assert!(by_customer().await.unwrap().is_empty());
    let found = customers.load([1_i64]).session(&mut tx).await.unwrap();
    assert_eq!(found[&1], Customer { _id: 1 });
    let found = by_customer().session(&mut tx).await.unwrap();
    assert_eq!(found[&Ref::new(1)], [order(2, 1)]);
    tx.commit().await.unwrap();
    // Each query of many keys is in the session.
    let customers: Collection<Customer> = observed.db.collection();
    let client = observed.db.driver().client();
    let mut session = client.start_session().await.unwrap();
    let found = customers
        .load(0..10_001_i64)
        .session(&mut session)
        .comment("many")
        .await;
    assert_eq!(found.unwrap().len(), 1);
    let sent = observed.take("find");
    assert_eq!(sent.len(), 2);
    assert!(
        sent[0].contains_key("lsid") && sent[0].get("lsid") == sent[1].get("lsid"),
        "{sent:?}"
    );
    assert!(
        sent.iter()
            .all(|find| find.get("comment") == Some(&"many".into()))
    );
    env.stop().await;
}

#[derive(Debug, PartialEq, Deserialize, Projection)]
#[document(of = Order)]
struct Buyer {
    customer: Ref<Customer>,
}

/// All options of the driver do not replace what `select` and `sort` have set.
#[tokio::test]
async fn all_options_keep_the_projection_and_the_sort() {
    let env = Env::start().await;
    let observed = Observed::of(&env);
    let orders: Collection<Order> = observed.db.collection();
    orders.insert_many([order(1, 1), order(2, 1)]).await.unwrap();
    let all = || FindOptions::default().comment("all").sort(doc! { "customer": 1 });
    let by_customer = |o: Fields<Order>| o.customer().eq(Ref::new(1));
    let one = orders
        .find_one(by_customer)
        .select::<Buyer>()
        .sort(|o| o._id().desc());
    one.with_options(all()).required().await.unwrap();
    let one = orders
        .find_one(by_customer)
        .select::<Buyer>()
        .sort(|o| o._id().desc());
    one.with_options(all()).raw().await.unwrap().unwrap();
    let many = orders
        .find(by_customer)
        .select::<Buyer>()
        .sort(|o| o._id().desc());
    assert_eq!(many.with_options(all()).await.unwrap().len(), 2);
    let sent = observed.take("find");
    assert_eq!(sent.len(), 3);
    for sent in sent {
        let projection = sent.get_document("projection").unwrap();
        assert_eq!(projection.get("customer"), Some(&1.into()), "{sent}");
        assert_eq!(sent.get_document("sort").unwrap(), &doc! { "_id": -1 });
        assert_eq!(sent.get_str("comment").unwrap(), "all");
    }
    // A later sort replaces the earlier one.
    let last = orders
        .find_one(by_customer)
        .sort(|o| o._id().desc())
        .sort(|o| o._id().asc());
    assert_eq!(last.required().await.unwrap()._id, 1);
    // The comment of findAndModify requires MongoDB 4.4.
    if env.is_before(4, 4).await {
        return env.stop().await;
    }
    let changing = orders.find_one_and_update(by_customer, |o| o.customer().set(Ref::new(2)));
    let changing = changing.select::<Buyer>().sort(|o| o._id().desc());
    let options = FindOneAndUpdateOptions::default().comment("all");
    let before = changing.with_options(options).required().await.unwrap();
    assert_eq!(before.customer, Ref::new(1));
    let sent = observed.take("findAndModify").remove(0);
    assert_eq!(sent.get_document("sort").unwrap(), &doc! { "_id": -1 });
    assert!(
        sent.contains_key("fields") && sent.contains_key("comment"),
        "{sent}"
    );
    env.stop().await;
}

/// The time limit of a load is that of all of its queries.
#[tokio::test]
async fn a_load_has_one_time_limit() {
    let env = Env::start().await;
    if env.server().is_none() {
        return env.stop().await;
    }
    let observed = Observed::of(&env);
    let customers: Collection<Customer> = observed.db.collection();
    customers
        .insert_many((0..3).map(|_id| Customer { _id }))
        .await
        .unwrap();
    let slow = doc! {
        "configureFailPoint": "failCommand", "mode": { "times": 1 },
        "data": { "failCommands": ["find"], "blockConnection": true, "blockTimeMS": 100 },
    };
    let admin = env.client().driver().database("admin");
    admin.run_command(slow).await.unwrap();
    let options = LoadOptions::default()
        .timeout(Duration::from_secs(60))
        .comment("load");
    let loaded = customers.load(0..10_001_i64).with_options(options).await.unwrap();
    assert_eq!(loaded.len(), 3);
    let sent = observed.take("find");
    let limits: Vec<i64> = sent
        .iter()
        .map(|find| find.get_i64("maxTimeMS").unwrap())
        .collect();
    assert!(limits.len() == 2 && limits[1] <= 60_000 - 100, "{limits:?}");
    assert!(
        sent.iter()
            .all(|find| find.get("comment") == Some(&"load".into()))
    );
    let without = customers.load([1]).timeout(Duration::ZERO).await.unwrap();
    assert_eq!(without.len(), 1);
    assert!(!observed.take("find")[0].contains_key("maxTimeMS"));
    env.stop().await;
}
