//! Extended JSON: the BSON corpus and the vectors of the specifications.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::PathBuf;

use marula_driver::bson::{
    Binary, ExtendedJson, PackedBits, RawDocument, Vector, append_document, decode_document,
    from_extended_json, from_slice, to_canonical_json, to_relaxed_json,
};
use marula_driver_tests::spec_tests;
use serde_json::Value;

/// The folder of the specification tests, if it exists.
fn spec_tests() -> Option<PathBuf> {
    let root = spec_tests::root();
    if root.is_none() {
        println!("left out: {}", spec_tests::ADVICE);
    }
    root
}

/// The name and content of each JSON file of one specification.
fn files(name: &str) -> Vec<(String, Value)> {
    let Some(folder) = spec_tests() else {
        return Vec::new();
    };
    let folder = folder.join(name).join("tests");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} holds no tests", folder.display());
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, serde_json::from_str(&text).unwrap())
    };
    files.into_iter().map(read).collect()
}

fn cases<'v>(file: &'v Value, list: &str) -> impl Iterator<Item = &'v Value> {
    file[list].as_array().into_iter().flatten()
}

fn hex(digits: &str) -> Vec<u8> {
    let digit = |byte: u8| u8::try_from(char::from(byte).to_digit(16).unwrap()).unwrap();
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    assert!(rest.is_empty());
    pairs
        .iter()
        .map(|[high, low]| digit(*high) << 4 | digit(*low))
        .collect()
}

