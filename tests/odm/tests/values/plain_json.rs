//! `marula::json::Plain`: the JSON of each type of crate bson, what is read, and the errors.

mod buffered;
mod models;
mod places;

use std::fmt::Debug;

use marula::bson::{
    self, Binary, BinarySubtype, Bson, DateTime, DbPointer, Decimal128, Document, JavaScriptCodeWithScope,
    ObjectId, RawBson, RawDocumentBuf, Regex, Timestamp, doc,
};
use marula::json::Plain;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const HEX: &str = "5f2b3e1c9d4a6b7c8d9e0f10";
const UUID: &str = "67e55044-10b1-426f-9247-bb680e5fe0c8";

fn id() -> ObjectId {
    ObjectId::parse_str(HEX).unwrap()
}

fn date() -> DateTime {
    DateTime::from_millis(1_714_979_289_120)
}

fn decimal() -> Decimal128 {
    "19.90".parse().unwrap()
}

fn binary(subtype: BinarySubtype, bytes: &[u8]) -> Binary {
    let bytes = bytes.to_vec();
    Binary { subtype, bytes }
}

fn uuid_binary() -> Binary {
    Binary::from_uuid(bson::Uuid::parse_str(UUID).unwrap())
}

fn write<T: Serialize>(value: &T) -> Value {
    let text = serde_json::to_string(&Plain(value)).unwrap();
    let written = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_value(Plain(value)).unwrap(), written);
    written
}

/// Reads JSON from text and from a tree, which pass text in different ways.
fn read<T: DeserializeOwned + Debug + PartialEq>(json: &Value) -> Result<T, String> {
    let by_text = serde_json::from_str::<Plain<T>>(&json.to_string()).map(|plain| plain.0);
    let by_tree = serde_json::from_value::<Plain<T>>(json.clone()).map(|plain| plain.0);
    match (by_text, by_tree) {
        (Ok(by_text), Ok(by_tree)) => {
            assert_eq!(by_text, by_tree);
            Ok(by_text)
        }
        (Err(by_text), Err(by_tree)) => {
            let (by_text, by_tree) = (by_text.to_string(), by_tree.to_string());
            assert!(by_text.starts_with(&by_tree), "{by_text} / {by_tree}");
            Err(by_tree)
        }
        other => panic!("{json}: {other:?}"),
    }
}

/// The value has this JSON and is read from it, and from what it has without `Plain`.
#[track_caller]
fn assert_plain<T: Serialize + DeserializeOwned + Debug + PartialEq>(value: &T, json: impl Into<Value>) {
    let json = json.into();
    assert_eq!(write(value), json);
    assert_eq!(&read::<T>(&json).unwrap(), value);
    // Without `Plain`, `Binary` of subtype 0 is an array, which crate bson does not read.
    let extended = serde_json::to_value(value).unwrap();
    if serde_json::from_value::<T>(extended.clone()).is_ok() {
        assert_eq!(&read::<T>(&extended).unwrap(), value);
    }
}

#[test]
fn types_of_crate_bson_are_text() {
    assert_plain(&id(), json!(HEX));
    assert_plain(&date(), json!("2024-05-06T07:08:09.120Z"));
    assert_plain(&decimal(), json!("19.90"));
    for special in ["NaN", "Infinity", "-Infinity", "-0", "1E+100"] {
        let decimal: Decimal128 = special.parse().unwrap();
        assert_plain(&decimal, json!(special));
    }
    assert_plain(&bson::Uuid::parse_str(UUID).unwrap(), json!(UUID));
    assert_plain(&uuid_binary(), json!(UUID));
    assert_plain(&binary(BinarySubtype::Generic, b"Marula!"), json!("TWFydWxhIQ=="));
    assert_plain(&binary(BinarySubtype::Generic, b""), json!(""));
    // The text has as many characters as a UUID, and the data as many bytes.
    assert_plain(
        &binary(BinarySubtype::Generic, &[7; 16]),
        json!("BwcHBwcHBwcHBwcHBwcHBw=="),
    );
    assert_plain(
        &binary(BinarySubtype::Generic, &[0x69; 24]),
        json!("aWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlp"),
    );
}

#[test]
fn dates_have_milliseconds_and_the_years_0_to_9999() {
    for (millis, text) in [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ] {
        assert_plain(&DateTime::from_millis(millis), json!(text));
    }
    for millis in [i64::MIN, -62_167_219_200_001, 253_402_300_800_000, i64::MAX] {
        let error = serde_json::to_string(&Plain(DateTime::from_millis(millis))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a date outside of the years 0 to 9999 has no RFC 3339 form"
        );
    }
    let read = |text| read::<DateTime>(&json!(text)).unwrap().timestamp_millis();
    assert_eq!(read("2024-05-06T09:08:09.12+02:00"), date().timestamp_millis());
    assert_eq!(read("1970-01-01T00:00:00.0019Z"), 1);
}

