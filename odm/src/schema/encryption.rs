//! The comparison of declared encrypted fields with those of an existing collection ([Client Side
//! Encryption], "encryptedFields"). No I/O.
//!
//! [Client Side Encryption]:
//! https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/client-side-encryption.md

use std::collections::BTreeMap;

use crate::{
    base::{
        bson::{Bson, Document},
        relaxed_json::relaxed,
    },
    driver::CollectionSpecification,
    models::index::normal::number,
    schema::{Step, declared::DeclaredCollection, deployment::Deployment, options},
};

/// The option of `create` and `listCollections`.
pub(super) const ENCRYPTED_FIELDS: &str = "encryptedFields";

/// The values of options that a server may add, or leave out.
const DEFAULTS: [(&str, i64); 2] = [("contention", 8), ("sparsity", 2)];

/// The steps for the options and the encrypted fields of a collection.
pub(super) fn collection_steps(
    declared: &DeclaredCollection,
    listed: Option<&CollectionSpecification>,
    is_encryption_known: bool,
    deployment: &Deployment,
) -> Vec<Step> {
    let options = declared.options().cloned().unwrap_or_default();
    let Some(fields) = declared.encrypted_fields() else {
        let mut steps: Vec<Step> = options::step(&options, listed, deployment).into_iter().collect();
        // Not compared by an application without encryption: it cannot write to the collection.
        if is_encryption_known && let Some(existing) = listed.and_then(encrypted_fields) {
            steps.extend(conflict(&Document::new(), Some(existing)));
        }
        return steps;
    };
    let Some(listed) = listed else {
        let mut options = options;
        options.insert(ENCRYPTED_FIELDS, fields.clone());
        return vec![Step::CreateCollection { options }];
    };
    let conflict = conflict(fields, encrypted_fields(listed));
    let mut steps: Vec<Step> = options::step(&options, Some(listed), deployment)
        .into_iter()
        .collect();
    if steps.is_empty() && conflict.is_none() {
        steps.push(Step::KeepCollection);
    }
    steps.extend(conflict);
    steps
}

/// `encryptedFields` of an existing collection.
pub(super) fn encrypted_fields(listed: &CollectionSpecification) -> Option<&Document> {
    listed.options.get_document(ENCRYPTED_FIELDS).ok()
}

/// The query types of the fields, each with the path of its field.
pub(super) fn query_types(fields: &Document) -> Vec<(&str, &str)> {
    let fields = by_path(fields).into_iter();
    fields
        .flat_map(|(path, field)| queries(field).into_keys().map(move |kind| (path, kind)))
        .collect()
}

fn conflict(declared: &Document, existing: Option<&Document>) -> Option<Step> {
    let differences = differences(declared, existing);
    (!differences.is_empty()).then(|| Step::EncryptedFieldsConflict {
        existing: existing.cloned().unwrap_or_default(),
        declared: declared.clone(),
        differences,
    })
}

/// What differs, a sentence for each field. The ids of the data keys and the names of the state
/// collections are not compared.
pub(super) fn differences(declared: &Document, existing: Option<&Document>) -> Vec<String> {
    let Some(existing) = existing else {
        return vec!["the collection is not encrypted".to_owned()];
    };
    let (declared, mut existing) = (by_path(declared), by_path(existing));
    let mut differences = Vec::new();
    for (path, declared) in declared {
        let Some(existing) = existing.remove(path) else {
            differences.push(format!("`{path}` is not encrypted in the collection"));
            continue;
        };
        let bson_type = |field: &Document| field.get_str("bsonType").unwrap_or("any type").to_owned();
        let (wanted, found) = (bson_type(declared), bson_type(existing));
        if wanted != found {
            differences.push(format!(
                "`{path}` has the type {found} in the collection and {wanted} in the model"
            ));
        }
        if !are_equal(&queries(declared), &queries(existing)) {
            let shown = |field: &Document| match field.get("queries") {
                Some(queries) => relaxed(queries).to_string(),
                None => "none".to_owned(),
            };
            differences.push(format!(
                "`{path}` has the queries {} in the collection and {} in the model",
                shown(existing),
                shown(declared)
            ));
        }
    }
    let undeclared = existing.keys();
    differences.extend(
        undeclared.map(|path| format!("`{path}` is encrypted in the collection and not in the model")),
    );
    differences
}

