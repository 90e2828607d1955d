//! The legacy test format of [Client Side Encryption], converted to the unified test format.
//!
//! A test has a client of its own, so that it becomes a document of its own. The conversion is
//! strict: an unknown key is an error, which fails the test.
//!
//! [Client Side Encryption]:
//! https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/tests/README.md

mod client;
mod event;
mod keys;
mod operation;

use marula_driver::bson::{Document, doc};

use self::{
    keys::Keys,
    operation::{CLIENT, Operations},
};

/// The folder of the files.
pub(super) const FOLDER: &str = "client-side-encryption/tests/legacy/";

/// The version of the unified test format that the documents have.
const SCHEMA_VERSION: &str = "1.25";
/// The database and the collection of a file that does not name them.
const DEFAULT_NAME: &str = "default";

/// A test of a file.
pub(super) struct Converted {
    pub(super) description: String,
    /// A file in the unified test format with this test only, or the reason why the test cannot be
    /// converted.
    pub(super) document: Result<Document, String>,
}

/// The collection of the tests of a file.
struct Place {
    database: String,
    collection: String,
}

/// Converts the tests of a file.
///
/// # Errors
/// The error of a file whose keys outside the tests are invalid.
pub(super) fn convert(file: Document) -> Result<Vec<Converted>, String> {
    let mut keys = Keys::new("the file", file);
    let requirements = requirements(&mut keys)?;
    let place = Place {
        database: keys
            .text("database_name")?
            .unwrap_or_else(|| DEFAULT_NAME.to_owned()),
        collection: keys
            .text("collection_name")?
            .unwrap_or_else(|| DEFAULT_NAME.to_owned()),
    };
    let initial_data = initial_data(&mut keys, &place)?;
    let tests = keys.required("tests", Keys::documents)?;
    keys.finish()?;
    let converted = |(index, test): (usize, Document)| {
        let description = match test.get_str("description") {
            Ok(description) => description.to_owned(),
            Err(_) => format!("test {index}"),
        };
        let document = self::test(test, &place).map(|(entities, test)| {
            doc! {
                "description": &description,
                "schemaVersion": SCHEMA_VERSION,
                "runOnRequirements": requirements.clone(),
                "createEntities": entities,
                "initialData": initial_data.clone(),
                "tests": [test],
            }
        });
        Converted {
            description,
            document,
        }
    };
    Ok(tests.into_iter().enumerate().map(converted).collect())
}

/// `runOn` as `runOnRequirements`. All tests require libmongocrypt.
fn requirements(keys: &mut Keys) -> Result<Vec<Document>, String> {
    let given = keys.documents("runOn")?.unwrap_or_default();
    if given.is_empty() {
        return Ok(vec![doc! { "csfle": true }]);
    }
    let converted = |(index, requirement): (usize, Document)| {
        let mut keys = Keys::new(format!("runOn[{index}]"), requirement);
        let mut converted = doc! { "csfle": true };
        for (from, to) in [
            ("minServerVersion", "minServerVersion"),
            ("maxServerVersion", "maxServerVersion"),
            ("topology", "topologies"),
        ] {
            if let Some(value) = keys.take(from) {
                converted.insert(to, value);
            }
        }
        keys.finish().map(|()| converted)
    };
    given.into_iter().enumerate().map(converted).collect()
}

/// The collection of the tests, and the key vault.
fn initial_data(keys: &mut Keys, place: &Place) -> Result<Vec<Document>, String> {
    let mut data = doc! {
        "databaseName": &place.database,
        "collectionName": &place.collection,
        "documents": keys.documents("data")?.unwrap_or_default(),
    };
    let mut options = Document::new();
    if let Some(schema) = keys.document("json_schema")? {
        options.insert("validator", doc! { "$jsonSchema": schema });
    }
    if let Some(fields) = keys.document("encrypted_fields")? {
        options.insert("encryptedFields", fields);
    }
    if !options.is_empty() {
        data.insert("createOptions", options);
    }
    let mut all = vec![data];
    if let Some(data_keys) = keys.documents("key_vault_data")? {
        all.push(doc! { "databaseName": "keyvault", "collectionName": "datakeys", "documents": data_keys });
    }
    Ok(all)
}

/// Converts a test to its entities and its test in the unified test format.
fn test(test: Document, place: &Place) -> Result<(Vec<Document>, Document), String> {
    let mut keys = Keys::new("the test", test);
    let mut converted = doc! { "description": keys.required("description", Keys::text)? };
    if let Some(reason) = keys.text("skipReason")? {
        converted.insert("skipReason", reason);
    }
    let mut client = doc! { "id": CLIENT, "observeEvents": ["commandStartedEvent"] };
    client.extend(client::options(
        keys.document("clientOptions")?.unwrap_or_default(),
    )?);
    if let Some(several) = keys.flag("useMultipleMongoses")? {
        client.insert("useMultipleMongoses", several);
    }
    let mut operations = Operations::new(client, place);
    if let Some(fail_point) = keys.document("failPoint")? {
        operations.set_fail_point(fail_point);
    }
    for (index, operation) in keys
        .required("operations", Keys::documents)?
        .into_iter()
        .enumerate()
    {
        operations.add(Keys::new(format!("operations[{index}]"), operation))?;
    }
    if let Some(expectations) = keys.documents("expectations")? {
        let events = doc! { "client": CLIENT, "events": event::events(expectations)? };
        converted.insert("expectEvents", vec![events]);
    }
    if let Some(outcome) = keys.document("outcome")? {
        converted.insert("outcome", vec![self::outcome(outcome, place)?]);
    }
    keys.finish()?;
    let (entities, operations) = operations.finish();
    converted.insert("operations", operations);
    Ok((entities, converted))
}

/// `outcome` as data of a collection, which is read without encryption.
fn outcome(outcome: Document, place: &Place) -> Result<Document, String> {
    let mut keys = Keys::new("outcome", outcome);
    let mut collection = Keys::new("outcome.collection", keys.required("collection", Keys::document)?);
    keys.finish()?;
    let name = collection
        .text("name")?
        .unwrap_or_else(|| place.collection.clone());
    let documents = collection.required("data", Keys::documents)?;
    collection.finish()?;
    Ok(doc! { "databaseName": &place.database, "collectionName": name, "documents": documents })
}

/// The first key of a command, which is its name.
fn command_name(command: &Document) -> Option<&String> {
    command.keys().next()
}

#[cfg(test)]
mod tests;
