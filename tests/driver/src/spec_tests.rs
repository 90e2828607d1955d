//! The location of the specification tests, which are not part of the repository.

use std::{
    env,
    path::{Path, PathBuf},
};

/// Instructions for obtaining the files.
pub const ADVICE: &str = "the specification tests are missing: clone https://github.com/mongodb/specifications and set \
                          SPEC_TESTS_DIR to its folder source/";

/// The folder: `SPEC_TESTS_DIR`, otherwise `shared/spec-tests` in a parent of the checkout. `None` if it does not exist.
#[must_use]
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
