//! Where types of crate bson can be in a value, and what is not taken for one.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::*;

const AT: &str = "2024-05-06T07:08:09.120Z";

/// A type in all places of serde's data model that are not buffered.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: DeserializeOwned + Clone + 'static"))]
struct Places<T: Clone + 'static> {
    field: T,
    option: Option<T>,
    none: Option<T>,
    options: Vec<Option<T>>,
    nested: Option<Option<Vec<T>>>,
    list: Vec<T>,
    array: [T; 2],
    tuple: (T, u8, T),
    map: BTreeMap<String, T>,
    lists: HashMap<String, Vec<Option<T>>>,
    boxed: Box<T>,
    optional_box: Option<Box<T>>,
    boxed_option: Box<Option<T>>,
    reverse: Reverse<T>,
    cow: Cow<'static, T>,
    cell: RefCell<T>,
    result: Result<T, T>,
    unit: Enum<T>,
    newtype: Enum<T>,
    several: Enum<T>,
    fields: Enum<T>,
    plain: Plain<T>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Enum<T> {
    Unit,
    Newtype(T),
    Several(T, Option<T>),
    Fields { at: T, list: Vec<T> },
}

fn assert_in_all_places<T>(value: &T, text: &str)
where
    T: Clone + Debug + PartialEq + Serialize + DeserializeOwned + 'static,
{
    let v = || value.clone();
    let places = Places {
        field: v(),
        option: Some(v()),
        none: None,
        options: vec![Some(v()), None],
        nested: Some(Some(vec![v()])),
        list: vec![v(), v()],
        array: [v(), v()],
        tuple: (v(), 5, v()),
        map: BTreeMap::from([("k".to_owned(), v())]),
        lists: HashMap::from([("k".to_owned(), vec![Some(v())])]),
        boxed: Box::new(v()),
        optional_box: Some(Box::new(v())),
        boxed_option: Box::new(Some(v())),
        reverse: Reverse(v()),
        cow: Cow::Owned(v()),
        cell: RefCell::new(v()),
        result: Err(v()),
        unit: Enum::Unit,
        newtype: Enum::Newtype(v()),
        several: Enum::Several(v(), Some(v())),
        fields: Enum::Fields {
            at: v(),
            list: vec![v()],
        },
        plain: Plain(v()),
    };
    let json = json!({
        "field": text,
        "option": text,
        "none": null,
        "options": [text, null],
        "nested": [text],
        "list": [text, text],
        "array": [text, text],
        "tuple": [text, 5, text],
        "map": { "k": text },
        "lists": { "k": [text] },
        "boxed": text,
        "optional_box": text,
        "boxed_option": text,
        "reverse": text,
        "cow": text,
        "cell": text,
        "result": { "Err": text },
        "unit": "Unit",
        "newtype": { "Newtype": text },
        "several": { "Several": [text, text] },
        "fields": { "Fields": { "at": text, "list": [text] } },
        "plain": text,
    });
    assert_plain(&places, json);
}

#[test]
fn types_of_crate_bson_are_text_in_all_places() {
    assert_in_all_places(&id(), HEX);
    assert_in_all_places(&date(), AT);
    assert_in_all_places(&decimal(), "19.90");
    assert_in_all_places(&bson::Uuid::parse_str(UUID).unwrap(), UUID);
    assert_in_all_places(&uuid_binary(), UUID);
    assert_in_all_places(&binary(BinarySubtype::Generic, b"Marula!"), "TWFydWxhIQ==");
    // The same places of a type without a form of its own.
    for text in [HEX, AT, "19.90", UUID, "TWFydWxhIQ=="] {
        assert_in_all_places(&text.to_owned(), text);
    }
}

#[test]
fn an_optional_pointer_is_known() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Pointers {
        a: Option<Cell<DateTime>>,
        b: Option<RefCell<Binary>>,
        c: Reverse<Option<Box<Decimal128>>>,
    }
    let pointers = Pointers {
        a: Some(Cell::new(date())),
        b: Some(RefCell::new(binary(BinarySubtype::Generic, b"Marula!"))),
        c: Reverse(Some(Box::new(decimal()))),
    };
    assert_plain(&pointers, json!({ "a": AT, "b": "TWFydWxhIQ==", "c": "19.90" }));
}

#[test]
fn keys_of_maps_are_text() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Maps {
        ids: BTreeMap<ObjectId, i32>,
        dates: HashMap<DateTime, ObjectId>,
        uuids: BTreeMap<bson::Uuid, ()>,
    }
    let uuid = bson::Uuid::parse_str(UUID).unwrap();
    let maps = Maps {
        ids: BTreeMap::from([(id(), 5)]),
        dates: HashMap::from([(date(), id())]),
        uuids: BTreeMap::from([(uuid, ())]),
    };
    let json = json!({ "ids": { HEX: 5 }, "dates": { AT: HEX }, "uuids": { UUID: null } });
    assert_eq!(write(&maps), json);
    assert_eq!(read::<Maps>(&json), Ok(maps));
}

