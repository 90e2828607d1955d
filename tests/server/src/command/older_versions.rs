//! Options and field names that older server versions reject, with the errors of those versions.

use super::table::Command;
use crate::error::{Error, Result, code};
use crate::refusal::queries::DOLLAR_FIELD;
use crate::refusal::{ServerProfile, collections, indexes, stable_api as api};
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

/// Before 5.0, fails on field names that begin with a dollar sign in what an update changes. `old` is
/// empty for a replacement, which is checked as a whole.
pub(super) fn check_dollars(profile: ServerProfile, old: &Document, new: &Document) -> Result<()> {
    if !DOLLAR_FIELD.applies(profile) {
        return Ok(());
    }
    check_fields(Some(old), new, "")
}

fn check_fields(old: Option<&Document>, new: &Document, path: &str) -> Result<()> {
    for (name, value) in new {
        let before = old.and_then(|old| old.get(name));
        let path = match path {
            "" => name.clone(),
            parent => format!("{parent}.{name}"),
        };
        let is_dollar = name.starts_with('$') && !matches!(name.as_str(), "$ref" | "$id" | "$db");
        if is_dollar && before != Some(value) {
            return Err(DOLLAR_FIELD.error(&[name, &path]));
        }
        check_value(before, value, &path)?;
    }
    Ok(())
}

fn check_value(old: Option<&Bson>, new: &Bson, path: &str) -> Result<()> {
    match new {
        Bson::Document(new) => check_fields(old.and_then(Bson::as_document), new, path),
        Bson::Array(items) => {
            let old = old.and_then(Bson::as_array);
            items.iter().enumerate().try_for_each(|(index, item)| {
                let before = old.and_then(|old| old.get(index));
                check_value(before, item, &format!("{path}.{index}"))
            })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    fn profile(version: &str) -> ServerProfile {
        ServerProfile {
            version: version.parse().unwrap(),
            ..ServerProfile::default()
        }
    }

    #[test]
    fn dollars_in_changed_fields() {
        let old = profile("4.4");
        let none = Document::new();
        let error = check_dollars(old, &none, &doc! {"a": [1, {"$b": 1}]}).unwrap_err();
        assert_eq!(error.code, 52);
        assert!(error.message.contains("'$b' in 'a.1.$b'"), "{}", error.message);
        assert!(check_dollars(old, &none, &doc! {"a": {"$ref": "c", "$id": 1}}).is_ok());
        let before = doc! {"a": {"$b": 1}};
        assert!(check_dollars(old, &before, &doc! {"a": {"$b": 1}, "c": 1}).is_ok());
        assert!(check_dollars(old, &before, &doc! {"a": {"$b": 2}}).is_err());
        assert!(check_dollars(profile("5.0"), &none, &doc! {"a": {"$b": 1}}).is_ok());
    }
}
