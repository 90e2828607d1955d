//! The documents of the tasks, and the names of their collections.

use bson::{DateTime, Decimal128, oid::ObjectId};
use serde::{Deserialize, Serialize};

use crate::contract::Task;

/// The database of all collections.
pub const DATABASE: &str = "bench";
/// The collection that the tasks insert into.
pub const INSERTED: &str = "inserted";
/// The collection with one [`Small`].
pub const ONE_SMALL: &str = "one_small";
/// The collection with one [`Large`].
pub const ONE_LARGE: &str = "one_large";
/// The collection with one tweet.
pub const ONE_TWEET: &str = "one_tweet";
/// The collection with [`MANY`] [`Small`]s.
pub const MANY_SMALL: &str = "many_small";
/// The collection with [`MANY`] tweets.
pub const MANY_TWEETS: &str = "many_tweets";
/// The collection with [`MANY`] [`Rich`] documents.
pub const MANY_RICH: &str = "many_rich";
/// The collection with [`MANY`] events: inserts of [`Small`]s.
pub const WATCHED: &str = "watched";
/// Number of documents or events of the tasks with `10k` in their names.
pub const MANY: usize = 10_000;

/// 267 bytes as BSON: an id, seven strings, six numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "an example of an order")]
pub struct Small {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub customer: String,
    pub category: String,
    pub currency: String,
    pub priority: String,
    pub shipping: String,
    pub campaign: String,
    pub operator: String,
    pub quantity: i32,
    pub subtotal: i32,
    pub discount: i32,
    pub delivery: i32,
    pub position: i32,
    pub checksum: i32,
}

/// [`Small`] with borrowed strings.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[expect(missing_docs, reason = "as in Small")]
pub struct SmallRef<'a> {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub customer: &'a str,
    pub category: &'a str,
    pub currency: &'a str,
    pub priority: &'a str,
    pub shipping: &'a str,
    pub campaign: &'a str,
    pub operator: &'a str,
    pub quantity: i32,
    pub subtotal: i32,
    pub discount: i32,
    pub delivery: i32,
    pub position: i32,
    pub checksum: i32,
}

/// About 27 kB as BSON: a list of [`Line`]s.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "an example of an order with many lines")]
pub struct Large {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub lines: Vec<Line>,
}

/// A part of [`Large`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "an example of a line of an order")]
pub struct Line {
    pub article: String,
    pub category: String,
    pub supplier: String,
    pub quantity: i32,
    pub subtotal: i32,
    pub discount: i32,
}

/// About 400 bytes as BSON: dates, decimals, an enum with a tag, a flattened struct.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "an example of an order with values of many types")]
pub struct Rich {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub customer: String,
    pub placed: DateTime,
    pub paid: Option<DateTime>,
    pub total: Decimal128,
    pub state: State,
    pub lines: Vec<Item>,
    #[serde(flatten)]
    pub address: Address,
}

/// The state of a [`Rich`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind")]
#[expect(missing_docs, reason = "an example of an enum")]
pub enum State {
    New,
    Sent { by: String, count: i32 },
}

/// A line of a [`Rich`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "an example of a line of an order")]
pub struct Item {
    pub sku: String,
    pub price: Decimal128,
    pub shipped: Option<DateTime>,
}

/// The fields of an address, which are fields of a [`Rich`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "an example of an address")]
pub struct Address {
    pub street: String,
    pub city: String,
}

/// Number of lines of a [`Large`].
const LINES: i32 = 227;

/// The `_id` of the document `number`.
#[must_use]
pub fn id(number: u32) -> ObjectId {
    let [a, b, c, d] = number.to_be_bytes();
    ObjectId::from_bytes([0x66, 0, 0, 0, 1, 2, 3, 4, a, b, c, d])
}

impl Small {
    /// The document `number`. Documents with different numbers have different ids.
    #[must_use]
    pub fn new(number: u32) -> Self {
        let text = |kind: char| format!("{kind}{:07}", number % 10_000_000);
        let n = i32::try_from(number % 1_000_000).unwrap_or(0);
        Self {
            id: id(number),
            customer: text('c'),
            category: text('k'),
            currency: text('e'),
            priority: text('p'),
            shipping: text('s'),
            campaign: text('m'),
            operator: text('o'),
            quantity: n % 17,
            subtotal: n * 3,
            discount: n % 5,
            delivery: n + 7,
            position: n,
            checksum: n * 31,
        }
    }
}

impl Large {
    /// The document `number`: only the id depends on the number.
    #[must_use]
    pub fn new(number: u32) -> Self {
        let line = |n: i32| Line {
            article: format!("a{n:07}"),
            category: format!("k{n:07}"),
            supplier: format!("s{n:07}"),
            quantity: n % 17,
            subtotal: n * 3,
            discount: n % 5,
        };
        Self {
            id: id(number),
            lines: (0..LINES).map(line).collect(),
        }
    }
}

impl Rich {
    /// The document `number`. Documents with different numbers have different ids.
    ///
    /// # Panics
    /// Never: its decimals are valid.
    #[must_use]
    pub fn new(number: u32) -> Self {
        let at = DateTime::from_millis(1_700_000_000_000 + i64::from(number));
        let cents = |cents: u32| -> Decimal128 {
            let text = format!("{}.{:02}", cents / 100, cents % 100);
            text.parse().expect("a decimal")
        };
        let item = |n: u32| Item {
            sku: format!("s{n:07}"),
            price: cents(n + 100),
            shipped: Some(at),
        };
        Self {
            id: id(number),
            customer: format!("c{number:07}"),
            placed: at,
            paid: Some(at),
            total: cents(number + 7),
            state: State::Sent {
                by: "post".to_owned(),
                count: 3,
            },
            lines: (0..3).map(item).collect(),
            address: Address {
                street: "by the river 7".to_owned(),
                city: "Limpopo".to_owned(),
            },
        }
    }
}

/// The documents that the tasks insert, created before the measurement.
#[derive(Clone, Debug)]
pub struct Material {
    /// For `insert_one`.
    pub small: Small,
    /// For `insert_one_27k`.
    pub large: Large,
    /// For `insert_many_10k`; empty for other tasks.
    pub many: Vec<Small>,
    /// For `insert_many_10k_rich`; empty for other tasks.
    pub rich: Vec<Rich>,
}

impl Material {
    /// Creates the documents that the task requires.
    #[must_use]
    pub fn new(task: Task) -> Self {
        let numbers = |of: Task| {
            let many = if task == of { MANY } else { 0 };
            0..u32::try_from(many).unwrap_or(0)
        };
        Self {
            small: Small::new(0),
            large: Large::new(0),
            many: numbers(Task::InsertMany10k).map(Small::new).collect(),
            rich: numbers(Task::InsertMany10kRich).map(Rich::new).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_the_documented_sizes() {
        let small = bson::serialize_to_vec(&Small::new(9_999)).unwrap();
        assert_eq!(small.len(), 267);
        let large = bson::serialize_to_vec(&Large::new(1)).unwrap();
        assert!((26_500..27_500).contains(&large.len()), "{}", large.len());
        let rich = bson::serialize_to_vec(&Rich::new(1)).unwrap();
        assert!((380..420).contains(&rich.len()), "{}", rich.len());
    }

    #[test]
    fn the_borrowing_struct_has_the_same_fields() {
        let small = Small::new(42);
        let bytes = bson::serialize_to_vec(&small).unwrap();
        let read: SmallRef<'_> = bson::deserialize_from_slice(&bytes).unwrap();
        assert_eq!(
            (read.id, read.operator, read.checksum),
            (small.id, small.operator.as_str(), small.checksum)
        );
    }
}