fn by_path(fields: &Document) -> BTreeMap<&str, &Document> {
    let fields = fields.get_array("fields").into_iter().flatten();
    let fields = fields.filter_map(Bson::as_document);
    fields
        .filter_map(|field| Some((field.get_str("path").ok()?, field)))
        .collect()
}

/// The options of each kind of queries.
fn queries(field: &Document) -> BTreeMap<&str, &Document> {
    let queries: Vec<&Document> = match field.get("queries") {
        Some(Bson::Document(query)) => vec![query],
        Some(Bson::Array(queries)) => queries.iter().filter_map(Bson::as_document).collect(),
        _ => Vec::new(),
    };
    let named = queries.into_iter();
    named
        .map(|query| (query.get_str("queryType").unwrap_or_default(), query))
        .collect()
}

fn are_equal(declared: &BTreeMap<&str, &Document>, existing: &BTreeMap<&str, &Document>) -> bool {
    declared.len() == existing.len()
        && declared.iter().all(|(kind, declared)| {
            existing
                .get(kind)
                .is_some_and(|existing| is_equal(declared, existing))
        })
}

/// Whether the options are equal. One that is not declared is compared with its default, if that is
/// known.
fn is_equal(declared: &Document, existing: &Document) -> bool {
    let value = |options: &Document, name: &str| {
        let default = || {
            DEFAULTS
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, v)| Bson::Int64(*v))
        };
        options
            .get(name)
            .cloned()
            .or_else(default)
            .map(|value| number(&value))
    };
    let are_declared = declared
        .keys()
        .all(|name| value(declared, name) == value(existing, name));
    let has_default = |name: &&String| DEFAULTS.iter().any(|(known, _)| known == name);
    let is_range = declared.get_str("queryType").is_ok_and(|name| name == "range");
    let mut defaults = existing
        .keys()
        .filter(has_default)
        .filter(|name| is_range || *name != "sparsity");
    are_declared && defaults.all(|name| value(declared, name) == value(existing, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bson::doc;

    fn fields(queries: Bson) -> Document {
        doc! { "fields": [{ "path": "a", "bsonType": "int", "keyId": Bson::Null, "queries": queries }] }
    }

    fn between(declared: Document, existing: Document) -> Vec<String> {
        differences(&fields(declared.into()), Some(&fields(existing.into())))
    }

    #[test]
    fn what_the_server_adds_does_not_differ() {
        let equality = doc! { "queryType": "equality" };
        let explicit = doc! { "queryType": "equality", "contention": 8_i64 };
        assert_eq!(between(equality.clone(), explicit.clone()), Vec::<String>::new());
        assert_eq!(between(explicit, equality), Vec::<String>::new());
        let range = doc! { "queryType": "range", "min": 0 };
        let existing = doc! { "queryType": "range", "min": 0, "max": i32::MAX, "sparsity": 2, "contention": 8, "trimFactor": 6 };
        assert_eq!(between(range, existing), Vec::<String>::new());
        let array = fields(vec![Bson::Document(doc! { "queryType": "equality" })].into());
        let single = fields(doc! { "queryType": "equality" }.into());
        assert_eq!(differences(&array, Some(&single)), Vec::<String>::new());
    }

    #[test]
    fn other_options_differ() {
        let equality = |contention: i64| doc! { "queryType": "equality", "contention": contention };
        let cases = [
            (equality(4), equality(8)),
            (doc! { "queryType": "equality" }, equality(4)),
            (
                doc! { "queryType": "range", "min": 0 },
                doc! { "queryType": "range", "min": 1 },
            ),
            (
                doc! { "queryType": "range" },
                doc! { "queryType": "range", "sparsity": 1 },
            ),
            (doc! { "queryType": "range" }, equality(8)),
        ];
        for (declared, existing) in cases {
            assert_eq!(
                between(declared.clone(), existing.clone()).len(),
                1,
                "{declared} {existing}"
            );
        }
    }

    #[test]
    fn fields_are_compared_by_path() {
        let field = |path: &str, ty: &str| doc! { "path": path, "bsonType": ty, "keyId": Bson::Null };
        let declared = doc! { "fields": [field("a", "int"), field("b", "int")] };
        let existing = doc! { "fields": [field("c", "int"), field("b", "string")], "escCollection": "x" };
        assert_eq!(
            differences(&declared, Some(&existing)),
            [
                "`a` is not encrypted in the collection",
                "`b` has the type string in the collection and int in the model",
                "`c` is encrypted in the collection and not in the model",
            ]
        );
        assert_eq!(differences(&declared, None), ["the collection is not encrypted"]);
    }
}