#[test]
fn other_types_keep_their_extended_json() {
    let old = binary(BinarySubtype::UuidOld, &[1; 16]);
    let json = json!({ "$binary": { "base64": "AQEBAQEBAQEBAQEBAQEBAQ==", "subType": "03" } });
    assert_plain(&old, json);
    let short = binary(BinarySubtype::Uuid, &[1; 3]);
    assert_plain(
        &short,
        json!({ "$binary": { "base64": "AQEB", "subType": "04" } }),
    );
    let timestamp = Timestamp {
        time: 5,
        increment: 6,
    };
    assert_plain(&timestamp, json!({ "$timestamp": { "t": 5, "i": 6 } }));
    let regex = Regex {
        pattern: "^a".try_into().unwrap(),
        options: "i".try_into().unwrap(),
    };
    assert_plain(
        &regex,
        json!({ "$regularExpression": { "pattern": "^a", "options": "i" } }),
    );
    for (value, json) in [
        (Bson::MinKey, json!({ "$minKey": 1 })),
        (Bson::MaxKey, json!({ "$maxKey": 1 })),
        (Bson::Undefined, json!({ "$undefined": true })),
        (Bson::Symbol("s".into()), json!({ "$symbol": "s" })),
        (Bson::JavaScriptCode("f()".into()), json!({ "$code": "f()" })),
    ] {
        assert_plain(&value, json);
    }
    let pointer: DbPointer =
        serde_json::from_value(json!({ "$dbPointer": { "$ref": "a.b", "$id": { "$oid": HEX } } })).unwrap();
    let json = json!({ "$dbPointer": { "$ref": "a.b", "$id": { "$oid": HEX } } });
    assert_plain(&pointer, json);
    let code = JavaScriptCodeWithScope {
        code: "f()".into(),
        scope: doc! { "id": id() },
    };
    assert_plain(
        &code,
        json!({ "$code": "f()", "$scope": { "id": { "$oid": HEX } } }),
    );
}

fn document() -> Document {
    doc! {
        "id": id(),
        "dates": [date(), { "at": date() }],
        "decimal": decimal(),
        "uuid": uuid_binary(),
        "bytes": binary(BinarySubtype::Generic, b"Marula!"),
        "int": i64::MAX,
        "double": 1.5,
        "null": null,
    }
}

#[test]
fn documents_of_any_form_are_written_as_text() {
    let at = "2024-05-06T07:08:09.120Z";
    let json = json!({
        "id": HEX,
        "dates": [at, { "at": at }],
        "decimal": "19.90",
        "uuid": UUID,
        "bytes": "TWFydWxhIQ==",
        "int": i64::MAX,
        "double": 1.5,
        "null": null,
    });
    assert_eq!(write(&document()), json);
    assert_eq!(write(&Bson::Document(document())), json);
    let raw = RawDocumentBuf::try_from(&document()).unwrap();
    assert_eq!(write(&raw), json);
    assert_eq!(write(&RawBson::Document(raw)), json);
}

#[test]
fn text_in_a_bson_and_in_a_string_is_text() {
    for text in [HEX, UUID, "2024-05-06T07:08:09.120Z", "19.90", "TWFydWxhIQ=="] {
        assert_plain(&Bson::String(text.to_owned()), json!(text));
        assert_plain(&text.to_owned(), json!(text));
        assert_plain(
            &doc! { "v": [text], "w": { "x": text } },
            json!({ "v": [text], "w": { "x": text } }),
        );
        let raw = RawDocumentBuf::try_from(&doc! { "v": text }).unwrap();
        assert_plain(&raw, json!({ "v": text }));
    }
}

#[test]
fn decimals_are_read_from_numbers() {
    let read = |json: Value| read::<Decimal128>(&json).unwrap().to_string();
    assert_eq!(read(json!(5)), "5");
    assert_eq!(read(json!(-5)), "-5");
    assert_eq!(read(json!(u64::MAX)), "18446744073709551615");
    assert_eq!(read(json!(19.9)), "19.9");
    assert_eq!(read(json!(1e300)), "1E+300");
    assert_eq!(read(json!(-2.5e-8)), "-2.5E-8");
}

