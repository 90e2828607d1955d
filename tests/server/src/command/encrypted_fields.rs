//! `encryptedFields` of `create`: the fields and the state collections of Queryable Encryption.

use crate::error::{Error, Result, code};
use bson::{Bson, Document};

/// The option as it is stored, with the names of the state collections.
pub(super) fn checked(collection: &str, fields: &Document) -> Result<Document> {
    if !matches!(fields.get("fields"), Some(Bson::Array(_))) {
        return Err(Error::new(
            code::MISSING_FIELD,
            "BSON field 'create.encryptedFields.fields' is missing but a required field",
        ));
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
}
