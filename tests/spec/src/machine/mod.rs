//! The suites of the driver's machines and of the BSON codec.

pub mod auth;
pub mod cmap;
pub mod concern;
pub mod corpus;
pub mod discovery;
pub mod selection;
pub mod uri;
pub mod vector;

use std::path::Path;

use serde_json::Value;

use crate::{
    case::{Case, Outcome},
    files,
};

/// Checks one element of a list of tests.
pub(crate) type Check = fn(&Value) -> Result<(), String>;

/// Collects the cases of a file whose object has a list of tests, each with a description.
pub(crate) fn cases_of_list(
    root: &Path,
    format: &'static str,
    file: &str,
    key: &str,
    check: Check,
) -> Vec<Case> {
    let content = match files::json(root, file) {
        Ok(content) => content,
        Err(why) => return vec![Case::unreadable(format, file, why)],
    };
    let Some(tests) = content.get(key).and_then(Value::as_array) else {
        return vec![Case::unreadable(format, file, format!("missing list \"{key}\""))];
    };
    tests
        .iter()
        .enumerate()
        .map(|(index, test)| {
            let description = match test.get("description").and_then(Value::as_str) {
                Some(description) => description.to_owned(),
                None => format!("number {}", index + 1),
            };
            let test = test.clone();
            Case::new(format, file, description, move || Outcome::from(check(&test)))
        })
        .collect()
}

/// A file with a single case.
pub(crate) fn case_of_file(root: &Path, format: &'static str, file: &str, check: Check) -> Case {
    match files::json(root, file) {
        Err(why) => Case::unreadable(format, file, why),
        Ok(content) => {
            let description = content.get("description").and_then(Value::as_str);
            let stem = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".json");
            let description = description.unwrap_or(stem).to_owned();
            Case::new(format, file, description, move || Outcome::from(check(&content)))
        }
    }
}
