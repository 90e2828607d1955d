//! The stand-in for the library `crypt_shared`: an example of `marula-mongocrypt`, which is built with the tests.

use std::env::{
    self,
    consts::{DLL_PREFIX, DLL_SUFFIX},
};

use marula_driver::bson::{Document, doc};

/// The environment variable that makes the tests of encryption use the library instead of mongocryptd.
pub const VARIABLE: &str = "MARULA_CRYPT_SHARED";

/// Whether the tests use the library.
#[must_use]
pub fn is_used() -> bool {
    env::var_os(VARIABLE).is_some()
}

/// The path of the library, for `cryptSharedLibPath`.
///
/// # Panics
/// If it is not built, with the command that builds it.
#[must_use]
pub fn path() -> String {
    let program = env::current_exe().expect("the path of this program");
    // target/debug/deps/encryption-0123456789abcdef, target/debug/examples/libcrypt_shared.so
    let folder = program.parent().and_then(|deps| deps.parent()).expect("a folder");
    let path = folder
        .join("examples")
        .join(format!("{DLL_PREFIX}crypt_shared{DLL_SUFFIX}"));
    assert!(
        path.is_file(),
        "{} is missing; build it with: cargo build --workspace --example crypt_shared",
        path.display()
    );
    path.into_os_string().into_string().expect("a path in UTF-8")
}

/// `extraOptions` that require the library.
///
/// # Panics
/// As [`path`].
#[must_use]
pub fn extra_options() -> Document {
    doc! { "cryptSharedLibPath": path(), "cryptSharedLibRequired": true }
}
