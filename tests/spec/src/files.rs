//! Where the specifications' tests are, and how their files are read.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// How to get the files.
pub const ADVICE: &str = "the specifications' tests are not here: clone https://github.com/mongodb/specifications and set \
                          SPEC_TESTS_DIR to its folder source/";

/// The folder: `SPEC_TESTS_DIR`, else `shared/spec-tests` beside the checkout or beside a folder that holds it.
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

/// The JSON files below a folder of `root`, at any depth, as paths relative to `root`, sorted.
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

/// The text of a file.
pub fn text(root: &Path, file: &str) -> Result<String, String> {
    fs::read_to_string(root.join(file)).map_err(|error| format!("cannot read {file}: {error}"))
}

/// A file as plain JSON.
pub fn json(root: &Path, file: &str) -> Result<Value, String> {
    serde_json::from_str(&text(root, file)?).map_err(|error| format!("{file} is no JSON: {error}"))
}
