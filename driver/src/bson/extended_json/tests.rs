//! Extended JSON as a whole: writing, parsing and errors.

use super::*;
use crate::bson::{
    Binary, DateTime, RawDocument, append_document, decode_document, doc, spec::BinarySubtype,
};

fn nested(levels: usize) -> Document {
    (1..levels).fold(doc! {}, |inner, _| doc! { "d": inner })
}

#[test]
fn numbers_have_the_smallest_type_that_holds_them() {
    let text = r#"{"a": [0, -0, 2147483647, 2147483648, -9223372036854775808, 9223372036854775808, 1.0, 1e3, -0.0]}"#;
    let expected = doc! { "a": [
        0_i32, 0_i32, i32::MAX, 2_147_483_648_i64, i64::MIN, 9_223_372_036_854_775_808.0_f64, 1.0, 1000.0, -0.0
    ] };
    let read = from_extended_json(text).unwrap();
    assert_eq!(read, expected);
    let negative = read.get_array("a").unwrap().last().unwrap().as_f64().unwrap();
    assert!(negative.is_sign_negative());
    for text in [
        r#"{"a": 1e999}"#.to_owned(),
        format!("{{\"a\": -{}}}", "9".repeat(400)),
    ] {
        let error = from_extended_json(&text).unwrap_err();
        assert_eq!(error.message(), "the number is beyond the range of a Double");
    }
}

#[test]
fn doubles_are_exact_and_have_the_spelling_of_the_tests() {
    for (double, text) in [
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (1.234_567_892_123_2e18, "1.2345678921232E+18"),
        (f64::MIN_POSITIVE, "2.2250738585072014E-308"),
        (5e-324, "5E-324"),
        (f64::MAX, "1.7976931348623157E+308"),
    ] {
        let value = Bson::Double(double);
        assert_eq!(to_relaxed_json(&value).unwrap(), text);
        assert_eq!(value_from_extended_json(text).unwrap(), value);
        let canonical = to_canonical_json(&value).unwrap();
        assert_eq!(canonical, format!("{{\"$numberDouble\": \"{text}\"}}"));
        assert_eq!(value_from_extended_json(&canonical).unwrap(), value);
    }
}

#[test]
fn faults_name_field_and_place() {
    let text = "{\n  \"lines\": [{\"sku\": 1}, {\"sku\": {\"$oid\": \"xyz\"}}]\n}";
    let error = from_extended_json(text).unwrap_err();
    assert_eq!(
        error.to_string(),
        "lines[1].sku.$oid: expected 24 hexadecimal digits at line 2, column 42"
    );
    assert_eq!(
        (error.kind(), error.line(), error.column()),
        (JsonErrorKind::Value, 2, 42)
    );
    assert!(text.get(error.offset()..).unwrap().starts_with("\"xyz\""));
    for (text, message) in [
        ("[]", "expected an object at line 1, column 1"),
        (
            r#"{"a": 1, "a": 2}"#,
            "a: the object has this key already at line 1, column 10",
        ),
        (
            r#"{"a": {"$oid": "", "b": 1}}"#,
            "a.b: unexpected key besides $oid at line 1, column 20",
        ),
        (
            r#"{"a": {"$code": "", "$code": ""}}"#,
            "a.$code: the object has this key already at line 1, column 21",
        ),
        (
            r#"{"a": {"$scope": {}}}"#,
            "a: the key $code is missing at line 1, column 7",
        ),
        (
            r#"{"a": {"$code": "", "$scope": {"$oid": 1}}}"#,
            "a.$scope.$oid: expected a string at line 1, column 40",
        ),
        (
            r#"{"a": {"$timestamp": {"t": -1, "i": 1}}}"#,
            "a.$timestamp.t: expected a 32-bit integer without sign at line 1, column 28",
        ),
        (
            r#"{"a": {"$numberInt": "2147483648"}}"#,
            "a.$numberInt: expected a 32-bit integer as a string at line 1, column 22",
        ),
        (
            r#"{"a": {"$binary": {"base64": "AA=", "subType": "00"}}}"#,
            "a.$binary.base64: expected padded base64 at line 1, column 30",
        ),
        (
            r#"{"a": {"$binary": {"base64": "", "subType": "000"}}}"#,
            "a.$binary.subType: expected one or two hexadecimal digits at line 1, column 45",
        ),
    ] {
        assert_eq!(from_extended_json(text).unwrap_err().to_string(), message);
    }
}

