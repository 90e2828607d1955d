//! `encryptedFields` of a model. The derives record the encrypted fields in the `$jsonSchema` of the types, from which
//! they are collected with their paths ([Client Side Encryption], "encryptedFields").
//!
//! [Client Side Encryption]:
//! https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/client-side-encryption.md

use std::cmp::Ordering;

use crate::{
    base::{
        bson::{Bson, Document, doc},
        decimal,
        error::ValueError,
    },
    form::json_schema::{self, ENCRYPTED, OuterTypes, UNREACHABLE, contains_encrypted},
};

/// The key of the message of an invalid declaration.
const INVALID: &str = "\0invalid";

/// One kind of queries of an encrypted field, with its options.
#[derive(Debug)]
pub struct QueryOptions {
    options: Document,
    invalid: Option<String>,
}

impl QueryOptions {
    /// Without options.
    #[must_use]
    pub fn new(query_type: &str) -> Self {
        QueryOptions {
            options: doc! { "queryType": query_type },
            invalid: None,
        }
    }

    /// Adds an option.
    #[must_use]
    pub fn option(mut self, name: &str, value: impl Into<Bson>) -> Self {
        self.options.insert(name, value.into());
        self
    }

    /// Adds a bound of a range.
    #[must_use]
    pub fn bound(mut self, name: &str, value: Result<Bson, ValueError>) -> Self {
        match value {
            Ok(value) => {
                self.options.insert(name, value);
            }
            Err(error) => self.invalid = Some(format!("`{name}`: {error}")),
        }
        self
    }

    fn check(&mut self) {
        let is_number = |bound: &Bson| match bound {
            Bson::Double(value) => !value.is_nan(),
            Bson::Decimal128(value) => decimal::compare(value, value).is_some(),
            _ => true,
        };
        for bound in ["min", "max"] {
            if let Some(value) = self.options.get(bound).filter(|value| !is_number(value)) {
                let invalid = match value {
                    Bson::Decimal128(value) => format!("`{bound}` must be a finite number, found {value}"),
                    _ => format!("`{bound}` must be a number, found NaN"),
                };
                self.invalid.get_or_insert(invalid);
            }
        }
        if let (Some(min), Some(max)) = (self.options.get("min"), self.options.get("max"))
            && compare(min, max).is_some_and(Ordering::is_ge)
        {
            self.invalid
                .get_or_insert_with(|| format!("`min` must be less than `max`, found {min} and {max}"));
        }
    }
}

/// Compares values of the same type. `None` for NaN, and for infinite decimals.
pub(crate) fn compare(a: &Bson, b: &Bson) -> Option<Ordering> {
    match (a, b) {
        (Bson::Int32(a), Bson::Int32(b)) => Some(a.cmp(b)),
        (Bson::Int64(a), Bson::Int64(b)) => Some(a.cmp(b)),
        (Bson::Double(a), Bson::Double(b)) => a.partial_cmp(b),
        (Bson::DateTime(a), Bson::DateTime(b)) => Some(a.cmp(b)),
        (Bson::Decimal128(a), Bson::Decimal128(b)) => decimal::compare(a, b),
        _ => None,
    }
}

/// The schema of an encrypted field, with its entry of `encryptedFields`.
#[must_use]
pub fn encrypted(bson_type: &str, queries: Vec<QueryOptions>) -> Document {
    let mut field = doc! { "bsonType": bson_type, "keyId": Bson::Null };
    let mut all = Vec::new();
    for mut query in queries {
        query.check();
        if let Some(invalid) = query.invalid {
            field.insert(INVALID, invalid);
        }
        all.push(Bson::Document(query.options));
    }
    match <[Bson; 1]>::try_from(all) {
        Ok([query]) => {
            field.insert("queries", query);
        }
        Err(all) if all.is_empty() => {}
        Err(all) => {
            field.insert("queries", all);
        }
    }
    json_schema::encrypted(field)
}

/// Why a declared encrypted field is invalid.
#[derive(Debug, PartialEq)]
pub(crate) struct Invalid {
    /// The stored path.
    pub(crate) path: String,
    pub(crate) reason: String,
}

/// Collects the fields from the schema of a model, which was made with `outer`.
///
/// # Errors
/// The first field that cannot be encrypted.
pub(crate) fn collect(schema: &Document, outer: &OuterTypes) -> Result<Document, Invalid> {
    let mut fields = Vec::new();
    if let Some(name) = outer.recursive_encrypted() {
        return Err(Invalid {
            path: String::new(),
            reason: format!(
                "the type `{name}` contains itself, so that its encrypted fields have no fixed paths"
            ),
        });
    }
    visit(schema, "", &mut fields)?;
    Ok(doc! { "fields": fields })
}

