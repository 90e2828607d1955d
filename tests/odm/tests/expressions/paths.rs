//! Typed paths have the names that serde writes.

use std::collections::{BTreeMap, HashMap};

use marula::bson::{Bson, DateTime, Decimal128, ObjectId};
use marula::path::AsPath;
use marula::prelude::*;
use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Serialize, Deserialize, Embedded)]
struct Sku(String);

#[derive(Serialize, Deserialize, Embedded)]
#[serde(rename_all = "camelCase")]
struct Line {
    sku: Sku,
    unit_price: Decimal128,
    qty: u32,
    size: Option<i32>,
    parts: Vec<Line>,
}

#[derive(Serialize, Deserialize, Embedded)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
enum Status {
    Open,
    PaidInFull,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Stamps {
    #[serde(rename = "createdAt")]
    created_at: DateTime,
    #[serde(rename = "tzOffset", skip_serializing_if = "Option::is_none", default)]
    offset: Option<i32>,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Bank {
    iban: String,
}

#[derive(Serialize, Deserialize, Embedded)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Payment {
    CreditCard { last_four: String },
    Transfer(Bank),
    Cash,
}

#[derive(Serialize, Deserialize, Embedded)]
enum External {
    Note(String),
    Pair(i32, i32),
    #[serde(rename = "none")]
    Nothing,
    #[serde(rename_all = "UPPERCASE")]
    Boxed {
        width: i32,
    },
}

#[derive(Serialize, Deserialize, Embedded)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Type(Bank),
    Other,
}

#[derive(Serialize, Deserialize, Embedded)]
#[serde(untagged)]
enum Loose {
    Bank(Bank),
    Text { body: String },
}

#[derive(Serialize, Deserialize, Document)]
#[serde(rename_all = "camelCase")]
#[document(collection = "orders")]
#[expect(dead_code, reason = "a skipped field is never read")]
struct Order {
    #[serde(rename = "_id")]
    #[document(id = uuid_v7)]
    id: Uuid,
    customer_id: ObjectId,
    status: Status,
    lines: Vec<Line>,
    home: Option<Box<Bank>>,
    #[serde(flatten)]
    stamps: Stamps,
    payment: Payment,
    external: External,
    adjacent: Adjacent,
    loose: Loose,
    payments: Vec<Payment>,
    #[serde(skip)]
    cache: Vec<u8>,
    #[serde(alias = "old")]
    r#type: String,
    scores: BTreeMap<String, i64>,
    by_name: HashMap<String, Bank>,
    #[document(opaque)]
    blob: std::net::IpAddr,
    #[serde(with = "seconds")]
    #[document(as = i64)]
    due: DateTime,
    #[serde(flatten)]
    extra: HashMap<String, Bson>,
}

