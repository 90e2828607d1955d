//! `encryptedFields` of `create`: the fields and the state collections of Queryable Encryption.

use crate::error::{Error, Result, code};
use crate::refusal::collections as rows;
use crate::storage::encrypted_paths;
use crate::value::{truthy, type_name};
use bson::spec::BinarySubtype;
use bson::{Bson, Document};

const NO_TTL_INDEX: i32 = 6_346_501;
/// On encrypted fields.
const NO_INDEX: i32 = 6_346_502;

/// The option as it is stored, with the names of the state collections.
pub(super) fn checked(collection: &str, fields: &Document) -> Result<Document> {
    let Some(Bson::Array(list)) = fields.get("fields") else {
        return Err(Error::new(
            code::MISSING_FIELD,
            "BSON field 'create.encryptedFields.fields' is missing but a required field",
        ));
    };
    for field in list {
        check_field(field)?;
    }
    let mut stored = fields.clone();
    for (field, suffix) in [("escCollection", "esc"), ("ecocCollection", "ecoc")] {
        let name = format!("enxcol_.{collection}.{suffix}");
        match fields.get(field) {
            None => {}
            Some(Bson::String(given)) if *given == name => {}
            Some(_) => {
                return Err(Error::bad_value(format!(
                    "Encrypted State Collection name should follow {name} naming pattern"
                )));
            }
        }
        stored.insert(field, name);
    }
    Ok(stored)
}

/// Rejects the kinds of collections that are not encrypted. `options`: those of `create`.
pub(super) fn check_kind(options: &Document) -> Result<()> {
    if !options.contains_key("encryptedFields") {
        return Ok(());
    }
    if options.get("capped").is_some_and(truthy) {
        return Err(rows::ENCRYPTED_CAPPED.error(&[]));
    }
    if options.contains_key("viewOn") || options.contains_key("timeseries") {
        return Err(rows::ENCRYPTED_VIEW.error(&[]));
    }
    Ok(())
}

/// Rejects the options that an encrypted collection cannot have. `options`: all of its options, also
/// of an existing collection.
pub(super) fn check_options(options: &Document) -> Result<()> {
    check_kind(options)?;
    if !options.contains_key("encryptedFields") {
        return Ok(());
    }
    let has_other = |name: &str, allowed: &[&str]| {
        let value = options.get_str(name);
        value.is_ok_and(|value| !allowed.contains(&value))
    };
    if has_other("validationLevel", &["strict"]) {
        return Err(rows::ENCRYPTED_LEVEL.error(&[]));
    }
    if has_other("validationAction", &["error", "errorAndLog"]) {
        return Err(rows::ENCRYPTED_ACTION.error(&[]));
    }
    Ok(())
}

/// Rejects the indexes that an encrypted collection cannot have.
pub(super) fn check_index(options: &Document, index: &Document) -> Result<()> {
    let Ok(fields) = options.get_document("encryptedFields") else {
        return Ok(());
    };
    if index.contains_key("expireAfterSeconds") {
        return Err(Error::new(
            NO_TTL_INDEX,
            "TTL indexes are not allowed on encrypted collections",
        ));
    }
    let keys = index.get_document("key");
    for key in keys.into_iter().flat_map(Document::keys) {
        let is_about = |path: &str| {
            let within = |inner: &str, outer: &str| {
                inner
                    .strip_prefix(outer)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            within(path, key) || within(key, path)
        };
        if let Some(path) = encrypted_paths(fields).find(|path| is_about(path)) {
            return Err(Error::new(
                NO_INDEX,
                format!("Index not allowed on, or a prefix of, the encrypted field {path}"),
            ));
        }
    }
    Ok(())
}

fn check_field(field: &Bson) -> Result<()> {
    let wrong_type = |name: &str, value: &Bson, expected: &str| {
        Err(Error::type_mismatch(format!(
            "BSON field 'create.encryptedFields.fields{name}' is the wrong type '{}', expected type '{expected}'",
            type_name(value)
        )))
    };
    let Bson::Document(field) = field else {
        return wrong_type("", field, "object");
    };
    for name in ["keyId", "path"] {
        match (name, field.get(name)) {
            (_, None) => {
                return Err(Error::new(
                    code::MISSING_FIELD,
                    format!(
                        "BSON field 'create.encryptedFields.fields.{name}' is missing but a required field"
                    ),
                ));
            }
            ("path", Some(Bson::String(_))) => {}
            ("keyId", Some(Bson::Binary(id))) if id.subtype == BinarySubtype::Uuid => {}
            ("path", Some(other)) => return wrong_type(".path", other, "string"),
            (_, Some(other)) => return wrong_type(".keyId", other, "binData"),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    #[test]
    fn state_collections_have_fixed_names() {
        let stored = checked("people", &doc! { "fields": [] }).expect("valid");
        let expected = doc! {
            "fields": [], "escCollection": "enxcol_.people.esc", "ecocCollection": "enxcol_.people.ecoc",
        };
        assert_eq!(stored, expected);
        assert_eq!(checked("people", &stored).expect("valid"), expected);
        assert!(checked("people", &doc! { "fields": [], "escCollection": "other" }).is_err());
        assert!(checked("people", &doc! {}).is_err());
    }

    #[test]
    fn options_and_indexes_of_encrypted_collections_are_limited() {
        let with = |name: &str, value: Bson| {
            let mut options = doc! { "encryptedFields": { "fields": [{ "path": "a.b" }] } };
            options.insert(name, value);
            check_options(&options).map_err(|error| error.code)
        };
        assert_eq!(with("capped", true.into()), Err(rows::ENCRYPTED_CAPPED.code));
        assert_eq!(with("timeseries", doc! {}.into()), Err(rows::ENCRYPTED_VIEW.code));
        assert_eq!(with("viewOn", "x".into()), Err(rows::ENCRYPTED_VIEW.code));
        assert_eq!(with("validationLevel", "moderate".into()), Err(code::BAD_VALUE));
        assert_eq!(with("validationAction", "warn".into()), Err(code::BAD_VALUE));
        assert_eq!(with("validationAction", "error".into()), Ok(()));
        assert!(check_options(&doc! { "capped": true }).is_ok());
        let options = doc! { "encryptedFields": { "fields": [{ "path": "a.b" }] } };
        let index = |index: Document| check_index(&options, &index).map_err(|error| error.code);
        for key in ["a", "a.b", "a.b.c"] {
            assert_eq!(index(doc! { "key": { "x": 1, key: 1 } }), Err(NO_INDEX));
        }
        assert_eq!(
            index(doc! { "key": { "x": 1 }, "expireAfterSeconds": 1 }),
            Err(NO_TTL_INDEX)
        );
        assert_eq!(index(doc! { "key": { "a.c": 1, "__safeContent__": 1 } }), Ok(()));
    }

    #[test]
    fn fields_have_a_path_and_a_key() {
        let with = |field: Document| checked("people", &doc! { "fields": [field] });
        let key = bson::Uuid::new();
        assert!(with(doc! { "path": "a", "keyId": key }).is_ok());
        for invalid in [
            doc! { "path": "a" },
            doc! { "path": 1, "keyId": key },
            doc! { "path": "a", "keyId": false },
        ] {
            assert!(with(invalid).is_err());
        }
        let error = with(doc! { "path": "a", "keyId": false }).expect_err("no key");
        assert!(
            error
                .message
                .contains("'create.encryptedFields.fields.keyId' is the wrong type 'bool'")
        );
    }
}
