//! The schemas of values that are stored in another form than that of their type.

use crate::{
    base::bson::{Bson, Document},
    form::json_schema::{ENCRYPTED, OuterTypes, SchemaOf, UNREACHABLE, VALUES, any_of},
};

/// The schema of a value whose stored form is not known: no constraint, but the encrypted fields of the values in it are
/// found.
#[must_use]
pub fn unknown(outer: &mut OuterTypes, values: &[SchemaOf]) -> Document {
    one_of(values.iter().map(|schema| schema(outer)).collect())
}

/// See [`unknown`].
pub(super) fn one_of(mut values: Vec<Document>) -> Document {
    values.push(Document::new());
    any_of(&[], values)
}

/// The schema of a value that is converted to the type `stored`. `values`: those of the type and of the values in it. If `stored` is a
/// type whose fields are known, none of which is encrypted, the conversion stores none. Otherwise the encrypted fields of the values are
/// found, if they are more than those of `stored`.
#[must_use]
pub fn converted_as(outer: &mut OuterTypes, stored: SchemaOf, values: &[SchemaOf]) -> Document {
    let schema = stored(outer);
    let count = |schema: &Document| count_encrypted(&schema.clone().into());
    let encrypted = count(&schema);
    if is_scalar(&schema) || encrypted == 0 && is_described(&schema) {
        return schema;
    }
    let hidden = unknown(outer, values);
    let most = hidden.get_array(UNREACHABLE).into_iter().flatten();
    if most.map(count_encrypted).max() > Some(encrypted) {
        return hiding(schema, hidden);
    }
    schema
}

/// The schema, with the encrypted fields of values of unknown form.
pub(super) fn hiding(mut schema: Document, mut unknown: Document) -> Document {
    if let Some(hidden) = unknown.remove(UNREACHABLE) {
        schema.insert(UNREACHABLE, hidden);
    }
    schema
}

/// Whether the values of a schema are neither documents nor arrays of documents.
fn is_scalar(schema: &Document) -> bool {
    let name_is_scalar = |name: &Bson| match name.as_str() {
        Some("array") => schema.get_document("items").is_ok_and(is_scalar),
        Some("object") => schema.get_document(VALUES).is_ok_and(is_scalar),
        name => name.is_some(),
    };
    match schema.get("bsonType") {
        Some(Bson::Array(names)) => names.iter().all(name_is_scalar),
        Some(name) => name_is_scalar(name),
        None => schema.len() == 1 && schema.contains_key("enum"),
    }
}

/// Whether the fields of the documents in the values of a schema are known.
fn is_described(schema: &Document) -> bool {
    let all_are = |schemas: &[Bson]| schemas.iter().filter_map(Bson::as_document).all(is_described);
    let inner = ["items", VALUES].map(|name| schema.get_document(name).ok());
    is_scalar(schema)
        || schema.contains_key("properties")
        || inner.into_iter().flatten().any(is_described)
        || schema.get_array("anyOf").is_ok_and(|schemas| all_are(schemas))
}

fn count_encrypted(value: &Bson) -> usize {
    match value {
        Bson::Document(schema) if schema.contains_key(ENCRYPTED) => 1,
        Bson::Document(schema) => schema.iter().map(|(_, value)| count_encrypted(value)).sum(),
        Bson::Array(schemas) => schemas.iter().map(count_encrypted).sum(),
        _ => 0,
    }
}
