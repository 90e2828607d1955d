//! Read and write concerns: parsing of connection strings and documents, and their form in
//! commands.

use std::path::Path;

use marula_driver::{
    bson::{Bson, Document, decode_document, value_from_extended_json},
    internals::{self, command::CommandBuilder},
    options::{Acknowledgment, ClientOptions, ReadConcern, ReadConcernLevel, WriteConcern},
};
use serde_json::Value;
use std::time::Duration;

use crate::{
    case::Case,
    fields::{Fields, equal, integer},
    files,
    machine::cases_of_list,
};

/// Collects the cases of both folders.
pub fn collect(root: &Path) -> Vec<Case> {
    let of = |folder: &str, check: fn(&Value) -> Result<(), String>| -> Vec<Case> {
        files::below(root, &format!("read-write-concern/tests/{folder}"))
            .iter()
            .flat_map(|file| cases_of_list(root, "read-write-concern", file, "tests", check))
            .collect()
    };
    let mut cases = of("connection-string", check_uri);
    cases.extend(of("document", check_document));
    cases
}

fn check_uri(test: &Value) -> Result<(), String> {
    let test = Fields::new("test", test)?;
    test.need_text("description")?;
    let uri = test.need_text("uri")?;
    let valid = test.flag("valid")?.unwrap_or(true);
    let warning = test.flag("warning")?.unwrap_or_default();
    let read = test.object("readConcern")?;
    let write = test.object("writeConcern")?;
    test.finish()?;
    let options = match (ClientOptions::parse(uri), valid) {
        (Ok(options), true) => options,
        // The URI Options specification requires a warning, not an error, for an invalid value.
        (Ok(options), false) if !options.warnings().is_empty() => return Ok(()),
        (Ok(options), false) => return Err(format!("accepted as {options:?}")),
        (Err(_), false) => return Ok(()),
        (Err(error), true) => return Err(format!("rejected: {error}")),
    };
    equal("a warning", &!options.warnings().is_empty(), &warning)?;
    if let Some(read) = read {
        equal("readConcern", &options.read_concern, &read_concern(read)?)?;
    }
    if let Some(write) = write {
        equal("writeConcern", &options.write_concern, &write_concern(write)?)?;
    }
    Ok(())
}

fn check_document(test: &Value) -> Result<(), String> {
    let test = Fields::new("test", test)?;
    test.need_text("description")?;
    let valid = test.flag("valid")?.unwrap_or(true);
    let is_default = test.flag("isServerDefault")?;
    let is_acknowledged = test.flag("isAcknowledged")?;
    let read = test.object("readConcern")?;
    let write = test.object("writeConcern")?;
    let read_document = test.given("readConcernDocument");
    let write_document = test.given("writeConcernDocument");
    test.finish()?;
    if let Some(read) = read {
        let concern = read_concern(read)?;
        let command = command(|builder| builder.read_concern(&concern))?;
        check_sent(command.get("readConcern"), read_document, is_default)?;
    }
    let Some(write) = write else {
        return Ok(());
    };
    let concern = write_concern(write).and_then(|concern| {
        internals::validate_write_concern(&concern)
            .map(|()| concern)
            .map_err(|error| error.to_string())
    });
    let concern = match (concern, valid) {
        (Ok(concern), true) => concern,
        (Err(_), false) => return Ok(()),
        (Ok(concern), false) => return Err(format!("accepted as {concern:?}")),
        (Err(why), true) => return Err(format!("rejected: {why}")),
    };
    let command = command(|builder| builder.write_concern(&concern))?;
    check_sent(command.get("writeConcern"), write_document, is_default)?;
    match is_acknowledged {
        Some(expected) => equal("isAcknowledged", &concern.is_acknowledged(), &expected),
        None => Ok(()),
    }
}

