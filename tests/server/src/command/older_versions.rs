//! Options and field names that older server versions reject, with the errors of those versions.

use super::table::Command;
use crate::error::{Error, Result, code};
use crate::version::Version;
use bson::{Bson, Document};

/// Fails on an option that the command does not have in this version.
pub(super) fn check_options(command: &Command, version: Version, body: &Document) -> Result<()> {
    if body.contains_key("let") && !version.at_least(5, 0) {
        match command.name {
            "find" => return Err(unrecognized("Failed to parse: Unrecognized field 'let'.")),
            "aggregate" => return Err(unrecognized("unrecognized field 'let'")),
            "findAndModify" => return Err(unknown("BSON field 'let' is an unknown field.")),
            "update" | "delete" => {
                return Err(unknown(&format!(
                    "BSON field '{}.let' is an unknown field.",
                    command.name
                )));
            }
            _ => {}
        }
    }
    if command.name == "find" && body.contains_key("allowDiskUse") && !version.at_least(4, 4) {
        return Err(unrecognized(
            "Failed to parse: Unrecognized field 'allowDiskUse'.",
        ));
    }
    super::structured_encryption::check_version(command.name, version, body)?;
    match body.get("comment") {
        None => Ok(()),
        Some(comment) => check_comment(command, version, comment),
    }
}

fn check_comment(command: &Command, version: Version, comment: &Bson) -> Result<()> {
    let text = matches!(comment, Bson::String(_));
    let any_since = match command.name {
        "find" | "aggregate" => (4, 4, 0),
        "count" | "distinct" => (4, 4, 14),
        "insert" | "update" | "delete" | "findAndModify" if version.at_least(4, 4) => return Ok(()),
        "insert" | "update" | "delete" | "findAndModify" => {
            return Err(unknown(&format!(
                "BSON field '{}.comment' is an unknown field.",
                command.name
            )));
        }
        _ => return Ok(()),
    };
    if text || (version.major, version.minor, version.patch) >= any_since {
        return Ok(());
    }
    Err(Error::type_mismatch(format!(
        "BSON field '{}.comment' is the wrong type '{}', expected type 'string'",
        command.name,
        crate::value::type_name(comment)
    )))
}

fn unrecognized(message: &str) -> Error {
    Error::failed_to_parse(message)
}

fn unknown(message: &str) -> Error {
    Error::new(code::UNKNOWN_FIELD, message)
}

/// Before 5.0, fails on nested field names of replacements that begin with a dollar sign.
pub(super) fn check_replacement(version: Version, replacement: &Document) -> Result<()> {
    if version.at_least(5, 0) {
        return Ok(());
    }
    replacement.iter().try_for_each(|(name, value)| {
        if name.starts_with('$') && !matches!(name.as_str(), "$ref" | "$id" | "$db") {
            return Err(Error::new(
                code::DOLLAR_PREFIXED_FIELD_NAME,
                format!("The dollar ($) prefixed field '{name}' in '{name}' is not valid for storage."),
            ));
        }
        match value {
            Bson::Document(inner) => check_replacement(version, inner),
            Bson::Array(items) => items
                .iter()
                .filter_map(Bson::as_document)
                .try_for_each(|inner| check_replacement(version, inner)),
            _ => Ok(()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    #[test]
    fn dollars_in_replacements() {
        let old: Version = "4.4".parse().unwrap();
        assert_eq!(
            check_replacement(old, &doc! {"a": [{"$b": 1}]}).unwrap_err().code,
            52
        );
        assert!(check_replacement(old, &doc! {"a": {"$ref": "c", "$id": 1}}).is_ok());
        let new: Version = "5.0".parse().unwrap();
        assert!(check_replacement(new, &doc! {"a": {"$b": 1}}).is_ok());
    }
}
