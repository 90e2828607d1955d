//! The source files of a package.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// One file, read and parsed.
#[derive(Debug)]
pub struct Source {
    /// Path from the workspace's root.
    pub path: String,
    /// The module it is, from its crate's root: `["topology", "monitor"]`; empty for the root.
    pub module: Vec<String>,
    /// Its text.
    pub text: String,
    /// Its syntax tree.
    pub tree: syn::File,
}

impl Source {
    /// A file of unit tests (`tests.rs`, or in a folder `tests`), which may do what the code may not.
    #[must_use]
    pub fn is_test(&self) -> bool {
        self.module.iter().any(|part| part == "tests")
    }
}

/// The workspace's root.
#[must_use]
pub fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All Rust files below a folder of the workspace, e.g. `driver/src`.
///
/// # Panics
/// When the folder cannot be read or a file does not parse.
#[must_use]
pub fn sources_of(folder: &str) -> Vec<Source> {
    let root = workspace_root();
    let base = root.join(folder);
    let mut files = Vec::new();
    collect(&base, &mut files);
    files.sort();
    files.into_iter().map(|file| read(&root, &base, &file)).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.expect("a readable entry").path()) {
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn read(root: &Path, base: &Path, file: &Path) -> Source {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let tree = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let inside = file
        .strip_prefix(base)
        .expect("a file below its folder")
        .with_extension("");
    let mut module: Vec<String> = inside
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if module
        .last()
        .is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main"))
    {
        module.pop();
    }
    Source {
        path: file
            .strip_prefix(root)
            .unwrap_or(file)
            .to_string_lossy()
            .into_owned(),
        module,
        text,
        tree,
    }
}
