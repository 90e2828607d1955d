//! Fields that a client must encrypt: a check of encrypted commands before they are sent.

use std::{collections::BTreeMap, sync::Arc};

use super::auto_options::Map;
use crate::{
    Namespace, Result,
    bson::{RawArray, RawBsonRef, RawDocument, RawDocumentBuf},
    error::EncryptionError,
    types::lock::Inner,
};

/// `encryptionInformation` of a command contains `encryptedFields` of its collections.
const INFORMATION: &str = "encryptionInformation";

/// The commands with values of documents.
pub(super) const CHECKED: [&str; 9] = [
    "insert",
    "update",
    "delete",
    "find",
    "findAndModify",
    "findandmodify",
    "aggregate",
    "count",
    "distinct",
];

/// The commands that libmongocrypt sends without `encryptionInformation` if they have no value to encrypt.
const WITHOUT_INFORMATION: [&str; 6] = ["insert", "find", "aggregate", "count", "distinct", "delete"];

/// The paths of encrypted fields by namespaces.
type Paths = BTreeMap<String, Vec<String>>;

/// The required fields, and those that are known to be encrypted. Commands are checked against a snapshot, so that the
/// checks of several do not wait for each other.
#[derive(Debug, Default)]
pub(super) struct RequiredFields {
    required: Inner<Arc<BTreeMap<String, Required>>>,
    /// Those of the options of the client, which take precedence.
    declared: Paths,
    /// Those of the collections that libmongocrypt has asked for last.
    listed: Inner<Arc<Paths>>,
}

/// The required fields of a collection.
#[derive(Clone, Debug, Default)]
struct Required(Vec<RequiredField>);

#[derive(Clone, Debug)]
struct RequiredField {
    path: String,
    required_by: String,
}

impl RequiredFields {
    pub(super) fn new(encrypted_fields: &Map) -> Self {
        let declared = encrypted_fields
            .iter()
            .map(|(namespace, fields)| (namespace.clone(), paths_of(Some(fields))));
        Self {
            declared: declared.collect(),
            ..Self::default()
        }
    }

    /// Notes what libmongocrypt receives about collections: the result of `listCollections` with a filter of names.
    pub(super) fn note(&self, database: &str, filter: &RawDocument, infos: &[RawDocumentBuf]) {
        let namespace = |name: &str| format!("{database}.{name}");
        let asked = match filter.get("name") {
            Ok(Some(RawBsonRef::String(name))) => vec![namespace(name)],
            Ok(Some(RawBsonRef::Document(one_of))) => {
                let names = one_of.get_array("$in").into_iter().flatten();
                let names = names.filter_map(|name| name.ok().and_then(RawBsonRef::as_str));
                names.map(namespace).collect()
            }
            _ => Vec::new(),
        };
        let encrypted: Paths = infos
            .iter()
            .filter_map(|info| {
                let options = info.get_document("options").ok()?;
                let fields = options.get_document("encryptedFields").ok()?;
                Some((namespace(info.get_str("name").ok()?), paths_of(Some(fields))))
            })
            .collect();
        let is_changed = |listed: &Paths| {
            asked
                .iter()
                .any(|asked| listed.get(asked) != encrypted.get(asked))
        };
        let mut listed = self.listed.lock();
        if !is_changed(&listed) {
            return;
        }
        let listed = Arc::make_mut(&mut listed);
        for namespace in &asked {
            listed.remove(namespace);
        }
        listed.extend(encrypted);
    }

    /// Adds fields to those of the collection. Those that the schema in the options of the client encrypts need no check.
    pub(super) fn add(&self, namespace: &Namespace, paths: &[String], required_by: &str, schemas: &Map) {
        let name = namespace.to_string();
        let is_known = |required: &Required| paths.iter().all(|path| required.contains(path));
        if self.required.lock().get(&name).is_some_and(is_known) {
            return;
        }
        let schema = schemas.iter().find(|(other, _)| *other == name);
        let is_encrypted = |path: &str| schema.is_some_and(|(_, schema)| encrypts(schema, path));
        let mut all = self.required.lock();
        let required = Arc::make_mut(&mut all).entry(name).or_default();
        for path in paths.iter().filter(|path| !is_encrypted(path)) {
            if !required.contains(path) {
                required.0.push(RequiredField {
                    path: path.clone(),
                    required_by: required_by.to_owned(),
                });
            }
        }
    }

