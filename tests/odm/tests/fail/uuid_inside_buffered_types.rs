use std::collections::BTreeMap;

use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Serialize, Deserialize, Embedded)]
struct Audit {
    by: Uuid,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Outer {
    audits: Vec<Audit>,
}

type Named = BTreeMap<String, Audit>;

#[derive(Serialize, Deserialize, Embedded)]
#[serde(tag = "kind", content = "data")]
enum Adjacent {
    Two(i32, Uuid),
}

#[derive(Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum Tagged {
    Struct { audit: Audit },
    Array { audits: Vec<Audit> },
    Alias { named: Named },
    Recursive { rest: Box<Tagged>, last: Option<Outer> },
}

#[derive(Serialize, Deserialize, Embedded)]
#[serde(untagged)]
enum Untagged {
    Map { map: BTreeMap<String, Uuid> },
    Adjacent { adjacent: Adjacent },
    Opaque { #[document(opaque)] id: Uuid },
    OtherForm { #[document(as = String)] id: Uuid },
}

#[derive(Serialize, Deserialize, Embedded)]
enum OneUntagged {
    Tagged(Uuid),
    #[serde(untagged)]
    Untagged(String),
}

#[derive(Serialize, Deserialize, Embedded)]
enum FlattenedInVariant {
    Variant {
        #[serde(flatten)]
        audit: Audit,
    },
}

#[derive(Clone, Serialize, Deserialize, Embedded)]
#[serde(from = "Uuid", into = "Uuid")]
struct Converted {
    id: Uuid,
}

impl From<Uuid> for Converted {
    fn from(id: Uuid) -> Self {
        Converted { id }
    }
}

impl From<Converted> for Uuid {
    fn from(converted: Converted) -> Self {
        converted.id
    }
}

#[derive(Serialize, Deserialize, Embedded)]
struct Inner {
    converted: Converted,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i32,
    #[serde(flatten)]
    audit: Option<Audit>,
    #[serde(flatten)]
    outer: Outer,
    #[serde(flatten)]
    inner: Inner,
}

fn main() {}