fn visit(schema: &Document, path: &str, fields: &mut Vec<Bson>) -> Result<(), Invalid> {
    let invalid = |reason: &str| {
        Err(Invalid {
            path: path.to_owned(),
            reason: reason.to_owned(),
        })
    };
    if let Some(Bson::Document(field)) = schema.get(ENCRYPTED) {
        if let Ok(reason) = field.get_str(INVALID) {
            return invalid(reason);
        }
        if path == "_id" || path.starts_with("_id.") {
            return invalid("the id of a document cannot be encrypted");
        }
        let is_known = |other: &Bson| other.as_document().and_then(|f| f.get_str("path").ok()) == Some(path);
        if fields.iter().any(is_known) {
            return invalid("two encrypted fields are stored under this name");
        }
        let mut entry = doc! { "path": path };
        entry.extend(field.clone());
        fields.push(entry.into());
        return Ok(());
    }
    // The own fields, then those of flattened values.
    let (own, others): (Vec<_>, Vec<_>) = schema.iter().partition(|(keyword, _)| *keyword == "properties");
    for (keyword, value) in own.into_iter().chain(others) {
        match (keyword.as_str(), value) {
            ("properties", Bson::Document(properties)) => {
                for (name, property) in properties {
                    let Bson::Document(property) = property else {
                        continue;
                    };
                    let path = if path.is_empty() {
                        name.clone()
                    } else {
                        format!("{path}.{name}")
                    };
                    visit(property, &path, fields)?;
                }
            }
            // Flattened.
            ("allOf", Bson::Array(schemas)) => {
                for schema in schemas.iter().filter_map(Bson::as_document) {
                    visit(schema, path, fields)?;
                }
            }
            ("items", value) if contains_encrypted(value) => {
                return invalid("the elements of an array cannot have encrypted fields");
            }
            ("anyOf", value) if contains_encrypted(value) => {
                return invalid("the variants of an enum cannot have encrypted fields");
            }
            (UNREACHABLE, value) if contains_encrypted(value) => {
                return invalid(
                    "values of maps, of opaque fields and of serde conversions cannot have encrypted fields, nor can values that are \
                     stored in the form of a type that lacks these fields",
                );
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(schema: &Document) -> Result<Document, Invalid> {
        collect(schema, &OuterTypes::default())
    }

    fn field() -> Document {
        encrypted("string", vec![QueryOptions::new("equality")])
    }

    #[test]
    fn fields_have_paths() {
        let schema = doc! {
            "bsonType": "object",
            "properties": { "ssn": field(), "address": { "properties": { "street": field() } } },
            "allOf": [{ "properties": { "notes": encrypted("string", Vec::new()) } }],
        };
        let entry = |path: &str| doc! { "path": path, "bsonType": "string", "keyId": Bson::Null, "queries": { "queryType": "equality" } };
        let expected = doc! { "fields": [
            entry("ssn"),
            entry("address.street"),
            { "path": "notes", "bsonType": "string", "keyId": Bson::Null },
        ] };
        assert_eq!(collected(&schema), Ok(expected));
    }

    #[test]
    fn fields_without_a_fixed_path_are_invalid() {
        for (keyword, value) in [
            ("items", Bson::Document(doc! { "properties": { "a": field() } })),
            (
                "anyOf",
                vec![Bson::Document(doc! { "properties": { "a": field() } })].into(),
            ),
            (UNREACHABLE, Bson::Document(field())),
        ] {
            let schema = doc! { "properties": { "x": { keyword: value } } };
            assert_eq!(collected(&schema).map_err(|e| e.path), Err("x".to_owned()));
        }
        let id = doc! { "properties": { "_id": { "properties": { "a": field() } } } };
        assert_eq!(collected(&id).map_err(|e| e.path), Err("_id.a".to_owned()));
    }

    #[test]
    fn bounds_are_compared() {
        let range = |min: i32, max: i32| {
            let query = QueryOptions::new("range")
                .bound("min", Ok(min.into()))
                .bound("max", Ok(max.into()));
            collected(&doc! { "properties": { "age": encrypted("int", vec![query]) } })
        };
        assert!(range(0, 1).is_ok());
        let invalid = range(1, 1).expect_err("no range");
        assert_eq!(invalid.reason, "`min` must be less than `max`, found 1 and 1");
    }

    #[test]
    fn bounds_that_are_not_a_number_are_invalid() {
        for (min, max, reason) in [
            (f64::NAN, 1.0, "`min` must be a number, found NaN"),
            (0.0, f64::NAN, "`max` must be a number, found NaN"),
        ] {
            let query = QueryOptions::new("range")
                .bound("min", Ok(min.into()))
                .bound("max", Ok(max.into()));
            let schema = doc! { "properties": { "weight": encrypted("double", vec![query]) } };
            assert_eq!(collected(&schema).map_err(|e| e.reason), Err(reason.to_owned()));
        }
    }

    #[test]
    fn bounds_that_are_no_finite_decimals_are_invalid() {
        let decimal = |text: &str| Bson::Decimal128(text.parse().unwrap());
        for (min, max, reason) in [
            ("NaN", "1", "`min` must be a finite number, found NaN"),
            ("-Infinity", "1", "`min` must be a finite number, found -Infinity"),
            ("0", "Infinity", "`max` must be a finite number, found Infinity"),
        ] {
            let query = QueryOptions::new("range")
                .bound("min", Ok(decimal(min)))
                .bound("max", Ok(decimal(max)));
            let schema = doc! { "properties": { "weight": encrypted("decimal", vec![query]) } };
            assert_eq!(collected(&schema).map_err(|e| e.reason), Err(reason.to_owned()));
        }
    }
}
