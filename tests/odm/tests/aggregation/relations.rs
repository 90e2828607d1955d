//! Documents that are loaded by the keys of others.

use std::collections::HashMap;

use crate::models::*;
use marula::bson::{Bson, Document as BsonDocument, Regex, Uuid, bson, doc};
use marula::prelude::*;
use marula::{Collection, Document, Error, Ref};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "reviews")]
struct Review {
    _id: i64,
    order: Ref<Order>,
    author: Option<Ref<Customer>>,
}

fn review(id: i64, order: i64, author: Option<Uuid>) -> Review {
    Review {
        _id: id,
        order: Ref::new(order),
        author: author.map(Ref::new),
    }
}

#[tokio::test]
async fn documents_are_loaded_by_their_ids() {
    let shop = Shop::open().await;
    let all = shop.orders.find_all().await.unwrap();
    let buyers = shop
        .customers
        .load(all.iter().map(|o| o.customer_id))
        .await
        .unwrap();
    assert_eq!(buyers.len(), 2);
    assert_eq!(buyers[&ada().id], ada());
    let none: HashMap<Uuid, Customer> = shop.customers.load(Vec::<Uuid>::new()).await.unwrap();
    assert!(none.is_empty());
    // A missing document is absent.
    let unknown = Uuid::from_bytes([9; 16]);
    let found = shop.customers.load([&unknown, &grace().id]).await.unwrap();
    assert!(found.contains_key(&grace().id) && !found.contains_key(&unknown));
    shop.close().await;
}

/// The server would match a regular expression in `$in` as a pattern.
#[tokio::test]
async fn keys_that_are_patterns_are_refused() {
    #[derive(Serialize, Deserialize, Document)]
    #[document(collection = "anything")]
    struct Anything {
        _id: Bson,
        key: Bson,
    }
    let shop = Shop::open().await;
    let all: Collection<Anything> = shop.db.collection();
    let regex = Bson::RegularExpression(Regex {
        pattern: "^a".try_into().unwrap(),
        options: "".try_into().unwrap(),
    });
    let stored = Anything {
        _id: "abc".into(),
        key: "abc".into(),
    };
    all.insert_one(&stored).await.unwrap();
    for key in [regex, bson!({ "$gt": "" })] {
        match all.load([key.clone()]).await {
            Err(Error::InvalidFilter { path, .. }) => assert_eq!(path, "_id"),
            other => panic!("{:?}", other.map(|found| found.len())),
        }
        match all.load_by(|a| a.key(), [key]).await {
            Err(Error::InvalidFilter { path, .. }) => assert_eq!(path, "key"),
            other => panic!("{:?}", other.map(|found| found.len())),
        }
    }
    assert_eq!(all.load([bson!("abc")]).await.unwrap().len(), 1);
    shop.close().await;
}

#[tokio::test]
async fn documents_are_loaded_by_references() {
    let shop = Shop::open().await;
    let reviews: Collection<Review> = shop.db.collection();
    let all = [
        review(1, 2, Some(ada().id)),
        review(2, 2, None),
        review(3, 77, Some(grace().id)),
    ];
    reviews.insert_many(&all).await.unwrap();
    let raw = reviews
        .driver()
        .clone_with_type::<BsonDocument>()
        .find_one(doc! { "_id": 1_i64 })
        .await
        .unwrap();
    assert_eq!(
        raw.and_then(|d| d.get_i64("order").ok()),
        Some(2),
        "a reference is stored as the id"
    );

    let reviewed = shop.orders.load(all.iter().map(|r| &r.order)).await.unwrap();
    assert_eq!(reviewed.keys().copied().collect::<Vec<_>>(), [2]);
    let authors = shop.customers.load(all.iter().map(|r| &r.author)).await.unwrap();
    assert_eq!(authors.len(), 2);

    let of_second = reviews.find(|r| r.order().eq(Ref::new(2))).await.unwrap();
    assert_eq!(of_second.len(), 2);
    let by_id = reviews.find(|r| r.order().eq(2)).await.unwrap();
    assert_eq!(by_id, of_second, "an id of the model is a value of the field");
    let by_author = reviews.find(|r| r.author().eq(grace().id)).await.unwrap();
    assert_eq!(by_author.len(), 1);
    shop.close().await;
}

#[tokio::test]
async fn documents_are_loaded_by_a_field() {
    let shop = Shop::open().await;
    let by_customer = shop
        .orders
        .load_by(|o| o.customer_id(), [ada().id, grace().id, ada().id])
        .await
        .unwrap();
    let mut of_ada: Vec<i64> = by_customer[&ada().id].iter().map(|o| o.id).collect();
    of_ada.sort_unstable();
    assert_eq!(of_ada, [1, 2, 3]);
    assert_eq!(by_customer[&grace().id].len(), 1);
    shop.close().await;
}

#[tokio::test]
async fn futures_can_be_sent_to_other_threads() {
    fn check<T: Send>(future: T) -> T {
        future
    }
    let shop = Shop::open().await;
    let loaded = check(async { shop.customers.load([ada().id]).await.map(|c| c.len()) }).await;
    assert_eq!(loaded.unwrap(), 1);
    shop.close().await;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, marula::Embedded)]
struct ProductId(i64);

#[derive(Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "products")]
struct Product {
    #[serde(rename = "_id")]
    #[document(id = manual)]
    id: ProductId,
}

#[tokio::test]
async fn newtypes_of_ids_are_keys() {
    let shop = Shop::open().await;
    let products: Collection<Product> = shop.db.collection();
    products.insert_one(&Product { id: ProductId(5) }).await.unwrap();
    let found = products.load([ProductId(5), ProductId(6)]).await.unwrap();
    assert_eq!(found.keys().collect::<Vec<_>>(), [&ProductId(5)]);
    assert_eq!(products.load(found.keys()).await.unwrap().len(), 1);
    shop.close().await;
}