/// A newtype hides which type is requested. ObjectId and UUID request themselves; the others are read from
/// Extended JSON, and text is an error.
#[test]
fn newtypes_hide_types_that_are_read_as_any() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Newtype<T>(T);

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(transparent)]
    struct Transparent<T> {
        content: T,
    }

    assert_plain(&Newtype(id()), json!(HEX));
    let content = id();
    assert_plain(&Transparent { content }, json!(HEX));
    assert_plain(&Newtype(bson::Uuid::parse_str(UUID).unwrap()), json!(UUID));
    assert_plain(&Newtype(Plain(date())), json!(AT));

    assert_eq!(write(&Newtype(date())), json!(AT));
    assert_eq!(
        write(&Newtype(binary(BinarySubtype::Generic, b"Marula!"))),
        json!("TWFydWxhIQ==")
    );
    assert_eq!(
        read::<Newtype<DateTime>>(&json!(AT)),
        Err("expecting DateTime".to_owned())
    );
    let extended = json!({ "$date": AT });
    assert_eq!(read::<Newtype<DateTime>>(&extended), Ok(Newtype(date())));
    // A newtype of any value has any value.
    assert_plain(&Newtype(Bson::String(AT.to_owned())), json!(AT));
}

#[test]
fn only_the_shapes_of_crate_bson_are_recognized() {
    #[derive(Serialize)]
    struct Fields {
        #[serde(rename = "$oid")]
        id: &'static str,
    }

    #[derive(Serialize)]
    #[serde(rename = "$oid")]
    struct OtherContent {
        #[serde(rename = "$oid")]
        id: &'static str,
    }

    #[derive(Serialize)]
    #[serde(rename = "$date")]
    struct OtherKey {
        date: DateTime,
    }

    #[derive(Serialize)]
    #[serde(rename = "$numberDecimal")]
    struct MoreFields {
        #[serde(rename = "$numberDecimal")]
        decimal: &'static str,
        at: DateTime,
    }

    assert_eq!(write(&Fields { id: HEX }), json!({ "$oid": HEX }));
    assert_eq!(write(&OtherContent { id: "me" }), json!({ "$oid": "me" }));
    assert_eq!(write(&OtherKey { date: date() }), json!({ "date": AT }));
    let more = MoreFields {
        decimal: "5",
        at: date(),
    };
    assert_eq!(write(&more), json!({ "$numberDecimal": "5", "at": AT }));
    for key in ["$oid", "$date", "$numberDecimal", "$binary", "$uuid"] {
        let map = BTreeMap::from([(key.to_owned(), HEX.to_owned())]);
        assert_plain(&map, json!({ key: HEX }));
        let nested = BTreeMap::from([(
            key.to_owned(),
            BTreeMap::from([(key.to_owned(), vec![AT.to_owned()])]),
        )]);
        assert_plain(&nested, json!({ key: { key: [AT] } }));
    }
}

/// Types of other crates have the JSON of their own `Serialize`.
#[test]
fn types_of_other_crates_are_plain_already() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Others {
        chrono: chrono::DateTime<chrono::Utc>,
        jiff: Option<jiff::Timestamp>,
        decimal: rust_decimal::Decimal,
        uuid: uuid::Uuid,
        large: u128,
        small: i128,
        duration: std::time::Duration,
        bytes: Vec<u8>,
        json: Value,
    }
    let others = Others {
        chrono: AT.parse().unwrap(),
        jiff: Some(AT.parse().unwrap()),
        decimal: "19.90".parse().unwrap(),
        uuid: UUID.parse().unwrap(),
        large: u128::MAX,
        small: i128::MIN,
        duration: std::time::Duration::from_millis(5),
        bytes: vec![1, 2],
        json: json!({ "a": [1, 1.5, null, HEX] }),
    };
    let text = serde_json::to_string(&others).unwrap();
    assert_eq!(serde_json::to_string(&Plain(&others)).unwrap(), text);
    assert_eq!(
        serde_json::from_str::<Plain<Others>>(&text).unwrap(),
        Plain(others)
    );
}

#[test]
fn text_is_borrowed() {
    let text = format!("[\"{HEX}\"]");
    let Plain(borrowed) = serde_json::from_str::<Plain<Vec<&str>>>(&text).unwrap();
    assert_eq!(borrowed, [HEX]);
}
