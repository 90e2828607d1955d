//! Compile-fail cases, each with the exact messages of the toolchain that CI uses. What must compile is in `pass/`.
//!
//! `TRYBUILD=overwrite cargo test -p marula-odm-tests --test ui` writes the new messages after an intended change.

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/fail/*.rs");
}
