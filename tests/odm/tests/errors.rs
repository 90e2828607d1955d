//! Errors name what was wrong: the collection, the document, the field, the index.

use marula::bson::{Document, doc};
use marula::prelude::*;
use marula::schema::Apply;
use marula::{Error, Filter};
use marula_odm_tests::{Env, Order, order};

#[tokio::test]
async fn a_document_that_does_not_decode_is_named() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    let good = order(1);
    orders.insert_one(&good).await.unwrap();
    orders
        .driver()
        .clone_with_type::<Document>()
        .update_one(
            doc! { "number": 1_i64 },
            doc! { "$set": { "lines.0.qty": "two" } },
        )
        .await
        .unwrap();
    for error in [
        orders.find_all().all().await.unwrap_err(),
        orders.find_by_id(good.id).await.unwrap_err(),
        orders
            .find_one_and_update(|o| o.id().eq(good.id), |o| o.note().set("x"))
            .await
            .unwrap_err(),
    ] {
        let Error::Decode {
            collection, id, path, ..
        } = &error
        else {
            panic!("{error}")
        };
        assert_eq!(collection, &format!("{}.orders", env.db.name()));
        assert!(id.is_some());
        assert_eq!(path, "lines[0].qty");
        let text = error.to_string();
        assert!(
            text.contains("lines[0].qty") && text.contains(&good.id.to_string()),
            "{text}"
        );
        assert!(!text.contains("two"), "no stored values but the id: {text}");
    }
    env.stop().await;
}

#[tokio::test]
async fn duplicates_name_the_index() {
    let env = Env::start().await;
    env.db
        .schema()
        .register::<Order>()
        .plan()
        .await
        .unwrap()
        .apply(Apply::additive())
        .await
        .unwrap();
    let orders = env.db.collection::<Order>();
    orders.insert_one(&order(1)).await.unwrap();
    let inserted = orders.insert_one(&order(1)).await.unwrap_err();
    let many = orders
        .insert_many(&[order(2), order(1), order(3)])
        .await
        .unwrap_err();
    orders.insert_one(&order(9)).await.unwrap();
    let updated = orders
        .update_one(|o| o.number().eq(9), |o| o.number().set(1))
        .await
        .unwrap_err();
    let modified = orders
        .find_one_and_update(|o| o.number().eq(9), |o| o.number().set(1))
        .await
        .unwrap_err();
    for error in [inserted, many, updated, modified] {
        let Error::Duplicate { index, key, source } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(index.as_deref(), Some("number_1"), "{error}");
        assert_eq!(key.as_deref(), Some(&doc! { "number": 1 }));
        assert!(source.is_duplicate_key());
        assert!(error.driver().is_some());
    }
    assert_eq!(
        orders.count(|_| Filter::everything()).await.unwrap(),
        3,
        "the second of three stopped the insert"
    );
    env.stop().await;
}

#[tokio::test]
async fn invalid_calls_send_nothing() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    orders.insert_one(&order(1)).await.unwrap();
    let overlap = orders
        .update_one(|o| o.number().eq(1), |o| (o.note().set("a"), o.note().unset()))
        .await
        .unwrap_err();
    assert!(
        matches!(&overlap, Error::InvalidUpdate { path, .. } if path == "note"),
        "{overlap}"
    );
    let filter = orders.find(|o| o.number().modulo(0, 0)).all().await.unwrap_err();
    assert!(
        matches!(&filter, Error::InvalidFilter { path, .. } if path == "number"),
        "{filter}"
    );
    let both = orders.delete_many(|o| o.number().modulo(0, 0)).await.unwrap_err();
    assert!(matches!(both, Error::InvalidFilter { .. }));
    assert_eq!(orders.count(|o| o.note().is_missing()).await.unwrap(), 1);
    env.stop().await;
}
