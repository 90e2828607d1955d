//! The location of the specification tests, and access to their files.

use std::{fs, path::Path};

pub use marula_driver_tests::spec_tests::{ADVICE, root};
use serde_json::Value;

/// The JSON files in a folder of `root` and its subfolders, as sorted paths relative to `root`.
pub fn below(root: &Path, folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(root.join(&folder)) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.ends_with(".json") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Reads a file relative to `root`.
pub fn text(root: &Path, file: &str) -> Result<String, String> {
    fs::read_to_string(root.join(file)).map_err(|error| format!("cannot read {file}: {error}"))
}

/// Parses a file relative to `root` as plain JSON.
pub fn json(root: &Path, file: &str) -> Result<Value, String> {
    serde_json::from_str(&text(root, file)?).map_err(|error| format!("invalid JSON in {file}: {error}"))
}
