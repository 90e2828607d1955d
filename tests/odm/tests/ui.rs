//! Runs the compile-fail cases, with the exact messages of the pinned toolchain, and the
//! compile-pass cases.
//!
//! `TRYBUILD=overwrite cargo test -p marula-odm-tests --test ui` updates the messages after an
//! intended change.

use std::env;
use std::process::{Command, Stdio};

const VARIABLE: &str = "CARGO_ENCODED_RUSTFLAGS";

/// The arguments that trybuild configures for the compiler, in the form of the variable.
///
/// Trybuild checks the dependencies without the last one, and then the cases with it. Cargo would check the dependencies again for the
/// cases, because the arguments differ. It prefers the variable to what trybuild configures, so that the arguments are the same.
const ARGUMENTS: &str =
    "--cfg\u{1f}trybuild\u{1f}--verbose\u{1f}-A\u{1f}dead_code\u{1f}--diagnostic-width=140";

#[test]
fn ui() {
    if env::var(VARIABLE).is_ok_and(|arguments| arguments == ARGUMENTS) {
        let cases = trybuild::TestCases::new();
        cases.compile_fail("tests/fail/*.rs");
        return;
    }
    // This program again: the variables of a process that runs cannot be changed without `unsafe`. Trybuild prints to stderr.
    let program = env::current_exe().expect("the path of this program");
    let status = Command::new(program)
        .args(["--exact", "ui"])
        .env(VARIABLE, ARGUMENTS)
        .stdout(Stdio::null())
        .status()
        .expect("this program starts again");
    assert!(status.success(), "a case has failed, see above: {status}");
}
