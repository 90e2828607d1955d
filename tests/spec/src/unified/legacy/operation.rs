//! `operations`: the operations of a test, and the entities that they use.

use marula_driver::bson::{Bson, Document, doc};

use super::{Place, command_name, keys::Keys};

/// The client with automatic encryption.
pub(super) const CLIENT: &str = "client";
/// The client that sets fail points.
const FAIL_POINT_CLIENT: &str = "failPointClient";
const DATABASE: &str = "database";
const COLLECTION: &str = "collection";

/// The keys of a result that describe an error. The unified test format has the same names.
const ERROR_KEYS: [&str; 7] = [
    "errorContains",
    "errorCode",
    "errorCodeName",
    "errorLabelsContain",
    "errorLabelsOmit",
    "isClientError",
    "isTimeoutError",
];

/// The converted operations and their entities.
pub(super) struct Operations<'a> {
    place: &'a Place,
    entities: Vec<Document>,
    operations: Vec<Document>,
    has_fail_point_client: bool,
}

impl<'a> Operations<'a> {
    /// Creates the entities that all tests have; `client` is the entity of the client.
    pub(super) fn new(client: Document, place: &'a Place) -> Self {
        Self {
            place,
            entities: vec![
                doc! { "client": client },
                doc! { "database": { "id": DATABASE, "client": CLIENT, "databaseName": &place.database } },
                doc! { "collection": {
                    "id": COLLECTION, "database": DATABASE, "collectionName": &place.collection,
                } },
            ],
            operations: Vec::new(),
            has_fail_point_client: false,
        }
    }

    /// The entities and the operations.
    pub(super) fn finish(self) -> (Vec<Document>, Vec<Document>) {
        (self.entities, self.operations)
    }

    /// Adds an operation that sets a fail point without encryption.
    pub(super) fn set_fail_point(&mut self, command: Document) {
        if !self.has_fail_point_client {
            self.has_fail_point_client = true;
            self.entities.push(doc! { "client": { "id": FAIL_POINT_CLIENT } });
        }
        self.operations.push(doc! {
            "name": "failPoint",
            "object": "testRunner",
            "arguments": { "client": FAIL_POINT_CLIENT, "failPoint": command },
        });
    }

    /// Converts and adds an operation.
    pub(super) fn add(&mut self, mut keys: Keys) -> Result<(), String> {
        let name = keys.required("name", Keys::text)?;
        let object = keys.text("object")?.unwrap_or_else(|| COLLECTION.to_owned());
        let mut arguments = keys.document("arguments")?.unwrap_or_default();
        let object = match object.as_str() {
            "collection" => self.collection(&mut keys)?,
            "database" => self.database(&mut keys)?,
            "client" => CLIENT.to_owned(),
            "testRunner" if name == "configureFailPoint" => {
                let mut arguments = Keys::new(name, arguments);
                self.set_fail_point(arguments.required("failPoint", Keys::document)?);
                arguments.finish()?;
                return keys.finish();
            }
            "testRunner" => {
                arguments = runner_arguments(&name, arguments);
                object
            }
            other => return Err(keys.error(format!("unknown object \"{other}\""))),
        };
        match name.as_str() {
            "runCommand" => run_command(&mut keys, &mut arguments)?,
            "bulkWrite" => {
                let mut given = Keys::new("bulkWrite", arguments);
                let requests = given.required("requests", Keys::documents)?;
                let requests = requests.into_iter().map(request).collect::<Result<Vec<_>, _>>()?;
                arguments = given.rest();
                arguments.insert("requests", requests);
            }
            _ => {}
        }
        let mut operation = doc! { "name": &name, "object": object, "arguments": with_options(arguments)? };
        result(&mut keys, &mut operation)?;
        keys.finish()?;
        self.operations.push(operation);
        Ok(())
    }

    /// The ID of the collection of an operation, which is a new one if the operation has options for
    /// it or for its database.
    fn collection(&mut self, keys: &mut Keys) -> Result<String, String> {
        let database = self.database(keys)?;
        let options = keys.document("collectionOptions")?;
        if options.is_none() && database == DATABASE {
            return Ok(COLLECTION.to_owned());
        }
        let id = format!("{COLLECTION}{}", self.entities.len());
        let mut entity = doc! { "id": &id, "database": database, "collectionName": &self.place.collection };
        if let Some(options) = options {
            entity.insert("collectionOptions", options);
        }
        self.entities.push(doc! { "collection": entity });
        Ok(id)
    }

    /// The ID of the database of an operation, which is a new one if the operation has options for
    /// it.
    fn database(&mut self, keys: &mut Keys) -> Result<String, String> {
        let Some(options) = keys.document("databaseOptions")? else {
            return Ok(DATABASE.to_owned());
        };
        let id = format!("{DATABASE}{}", self.entities.len());
        self.entities.push(doc! { "database": {
            "id": &id, "client": CLIENT, "databaseName": &self.place.database, "databaseOptions": options,
        } });
        Ok(id)
    }
}

/// The arguments of an operation of the test runner, whose assertions have other names for them.
fn runner_arguments(name: &str, arguments: Document) -> Document {
    if !name.starts_with("assert") {
        return arguments;
    }
    let renamed = |(key, value): (String, Bson)| match key.as_str() {
        "database" | "collection" | "index" => (format!("{key}Name"), value),
        _ => (key, value),
    };
    arguments.into_iter().map(renamed).collect()
}

/// `command_name` as an argument; without it, the first key of the command is its name.
fn run_command(keys: &mut Keys, arguments: &mut Document) -> Result<(), String> {
    let first = arguments
        .get_document("command")
        .ok()
        .and_then(command_name)
        .cloned();
    match keys.text("command_name")?.or(first) {
        Some(name) => {
            arguments.insert("commandName", name);
            Ok(())
        }
        None => Err(keys.error("runCommand requires a command")),
    }
}

/// A request of `bulkWrite`: `{name: …, arguments: …}` as `{name: arguments}`.
fn request(request: Document) -> Result<Document, String> {
    let mut keys = Keys::new("bulkWrite.requests", request);
    let name = keys.required("name", Keys::text)?;
    let arguments = keys.required("arguments", Keys::document)?;
    keys.finish()?;
    Ok(doc! { name: arguments })
}

/// The arguments with those of `options`.
fn with_options(mut arguments: Document) -> Result<Document, String> {
    match arguments.remove("options") {
        None => Ok(arguments),
        Some(Bson::Document(options)) => {
            for (key, value) in options {
                if arguments.insert(&key, value).is_some() {
                    return Err(format!("the argument \"{key}\" is also in options"));
                }
            }
            Ok(arguments)
        }
        Some(_) => Err("the argument \"options\" must be a document".to_owned()),
    }
}

/// `result`, which describes a result or an error, and `error`.
fn result(keys: &mut Keys, operation: &mut Document) -> Result<(), String> {
    let is_error = |result: &Document| result.keys().any(|key| ERROR_KEYS.contains(&key.as_str()));
    match keys.take("result") {
        None => {}
        // The schema of the unified test format rejects other keys beside those of an error.
        Some(Bson::Document(result)) if is_error(&result) => {
            operation.insert("expectError", result);
        }
        Some(result) => {
            operation.insert("expectResult", result);
        }
    }
    match keys.flag("error")? {
        Some(true) if !operation.contains_key("expectResult") => {
            if !operation.contains_key("expectError") {
                operation.insert("expectError", doc! { "isError": true });
            }
            Ok(())
        }
        None => Ok(()),
        Some(_) => Err(keys.error("\"error\" must be true, without a \"result\" of a success")),
    }
}
