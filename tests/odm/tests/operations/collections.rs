//! Validators from the model, and changes of options of collections.

use std::collections::{BTreeMap, HashMap};

use crate::common::Env;
use marula::bson::{self, doc};
use marula::driver;
use marula::prelude::*;
use marula::schema::{Apply, Plan, Step, SyncMode};
use marula::{Document, Embedded, Error, Model, SchemaError};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Line {
    sku: String,
    quantity: u8,
}

#[derive(Serialize, Deserialize, Embedded)]
#[serde(rename_all = "lowercase")]
enum Status {
    Open,
    Paid,
}

#[derive(Serialize, Deserialize, Embedded)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Payment {
    Cash,
    Card { last_four: String },
    Transfer(Account),
}

#[derive(Serialize, Deserialize, Embedded)]
struct Account {
    iban: String,
}

#[derive(Serialize, Deserialize, Embedded)]
enum Shape {
    Empty,
    Circle(f64),
    Named { name: String },
}

#[derive(Serialize, Deserialize, Embedded)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Unit,
    Number(i32),
}

#[derive(Serialize, Deserialize, Embedded)]
#[serde(untagged)]
enum Either {
    Number(i64),
    Text(String),
}

#[derive(Serialize, Deserialize, Embedded)]
struct Comment {
    text: String,
    replies: Vec<Comment>,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Audit {
    created_by: String,
    #[serde(default)]
    edits: u32,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Email(String);

#[derive(Serialize, Deserialize, Document)]
#[serde(rename_all = "camelCase")]
#[document(collection = "orders", json_schema, index(customer))]
pub(crate) struct Order {
    #[serde(rename = "_id")]
    #[document(id = manual)]
    id: i64,
    customer: Email,
    status: Status,
    lines: Vec<Line>,
    payment: Option<Payment>,
    #[serde(default)]
    shapes: Vec<Shape>,
    #[serde(skip_serializing_if = "Option::is_none")]
    adjacent: Option<Adjacent>,
    #[serde(default)]
    either: Option<Either>,
    #[serde(default)]
    comments: Vec<Comment>,
    #[serde(default)]
    attributes: HashMap<String, i32>,
    #[serde(default)]
    sizes: BTreeMap<String, f64>,
    #[serde(flatten)]
    audit: Audit,
    point: [f64; 2],
}

fn order(id: i64) -> Order {
    Order {
        id,
        customer: Email("a@example.org".into()),
        status: Status::Open,
        lines: vec![Line {
            sku: "tea".into(),
            quantity: 2,
        }],
        payment: Some(Payment::Card {
            last_four: "4242".into(),
        }),
        shapes: vec![
            Shape::Empty,
            Shape::Circle(1.5),
            Shape::Named { name: "x".into() },
        ],
        adjacent: Some(Adjacent::Number(5)),
        either: Some(Either::Text("t".into())),
        comments: vec![Comment {
            text: "a".into(),
            replies: vec![Comment {
                text: "b".into(),
                replies: vec![],
            }],
        }],
        attributes: HashMap::from([("a".into(), 1)]),
        sizes: BTreeMap::new(),
        audit: Audit {
            created_by: "me".into(),
            edits: 0,
        },
        point: [1.0, 2.0],
    }
}

#[test]
fn the_schema_follows_the_fields() {
    let string = doc! { "bsonType": "string" };
    let integer = |minimum: i64, maximum: i64| {
        doc! { "bsonType": ["int", "long"], "minimum": minimum, "maximum": maximum }
    };
    let object = |required: &[&str], properties: bson::Document| {
        doc! { "bsonType": "object", "required": required, "properties": properties }
    };
    let schema = Order::json_schema();
    assert_eq!(
        schema.get_array("required").unwrap(),
        &["_id", "customer", "status", "lines", "point"].map(bson::Bson::from)
    );
    let property = |name: &str| {
        let properties = schema.get_document("properties").unwrap();
        properties.get_document(name).unwrap().clone()
    };
    assert_eq!(property("_id"), doc! { "bsonType": ["int", "long"] });
    assert_eq!(property("customer"), string);
    assert_eq!(property("status"), doc! { "enum": ["open", "paid"] });
    let line = object(
        &["sku", "quantity"],
        doc! { "sku": &string, "quantity": integer(0, 255) },
    );
    assert_eq!(property("lines"), doc! { "bsonType": "array", "items": line });
    let tag = |name: &str| doc! { "enum": [name] };
    let account = object(&["iban"], doc! { "iban": &string });
    let payment = doc! { "anyOf": [
        { "bsonType": "null" },
        { "anyOf": [
            object(&["kind"], doc! { "kind": tag("cash") }),
            object(&["kind", "lastFour"], doc! { "kind": tag("card"), "lastFour": &string }),
            { "bsonType": "object", "required": ["kind"], "allOf": [account], "properties": { "kind": tag("transfer") } },
        ] },
    ] };
    assert_eq!(property("payment"), payment);
    let number = doc! { "bsonType": ["double", "int", "long"] };
    let shape = doc! { "anyOf": [
        { "enum": ["Empty"] },
        object(&["Circle"], doc! { "Circle": &number }),
        object(&["Named"], doc! { "Named": object(&["name"], doc! { "name": &string }) }),
    ] };
    assert_eq!(property("shapes"), doc! { "bsonType": "array", "items": shape });
    let either =
        doc! { "anyOf": [{ "bsonType": "null" }, { "anyOf": [{ "bsonType": ["int", "long"] }, &string] }] };
    assert_eq!(property("either"), either);
    // A comment inside of a comment is not constrained.
    let comment = object(
        &["text", "replies"],
        doc! { "text": &string, "replies": { "bsonType": "array" } },
    );
    assert_eq!(
        property("comments"),
        doc! { "bsonType": "array", "items": comment }
    );
    assert_eq!(property("attributes"), doc! { "bsonType": "object" });
    assert_eq!(
        property("point"),
        doc! { "bsonType": "array", "minItems": 2_i64, "maxItems": 2_i64, "items": number }
    );
    let audit = object(
        &["created_by"],
        doc! { "created_by": string, "edits": integer(0, u32::MAX.into()) },
    );
    assert_eq!(schema.get_array("allOf").unwrap(), &[bson::Bson::Document(audit)]);
}

impl Env {
    pub(crate) async fn options(&self, name: &str) -> bson::Document {
        let mut cursor = self
            .db
            .driver()
            .list_collections()
            .filter(doc! { "name": name })
            .await
            .expect("a cursor");
        assert!(cursor.advance().await.expect("a reply"), "{name} does not exist");
        let found: driver::CollectionSpecification = cursor.deserialize_current().expect("a collection");
        found.options
    }

    pub(crate) async fn lacks_validators(&self) -> bool {
        let create = doc! { "create": "probe", "changeStreamPreAndPostImages": { "enabled": true } };
        self.lacks("options of collections", create).await
    }
}

pub(crate) fn steps(plan: &Plan) -> Vec<&Step> {
    plan.steps().map(|(_, step)| step).collect()
}

#[tokio::test]
async fn a_validator_accepts_what_the_model_stores() {
    let env = Env::start().await;
    if env.lacks_validators().await {
        return env.stop().await;
    }
    let schema = || env.db.schema().register::<Order>();
    let plan = schema().plan().await.unwrap();
    assert!(
        plan.to_string().contains("+ create   collection {\"validator\""),
        "{plan}"
    );
    let applied = plan.apply(Apply::additive()).await.unwrap();
    assert_eq!(applied.created_collections, [format!("{}.orders", env.db.name())]);
    assert_eq!(applied.created.len(), 1, "{applied}");
    assert!(schema().sync(SyncMode::Verify).await.unwrap().is_empty());
    assert!(schema().sync(SyncMode::Full).await.unwrap().is_empty());

    let orders = env.db.collection::<Order>();
    orders.insert_one(&order(1)).await.unwrap();
    let mut other = order(2);
    (other.payment, other.adjacent, other.either) = (None, Some(Adjacent::Unit), None);
    orders.insert_one(&other).await.unwrap();
    orders
        .update_one(
            |o| o.id().eq(1),
            |o| {
                o.lines().push(Line {
                    sku: "x".into(),
                    quantity: 1,
                })
            },
        )
        .await
        .unwrap();

    // What the model could not read is refused.
    let raw = env.db.driver().collection::<bson::Document>("orders");
    let bad = [
        doc! { "$set": { "status": "lost" } },
        doc! { "$set": { "lines.0.quantity": 256 } },
        doc! { "$unset": { "customer": "" } },
        doc! { "$set": { "payment": { "kind": "card" } } },
        doc! { "$set": { "point": [1.0] } },
        doc! { "$unset": { "created_by": "" } },
        doc! { "$push": { "shapes": { "Square": 1 } } },
    ];
    for update in bad {
        let error = raw
            .update_one(doc! { "_id": 1 }, update.clone())
            .await
            .unwrap_err();
        assert_eq!(error.code(), Some(121), "{update}: {error}");
    }
    raw.update_one(doc! { "_id": 1 }, doc! { "$set": { "other": 1 } })
        .await
        .unwrap();
    assert_eq!(orders.find_all().all().await.unwrap().len(), 2);
    env.stop().await;
}

#[tokio::test]
async fn options_are_changed_only_if_allowed() {
    #[derive(Serialize, Deserialize, Document)]
    #[document(
        collection = "orders",
        json_schema(level = "moderate", action = "warn"),
        pre_and_post_images
    )]
    struct Changed {
        _id: i64,
    }

