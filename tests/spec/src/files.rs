//! The location of the specification tests, and access to their files.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// Instructions for obtaining the files.
pub const ADVICE: &str = "the specification tests are missing: clone https://github.com/mongodb/specifications and set \
                          SPEC_TESTS_DIR to its folder source/";

/// The folder: `SPEC_TESTS_DIR`, otherwise `shared/spec-tests` in a parent of the checkout.
pub fn root() -> Option<PathBuf> {
    if let Some(named) = env::var_os("SPEC_TESTS_DIR") {
        let named = PathBuf::from(named);
        return named.is_dir().then_some(named);
    }
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .skip(2)
        .map(|folder| folder.join("shared/spec-tests"))
        .find(|folder| folder.is_dir())
}

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