fn bytes_of(json: &str) -> Result<Vec<u8>, String> {
    let document = from_extended_json(json).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    append_document(&document, &mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Compares two texts, ignoring white space and escapes.
fn assert_json(ours: &str, theirs: &str, case: &str) {
    let parse = |text: &str| -> Value {
        serde_json::from_str(text).unwrap_or_else(|e| panic!("{case}: {e}: {text}"))
    };
    assert_eq!(parse(ours), parse(theirs), "{case}");
}

/// Checks that these bytes are written as these texts, both directly and as a document.
fn assert_written(bson: &[u8], canonical: &str, relaxed: Option<&str>, case: &str) {
    let raw = RawDocument::from_bytes(bson).unwrap_or_else(|error| panic!("{case}: {error}"));
    let tree = decode_document(bson).unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_json(&to_canonical_json(raw).unwrap(), canonical, case);
    assert_json(&to_canonical_json(&tree).unwrap(), canonical, case);
    assert_eq!(
        ExtendedJson::canonical(raw).to_string(),
        ExtendedJson::canonical(&tree).to_string()
    );
    assert_eq!(
        ExtendedJson::relaxed(raw).to_string(),
        ExtendedJson::relaxed(&tree).to_string()
    );
    if let Some(relaxed) = relaxed {
        assert_json(&to_relaxed_json(raw).unwrap(), relaxed, case);
        assert_json(&to_relaxed_json(&tree).unwrap(), relaxed, case);
    }
}

#[test]
fn valid_documents_of_the_corpus_round_trip() {
    let mut run = 0;
    for (name, file) in files("bson-corpus") {
        for case in cases(&file, "valid") {
            let label = format!("{name}: {}", case["description"]);
            let bson = hex(case["canonical_bson"].as_str().unwrap());
            let canonical = case["canonical_extjson"].as_str().unwrap();
            let relaxed = case["relaxed_extjson"].as_str();
            let lossy = case["lossy"].as_bool().unwrap_or(false);
            assert_written(&bson, canonical, relaxed, &label);
            let mut again = Vec::new();
            append_document(&decode_document(&bson).unwrap(), &mut again).unwrap();
            assert_eq!(again, bson, "{label}");
            if !lossy {
                assert_eq!(bytes_of(canonical), Ok(bson.clone()), "{label}");
            }
            let read_and_written = to_canonical_json(&from_extended_json(canonical).unwrap()).unwrap();
            assert_json(&read_and_written, canonical, &label);
            if let Some(degenerate) = case["degenerate_bson"].as_str() {
                assert_written(&hex(degenerate), canonical, relaxed, &label);
            }
            if let Some(degenerate) = case["degenerate_extjson"].as_str() {
                let document = from_extended_json(degenerate).unwrap_or_else(|e| panic!("{label}: {e}"));
                assert_json(&to_canonical_json(&document).unwrap(), canonical, &label);
                if !lossy {
                    assert_eq!(bytes_of(degenerate), Ok(bson.clone()), "{label}");
                }
            }
            if let Some(relaxed) = relaxed {
                let document = from_extended_json(relaxed).unwrap_or_else(|e| panic!("{label}: {e}"));
                assert_json(&to_relaxed_json(&document).unwrap(), relaxed, &label);
            }
            run += 1;
        }
    }
    println!("{run} valid documents");
}

#[test]
fn malformed_documents_of_the_corpus_are_rejected() {
    let mut run = 0;
    for (name, file) in files("bson-corpus") {
        for case in cases(&file, "decodeErrors") {
            let bson = hex(case["bson"].as_str().unwrap());
            let label = format!("{name}: {}", case["description"]);
            assert!(decode_document(&bson).is_err(), "{label}");
            assert!(
                from_slice::<marula_driver::bson::Document>(&bson).is_err(),
                "{label}"
            );
            if let Ok(raw) = RawDocument::from_bytes(&bson) {
                assert!(to_canonical_json(raw).is_err(), "{label}");
                assert!(ExtendedJson::relaxed(raw).to_string().contains('<'), "{label}");
            }
            run += 1;
        }
    }
    println!("{run} malformed documents");
}

#[test]
fn invalid_texts_of_the_corpus_are_rejected() {
    let mut run = 0;
    for (name, file) in files("bson-corpus") {
        let decimal = file["bson_type"] == "0x13";
        for case in cases(&file, "parseErrors") {
            let text = case["string"].as_str().unwrap();
            let json = if decimal {
                serde_json::json!({ "d": { "$numberDecimal": text } }).to_string()
            } else {
                text.to_owned()
            };
            // The text is valid JSON, so it is not rejected for its syntax.
            serde_json::from_str::<Value>(&json).unwrap();
            let read = bytes_of(&json);
            assert!(
                read.is_err(),
                "{name}: {}: {text} was accepted",
                case["description"]
            );
            run += 1;
        }
    }
    println!("{run} texts rejected");
}

fn numbers(vector: &Value) -> Vec<f64> {
    let number = |value: &Value| match value["$numberDouble"].as_str() {
        Some("Infinity") => f64::INFINITY,
        Some("-Infinity") => f64::NEG_INFINITY,
        _ => value.as_f64().unwrap(),
    };
    vector.as_array().unwrap().iter().map(number).collect()
}

/// Builds a vector from the numbers of a test; `None` if the types cannot represent it.
fn build(kind: &str, numbers: &[f64], padding: i64) -> Option<Vector> {
    let padding = u8::try_from(padding).ok()?;
    let whole = |range: std::ops::RangeInclusive<f64>| {
        numbers
            .iter()
            .all(|number| number.fract() == 0.0 && range.contains(number))
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked above, or part of the test"
    )]
    match kind {
        "0x03" if padding == 0 && whole(-128.0..=127.0) => {
            Some(Vector::Int8(numbers.iter().map(|number| *number as i8).collect()))
        }
        "0x27" if padding == 0 => Some(Vector::Float32(
            numbers.iter().map(|number| *number as f32).collect(),
        )),
        "0x10" if whole(0.0..=255.0) => {
            let bytes = numbers.iter().map(|number| *number as u8).collect();
            PackedBits::new(bytes, padding).ok().map(Vector::PackedBit)
        }
        _ => None,
    }
}

#[test]
fn vectors_of_the_specification_round_trip() {
    let mut run = 0;
    for (name, file) in files("bson-binary-vector") {
        let key = file["test_key"].as_str().unwrap();
        for case in cases(&file, "tests") {
            let label = format!("{name}: {}", case["description"]);
            let kind = case["dtype_hex"].as_str().unwrap();
            let padding = case["padding"].as_i64().unwrap_or(0);
            let built = case
                .get("vector")
                .map(|vector| build(kind, &numbers(vector), padding));
            let bson = case["canonical_bson"].as_str().map(hex);
            if case["valid"] == true {
                let (built, bson) = (built.unwrap().unwrap(), bson.unwrap());
                let document = decode_document(&bson).unwrap();
                let binary = match document.get(key) {
                    Some(marula_driver::bson::Bson::Binary(binary)) => binary.clone(),
                    other => panic!("{label}: {other:?}"),
                };
                assert_eq!(Binary::from(&built), binary, "{label}");
                assert_eq!(Vector::try_from(&binary), Ok(built), "{label}");
            } else {
                assert_eq!(built.flatten(), None, "{label}");
                if let Some(bson) = bson {
                    let document = decode_document(&bson).unwrap();
                    let Some(marula_driver::bson::Bson::Binary(binary)) = document.get(key) else {
                        panic!("{label}: no Binary");
                    };
                    assert!(Vector::try_from(binary).is_err(), "{label}");
                }
            }
            run += 1;
        }
    }
    println!("{run} vectors");
}