#[test]
fn wrong_texts_in_wrappers_are_refused() {
    for (key, texts) in [
        ("$numberInt", &["", "+1", "1.0", " 1", "0x1"][..]),
        ("$numberLong", &["", "9223372036854775808", "1e3"]),
        (
            "$numberDouble",
            &["", "inf", "nan", "infinity", "1e999", "0x1", "+Infinity"],
        ),
        (
            "$numberDecimal",
            &[
                "",
                ".",
                "-",
                "-+1",
                "1e",
                "sNaN",
                "é",
                "1e99999999999999999999999999999999999999999",
            ],
        ),
        (
            "$uuid",
            &[
                "",
                "73ffd26444b34c6990e8e7d1dfc035d",
                "urn:73ffd264-44b3-4c69-90e8-e7d1dfc035d4",
            ],
        ),
        ("$date", &["", "1970-01-01", "now"]),
    ] {
        for text in texts {
            let json = format!("{{\"{key}\": \"{text}\"}}");
            assert!(value_from_extended_json(&json).is_err(), "{json}");
        }
    }
    for json in [
        r#"{"$undefined": false}"#,
        r#"{"$minKey": 1.0}"#,
        r#"{"$date": {"$numberInt": "0"}}"#,
        r#"{"$date": 0}"#,
    ] {
        assert!(value_from_extended_json(json).is_err(), "{json}");
    }
}

#[test]
fn the_outermost_object_of_a_document_is_not_a_type_wrapper() {
    let text = r#"{"$minKey": 1}"#;
    assert_eq!(from_extended_json(text).unwrap(), doc! { "$minKey": 1 });
    assert_eq!(value_from_extended_json(text).unwrap(), Bson::MinKey);
}

