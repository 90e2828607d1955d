//! `encryptedFields` of `create`: the fields and the state collections of Queryable Encryption.

use crate::error::{Error, Result, code};
use crate::value::type_name;
use bson::spec::BinarySubtype;
use bson::{Bson, Document};

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