#[test]
fn types_are_read_from_extended_json() {
    assert_eq!(read(&json!({ "$oid": HEX })), Ok(id()));
    for body in [
        json!({ "$numberLong": "1714979289120" }),
        json!("2024-05-06T07:08:09.12Z"),
        json!(1_714_979_289_120_i64),
    ] {
        assert_eq!(read(&json!({ "$date": body })), Ok(date()));
    }
    assert_eq!(read(&json!({ "$numberDecimal": "19.90" })), Ok(decimal()));
    let uuid = bson::Uuid::parse_str(UUID).unwrap();
    assert_eq!(read(&json!({ "$uuid": UUID })), Ok(uuid));
    assert_eq!(read(&json!({ "$uuid": UUID })), Ok(uuid_binary()));
    let body = json!({ "base64": "Z+VQRBCxQm+SR7toDl/gyA==", "subType": "04" });
    assert_eq!(read(&json!({ "$binary": body })), Ok(uuid));
    assert_eq!(
        read(&json!({ "$binary": { "base64": "AQI=", "subType": "80" } })),
        Ok(binary(BinarySubtype::UserDefined(0x80), &[1, 2]))
    );
}

#[track_caller]
fn assert_error<T: DeserializeOwned + Debug + PartialEq>(json: &Value, error: &str) {
    assert_eq!(read::<T>(json), Err(error.to_owned()));
}

#[test]
fn errors_say_what_is_expected_and_not_what_was_found() {
    let id = "expected an ObjectId of 24 hexadecimal digits";
    assert_error::<ObjectId>(&json!("secret"), &format!("invalid value: text, {id}"));
    assert_error::<ObjectId>(&json!(UUID), &format!("invalid value: text, {id}"));
    assert_error::<ObjectId>(&json!(7), &format!("invalid type: a number, {id}"));
    assert_error::<ObjectId>(&json!(null), &format!("invalid type: null, {id}"));
    assert_error::<ObjectId>(
        &json!({ "a": "secret" }),
        &format!("invalid type: an object that is not its Extended JSON, {id}"),
    );
    let date = "expected a date in the form of RFC 3339";
    for text in [
        "secret",
        "2024-05-06",
        "2024-05-06T07:08:09",
        "2024-13-06T07:08:09Z",
        HEX,
        "",
    ] {
        assert_error::<DateTime>(&json!(text), &format!("invalid value: text, {date}"));
    }
    assert_error::<DateTime>(&json!(1_714_979_289), &format!("invalid type: a number, {date}"));
    assert_error::<DateTime>(&json!([]), &format!("invalid type: an array, {date}"));
    assert_error::<Option<DateTime>>(&json!(true), &format!("invalid type: a boolean, {date}"));
    let decimal = "expected a decimal number of at most 34 digits, as text or as a number";
    assert_error::<Decimal128>(&json!("1,5"), &format!("invalid value: text, {decimal}"));
    assert_error::<Decimal128>(
        &json!("1234567890.1234567890123456789012345"),
        &format!("invalid value: text, {decimal}"),
    );
    assert_error::<Decimal128>(&json!(false), &format!("invalid type: a boolean, {decimal}"));
    assert_error::<bson::Uuid>(&json!("secret"), "invalid value: text, expected a UUID");
    assert_error::<bson::Uuid>(&json!(5), "invalid type: a number, expected a UUID");
    let body = json!({ "base64": "Z+VQRBCxQm+SR7toDl/gyA==", "subType": "03" });
    assert_error::<bson::Uuid>(
        &json!({ "$binary": body }),
        "invalid type: binary data of another subtype or length, expected a UUID",
    );
    let binary = "expected binary data in base64, or a UUID with hyphens";
    assert_error::<Binary>(&json!("TWFydWxhIQ"), &format!("invalid value: text, {binary}"));
    assert_error::<Binary>(&json!([1, 2]), &format!("invalid type: an array, {binary}"));
}

/// In BSON, `Plain` changes nothing.
#[test]
fn bson_keeps_its_types() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Order {
        id: ObjectId,
        at: Option<DateTime>,
        bytes: Binary,
        uuid: bson::Uuid,
    }
    let order = Order {
        id: id(),
        at: Some(date()),
        bytes: binary(BinarySubtype::Generic, b"Marula!"),
        uuid: bson::Uuid::parse_str(UUID).unwrap(),
    };
    let bytes = bson::to_vec(&Plain(&order)).unwrap();
    assert_eq!(bytes, bson::to_vec(&order).unwrap());
    assert_eq!(bson::from_slice::<Plain<Order>>(&bytes).unwrap(), Plain(order));
}
