//! BSON corpus: conversions between bytes, documents and Extended JSON.

use std::path::Path;

use marula_driver::bson::{
    Document, RawDocument, append_document, decode_document, from_extended_json, to_canonical_json,
    to_relaxed_json,
};
use serde_json::Value;

use crate::{
    case::{Case, Outcome},
    fields::{Fields, equal},
    files,
};

type CheckFields = Box<dyn Fn(Fields<'_>) -> Result<(), String> + Send + Sync>;

const FORMAT: &str = "bson-corpus";
const DECIMAL128: u8 = 0x13;

/// Collects the cases of all files.
pub fn collect(root: &Path) -> Vec<Case> {
    files::below(root, "bson-corpus/tests")
        .iter()
        .flat_map(
            |file| match files::json(root, file).and_then(|content| cases(file, &content)) {
                Ok(cases) => cases,
                Err(why) => vec![Case::unreadable(FORMAT, file, why)],
            },
        )
        .collect()
}

fn cases(file: &str, content: &Value) -> Result<Vec<Case>, String> {
    let fields = Fields::new("file", content)?;
    fields.need_text("description")?;
    let kind = fields.need_text("bson_type")?;
    let kind = kind
        .strip_prefix("0x")
        .and_then(|digits| u8::from_str_radix(digits, 16).ok())
        .ok_or(format!("bson_type {kind} is not a byte"))?;
    // `test_key` is for drivers without document comparison. Whole documents are compared here.
    fields.text("test_key")?;
    fields.flag("deprecated")?;
    let mut cases = Vec::new();
    let mut add = |list: &str, run: CheckFields| {
        let run = std::sync::Arc::new(run);
        for test in fields.list(list)?.unwrap_or_default() {
            let description = Fields::new(list, test)?.need_text("description")?.to_owned();
            let (test, run, name) = (test.clone(), run.clone(), list.to_owned());
            cases.push(Case::new(FORMAT, file, description, move || {
                let result = Fields::new(name, &test).and_then(|test| {
                    test.need_text("description")?;
                    run(test)
                });
                Outcome::from(result)
            }));
        }
        Ok::<(), String>(())
    };
    add("valid", Box::new(valid))?;
    add("decodeErrors", Box::new(decode_error))?;
    add("parseErrors", Box::new(move |test| parse_error(test, kind)))?;
    fields.finish()?;
    Ok(cases)
}

fn valid(test: Fields<'_>) -> Result<(), String> {
    let canonical = bytes(test.need_text("canonical_bson")?)?;
    let json = test.need_text("canonical_extjson")?;
    let relaxed = test.text("relaxed_extjson")?;
    let degenerate = test.text("degenerate_bson")?.map(bytes).transpose()?;
    let degenerate_json = test.text("degenerate_extjson")?;
    let converted = test.text("converted_bson")?.map(bytes).transpose()?;
    let converted_json = test.text("converted_extjson")?;
    let lossy = test.flag("lossy")?.unwrap_or_default();
    test.finish()?;

    equal(
        "document to bytes",
        &hex(&encode(&decode(&canonical)?)?),
        &hex(&canonical),
    )?;
    printed("canonical", &canonical, json, relaxed)?;
    if let Some(degenerate) = &degenerate {
        equal(
            "document of degenerate bytes to bytes",
            &hex(&encode(&decode(degenerate)?)?),
            &hex(&canonical),
        )?;
        printed("degenerate", degenerate, json, relaxed)?;
    }
    parsed("canonical Extended JSON", json, json, &canonical, lossy)?;
    if let Some(degenerate) = degenerate_json {
        parsed("degenerate Extended JSON", degenerate, json, &canonical, lossy)?;
    }
    if let Some(relaxed) = relaxed {
        let again = to_relaxed_json(&parse(relaxed)?).map_err(|error| error.to_string())?;
        same_json("relaxed Extended JSON parsed and formatted", &again, relaxed)?;
    }
    // The converted form of deprecated types must be readable too. The driver keeps the deprecated
    // types.
    match (&converted, converted_json) {
        (Some(converted), Some(json)) => {
            equal(
                "converted bytes",
                &hex(&encode(&decode(converted)?)?),
                &hex(converted),
            )?;
            printed("converted", converted, json, None)?;
            parsed("converted Extended JSON", json, json, converted, lossy)
        }
        (None, None) => Ok(()),
        (Some(converted), None) => equal(
            "converted bytes",
            &hex(&encode(&decode(converted)?)?),
            &hex(converted),
        ),
        (None, Some(json)) => parse(json).map(drop),
    }
}

/// Checks the Extended JSON of bytes, converted directly and through a document.
fn printed(what: &str, bytes: &[u8], json: &str, relaxed: Option<&str>) -> Result<(), String> {
    let raw = RawDocument::from_bytes(bytes).map_err(|error| format!("{what} bytes: {error}"))?;
    let document = decode(bytes)?;
    let text = |result: Result<String, marula_driver::bson::DecodeError>| result.map_err(|e| e.to_string());
    same_json(
        &format!("{what} bytes as canonical"),
        &text(to_canonical_json(raw))?,
        json,
    )?;
    same_json(
        &format!("{what} document as canonical"),
        &text(to_canonical_json(&document))?,
        json,
    )?;
    if let Some(relaxed) = relaxed {
        same_json(
            &format!("{what} bytes as relaxed"),
            &text(to_relaxed_json(raw))?,
            relaxed,
        )?;
        same_json(
            &format!("{what} document as relaxed"),
            &text(to_relaxed_json(&document))?,
            relaxed,
        )?;
    }
    Ok(())
}

/// Checks the conversion of Extended JSON to a document, and of that to bytes and to canonical
/// Extended JSON.
fn parsed(what: &str, text: &str, json: &str, canonical: &[u8], lossy: bool) -> Result<(), String> {
    let document = parse(text).map_err(|why| format!("{what}: {why}"))?;
    let again = to_canonical_json(&document).map_err(|error| error.to_string())?;
    same_json(&format!("{what} parsed and formatted"), &again, json)?;
    if lossy {
        return Ok(());
    }
    equal(
        &format!("{what} as bytes"),
        &hex(&encode(&document)?),
        &hex(canonical),
    )
}

fn decode_error(test: Fields<'_>) -> Result<(), String> {
    let bytes = bytes(test.need_text("bson")?)?;
    test.finish()?;
    if let Ok(document) = decode_document(&bytes) {
        return Err(format!("decoded to {document:?}"));
    }
    if let Ok(json) = RawDocument::from_bytes(&bytes)
        .map_err(|error| error.to_string())
        .and_then(|raw| to_canonical_json(raw).map_err(|error| error.to_string()))
    {
        return Err(format!("printed as {json}"));
    }
    match marula_driver::bson::from_slice::<AnyValues>(&bytes) {
        Ok(_) => Err("decoded through serde".to_owned()),
        Err(_) => Ok(()),
    }
}

/// A type that deserializes any document.
type AnyValues = std::collections::BTreeMap<String, marula_driver::bson::Bson>;

fn parse_error(test: Fields<'_>, kind: u8) -> Result<(), String> {
    let text = test.need_text("string")?;
    test.finish()?;
    let json = if kind == DECIMAL128 {
        // Uses the driver's parser: `FromStr` of crate bson accepts `.` and `-+1` as decimals.
        serde_json::json!({ "d": { "$numberDecimal": text } }).to_string()
    } else {
        text.to_owned()
    };
    match parse(&json).and_then(|document| encode(&document)) {
        Ok(bytes) => Err(format!("parsed and encoded as {}", hex(&bytes))),
        Err(_) => Ok(()),
    }
}

fn parse(json: &str) -> Result<Document, String> {
    from_extended_json(json).map_err(|error| format!("{json}: {error}"))
}

fn decode(bytes: &[u8]) -> Result<Document, String> {
    decode_document(bytes).map_err(|error| format!("{}: {error}", hex(bytes)))
}

fn encode(document: &Document) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    append_document(document, &mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Compares JSON values: whitespace and key order are not significant.
fn same_json(what: &str, actual: &str, expected: &str) -> Result<(), String> {
    let read = |text: &str| {
        serde_json::from_str::<Value>(text).map_err(|error| format!("{what}: invalid JSON {text}: {error}"))
    };
    equal(what, &read(actual)?, &read(expected)?)
}

/// Decodes hexadecimal digits.
pub(crate) fn bytes(digits: &str) -> Result<Vec<u8>, String> {
    let pair = |at| {
        digits
            .get(at..at + 2)
            .and_then(|pair| u8::from_str_radix(pair, 16).ok())
    };
    if !digits.len().is_multiple_of(2) {
        return Err(format!("odd number of hexadecimal digits: {digits}"));
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| pair(at).ok_or(format!("invalid hexadecimal digits: {digits}")))
        .collect()
}

/// Encodes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(test: &Value, check: impl Fn(Fields<'_>) -> Result<(), String>) -> Result<(), String> {
        check(Fields::new("test", test).unwrap())
    }

    #[test]
    fn every_wrong_expectation_fails() {
        let test = json!({
            "canonical_bson": "0C0000001061000100000000", "canonical_extjson": r#"{"a": {"$numberInt": "1"}}"#,
            "relaxed_extjson": r#"{"a": 1}"#, "degenerate_bson": "0C0000001061000100000000",
            "degenerate_extjson": r#"{"a": 1}"#,
            "converted_bson": "0C0000001061000100000000", "converted_extjson": r#"{"a": {"$numberInt": "1"}}"#,
        });
        assert_eq!(run(&test, valid), Ok(()));
        for (key, value) in [
            ("canonical_bson", "0C0000001061000200000000"),
            ("canonical_extjson", r#"{"a": {"$numberInt": "2"}}"#),
            ("relaxed_extjson", r#"{"a": 2}"#),
            ("relaxed_extjson", r#"{"a": 1.0}"#),
            ("degenerate_bson", "0C0000001061000200000000"),
            ("degenerate_extjson", r#"{"a": 2}"#),
            ("converted_bson", "0C0000001061000200000000"),
            ("converted_extjson", r#"{"a": {"$numberInt": "2"}}"#),
            ("invented", ""),
        ] {
            let mut test = test.clone();
            test[key] = json!(value);
            let result = run(&test, valid);
            assert!(result.is_err(), "{key} {value}");
        }
    }

    #[test]
    fn valid_input_fails_decode_error_and_parse_error_cases() {
        assert!(run(&json!({ "bson": "0500000000" }), decode_error).is_err());
        assert!(run(&json!({ "bson": "0500000001" }), decode_error).is_ok());
        assert!(run(&json!({ "string": "1" }), |test| parse_error(test, DECIMAL128)).is_err());
        assert!(run(&json!({ "string": "one" }), |test| parse_error(test, DECIMAL128)).is_ok());
        assert!(run(&json!({ "string": "{}" }), |test| parse_error(test, 0)).is_err());
        assert!(run(&json!({ "string": "{" }), |test| parse_error(test, 0)).is_ok());
    }
}
