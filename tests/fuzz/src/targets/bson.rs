//! The fuzz target for BSON documents.

use marula_driver::bson::{
    Bson, Document, RawDocument, RawElements, decode_document, from_extended_json, from_slice,
    to_canonical_json, to_vec,
};

use super::{Target, encoded};

pub(super) const TARGET: Target = Target {
    name: "bson",
    run,
    seeds,
};

fn run(bytes: &[u8]) {
    let read = decode_document(bytes);
    if let Ok(elements) = RawElements::new(bytes) {
        for element in elements {
            let Ok(element) = element else { break };
            // Reads the element with the accessor of every type.
            let _ = (
                element.value.int(),
                element.value.str(),
                element.value.is_truthy(),
            );
        }
    }
    match &read {
        Ok(document) => keeps_its_value(document),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    // Deserialising the same bytes with serde gives the same value, with two exceptions: serde
    // ignores the keys of arrays, and `Bson` interprets keys such as "$oid" as Extended JSON when
    // it is deserialised.
    let by_serde: Result<Document, _> = from_slice(bytes);
    if let Ok(document) = &read
        && !has_dollar_keys(document)
    {
        match by_serde {
            Ok(by_serde) => assert_eq!(encoded(document), encoded(&by_serde)),
            // Serde reads fewer levels.
            Err(error) => assert!(error.to_string().contains("levels"), "{error}"),
        }
    }
    if let Ok(raw) = RawDocument::from_bytes(bytes) {
        // Formatting the raw bytes can fail, but must not panic.
        let _ = to_canonical_json(raw);
    }
}

fn keeps_its_value(document: &Document) {
    let bytes = encoded(document);
    let again = decode_document(&bytes).expect("an encoded document can be parsed");
    assert_eq!(bytes, encoded(&again));
    let text = to_canonical_json(document).expect("it can be formatted");
    if from_extended_json(&text).is_err() {
        assert!(looks_like_a_wrapper(document), "{text} cannot be parsed");
    }
}

/// Whether the text contains a key that starts with a dollar, or another dollar after a quotation
/// mark.
fn has_dollar_keys(document: &Document) -> bool {
    encoded(document).contains(&b'$')
}

/// Whether the Extended JSON text of the document cannot be parsed back: it has keys that Extended
/// JSON interprets, or values that the text cannot represent.
fn looks_like_a_wrapper(document: &Document) -> bool {
    document
        .iter()
        .any(|(key, value)| key.starts_with('$') || is_special(value))
}

fn is_special(value: &Bson) -> bool {
    match value {
        Bson::Document(document) => looks_like_a_wrapper(document),
        Bson::Array(values) => values.iter().any(is_special),
        Bson::JavaScriptCodeWithScope(code) => looks_like_a_wrapper(&code.scope),
        Bson::RegularExpression(_) | Bson::Binary(_) => true,
        _ => false,
    }
}

fn seeds() -> Vec<Vec<u8>> {
    (super::extended_json::TARGET.seeds)()
        .iter()
        .filter_map(|text| from_extended_json(std::str::from_utf8(text).ok()?).ok())
        .filter_map(|document| to_vec(&document).ok())
        .collect()
}
