//! Collections with `encryptedFields`: their encrypted paths, and the check of stored documents.

use crate::error::{Error, Result, code};
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Document, doc};

/// The paths of `encryptedFields`.
pub(crate) fn encrypted_paths(encrypted_fields: &Document) -> impl Iterator<Item = &str> {
    let fields = encrypted_fields.get_array("fields").into_iter().flatten();
    fields.filter_map(|field| field.as_document()?.get_str("path").ok())
}

/// Rejects a document with a value that is to be encrypted and is not. `options`: those of the collection.
pub(super) fn check_document(options: &Document, document: &Document) -> Result<()> {
    let Ok(encrypted_fields) = options.get_document("encryptedFields") else {
        return Ok(());
    };
    let is_plain = |path: &&str| match value_at(document, path) {
        None => false,
        Some(Bson::Binary(Binary { subtype, .. })) => *subtype != BinarySubtype::Encrypted,
        Some(_) => true,
    };
    let Some(path) = encrypted_paths(encrypted_fields).find(is_plain) else {
        return Ok(());
    };
    let details = doc! {
        "failingDocumentId": document.get("_id").cloned().unwrap_or(Bson::Null),
        "details": { "operatorName": "fle2Encrypt", "propertyName": path, "reason": "value was not encrypted" },
    };
    Err(Error::new(code::DOCUMENT_VALIDATION_FAILURE, "Document failed validation").with("errInfo", details))
}

fn value_at<'d>(document: &'d Document, path: &str) -> Option<&'d Bson> {
    match path.split_once('.') {
        None => document.get(path),
        Some((first, rest)) => value_at(document.get_document(first).ok()?, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_at_encrypted_paths_must_be_encrypted() {
        let options = doc! { "encryptedFields": { "fields": [{ "path": "a.b" }] } };
        let binary = |subtype| Binary {
            subtype,
            bytes: vec![14],
        };
        for accepted in [
            doc! {},
            doc! { "a": 1, "b": 1 },
            doc! { "a": { "c": 1 } },
            doc! { "a": { "b": binary(BinarySubtype::Encrypted) } },
        ] {
            assert!(check_document(&options, &accepted).is_ok(), "{accepted}");
            assert!(check_document(&doc! {}, &accepted).is_ok());
        }
        for rejected in [
            doc! { "a": { "b": 1 } },
            doc! { "a": { "b": binary(BinarySubtype::Generic) } },
        ] {
            let error = check_document(&options, &rejected).expect_err("plain value");
            assert_eq!(error.code, code::DOCUMENT_VALIDATION_FAILURE);
        }
    }
}
