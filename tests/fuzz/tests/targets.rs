//! Runs each fuzz target with `FUZZ_INPUTS` inputs (default: 200,000; for models, with several documents each, 20,000).

use marula_fuzz_tests::targets::{TARGETS, Target, is_mongocrypt_available, run_bounded};

fn run(name: &str) {
    run_some(name, 200_000);
}

/// `default`: the number of inputs without `FUZZ_INPUTS`.
fn run_some(name: &str, default: usize) {
    let count = match std::env::var("FUZZ_INPUTS") {
        Ok(count) => count.parse().expect("FUZZ_INPUTS is a number"),
        Err(_) => default,
    };
    let target: Target = *TARGETS
        .iter()
        .find(|target| target.name == name)
        .expect("a target");
    assert!(run_bounded(target, count) >= count);
}

#[test]
fn connection_strings() {
    run("connection_string");
}

#[test]
fn extended_json() {
    run("extended_json");
}

#[test]
fn bson() {
    run("bson");
}

#[test]
fn op_msg() {
    run("op_msg");
}

#[test]
fn compressed() {
    run("compressed");
}

#[test]
fn dns() {
    run("dns");
}

#[test]
fn hello() {
    run("hello");
}

#[test]
fn authentication() {
    run("authentication");
}

#[test]
fn socks5() {
    run("socks5");
}

#[test]
fn http() {
    run("http");
}

#[test]
fn ocsp() {
    run("ocsp");
}

#[test]
fn replies() {
    run("replies");
}

#[test]
fn page_tokens() {
    run("page_token");
}

#[test]
fn models() {
    run_some("models", 20_000);
}

#[test]
fn documents_for_libmongocrypt() {
    let is_required = std::env::var_os("MARULA_REQUIRE_MONGOCRYPT").is_some();
    assert!(
        is_mongocrypt_available() || !is_required,
        "libmongocrypt is missing"
    );
    run("encrypted");
}
