//! The files of the workspace: parsed Rust sources of a package, and the text of all tracked files.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A parsed Rust file.
#[derive(Debug)]
pub struct Source {
    /// The path relative to the workspace root.
    pub path: String,
    /// The module path relative to the crate root: `["topology", "monitor"]`; empty for the root.
    pub module: Vec<String>,
    /// The content of the file.
    pub text: String,
    /// The syntax tree of the file.
    pub tree: syn::File,
}

impl Source {
    /// Whether this is a file of unit tests: `tests.rs`, or a file in a folder `tests`.
    #[must_use]
    pub fn is_test(&self) -> bool {
        self.module.iter().any(|part| part == "tests")
    }
}

/// The workspace root.
#[must_use]
pub fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All Rust files in a folder of the workspace, such as `driver/src`, and in its subfolders.
///
/// # Panics
/// If the folder cannot be read or a file cannot be parsed.
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
        .expect("a file in its folder")
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

/// A text file that git tracks.
#[derive(Debug)]
pub struct TextFile {
    /// The path relative to the workspace root.
    pub path: String,
    /// The content of the file.
    pub text: String,
}

/// All tracked files whose path ends with one of the suffixes.
///
/// # Panics
/// If `git ls-files` fails or a file is not UTF-8.
#[must_use]
pub fn tracked_files(suffixes: &[&str]) -> Vec<TextFile> {
    let root = workspace_root();
    let output = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(&root)
        .output()
        .expect("git is installed");
    assert!(output.status.success(), "git ls-files: {output:?}");
    let paths = String::from_utf8(output.stdout).expect("paths in UTF-8");
    paths
        .split('\0')
        .filter(|path| suffixes.iter().any(|suffix| path.ends_with(suffix)))
        // A tracked file can be deleted in the working tree.
        .filter(|path| root.join(path).is_file())
        .map(|path| TextFile {
            path: path.to_owned(),
            text: fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}")),
        })
        .collect()
}