    /// Checks a command after its encryption.
    ///
    /// # Errors
    /// A required field of its collection would not be encrypted.
    pub(super) fn check(&self, database: &str, command: &RawDocument) -> Result<()> {
        let required = Arc::clone(&self.required.lock());
        if required.is_empty() {
            return Ok(());
        }
        let Some(Ok((name, value))) = command.iter().next() else {
            return Ok(());
        };
        let name = name.as_str();
        match value {
            RawBsonRef::Document(explained) if name == "explain" => self.check(database, explained),
            _ if name == "bulkWrite" => {
                let infos = command.get_array("nsInfo").ok();
                for info in infos.into_iter().flat_map(documents) {
                    let namespace = info.get_str("ns").unwrap_or_default();
                    if let Some(required) = required.get(namespace) {
                        required.check(namespace, &encrypted_in(info, namespace).unwrap_or_default())?;
                    }
                }
                Ok(())
            }
            _ if CHECKED.contains(&name) => {
                if let RawBsonRef::String(collection) = value {
                    let namespace = format!("{database}.{collection}");
                    if let Some(required) = required.get(&namespace) {
                        match encrypted_in(command, &namespace) {
                            None if WITHOUT_INFORMATION.contains(&name) => {
                                self.check_known(required, &namespace)?;
                            }
                            encrypted => required.check(&namespace, &encrypted.unwrap_or_default())?,
                        }
                    }
                }
                let pipeline = command.get_array("pipeline").ok();
                let mut joined = Vec::new();
                add_joined(pipeline.filter(|_| name == "aggregate"), &mut joined);
                for collection in joined {
                    let namespace = format!("{database}.{collection}");
                    let Some(required) = required.get(&namespace) else {
                        continue;
                    };
                    // libmongocrypt states the fields of another collection only if it encrypts values.
                    match encrypted_in(command, &namespace) {
                        Some(encrypted) if !encrypted.is_empty() => required.check(&namespace, &encrypted)?,
                        _ => self.check_known(required, &namespace)?,
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Checks what the client knows of a collection.
    fn check_known(&self, required: &Required, namespace: &str) -> Result<()> {
        let listed = Arc::clone(&self.listed.lock());
        let known = self.declared.get(namespace).or_else(|| listed.get(namespace));
        required.check(namespace, known.map(Vec::as_slice).unwrap_or_default())
    }
}

/// Adds the collections that a pipeline reads beside its own.
fn add_joined<'a>(pipeline: Option<&'a RawArray>, out: &mut Vec<&'a str>) {
    let stages = pipeline.into_iter().flat_map(documents);
    for (stage, argument) in stages.flat_map(|stage| stage.iter().flatten()) {
        let (name, options) = match (stage.as_str(), argument) {
            ("$unionWith", RawBsonRef::String(collection)) => {
                out.push(collection);
                continue;
            }
            ("$unionWith", RawBsonRef::Document(options)) => ("coll", options),
            ("$lookup" | "$graphLookup", RawBsonRef::Document(options)) => ("from", options),
            ("$facet", RawBsonRef::Document(facets)) => {
                for (_, facet) in facets.iter().flatten() {
                    add_joined(facet.as_array(), out);
                }
                continue;
            }
            _ => continue,
        };
        out.extend(options.get_str(name));
        add_joined(options.get_array("pipeline").ok(), out);
    }
}

impl Required {
    fn contains(&self, path: &String) -> bool {
        self.0.iter().any(|field| field.path == *path)
    }

    /// `encrypted` are the paths that the client encrypts. The error is that of the first call that requires another one.
    fn check(&self, namespace: &str, encrypted: &[String]) -> Result<()> {
        let missing = || self.0.iter().filter(|field| !encrypted.contains(&field.path));
        let Some(RequiredField { required_by, .. }) = missing().next() else {
            return Ok(());
        };
        let fields = missing().filter(|field| field.required_by == *required_by);
        Err(EncryptionError::NotEncrypted {
            namespace: namespace.to_owned(),
            fields: fields.map(|field| field.path.clone()).collect(),
            required_by: required_by.clone(),
        }
        .into())
    }
}

/// The fields that are encrypted in a command, or in a namespace of `bulkWrite`. `None` without `encryptionInformation`.
fn encrypted_in(document: &RawDocument, namespace: &str) -> Option<Vec<String>> {
    let information = document.get_document(INFORMATION).ok()?;
    let schema = information.get_document("schema").ok();
    Some(paths_of(
        schema.and_then(|schema| schema.get_document(namespace).ok()),
    ))
}

/// The paths of `encryptedFields`.
fn paths_of(encrypted_fields: Option<&RawDocument>) -> Vec<String> {
    let fields = encrypted_fields.and_then(|fields| fields.get_array("fields").ok());
    let fields = fields.into_iter().flat_map(documents);
    fields
        .filter_map(|field| field.get_str("path").ok().map(str::to_owned))
        .collect()
}

fn documents(array: &RawArray) -> impl Iterator<Item = &RawDocument> {
    array
        .into_iter()
        .filter_map(|value| value.ok().and_then(RawBsonRef::as_document))
}

/// Whether a schema of client-side field level encryption encrypts a field.
fn encrypts(schema: &RawDocument, path: &str) -> bool {
    let mut schema = schema;
    path.split('.').any(|name| {
        let property = schema
            .get_document("properties")
            .and_then(|properties| properties.get_document(name));
        let Ok(property) = property else {
            return false;
        };
        schema = property;
        property.get("encrypt").is_ok_and(|keyword| keyword.is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::rawdoc;

    fn required(schemas: &Map) -> RequiredFields {
        let required = RequiredFields::default();
        let paths = ["a.b".to_owned(), "c".to_owned()];
        required.add(&Namespace::new("d", "x"), &paths, "a test", schemas);
        required
    }

    #[test]
    fn commands_of_the_collection_have_the_fields() {
        let required = required(&Map::default());
        let information = |paths: [&str; 2]| {
            let [first, second] = paths;
            rawdoc! { "type": 1, "schema": { "d.x": { "fields": [{ "path": first }, { "path": second }] } } }
        };
        let complete = || information(["c", "a.b"]);
        let partial = || information(["c", "a"]);
        for (command, missing) in [
            (rawdoc! { "insert": "x", "documents": [] }, 2),
            (rawdoc! { "insert": "x", "encryptionInformation": complete() }, 0),
            (rawdoc! { "find": "x", "encryptionInformation": partial() }, 1),
            (rawdoc! { "insert": "y" }, 0),
            (rawdoc! { "create": "x" }, 0),
            (rawdoc! { "explain": { "count": "x" } }, 2),
            (
                rawdoc! { "explain": { "count": "x", "encryptionInformation": complete() } },
                0,
            ),
            (
                rawdoc! { "bulkWrite": 1, "nsInfo": [{ "ns": "d.y" }, { "ns": "d.x" }] },
                2,
            ),
            (
                rawdoc! { "bulkWrite": 1, "nsInfo": [{ "ns": "d.x", "encryptionInformation": complete() }] },
                0,
            ),
        ] {
            let found = match required.check("d", &command) {
                Ok(()) => 0,
                Err(error) => match error.kind() {
                    crate::ErrorKind::Encryption(EncryptionError::NotEncrypted { fields, .. }) => {
                        fields.len()
                    }
                    _ => panic!("{error}"),
                },
            };
            assert_eq!(found, missing, "{command:?}");
            assert!(required.check("other", &rawdoc! { "insert": "x" }).is_ok());
        }
    }

    #[test]
    fn collections_that_a_pipeline_reads_are_known() {
        let options = vec![("d.known".to_owned(), rawdoc! { "fields": [{ "path": "a" }] })];
        let required = RequiredFields::new(&options);
        for name in ["known", "x"] {
            let namespace = Namespace::new("d", name);
            required.add(&namespace, &["a".to_owned()], "a test", &Map::default());
        }
        let information = || rawdoc! { "schema": { "d.x": { "fields": [{ "path": "a" }] } } };
        let nested =
            |name: &str| rawdoc! { "$lookup": { "from": "y", "pipeline": [{ "$unionWith": name }] } };
        let stages = |name: &str| {
            [
                rawdoc! { "$lookup": { "from": name, "as": "z" } },
                rawdoc! { "$graphLookup": { "from": name, "as": "z" } },
                rawdoc! { "$unionWith": name },
                rawdoc! { "$unionWith": { "coll": name, "pipeline": [] } },
                rawdoc! { "$facet": { "z": [nested(name)] } },
            ]
        };
        for own in [RawBsonRef::String("y"), RawBsonRef::Int32(1)] {
            let own = crate::bson::RawBson::from(own);
            for stage in stages("x") {
                let command =
                    rawdoc! { "aggregate": own.clone(), "pipeline": [{ "$limit": 1 }, stage.clone()] };
                assert!(required.check("d", &command).is_err(), "{command:?}");
                assert!(required.check("other", &command).is_ok());
                let command = rawdoc! {
                    "aggregate": own.clone(), "pipeline": [stage], "encryptionInformation": information(),
                };
                assert!(required.check("d", &command).is_ok(), "{command:?}");
            }
            for stage in stages("known").into_iter().chain(stages("others")) {
                let command = rawdoc! { "aggregate": own.clone(), "pipeline": [stage] };
                assert!(required.check("d", &command).is_ok(), "{command:?}");
            }
        }
    }

    #[test]
    fn commands_without_encrypted_values_need_a_collection_that_is_known() {
        let options = vec![("d.x".to_owned(), rawdoc! { "fields": [{ "path": "a" }] })];
        let declared = RequiredFields::new(&options);
        let listed = RequiredFields::default();
        for required in [&declared, &listed] {
            required.add(
                &Namespace::new("d", "x"),
                &["a".to_owned()],
                "a test",
                &Map::default(),
            );
        }
        let (find, insert) = (rawdoc! { "find": "x" }, rawdoc! { "insert": "x" });
        assert!(declared.check("d", &find).is_ok() && declared.check("d", &insert).is_ok());
        let info = rawdoc! { "name": "x", "options": { "encryptedFields": { "fields": [{ "path": "a" }] } } };
        let filters = [rawdoc! { "name": "x" }, rawdoc! { "name": { "$in": ["y", "x"] } }];
        for filter in filters {
            assert!(listed.check("d", &find).is_err() && listed.check("d", &insert).is_err());
            listed.note("d", &filter, std::slice::from_ref(&info));
            assert!(listed.check("d", &find).is_ok() && listed.check("d", &insert).is_ok());
            listed.note("d", &filter, &[]);
        }
        assert!(listed.check("d", &find).is_err());
    }

    #[test]
    fn a_schema_of_the_client_encrypts_fields() {
        let encrypt = || rawdoc! { "encrypt": {} };
        let schema = |nested: RawDocumentBuf| rawdoc! { "properties": { "c": encrypt(), "a": nested } };
        let map = |nested| vec![("d.x".to_owned(), schema(nested))];
        let insert = rawdoc! { "insert": "x" };
        let whole = required(&map(encrypt()));
        assert!(whole.check("d", &insert).is_ok());
        let inside = required(&map(rawdoc! { "properties": { "b": encrypt() } }));
        assert!(inside.check("d", &insert).is_ok());
        let other = required(&map(rawdoc! { "properties": { "d": encrypt() } }));
        assert!(other.check("d", &insert).is_err());
    }
}
