//! Patches: structs of optional fields as updates.

use crate::common::Env;
use marula::bson::{DateTime, Document as BsonDocument, doc};
use marula::driver::options::ReturnDocument;
use marula::prelude::*;
use marula::{Collection, Document, Embedded, Error, Filter, Patch, Patched};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Embedded)]
struct Address {
    street: String,
    city: String,
}

#[derive(Clone, Debug, PartialEq, Embedded)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Payment {
    Card { fee: i64 },
    Cash {},
}

#[derive(Clone, Debug, PartialEq, Document)]
#[serde(rename_all = "camelCase")]
#[document(collection = "orders")]
struct Order {
    #[serde(rename = "_id")]
    id: i64,
    total_price: i64,
    note: Option<String>,
    #[document(skip_none)]
    coupon: Option<String>,
    tags: Vec<String>,
    address: Address,
    billing: Option<Address>,
    payment: Payment,
    r#type: Option<i32>,
    #[document(opaque)]
    extra: Extra,
    #[document(version)]
    revision: i64,
    #[document(updated_at)]
    updated_at: DateTime,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Extra {
    flag: bool,
}

fn order() -> Order {
    let address = Address {
        street: "Marktgasse 1".to_owned(),
        city: "Bern".to_owned(),
    };
    Order {
        id: 1,
        total_price: 10,
        note: Some("ring".to_owned()),
        coupon: Some("TEA".to_owned()),
        tags: vec!["a".to_owned()],
        address: address.clone(),
        billing: Some(address),
        payment: Payment::Card { fee: 1 },
        r#type: None,
        extra: Extra::default(),
        revision: 0,
        updated_at: DateTime::from_millis(0),
    }
}

#[derive(Clone, Debug, Default, Deserialize, Patch)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[document(of = Order)]
struct OrderPatch {
    total_price: Option<i64>,
    note: Patched<String>,
    coupon: Patched<String>,
    tags: Option<Vec<String>>,
    #[document(path = address.city)]
    city: Option<String>,
    #[document(path = billing.city)]
    billing_city: Option<String>,
    #[document(path = payment.card.fee)]
    fee: Option<i64>,
    r#type: Patched<i32>,
    extra: Option<Extra>,
}

fn patch(json: &str) -> OrderPatch {
    serde_json::from_str(json).expect("a patch")
}

/// The collection with one order.
async fn orders(env: &Env) -> Collection<Order> {
    let orders = env.db.collection::<Order>();
    orders.insert_one(&order()).await.expect("an insert");
    orders
}

#[test]
fn the_fields_that_are_given_are_set() {
    let update = |json| patch(json).to_update().to_string();
    assert_eq!(update(r#"{"totalPrice": 5}"#), r#"{"$set": {"totalPrice": 5}}"#);
    assert_eq!(
        update(r#"{"note": null, "coupon": null}"#),
        r#"{"$set": {"note": null}, "$unset": {"coupon": ""}}"#
    );
    assert_eq!(
        update(
            r#"{"note": "$note", "coupon": "X", "tags": [], "city": "Biel", "type": 7, "extra": {"flag": true}}"#
        ),
        r#"{"$set": {"note": "$note", "coupon": "X", "tags": [], "address.city": "Biel", "type": 7, "extra": {"flag": true}}}"#
    );
    assert_eq!(
        update(r#"{"fee": 2}"#),
        r#"{"$set": {"payment.fee": 2}} where {"payment.kind": {"$eq": "card"}}"#
    );
    assert!(patch("{}").is_empty());
    assert!(!patch(r#"{"note": null}"#).is_empty());
    assert!(serde_json::from_str::<OrderPatch>(r#"{"total": 1}"#).is_err());
}

#[test]
fn missing_null_and_values_are_distinguished_by_any_deserializer() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Body<T> {
        #[serde(skip_serializing_if = "Patched::is_missing")]
        field: Patched<T>,
        #[serde(default, skip_serializing_if = "Patched::is_missing")]
        other: Patched<bool>,
    }
    #[derive(Debug, Deserialize)]
    struct Outer {
        #[serde(flatten)]
        body: Body<Vec<i64>>,
    }
    let body = |field| Body {
        field,
        other: Patched::Missing,
    };
    for (json, field) in [
        ("{}", Patched::Missing),
        (r#"{"field":null}"#, Patched::Null),
        (r#"{"field":[1,2]}"#, Patched::Set(vec![1_i64, 2])),
    ] {
        let expected = body(field.clone());
        assert_eq!(serde_json::from_str::<Body<Vec<i64>>>(json).unwrap(), expected);
        let value: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(
            serde_json::from_value::<Body<Vec<i64>>>(value.clone()).unwrap(),
            expected
        );
        assert_eq!(serde_json::from_str::<Outer>(json).unwrap().body, expected);
        let stored = marula::bson::to_vec(&expected).unwrap();
        let read = marula::bson::from_slice::<Body<Vec<i64>>>(&stored);
        assert_eq!(read.unwrap(), expected);
        assert_eq!(serde_json::to_string(&expected).unwrap(), json);
    }
    for wrong in [
        r#"{"field": "x"}"#,
        r#"{"field": [1, "x"]}"#,
        r#"{"field": }"#,
        r#"{"field": [1"#,
        r#"{"field": "#,
        r#"{"field": [], "field": []}"#,
    ] {
        assert!(serde_json::from_str::<Body<Vec<i64>>>(wrong).is_err(), "{wrong}");
        assert!(serde_json::from_str::<Outer>(wrong).is_err(), "{wrong}");
    }
    let missing = serde_json::to_string(&Patched::<i64>::Missing).unwrap_err();
    assert!(missing.to_string().contains("skip_serializing_if"), "{missing}");
}

#[test]
fn scalars_are_read_from_deserializers_without_newtypes() {
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, MapDeserializer};
    #[derive(Debug, Deserialize)]
    struct Query {
        name: Patched<String>,
        page: Patched<String>,
    }
    let pairs = [("name", "tea")].into_iter();
    let query = Query::deserialize(MapDeserializer::<_, Error>::new(pairs)).unwrap();
    assert_eq!(query.name, Patched::Set("tea".to_owned()));
    assert_eq!(query.page, Patched::Missing);
    let number = IntoDeserializer::<Error>::into_deserializer(5_u64);
    assert!(Patched::<String>::deserialize(number).is_err());
    assert_eq!(
        Patched::<f64>::deserialize(IntoDeserializer::<Error>::into_deserializer(0.5)),
        Ok(Patched::Set(0.5))
    );
    assert_eq!(
        Patched::<bool>::deserialize(IntoDeserializer::<Error>::into_deserializer(())),
        Ok(Patched::Null)
    );
}

#[tokio::test]
async fn every_update_takes_a_patch_by_value_and_by_reference() {
    let env = Env::start().await;
    let orders = orders(&env).await;
    let change = patch(r#"{"totalPrice": 11, "note": null, "coupon": null, "billingCity": "Biel"}"#);
    orders.update_by_id(1, |_| &change).required().await.unwrap();
    let found = orders.find_by_id(1).required().await.unwrap();
    assert_eq!((found.total_price, found.note, found.coupon), (11, None, None));
    assert_eq!(found.billing.map(|billing| billing.city).as_deref(), Some("Biel"));
    assert_eq!(found.revision, 1);
    assert!(found.updated_at > DateTime::from_millis(0));
    let raw = env.db.driver().collection::<BsonDocument>("orders");
    let raw = raw.find_one(doc! {}).await.unwrap().unwrap();
    assert!(raw.contains_key("note") && !raw.contains_key("coupon"), "{raw}");

    orders
        .update_one(
            |o| o.id().eq(1),
            |o| (patch(r#"{"totalPrice": 12}"#), o.tags().push("b")),
        )
        .required()
        .await
        .unwrap();
    orders
        .update_many(|_| Filter::everything(), |_| patch(r#"{"type": 1}"#))
        .await
        .unwrap();
    let city = patch(r#"{"city": "Chur"}"#);
    let returned = orders
        .find_one_and_update(|o| o.id().eq(1), |o| (o.tags().push("c"), &city))
        .return_document(ReturnDocument::After)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((returned.total_price, returned.r#type), (12, Some(1)));
    assert_eq!(
        (returned.tags, returned.address.city.as_str()),
        (["a", "b", "c"].map(str::to_owned).to_vec(), "Chur")
    );
    assert_eq!(returned.revision, 4);

    // A value of another variant does not match.
    let fee = patch(r#"{"fee": 5}"#);
    assert_eq!(orders.update_by_id(1, |_| &fee).await.unwrap().matched_count, 1);
    orders
        .update_by_id(1, |o| o.payment().set(Payment::Cash {}))
        .await
        .unwrap();
    assert_eq!(orders.update_by_id(1, |_| &fee).await.unwrap().matched_count, 0);
    env.stop().await;
}

#[tokio::test]
async fn an_empty_patch_is_refused_or_allowed() {
    let env = Env::start().await;
    let orders = orders(&env).await;
    let empty = OrderPatch::default();
    assert!(empty.is_empty());
    let refused = orders.update_by_id(1, |_| &empty).await.unwrap_err();
    assert!(matches!(refused, Error::InvalidUpdate { .. }), "{refused}");
    let found = orders
        .find_one_and_update(|o| o.id().eq(1), |_| &empty)
        .allow_empty()
        .await
        .unwrap()
        .unwrap();
    assert_eq!((found.total_price, found.revision), (10, 0));
    env.stop().await;
}

#[tokio::test]
async fn maintained_fields_of_enums_are_errors_of_the_call() {
    #[derive(Document)]
    #[serde(tag = "kind")]
    #[document(collection = "vehicles")]
    enum Vehicle {
        Car { _id: i64, doors: i32 },
    }
    #[derive(Patch)]
    #[document(of = Vehicle)]
    struct VehiclePatch {
        #[document(path = car.doors)]
        doors: Option<i32>,
        _id: Option<i64>,
    }
    let doors = VehiclePatch {
        doors: Some(3),
        _id: None,
    };
    assert_eq!(
        doors.to_update().to_string(),
        r#"{"$set": {"doors": 3}} where {"kind": {"$eq": "Car"}}"#
    );
    let env = Env::start().await;
    let vehicles = env.db.collection::<Vehicle>();
    let id = VehiclePatch {
        doors: None,
        _id: Some(3),
    };
    let refused = vehicles.update_by_id(1, |_| &id).await.unwrap_err();
    assert!(refused.to_string().contains("maintained field"), "{refused}");
    env.stop().await;
}
