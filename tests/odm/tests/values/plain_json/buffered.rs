//! Flattened fields and enums whose content serde buffers before it chooses the type.

use marula::{Document, Embedded, codec};

use super::*;

const AT: &str = "2024-05-06T07:08:09.120Z";

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Flattened<T> {
    own: DateTime,
    #[serde(flatten)]
    inner: Inner<T>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Inner<T> {
    v: T,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "t")]
enum Tagged<T> {
    Fields { v: T },
    Newtype(Inner<T>),
    External(External<T>),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum External<T> {
    Fields { v: T },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "t", content = "c")]
enum Adjacent<T> {
    Newtype(T),
    Fields { v: T },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged<T> {
    Fields { v: T },
    Newtype(T),
}

/// The values that contain `v`, with their JSON.
fn check<T: Serialize + DeserializeOwned + Debug + PartialEq>(
    value: impl Fn() -> T,
    text: &str,
    check: impl Fn(Value, String),
) {
    fn run<B: Serialize + DeserializeOwned + Debug + PartialEq>(
        value: &B,
        json: Value,
        check: &impl Fn(Value, String),
    ) {
        assert_eq!(write(value), json);
        match read::<B>(&json) {
            Ok(read) => assert_eq!(&read, value),
            Err(error) => check(json, error),
        }
    }
    let flattened = Flattened {
        own: date(),
        inner: Inner { v: value() },
    };
    run(&flattened, json!({ "own": AT, "v": text }), &check);
    run(
        &Tagged::Fields { v: value() },
        json!({ "t": "Fields", "v": text }),
        &check,
    );
    run(
        &Tagged::Newtype(Inner { v: value() }),
        json!({ "t": "Newtype", "v": text }),
        &check,
    );
    run(
        &Tagged::External(External::Fields { v: value() }),
        json!({ "t": "External", "Fields": { "v": text } }),
        &check,
    );
    run(&Untagged::Fields { v: value() }, json!({ "v": text }), &check);
    run(
        &Adjacent::Newtype(value()),
        json!({ "t": "Newtype", "c": text }),
        &check,
    );
    run(
        &Adjacent::Fields { v: value() },
        json!({ "t": "Fields", "c": { "v": text } }),
        &check,
    );
    run(&Untagged::Newtype(value()), json!(text), &check);
}

#[test]
fn ids_and_uuids_are_read_from_buffers() {
    let fail = |json: Value, error: String| panic!("{json}: {error}");
    check(id, HEX, fail);
    check(|| bson::Uuid::parse_str(UUID).unwrap(), UUID, fail);
    check(|| Some(id()), HEX, fail);
    check(
        || chrono::DateTime::<chrono::Utc>::from(date().to_system_time()),
        "2024-05-06T07:08:09.120Z",
        |_, _| {},
    );
}

/// The text is an error, and never another value.
#[test]
fn other_types_are_not_read_from_text_in_buffers() {
    let errors = std::cell::Cell::new(0);
    let count = |json: Value, error: String| {
        errors.set(errors.get() + 1);
        let expected = error.contains("expecting") || error.contains("did not match any variant");
        assert!(expected, "{json}: {error}");
    };
    check(date, AT, count);
    check(decimal, "19.90", count);
    check(uuid_binary, UUID, count);
    assert_eq!(errors.get(), 24);
}

#[test]
fn other_types_are_read_from_extended_json_in_buffers() {
    let extended = json!({ "$date": { "$numberLong": "1714979289120" } });
    let json = json!({ "own": AT, "v": extended });
    let inner = Inner { v: date() };
    assert_eq!(read(&json), Ok(Flattened { own: date(), inner }));
    let json = json!({ "t": "Fields", "v": extended });
    assert_eq!(read(&json), Ok(Tagged::Fields { v: date() }));
    assert_eq!(read(&extended), Ok(Untagged::Newtype(date())));
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: ObjectId,
    #[serde(flatten)]
    payment: Payment,
    #[serde(flatten)]
    event: Event,
    placed: PlacedAt,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Payment {
    #[serde(with = "marula::json")]
    #[document(as = Decimal128)]
    total: Decimal128,
    #[serde(with = "marula::json", default)]
    #[document(as = Option<DateTime>)]
    due: Option<DateTime>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum Event {
    Shipped {
        #[serde(with = "marula::json")]
        #[document(as = DateTime)]
        at: DateTime,
    },
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct PlacedAt(
    #[serde(with = "marula::json")]
    #[document(as = DateTime)]
    DateTime,
);

/// With `#[serde(with = "marula::json")]` text is read everywhere, and BSON keeps its types.
#[test]
fn the_module_is_a_form_of_fields() {
    let order = Order {
        _id: id(),
        payment: Payment {
            total: decimal(),
            due: Some(date()),
        },
        event: Event::Shipped { at: date() },
        placed: PlacedAt(date()),
    };
    let json = json!({ "_id": HEX, "total": "19.90", "due": AT, "kind": "Shipped", "at": AT, "placed": AT });
    assert_eq!(write(&order), json);
    let bytes = codec::to_vec(&order).unwrap();
    let stored = doc! {
        "_id": id(), "total": decimal(), "due": date(), "kind": "Shipped", "at": date(), "placed": date(),
    };
    assert_eq!(bson::from_slice::<bson::Document>(&bytes).unwrap(), stored);
    assert_eq!(codec::from_slice::<Order>(&bytes).unwrap(), order);
    assert_eq!(read(&json), Ok(order));
    let date = "invalid value: text, expected a date in the form of RFC 3339";
    assert_error::<Event>(&json!({ "kind": "Shipped", "at": "secret" }), date);
}
