//! Options and field names that older server versions reject, with the errors of those versions.

use super::table::Command;
use crate::error::{Error, Result, code};
use crate::refusal::{collections, indexes, stable_api as api};
use crate::value::format;
use crate::version::Version;
use bson::{Bson, Document};

/// The first versions of options, by command. Options that are not listed are in all versions, or in
/// none. The manual's pages of the commands have the versions.
const OPTIONS: &[(&str, &str, (u32, u32))] = &[
    ("aggregate", "let", (5, 0)),
    ("delete", "comment", (4, 4)),
    ("delete", "let", (5, 0)),
    ("distinct", "hint", (7, 1)),
    ("find", "allowDiskUse", (4, 4)),
    ("find", "let", (5, 0)),
    ("findAndModify", "comment", (4, 4)),
    ("findAndModify", "hint", (4, 4)),
    ("findAndModify", "let", (5, 0)),
    ("getMore", "comment", (4, 4)),
    ("insert", "comment", (4, 4)),
    ("update", "comment", (4, 4)),
    ("update", "let", (5, 0)),
];

/// Fails on an option that the command does not have in this version.
pub(super) fn check_options(command: &Command, version: Version, body: &Document) -> Result<()> {
    for (name, option, since) in OPTIONS {
        if *name == command.name && body.contains_key(*option) && !version.at_least(since.0, since.1) {
            return Err(unknown_option(command.name, option, version, body));
        }
    }
    super::structured_encryption::check_version(command.name, version, body)?;
    match body.get("comment") {
        None => Ok(()),
        Some(comment) => check_comment(command, version, comment),
    }
}

/// The error for an option that the version does not have. The parsers of the commands before 5.0
/// have errors of their own.
pub(super) fn unknown_option(command: &str, option: &str, version: Version, body: &Document) -> Error {
    let is_old = !version.at_least(5, 0);
    match command {
        "find" | "getMore" if is_old => api::UNKNOWN_FIND.error(&[&format::document(body), &option]),
        "aggregate" if is_old => api::UNKNOWN_AGGREGATE.error(&[&option]),
        "findAndModify" if is_old => api::UNKNOWN_FIND_AND_MODIFY.error(&[&option]),
        "createIndexes" if is_old => indexes::FIELD_UNKNOWN.error(&[&option]),
        "collMod" if is_old => collections::MOD_UNKNOWN_4.error(&[&option]),
        "create" if !version.at_least(4, 4) => {
            collections::CREATE_OPTION_4_2.error(&[&option, &format::document(body)])
        }
        "find" if !version.at_least(7, 1) => Error::new(
            code::UNKNOWN_FIELD,
            format!("BSON field 'FindCommandRequest.{option}' is an unknown field."),
        ),
        _ => Error::new(
            code::UNKNOWN_FIELD,
            format!("BSON field '{command}.{option}' is an unknown field."),
        ),
    }
}

fn check_comment(command: &Command, version: Version, comment: &Bson) -> Result<()> {
    let any_since = match command.name {
        "find" | "aggregate" => (4, 4, 0),
        "count" | "distinct" => (4, 4, 14),
        _ => return Ok(()),
    };
    let text = matches!(comment, Bson::String(_));
    if text || (version.major, version.minor, version.patch) >= any_since {
        return Ok(());
    }
    Err(Error::type_mismatch(format!(
        "BSON field '{}.comment' is the wrong type '{}', expected type 'string'",
        command.name,
        crate::value::type_name(comment)
    )))
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
