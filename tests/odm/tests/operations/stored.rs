//! The ODM stores exactly the bytes that the model's `Serialize` implementation writes.

use std::collections::{BTreeMap, HashSet, LinkedList, VecDeque};

use crate::common::Env;
use marula::bson::{DateTime, ObjectId, Timestamp, doc, to_raw_document};
use marula::{Document, Embedded, Filter, Model};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A seeded random number generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.0 >> 33
    }

    fn id(&mut self) -> ObjectId {
        let mut bytes = [0; 12];
        bytes.fill_with(|| u8::try_from(self.next() % 256).expect("a byte"));
        ObjectId::from_bytes(bytes)
    }

    fn date(&mut self) -> DateTime {
        let millis = i64::try_from(self.next()).expect("31 bits") - (1 << 30);
        DateTime::from_millis(millis * 1_000_003)
    }

    fn some<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (!self.next().is_multiple_of(3)).then(|| value(self))
    }

    fn many<T, C: FromIterator<T>>(&mut self, mut value: impl FnMut(&mut Self) -> T) -> C {
        (0..self.next() % 7).map(|_| value(self)).collect()
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct CustomerId(ObjectId);

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(transparent)]
struct Moment {
    at: DateTime,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
struct Line {
    article_id: ObjectId,
    #[serde(rename = "when", skip_serializing_if = "Option::is_none", default)]
    shipped: Option<DateTime>,
    parts: Vec<Option<ObjectId>>,
    inner: Option<Box<Line>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Flat {
    flat_id: ObjectId,
    flat_date: Option<DateTime>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
enum External {
    Unit,
    Newtype(ObjectId),
    Fields { id: ObjectId, at: DateTime },
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum Internal {
    Fields { id: ObjectId, at: DateTime },
    Flat(Flat),
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind", content = "content")]
enum Adjacent {
    Fields { id: ObjectId },
    Newtype(DateTime),
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(untagged)]
enum Untagged {
    Id(ObjectId),
    Fields { at: DateTime },
}

/// Stored as a string, converted to another type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(into = "String", try_from = "String")]
struct Code(ObjectId);

impl From<Code> for String {
    fn from(code: Code) -> String {
        code.0.to_hex()
    }
}

impl TryFrom<String> for Code {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        ObjectId::parse_str(text).map(Code).map_err(|_| "not an id")
    }
}

mod as_hex {
    use marula::bson::ObjectId;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(id: &ObjectId, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&id.to_hex())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectId, D::Error> {
        let text = String::deserialize(deserializer)?;
        ObjectId::parse_str(text).map_err(serde::de::Error::custom)
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Document)]
#[serde(rename_all = "camelCase")]
#[document(collection = "orders")]
struct Order {
    #[serde(rename = "_id")]
    #[document(id)]
    id: ObjectId,
    customer_id: CustomerId,
    #[serde(skip)]
    left_out: Option<ObjectId>,
    made: DateTime,
    changed: Option<DateTime>,
    moment: Moment,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    maybe: Option<ObjectId>,
    ids: Vec<ObjectId>,
    pair: [ObjectId; 2],
    queue: VecDeque<DateTime>,
    list: LinkedList<ObjectId>,
    set: HashSet<ObjectId>,
    boxed: Box<ObjectId>,
    line: Line,
    lines: Vec<Line>,
    by_name: BTreeMap<String, ObjectId>,
    #[serde(flatten)]
    flat: Flat,
    #[serde(with = "as_hex")]
    #[document(as = String)]
    hex: ObjectId,
    #[serde(with = "as_hex", rename = "HEX")]
    #[document(opaque)]
    opaque: ObjectId,
    code: Code,
    external: Vec<External>,
    internal: Vec<Internal>,
    adjacent: Vec<Adjacent>,
    untagged: Vec<Untagged>,
    uuid: Uuid,
    timestamp: Timestamp,
    last: ObjectId,
}

fn line(r: &mut Random, depth: u32) -> Line {
    Line {
        article_id: r.id(),
        shipped: r.some(Random::date),
        parts: r.many(|r| r.some(Random::id)),
        inner: (depth > 0).then(|| Box::new(line(r, depth - 1))),
    }
}

fn flat(r: &mut Random) -> Flat {
    Flat {
        flat_id: r.id(),
        flat_date: r.some(Random::date),
    }
}

fn order(seed: u64) -> Order {
    let r = &mut Random(seed);
    Order {
        id: r.id(),
        customer_id: CustomerId(r.id()),
        left_out: Some(r.id()),
        made: r.date(),
        changed: r.some(Random::date),
        moment: Moment { at: r.date() },
        maybe: r.some(Random::id),
        ids: r.many(Random::id),
        pair: [r.id(), r.id()],
        queue: r.many(Random::date),
        list: r.many(Random::id),
        set: r.many(Random::id),
        boxed: Box::new(r.id()),
        line: line(r, 3),
        lines: r.many(|r| line(r, 1)),
        by_name: r.many(|r| (r.next().to_string(), r.id())),
        flat: flat(r),
        hex: r.id(),
        opaque: r.id(),
        code: Code(r.id()),
        external: r.many(|r| match r.next() % 3 {
            0 => External::Unit,
            1 => External::Newtype(r.id()),
            _ => External::Fields {
                id: r.id(),
                at: r.date(),
            },
        }),
        internal: r.many(|r| match r.next() % 2 {
            0 => Internal::Fields {
                id: r.id(),
                at: r.date(),
            },
            _ => Internal::Flat(flat(r)),
        }),
        adjacent: r.many(|r| match r.next() % 2 {
            0 => Adjacent::Fields { id: r.id() },
            _ => Adjacent::Newtype(r.date()),
        }),
        untagged: r.many(|r| match r.next() % 2 {
            0 => Untagged::Id(r.id()),
            _ => Untagged::Fields { at: r.date() },
        }),
        uuid: Uuid::from_u128(u128::from(r.next())),
        timestamp: Timestamp {
            time: 1,
            increment: 2,
        },
        last: r.id(),
    }
}

/// Stores the model with every call that accepts one, and checks that the stored bytes are those of
/// serde.
async fn check<D: Model<Id = ObjectId> + Serialize>(env: &Env, model: &D) -> marula::Result<()> {
    let plain = to_raw_document(model).expect("the model is a document");
    let collection = env.db.collection::<D>();
    let id = *model.id();
    for call in ["insert_one", "insert_many", "replace", "find_one_and_replace"] {
        match call {
            "insert_one" => drop(collection.insert_one(model).await?),
            "insert_many" => drop(collection.insert_many(std::slice::from_ref(model)).await?),
            "replace" => drop(collection.replace(model).upsert(true).await?),
            _ => {
                let same = |_| Filter::raw(doc! { "_id": id });
                let before = collection.find_one_and_replace(same, model).upsert(true).await?;
                assert!(before.is_none());
            }
        }
        let stored = collection.find_by_id(id).raw().await?;
        assert_eq!(stored.as_ref(), Some(&plain), "{call}");
        collection.driver().delete_one(doc! { "_id": id }).await?;
    }
    Ok(())
}

#[tokio::test]
async fn models_are_stored_as_serde_writes_them() {
    let env = Env::start().await;
    for seed in 0..40 {
        let mut order = order(seed);
        check(&env, &order).await.unwrap();
        order.left_out = None;
        let orders = env.db.collection::<Order>();
        orders.insert_one(&order).await.unwrap();
        assert_eq!(
            orders.find_by_id(order.id).required().await.unwrap(),
            order,
            "{seed}"
        );
        orders.delete_by_id(order.id).await.unwrap();
    }
    env.stop().await;
}