mod seconds {
    use marula::bson::DateTime;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(date: &DateTime, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(date.timestamp_millis() / 1000)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DateTime, D::Error> {
        i64::deserialize(deserializer).map(|s| DateTime::from_millis(s * 1000))
    }
}

fn dotted(path: &impl AsPath) -> &str {
    path.raw().dotted()
}

#[test]
fn names_follow_serde() {
    let o = Order::fields();
    assert_eq!(dotted(&o.id()), "_id");
    assert_eq!(dotted(&o.customer_id()), "customerId");
    assert_eq!(dotted(&o.r#type()), "type");
    assert_eq!(dotted(&o.stamps().created_at()), "createdAt");
    assert_eq!(dotted(&o.stamps().offset()), "tzOffset");
    assert_eq!(dotted(&o.extra().entry("anything")), "anything");
    assert_eq!(dotted(&o.home().iban()), "home.iban");
    assert_eq!(dotted(&o.scores().entry("maths")), "scores.maths");
    assert_eq!(dotted(&o.by_name().entry("main").iban()), "byName.main.iban");
}

#[test]
fn arrays_have_paths_to_their_elements() {
    let o = Order::fields();
    assert_eq!(dotted(&o.lines().sku()), "lines.sku");
    assert_eq!(dotted(&o.lines().nth(2).unit_price()), "lines.2.unitPrice");
    assert_eq!(dotted(&o.lines().any().size()), "lines.size");
    assert_eq!(dotted(&o.lines().parts().parts().qty()), "lines.parts.parts.qty");
    assert_eq!(dotted(&o.lines().positional().qty()), "lines.$.qty");
    assert_eq!(
        dotted(&o.lines().all_positional().parts().all_positional().qty()),
        "lines.$[].parts.$[].qty"
    );
    let nested = o.lines().parts();
    assert_eq!(
        nested.raw().array_prefixes().collect::<Vec<_>>(),
        ["lines", "lines.parts"]
    );
}

#[test]
fn variants_follow_their_representation() {
    let o = Order::fields();
    assert_eq!(
        o.payment().credit_card().last_four().eq("4242").to_string(),
        r#"{"payment.lastFour": {"$eq": "4242"}, "payment.kind": {"$eq": "credit_card"}}"#
    );
    assert_eq!(
        o.payment().transfer().iban().eq("DE1").to_string(),
        r#"{"payment.iban": {"$eq": "DE1"}, "payment.kind": {"$eq": "transfer"}}"#
    );
    assert_eq!(
        o.payment().is_cash().to_string(),
        r#"{"payment.kind": {"$eq": "cash"}}"#
    );
    assert_eq!(
        o.external().note().eq("x").to_string(),
        r#"{"external.Note": {"$eq": "x"}}"#
    );
    assert_eq!(
        o.external().boxed().width().eq(1).to_string(),
        r#"{"external.Boxed.WIDTH": {"$eq": 1}}"#
    );
    assert_eq!(
        o.external().is_pair().to_string(),
        r#"{"external.Pair": {"$exists": true}}"#
    );
    assert_eq!(
        o.external().is_nothing().to_string(),
        r#"{"external": {"$eq": "none"}}"#
    );
    assert_eq!(
        o.adjacent().r#type().iban().eq("x").to_string(),
        r#"{"adjacent.c.iban": {"$eq": "x"}, "adjacent.t": {"$eq": "Type"}}"#
    );
    assert_eq!(
        o.adjacent().is_other().to_string(),
        r#"{"adjacent.t": {"$eq": "Other"}}"#
    );
    for refused in [o.loose().bank().iban().eq("x"), o.loose().text().body().eq("x")] {
        let refused = refused.to_string();
        assert!(refused.contains("untagged"), "{refused}");
    }
    assert_eq!(
        o.payments()
            .elem_match(|p| p.credit_card().last_four().eq("1"))
            .to_string(),
        r#"{"payments": {"$elemMatch": {"lastFour": {"$eq": "1"}, "kind": {"$eq": "credit_card"}}}}"#
    );
}

#[test]
fn values_have_their_stored_form() {
    let o = Order::fields();
    let id = Uuid::from_u128(7);
    assert_eq!(
        o.id().eq(id).to_string(),
        format!(r#"{{"_id": {{"$eq": {{"$uuid": "{id}"}}}}}}"#)
    );
    assert_eq!(
        o.status().eq(Status::PaidInFull).to_string(),
        r#"{"status": {"$eq": "PAID-IN-FULL"}}"#
    );
    assert_eq!(
        o.status().is_in([Status::Open]).to_string(),
        r#"{"status": {"$in": ["OPEN"]}}"#
    );
    assert_eq!(o.due().gt(5).to_string(), r#"{"due": {"$gt": 5}}"#);
    assert_eq!(
        o.blob().eq(Bson::from("::1")).to_string(),
        r#"{"blob": {"$eq": "::1"}}"#
    );
    assert_eq!(
        o.lines().sku().eq(Sku("a".into())).to_string(),
        r#"{"lines.sku": {"$eq": "a"}}"#
    );
    assert_eq!(
        o.lines().sku().regex("^a").to_string(),
        r#"{"lines.sku": {"$regex": "^a"}}"#
    );
}

#[test]
fn a_flattened_value_cannot_be_compared_as_a_whole() {
    let o = Order::fields();
    let whole = o.stamps().eq(Stamps {
        created_at: DateTime::from_millis(0),
        offset: None,
    });
    let error = whole.into_document().unwrap_err().to_string();
    assert!(error.contains("flattened"), "{error}");
    let root = o.payment().transfer().eq(Bank { iban: String::new() });
    assert!(
        root.into_document()
            .unwrap_err()
            .to_string()
            .contains("flattened")
    );
    for key in ["a.b", "$x", ""] {
        let error = o
            .scores()
            .entry(key)
            .eq(1)
            .into_document()
            .unwrap_err()
            .to_string();
        assert!(error.contains("map key"), "{error}");
    }
}

#[test]
fn ids_are_generated_by_the_declared_source() {
    let (a, b) = (Order::new_id(), Order::new_id());
    assert_eq!(a.get_version_num(), 7);
    assert!(a < b);
}
