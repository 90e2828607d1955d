//! Runs the compile-fail cases (each with the exact messages of the pinned toolchain) and the compile-pass cases.
//!
//! `TRYBUILD=overwrite cargo test -p marula-odm-tests --test ui` writes the messages anew after an intended change.

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/pass/*.rs");
    cases.compile_fail("tests/fail/*.rs");
}
