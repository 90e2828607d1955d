//! Runs the compile-fail cases, with the exact messages of the pinned toolchain, and the
//! compile-pass cases.
//!
//! `TRYBUILD=overwrite cargo test -p marula-odm-tests --test ui` updates the messages after an
//! intended change.

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/fail/*.rs");
}
