//! Every action runs in the session that is passed to it, and in its transaction.

use crate::common::{Env, Order, order};
use marula::prelude::*;
use marula::{Error, Filter};

#[tokio::test]
async fn reads_in_a_transaction_see_its_writes_and_others_do_not() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let orders = env.db.collection::<Order>();
    orders.insert_one(&order(1)).await.unwrap();
    let mut tx = env.client().start_transaction().await.unwrap();
    orders.insert_one(&order(2)).session(&mut tx).await.unwrap();
    orders
        .insert_many(&[order(3), order(4)])
        .session(&mut tx)
        .await
        .unwrap();
    let second = || Order::fields().number().eq(2);

    let found = orders.find_one(|_| second()).session(&mut tx).await.unwrap();
    assert_eq!(found.map(|o| o.number), Some(2));
    assert!(orders.find_one(|_| second()).await.unwrap().is_none());
    assert!(orders.exists(|_| second()).session(&mut tx).await.unwrap());
    assert!(!orders.exists(|_| second()).await.unwrap());
    let all = || orders.find_all();
    assert_eq!(all().session(&mut tx).all().await.unwrap().len(), 4);
    assert_eq!(all().session(&mut tx).batch_size(2).await.unwrap().len(), 4);
    let mut stream = all().session(&mut tx).batch_size(2).stream().await.unwrap();
    let mut streamed = 0;
    while stream.try_next().await.unwrap().is_some() {
        streamed += 1;
    }
    drop(stream);
    assert_eq!(streamed, 4);
    let page = all()
        .sort(|o| o.number().asc())
        .session(&mut tx)
        .page(1, 3)
        .await
        .unwrap();
    assert_eq!((page.total, page.items.len()), (4, 1));
    let page = all()
        .session(&mut tx)
        .keyset(|o| o.number().desc(), None, 3)
        .await
        .unwrap();
    assert_eq!(page.items[0].number, 4);
    let counted = orders
        .count(|_| Filter::everything())
        .session(&mut tx)
        .await
        .unwrap();
    assert_eq!(counted, 4);
    let numbers = orders.distinct(|o| o.number(), |_| Filter::everything());
    assert_eq!(numbers.session(&mut tx).await.unwrap().len(), 4);
    assert_eq!(orders.find_all().await.unwrap().len(), 1);

    tx.abort().await.unwrap();
    assert_eq!(orders.find_all().await.unwrap().len(), 1);
    env.stop().await;
}

#[tokio::test]
async fn every_write_is_undone_with_its_transaction() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let orders = env.db.collection::<Order>();
    let before = [order(1), order(2), order(3), order(4)];
    orders.insert_many(&before).await.unwrap();
    let mut tx = env.client().start_transaction().await.unwrap();
    let number = |n: i64| Order::fields().number().eq(n);
    let note = |o: marula::Fields<Order>| o.note().set("changed");
    let updated = orders
        .update_one(|_| number(1), note)
        .session(&mut tx)
        .await
        .unwrap();
    assert_eq!(updated.matched_count, 1);
    let updated = orders
        .update_many(|o| o.number().lt(3), note)
        .session(&mut tx)
        .required()
        .await;
    assert_eq!(updated.unwrap().matched_count, 2);
    let mut replaced = before[1].clone();
    replaced.tags.push("replaced".to_owned());
    orders
        .replace(&replaced)
        .session(&mut tx)
        .required()
        .await
        .unwrap();
    let changed = orders.find_one_and_update(|_| number(1), |o| o.tags().push("x"));
    assert!(changed.session(&mut tx).await.unwrap().is_some());
    let changed = orders.find_one_and_replace(|_| number(2), &before[1]);
    assert!(changed.session(&mut tx).await.unwrap().is_some());
    let changed = orders.find_one_and_delete(|_| number(3));
    assert!(changed.session(&mut tx).await.unwrap().is_some());
    assert_eq!(
        orders.delete_one(|_| number(4)).session(&mut tx).await.unwrap(),
        1
    );
    let deleted = orders.delete_many(|o| o.number().gt(0)).session(&mut tx);
    assert_eq!(deleted.required().await.unwrap(), 2);
    tx.abort().await.unwrap();
    let after = orders.find_all().sort(|o| o.number().asc()).await.unwrap();
    assert_eq!(after, before);
    env.stop().await;
}

#[tokio::test]
async fn the_body_of_a_transaction_returns_errors_of_the_odm() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    if env.is_before(4, 4).await {
        return env.stop().await;
    }
    let orders = env.db.collection::<Order>();
    let number = env
        .client()
        .transaction()
        .run(async |tx| {
            orders.insert_one(&order(1)).session(tx).await?;
            let found = orders
                .find_one(|o| o.number().eq(1))
                .session(tx)
                .required()
                .await?;
            Ok::<_, Error>(found.number)
        })
        .await
        .unwrap();
    assert_eq!(number, 1);
    let refused = env
        .client()
        .transaction()
        .run(async |tx| {
            orders.insert_one(&order(2)).session(tx).await?;
            orders.find_one(|o| o.number().eq(7)).session(tx).required().await
        })
        .await;
    assert!(matches!(refused, Err(Error::NotFound { .. })), "{refused:?}");
    assert_eq!(orders.find_all().await.unwrap().len(), 1);
    env.stop().await;
}

#[tokio::test]
async fn a_session_of_another_client_is_refused() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let other = marula::connect(env.uri()).await.unwrap();
    let mut session = other.start_session().await.unwrap();
    let orders = env.db.collection::<Order>();
    let refused = orders
        .insert_one(&order(1))
        .session(&mut session)
        .await
        .unwrap_err();
    assert!(matches!(&refused, Error::Driver(_)), "{refused}");
    let refused = orders.estimated_count().session(&mut session).await.unwrap_err();
    assert!(refused.to_string().contains("another client"), "{refused}");
    drop(session);
    other.shutdown().await;
    env.stop().await;
}

#[tokio::test]
async fn handles_of_another_database_keep_the_concerns() {
    use marula::driver::options::WriteConcern;

    let env = Env::start().await;
    let tenant = format!("{}_tenant", env.db.name());
    let orders = env.db.collection::<Order>();
    orders.in_db(&tenant).insert_one(&order(1)).await.unwrap();
    assert_eq!(
        orders.in_db(&tenant).namespace().to_string(),
        format!("{tenant}.orders")
    );
    let other = env.db.in_db(&tenant);
    assert_eq!(other.name(), tenant);
    assert_eq!(other.collection::<Order>().find_all().await.unwrap().len(), 1);
    assert!(orders.find_all().await.unwrap().is_empty());
    let mut contradiction = WriteConcern::nodes(0);
    contradiction.journal = Some(true);
    let invalid = orders.with_write_concern(contradiction).in_db(&tenant);
    assert!(invalid.insert_one(&order(2)).await.is_err());
    other.driver().drop().await.unwrap();
    env.stop().await;
}
