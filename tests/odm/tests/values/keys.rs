//! Fields of maps with typed keys, tuples and shared pointers.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use crate::database::Env;
use marula::bson::{Bson, Document as BsonDocument, ObjectId, doc};
use marula::{Document, Embedded, Model, prelude::*};
use uuid::Uuid;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Embedded)]
#[serde(rename_all = "snake_case")]
enum Channel {
    Web,
    InStore,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Embedded)]
struct Lang(String);

#[derive(Clone, Debug, PartialEq, Embedded)]
struct Stock {
    count: i64,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "products", index(stock, name = "by_stock"), index(by_year))]
struct Product {
    _id: i64,
    #[document(opaque)]
    stock: BTreeMap<String, i32>,
    sold: HashMap<Channel, Stock>,
    by_year: Vec<i64>,
    names: BTreeMap<Lang, String>,
    prices: BTreeMap<u32, i64>,
    seen: BTreeMap<Uuid, bool>,
    linked: Option<BTreeMap<ObjectId, i32>>,
    size: (i32, f64),
    sizes: Vec<(String, i32)>,
    none: (),
    maker: Arc<Stock>,
    makers: HashMap<String, Arc<Stock>>,
    label: Arc<str>,
    parts: Option<Arc<Vec<i32>>>,
}

fn product() -> Product {
    Product {
        _id: 1,
        stock: BTreeMap::new(),
        sold: HashMap::from([
            (Channel::Web, Stock { count: 2 }),
            (Channel::InStore, Stock { count: 3 }),
        ]),
        by_year: vec![1],
        names: BTreeMap::from([(Lang("de".to_owned()), "Stuhl".to_owned())]),
        prices: BTreeMap::from([(2024, 100), (2025, 120)]),
        seen: BTreeMap::from([(Uuid::nil(), true)]),
        linked: None,
        size: (1, 2.5),
        sizes: vec![("s".to_owned(), 1)],
        none: (),
        maker: Arc::new(Stock { count: 7 }),
        makers: HashMap::new(),
        label: "chair".into(),
        parts: Some(Arc::new(vec![1, 2])),
    }
}

#[tokio::test]
async fn entries_have_the_keys_of_the_map() {
    let env = Env::open().await;
    let products = env.collection::<Product>();
    products.insert_one(&product()).await.unwrap();
    let raw = products.driver().clone_with_type::<BsonDocument>();
    let stored = raw.find_one(doc! {}).await.unwrap().unwrap();
    assert_eq!(
        stored
            .get_document("sold")
            .unwrap()
            .get_document("in_store")
            .unwrap(),
        &doc! { "count": 3_i64 }
    );
    assert_eq!(
        stored.get_document("prices").unwrap(),
        &doc! { "2024": 100_i64, "2025": 120_i64 }
    );
    assert_eq!(stored.get_document("names").unwrap(), &doc! { "de": "Stuhl" });
    assert_eq!(stored.get("size"), Some(&Bson::Array(vec![1.into(), 2.5.into()])));
    assert_eq!(
        (stored.get("none"), stored.get_str("label").unwrap()),
        (Some(&Bson::Null), "chair")
    );
    assert_eq!(products.find_by_id(1).required().await.unwrap(), product());

    let lang = Lang("de".to_owned());
    let label: Arc<str> = "chair".into();
    let count = products.count(|p| {
        p.sold().entry(Channel::InStore).count().gt(2)
            & p.names().entry(&lang).eq("Stuhl")
            & p.prices().entry(2025).gte(120)
            & p.seen().entry(Uuid::nil()).eq(true)
            & p.prices().eq(BTreeMap::from([(2024_u32, 100_i64), (2025, 120)]))
            & p.size().eq((1, 2.5))
            & p.sizes().contains(("s".to_owned(), 1))
            & p.none().eq(())
            & p.maker().count().eq(7)
            & p.label().starts_with("ch")
            & p.label().eq(&label)
            & p.parts().contains(2)
    });
    assert_eq!(count.await.unwrap(), 1);

    let key = ObjectId::new();
    let names = BTreeMap::from([(Lang("en".to_owned()), "chair".to_owned())]);
    let makers = HashMap::from([("x".to_owned(), Arc::new(Stock { count: 1 }))]);
    products
        .update_by_id(1, |p| {
            (
                p.sold().entry(Channel::Web).count().inc(5),
                p.prices().entry(2026).set(130),
                p.prices().entry(2024).unset(),
                p.linked().set(BTreeMap::from([(key, 9)])),
                p.size().set((3, 4.0)),
                p.sizes().push(("m".to_owned(), 2)),
                p.maker().set(Arc::new(Stock { count: 8 })),
                p.label().set(Arc::<str>::from("table")),
                p.makers().set(&makers),
                p.parts().push(3),
                p.names().set(&names),
            )
        })
        .await
        .unwrap();
    let expected = Product {
        sold: HashMap::from([
            (Channel::Web, Stock { count: 7 }),
            (Channel::InStore, Stock { count: 3 }),
        ]),
        prices: BTreeMap::from([(2025, 120), (2026, 130)]),
        linked: Some(BTreeMap::from([(key, 9)])),
        size: (3, 4.0),
        sizes: vec![("s".to_owned(), 1), ("m".to_owned(), 2)],
        maker: Arc::new(Stock { count: 8 }),
        makers,
        label: "table".into(),
        parts: Some(Arc::new(vec![1, 2, 3])),
        names: BTreeMap::from([(Lang("en".to_owned()), "chair".to_owned())]),
        ..product()
    };
    assert_eq!(products.find_by_id(1).required().await.unwrap(), expected);

    raw.update_one(doc! {}, doc! { "$set": { "prices": { "x": 1 } } })
        .await
        .unwrap();
    let error = products.find_by_id(1).await.unwrap_err().to_string();
    assert!(error.contains("`prices.x`") && error.contains("u32"), "{error}");
    env.close().await;
}

#[test]
fn the_schemas_of_tuples_and_pointers() {
    let schema = Product::json_schema();
    let properties = schema.get_document("properties").unwrap();
    let size = properties.get_document("size").unwrap();
    assert_eq!(
        (
            size.get_i64("minItems").unwrap(),
            size.get_i64("maxItems").unwrap()
        ),
        (2, 2)
    );
    assert_eq!(size.get_array("items").unwrap().len(), 2);
    assert_eq!(
        properties.get_document("label").unwrap(),
        &doc! { "bsonType": "string" }
    );
    assert_eq!(
        properties.get_document("none").unwrap(),
        &doc! { "bsonType": "null" }
    );
    assert_eq!(
        properties
            .get_document("maker")
            .unwrap()
            .get_str("bsonType")
            .unwrap(),
        "object"
    );
}

#[derive(Debug, PartialEq, Embedded)]
struct Shared {
    name: Rc<str>,
    stock: Rc<Stock>,
}

/// A type that threads do not share is stored like any other.
#[test]
fn pointers_of_one_thread() {
    let shared = Shared {
        name: "a".into(),
        stock: Rc::new(Stock { count: 1 }),
    };
    let bytes = marula::codec::to_vec(&shared).unwrap();
    assert_eq!(marula::codec::from_slice::<Shared>(&bytes).unwrap(), shared);
}
