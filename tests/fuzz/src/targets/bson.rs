//! BSON documents.

use marula_driver::bson::{
    Bson, Document, RawDocument, RawElements, decode_document, from_extended_json, from_slice,
    to_canonical_json, to_vec,
};

use super::Target;

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
            // Every accessor looks at the same bytes as if they were its type.
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
    // Serde's way through the same bytes comes to the same value; it steps over the keys of arrays without a look, and the
    // vocabulary's own tree takes keys such as "$oid" for Extended JSON when it is built through serde.
    let by_serde: Result<Document, _> = from_slice(bytes);
    if let Ok(document) = &read
        && !has_dollar_keys(document)
    {
        let by_serde = by_serde.expect("serde can read it, too");
        assert_eq!(to_vec(document).ok(), to_vec(&by_serde).ok());
    }
    if let Ok(raw) = RawDocument::from_bytes(bytes) {
        // Printing works straight from the bytes; it may find an error in them, and never more than that.
        let _ = to_canonical_json(raw);
    }
}

fn keeps_its_value(document: &Document) {
    let bytes = to_vec(document).expect("what was read can be written");
    let again = decode_document(&bytes).expect("what was written can be read");
    let bytes_again = to_vec(&again).expect("and written again");
    assert_eq!(bytes, bytes_again);
    let text = to_canonical_json(document).expect("it can be printed");
    if from_extended_json(&text).is_err() {
        assert!(looks_like_a_wrapper(document), "{text} cannot be read");
    }
}

/// Or a dollar elsewhere: what matters is to leave none out.
fn has_dollar_keys(document: &Document) -> bool {
    to_vec(document).is_ok_and(|bytes| bytes.contains(&b'$'))
}

/// A plain document that has keys of Extended JSON's own, or a value that its text cannot hold, prints as something else.
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
