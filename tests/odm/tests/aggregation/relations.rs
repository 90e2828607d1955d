//! Documents that are loaded by the keys of others.

use std::collections::HashMap;

use crate::models::*;
use marula::bson::{Bson, Document as BsonDocument, ObjectId, Regex, Uuid, bson, doc};
use marula::prelude::*;
use marula::{Collection, Document, Embedded, Error, Ref, Shape, expr};
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

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Embedded)]
struct Isbn(String);

#[derive(Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "books")]
struct Book {
    _id: Isbn,
    sequels: Vec<Ref<Book>>,
    prequel: Option<Ref<Book>>,
}

/// A model whose ids the server generates.
#[derive(Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "readers")]
struct Reader {
    #[serde(rename = "_id")]
    id: Option<ObjectId>,
    friend: Option<Ref<Reader>>,
    reads: Option<Ref<Book>>,
}

#[derive(Debug, PartialEq, Shape)]
struct Reviewed {
    #[document(flatten)]
    review: Review,
    orders: Vec<Order>,
}

#[derive(Debug, PartialEq, Shape)]
struct Reviewer {
    #[document(flatten)]
    customer: Customer,
    reviews: Vec<Review>,
}

#[derive(Debug, PartialEq, Shape)]
struct Series {
    #[document(flatten)]
    book: Book,
    books: Vec<Book>,
}

#[derive(Debug, PartialEq, Shape)]
struct Friends {
    #[document(flatten)]
    reader: Reader,
    friends: Vec<Reader>,
}

#[tokio::test]
async fn references_are_joined_with_ids() {
    let shop = Shop::open().await;
    let reviews: Collection<Review> = shop.db.collection();
    let all = [review(1, 2, Some(ada().id)), review(2, 77, None)];
    reviews.insert_many(&all).await.unwrap();
    let reviewed = reviews
        .aggregate()
        .sort(|r| r._id().asc())
        .lookup::<Reviewed>()
        .on(|r| r.order(), |o| o.id())
        .all();
    let orders: Vec<usize> = reviewed.await.unwrap().iter().map(|r| r.orders.len()).collect();
    assert_eq!(orders, [1, 0]);
    // The other direction, through an `Option`.
    let reviewers = shop.customers.aggregate().lookup::<Reviewer>();
    let reviewers = reviewers.on(|c| c.id(), |r| r.author()).all().await.unwrap();
    let of_ada = reviewers.iter().find(|r| r.customer.id == ada().id).unwrap();
    assert_eq!(of_ada.reviews, all[..1]);
    // Comparisons, also with a default.
    let compared = reviews
        .aggregate()
        .lookup::<Reviewed>()
        .pipeline::<Order>(|r, orders| orders.match_expr(move |o| expr::eq(o.id(), r.order())));
    let compared: usize = compared.all().await.unwrap().iter().map(|r| r.orders.len()).sum();
    assert_eq!(compared, 1);
    let author = expr::eq(Review::fields().author(), ada().id);
    assert_eq!(
        reviews.aggregate().match_expr(|_| author).all().await.unwrap(),
        all[..1]
    );
    shop.close().await;
}

#[tokio::test]
async fn references_are_joined_with_newtypes_and_optional_ids() {
    let shop = Shop::open().await;
    let books: Collection<Book> = shop.db.collection();
    let isbn = |text: &str| Isbn(text.to_owned());
    let first = Book {
        _id: isbn("1"),
        sequels: vec![Ref::new(isbn("2"))],
        prequel: None,
    };
    let second = Book {
        _id: isbn("2"),
        sequels: Vec::new(),
        prequel: Some(Ref::new(isbn("1"))),
    };
    books.insert_many([&first, &second]).await.unwrap();
    let sorted = || books.aggregate().sort(|b| b._id().asc());
    let sequels = sorted().lookup::<Series>().on(|b| b.sequels(), |b| b._id());
    let sequels = sequels.all().await.unwrap();
    assert_eq!(sequels[0].books, [second]);
    let chain = sorted().graph_lookup::<Series>();
    let chain = chain.on(|b| b.prequel(), |b| b.prequel(), |b| b._id());
    assert_eq!(chain.all().await.unwrap()[1].books, [first]);
    let readers: Collection<Reader> = shop.db.collection();
    let id = ObjectId::new();
    let mut reader = Reader {
        id: Some(id),
        friend: Some(Ref::new(Some(id))),
        reads: Some(Ref::new(isbn("1"))),
    };
    readers.insert_one(&mut reader).await.unwrap();
    let friends = readers
        .aggregate()
        .lookup::<Friends>()
        .on(|r| r.friend(), |r| r.id());
    assert_eq!(friends.all().await.unwrap()[0].friends.len(), 1);
    let reads = readers.aggregate().match_expr(|r| expr::eq(r.reads(), isbn("1")));
    assert_eq!(reads.all().await.unwrap().len(), 1);
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
