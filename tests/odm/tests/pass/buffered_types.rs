//! Types in flattened fields and in enums with tags, which serde would read from a buffer without the types of BSON.

use std::collections::{BTreeMap, HashMap};

use marula::prelude::*;
use marula::{Document, Embedded, bson};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A type that contains itself, in the variants of a tagged enum.
#[derive(Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum Expression {
    All {
        parts: Vec<Expression>,
    },
    Not {
        of: Box<Expression>,
        named: BTreeMap<String, Option<Expression>>,
    },
    Leaf(Leaf),
}

/// Two types that contain one another.
#[derive(Serialize, Deserialize, Embedded)]
struct Leaf {
    text: String,
    #[document(opaque)]
    table: Vec<Row>,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Row {
    #[document(opaque)]
    leaf: Option<Box<Leaf>>,
    keys: HashMap<String, i32>,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Ids {
    driver: bson::Uuid,
    one: Uuid,
    maybe: Option<Uuid>,
    all: Vec<Uuid>,
    /// The keys of maps are text.
    #[document(opaque)]
    by_id: HashMap<Uuid, i32>,
}

#[derive(Serialize, Deserialize, Embedded)]
enum Direct {
    Id(Uuid),
    Ids { ids: Vec<Uuid> },
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "buffered")]
struct Everything {
    _id: Uuid,
    #[serde(flatten)]
    ids: Option<Ids>,
    expression: Expression,
    direct: Direct,
}

/// A flattened `Option` that could not be read would be `None`.
#[test]
fn flattened_uuids_are_read_back() {
    let id = Uuid::from_u128(7);
    let value = Everything {
        _id: id,
        ids: Some(Ids {
            driver: bson::Uuid::from_bytes(id.into_bytes()),
            one: id,
            maybe: Some(id),
            all: vec![id],
            by_id: HashMap::from([(id, 1)]),
        }),
        expression: Expression::All { parts: Vec::new() },
        direct: Direct::Id(id),
    };
    let stored = marula::codec::to_vec(&value).expect("encoded");
    let read: Everything = marula::codec::from_slice(&stored).expect("decoded");
    assert!(
        read.ids
            .is_some_and(|ids| ids.all == [id] && ids.by_id.contains_key(&id))
    );
    let _ = Everything::fields();
}