#[test]
fn uuids_are_read_and_written_as_text() {
    let bytes = (0..16).collect();
    let uuid = Bson::Binary(Binary {
        subtype: BinarySubtype::Uuid,
        bytes,
    });
    let text = ExtendedJson::relaxed(&uuid).uuids_as_text().to_string();
    assert_eq!(text, r#"{"$uuid": "00010203-0405-0607-0809-0a0b0c0d0e0f"}"#);
    for text in [
        &text,
        r#"{"$uuid": "000102030405060708090A0B0C0D0E0F"}"#,
        r#"{"$uuid": "urn:uuid:00010203-0405-0607-0809-0a0b0c0d0e0f"}"#,
    ] {
        assert_eq!(value_from_extended_json(text).unwrap(), uuid);
    }
    assert!(
        ExtendedJson::canonical(&uuid)
            .to_string()
            .starts_with(r#"{"$binary": "#)
    );
}

#[test]
fn legacy_forms_are_read_when_asked_for() {
    let text = r#"{
        "b": {"$type": "80", "$binary": "AQID"},
        "r": {"$regex": "^a", "$options": "mi"},
        "d": {"$date": -1},
        "i": {"$date": "1970-01-01T01:00:00.000+0100"}
    }"#;
    let canonical = to_canonical_json(&from_legacy_extended_json(text).unwrap()).unwrap();
    assert_eq!(
        canonical,
        "{\"b\": {\"$binary\": {\"base64\": \"AQID\", \"subType\": \"80\"}}, \
         \"r\": {\"$regularExpression\": {\"pattern\": \"^a\", \"options\": \"im\"}}, \
         \"d\": {\"$date\": {\"$numberLong\": \"-1\"}}, \"i\": {\"$date\": {\"$numberLong\": \"0\"}}}"
    );
    assert!(from_extended_json(r#"{"b": {"$binary": "AQID", "$type": "80"}}"#).is_err());
    // Query operators stay what they are.
    for filter in [
        r#"{"a": {"$regex": {"$regularExpression": {"pattern": "a", "options": ""}}, "$options": "ix"}}"#,
        r#"{"a": {"$regex": {"$regularExpression": {"pattern": "a", "options": ""}}}}"#,
        r#"{"a": {"$regex": "a"}}"#,
        r#"{"a": {"$type": 2}, "b": {"$type": "string"}}"#,
    ] {
        for read in [from_extended_json, from_legacy_extended_json] {
            assert_eq!(to_relaxed_json(&read(filter).unwrap()).unwrap(), filter);
        }
    }
    let filter = from_extended_json(r#"{"a": {"$regex": "^a", "$options": "i"}}"#).unwrap();
    assert_eq!(filter, doc! { "a": { "$regex": "^a", "$options": "i" } });
}

#[test]
fn dates_are_text_between_1970_and_9999() {
    for (millis, relaxed) in [
        (0, r#"{"$date": "1970-01-01T00:00:00Z"}"#),
        (1, r#"{"$date": "1970-01-01T00:00:00.001Z"}"#),
        (-1, r#"{"$date": {"$numberLong": "-1"}}"#),
        (
            253_402_300_800_000,
            r#"{"$date": {"$numberLong": "253402300800000"}}"#,
        ),
        (i64::MIN, r#"{"$date": {"$numberLong": "-9223372036854775808"}}"#),
    ] {
        let date = Bson::DateTime(DateTime::from_millis(millis));
        assert_eq!(to_relaxed_json(&date).unwrap(), relaxed);
        assert_eq!(value_from_extended_json(relaxed).unwrap(), date);
    }
}

#[test]
fn depth_is_bounded_both_ways() {
    let deepest = nested(200);
    assert_eq!(
        from_extended_json(&to_canonical_json(&deepest).unwrap()).unwrap(),
        deepest
    );
    let deeper = nested(201);
    let error = to_relaxed_json(&deeper).unwrap_err();
    assert_eq!(error.message(), "documents nest deeper than 200 levels");
    let shown = ExtendedJson::relaxed(&deeper).to_string();
    assert!(
        shown.ends_with("documents nest deeper than 200 levels>"),
        "{shown}"
    );
    let text = format!("{}{}", "{\"d\":".repeat(200), "{}") + &"}".repeat(200);
    assert_eq!(
        from_extended_json(&text).unwrap_err().kind(),
        JsonErrorKind::TooDeep
    );
}

#[test]
fn malformed_bytes_are_errors_that_name_place_and_field() {
    let mut bytes = Vec::new();
    append_document(&doc! { "a": 1, "b": { "c": "text" } }, &mut bytes).unwrap();
    *bytes.iter_mut().find(|byte| **byte == b'x').unwrap() = 0xff;
    let raw = RawDocument::from_bytes(&bytes).unwrap();
    let error = to_canonical_json(raw).unwrap_err();
    assert_eq!(
        error.to_string(),
        decode_document(&bytes).unwrap_err().to_string()
    );
    assert_eq!(error.path(), "b.c");
    let shown = ExtendedJson::relaxed(raw).to_string();
    assert_eq!(shown, format!("{{\"a\": 1, \"b\": {{\"c\": <{error}>"));
}

#[test]
fn writers_may_end_early() {
    struct Short(String);
    impl fmt::Write for Short {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.push_str(text);
            if self.0.len() > 100 {
                Err(fmt::Error)
            } else {
                Ok(())
            }
        }
    }
    let large = doc! { "a": vec![1; 100_000] };
    let mut short = Short(String::new());
    assert!(fmt::write(&mut short, format_args!("{}", ExtendedJson::relaxed(&large))).is_err());
    assert!(short.0.len() < 110 && short.0.starts_with("{\"a\": [1, 1"));
}