    let env = Env::start().await;
    if env.lacks_validators().await {
        return env.stop().await;
    }
    let orders = env.db.schema().register::<Order>();
    orders.sync(SyncMode::Additive).await.unwrap();
    let schema = || env.db.schema().register::<Changed>();
    let plan = schema().plan().await.unwrap();
    let Step::ModifyCollection { differences, .. } = steps(&plan)[0] else {
        panic!("another step: {plan}");
    };
    assert_eq!(
        differences,
        &[
            "changeStreamPreAndPostImages",
            "validator",
            "validationLevel",
            "validationAction"
        ]
    );
    let refused = schema().sync(SyncMode::Additive).await.unwrap_err();
    assert!(
        matches!(
            &refused,
            Error::Schema(SchemaError::CollectionConflict { can_change: true, .. })
        ),
        "{refused}"
    );
    assert!(refused.to_string().contains("`Apply::coll_mod`"), "{refused}");
    let applied = plan.apply(Apply::additive().coll_mod(true)).await.unwrap();
    assert_eq!(applied.modified_collections.len(), 1, "{applied}");
    let options = env.options("orders").await;
    assert_eq!(options.get_str("validationLevel").unwrap(), "moderate");
    assert_eq!(options.get_str("validationAction").unwrap(), "warn");
    assert!(options.contains_key("changeStreamPreAndPostImages"), "{options}");
    assert!(schema().plan().await.unwrap().is_empty());

    let both = env.db.schema().register::<Changed>().register::<Order>();
    let error = both.plan().await.unwrap_err();
    assert!(
        matches!(
            &error,
            Error::Schema(SchemaError::ConflictingOptions {
                models: ["Changed", "Order"],
                ..
            })
        ),
        "{error}"
    );
    env.stop().await;
}