/// Encodes a command with a concern.
fn command(write: impl FnOnce(&mut CommandBuilder<'_>)) -> Result<Document, String> {
    let mut buffer = Vec::new();
    let mut builder = CommandBuilder::new(&mut buffer);
    builder.str("test", "concerns");
    write(&mut builder);
    builder.finish("admin").map_err(|error| error.to_string())?;
    decode_document(&buffer).map_err(|error| error.to_string())
}

/// Checks the concern of a command. The server's default is omitted from commands.
fn check_sent(sent: Option<&Bson>, expected: Option<&Value>, is_default: Option<bool>) -> Result<(), String> {
    if let Some(is_default) = is_default {
        equal("isServerDefault", &sent.is_none(), &is_default)?;
    }
    let Some(expected) = expected else {
        return Ok(());
    };
    let expected = value_from_extended_json(&expected.to_string()).map_err(|error| error.to_string())?;
    let sent = sent.cloned().unwrap_or_else(|| Document::new().into());
    equal("the document", &numbers(sent), &numbers(expected))
}

/// Widens integers: their width is not significant.
fn numbers(value: Bson) -> Bson {
    match value {
        Bson::Int32(number) => Bson::Int64(number.into()),
        Bson::Document(document) => Bson::Document(
            document
                .into_iter()
                .map(|(key, value)| (key, numbers(value)))
                .collect(),
        ),
        other => other,
    }
}

fn read_concern(fields: Fields<'_>) -> Result<ReadConcern, String> {
    let mut concern = ReadConcern::default();
    concern.level = fields.text("level")?.map(ReadConcernLevel::from);
    fields.finish()?;
    Ok(concern)
}

/// Parses a write concern. Negative values are rejected here, because the driver's types cannot
/// represent them.
fn write_concern(fields: Fields<'_>) -> Result<WriteConcern, String> {
    let mut concern = WriteConcern::default();
    concern.w = match fields.given("w") {
        None => None,
        Some(Value::String(name)) if name == "majority" => Some(Acknowledgment::Majority),
        Some(Value::String(name)) => Some(Acknowledgment::Custom(name.clone())),
        Some(number) => {
            let nodes = integer(number).ok_or(format!("invalid w: {number}"))?;
            Some(Acknowledgment::Nodes(
                u32::try_from(nodes).map_err(|_| format!("w is out of range: {nodes}"))?,
            ))
        }
    };
    concern.journal = fields.flag("journal")?;
    concern.w_timeout = fields.count("wtimeoutMS")?.map(Duration::from_millis);
    fields.finish()?;
    Ok(concern)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn each_fails(check: fn(&Value) -> Result<(), String>, test: &Value, changes: &[(&str, Value)]) {
        assert_eq!(check(test), Ok(()));
        for (place, value) in changes {
            let mut test = test.clone();
            *test.pointer_mut(place).unwrap() = value.clone();
            assert!(check(&test).is_err(), "{place} = {value}");
        }
    }

    #[test]
    fn every_wrong_expectation_fails() {
        let uri = json!({ "description": "d", "uri": "mongodb://h/?w=2&readConcernLevel=local", "valid": true, "warning": false,
            "readConcern": { "level": "local" }, "writeConcern": { "w": 2 } });
        each_fails(
            check_uri,
            &uri,
            &[
                ("/valid", json!(false)),
                ("/warning", json!(true)),
                ("/readConcern/level", json!("majority")),
                ("/writeConcern/w", json!(3)),
                ("/writeConcern", json!({ "invented": 3 })),
            ],
        );
        let document = json!({ "description": "d", "valid": true, "writeConcern": { "w": 2, "wtimeoutMS": 5 },
            "writeConcernDocument": { "w": 2, "wtimeout": 5 }, "isServerDefault": false, "isAcknowledged": true });
        each_fails(
            check_document,
            &document,
            &[
                ("/valid", json!(false)),
                ("/writeConcern/w", json!(-1)),
                ("/writeConcernDocument/w", json!(3)),
                ("/writeConcernDocument", json!({})),
                ("/isServerDefault", json!(true)),
                ("/isAcknowledged", json!(false)),
            ],
        );
    }
}
