//! BSON Binary Vector: numeric and packed bit vectors in Binary subtype 9.

use std::path::Path;

use marula_driver::bson::{Binary, Bson, Document, PackedBits, Vector, append_document, decode_document};
use serde_json::Value;

use super::corpus::{bytes, hex};
use crate::{
    case::{Case, Outcome},
    fields::{Fields, equal, integer},
    files,
};

const FORMAT: &str = "bson-binary-vector";

/// Collects the cases of all files.
pub fn collect(root: &Path) -> Vec<Case> {
    files::below(root, "bson-binary-vector/tests")
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
    let key = fields.need_text("test_key")?.to_owned();
    let mut cases = Vec::new();
    for test in fields.need_list("tests")? {
        let description = Fields::new("test", test)?.need_text("description")?.to_owned();
        let (test, key) = (test.clone(), key.clone());
        cases.push(Case::new(FORMAT, file, description, move || {
            Outcome::from(check(&test, &key))
        }));
    }
    fields.finish()?;
    Ok(cases)
}

fn check(test: &Value, key: &str) -> Result<(), String> {
    let test = Fields::new("test", test)?;
    test.need_text("description")?;
    test.text("dtype_alias")?;
    let valid = test.flag("valid")?.ok_or("test.valid is missing")?;
    let kind = test.need_text("dtype_hex")?;
    let padding = test.integer("padding")?.unwrap_or_default();
    let numbers = test.list("vector")?;
    let stored = test.text("canonical_bson")?.map(bytes).transpose()?;
    test.finish()?;
    let vector = numbers.map(|numbers| make(kind, padding, numbers));
    if valid {
        let vector = vector.ok_or("valid case without vector")??;
        let stored = stored.ok_or("valid case without canonical_bson")?;
        let mut document = Document::new();
        document.insert(key, Binary::from(&vector));
        let mut encoded = Vec::new();
        append_document(&document, &mut encoded).map_err(|error| error.to_string())?;
        equal("encoded vector", &hex(&encoded), &hex(&stored))?;
        return equal("decoded vector", &read(&stored, key)?, &vector);
    }
    if let Some(Ok(vector)) = vector {
        return Err(format!("accepted as {vector:?}"));
    }
    match stored.map(|stored| read(&stored, key)) {
        Some(Ok(read)) => Err(format!("decoded as {read:?}")),
        _ => Ok(()),
    }
}

fn read(document: &[u8], key: &str) -> Result<Vector, String> {
    let document = decode_document(document).map_err(|error| error.to_string())?;
    match document.get(key) {
        Some(Bson::Binary(binary)) => Vector::try_from(binary).map_err(|error| error.to_string()),
        other => Err(format!("{key} is {other:?}")),
    }
}

/// Creates a vector from the elements of a file. Most invalid values are rejected by the element
/// types.
fn make(kind: &str, padding: i64, numbers: &[Value]) -> Result<Vector, String> {
    let refuse = |number: &Value| format!("{number} is not an element of a vector of type {kind}");
    if kind != "0x10" && padding != 0 {
        return Err("padding requires packed bits".to_owned());
    }
    match kind {
        "0x03" => numbers
            .iter()
            .map(|number| {
                integer(number)
                    .and_then(|n| i8::try_from(n).ok())
                    .ok_or_else(|| refuse(number))
            })
            .collect::<Result<Vec<i8>, _>>()
            .map(Vector::Int8),
        "0x27" => numbers
            .iter()
            .map(|number| float(number).ok_or_else(|| refuse(number)))
            .collect::<Result<Vec<f32>, _>>()
            .map(Vector::Float32),
        "0x10" => {
            let bytes: Vec<u8> = numbers
                .iter()
                .map(|number| {
                    integer(number)
                        .and_then(|n| u8::try_from(n).ok())
                        .ok_or_else(|| refuse(number))
                })
                .collect::<Result<_, _>>()?;
            let padding = u8::try_from(padding).map_err(|error| error.to_string())?;
            PackedBits::new(bytes, padding)
                .map(Vector::PackedBit)
                .map_err(|error| error.to_string())
        }
        _ => Err(format!("unknown element type {kind}")),
    }
}

fn float(number: &Value) -> Option<f32> {
    match number {
        Value::Object(map) => map.get("$numberDouble")?.as_str()?.parse().ok(),
        number => number.as_f64().map(|number| number as f32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_wrong_expectation_fails() {
        let test = json!({ "description": "d", "valid": true, "vector": [1, -2], "dtype_hex": "0x03", "padding": 0,
            "canonical_bson": "110000000576000400000009030001FE00" });
        assert_eq!(check(&test, "v"), Ok(()));
        assert!(check(&test, "w").is_err());
        for (key, value) in [
            ("valid", json!(false)),
            ("vector", json!([1, -3])),
            ("vector", json!([1, 200])),
            ("vector", json!([1, 0.5])),
            ("dtype_hex", json!("0x10")),
            ("padding", json!(1)),
            ("canonical_bson", json!("110000000576000400000009030001FF00")),
            ("invented", json!(1)),
        ] {
            let mut test = test.clone();
            test[key] = value;
            assert!(check(&test, "v").is_err(), "{key}");
        }
    }
}
