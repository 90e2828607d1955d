//! The options and the session of aggregations and of loads by keys.

use crate::common::{Env, Observed};
use marula::bson::{Bson, doc};
use marula::driver::options::{AggregateOptions, Collation, Hint, ReadConcern, WriteConcern};
use marula::prelude::*;
use marula::{Collection, Document, Ref};
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
