//! Fuzz targets: each passes arbitrary bytes to a parser of the driver and checks its invariants.
//!
//! `cargo test` runs each target with a bounded number of inputs, which a deterministic generator
//! mutates from seeds; `FUZZ_INPUTS` sets the number. `libfuzzer/` is a separate workspace that
//! runs the same functions under cargo-fuzz, guided by coverage.
//!
//! Each target checks that no input causes a panic, and that a parsed value can be written and
//! parsed again without a change.

mod authentication;
mod bson;
mod compressed;
mod connection_string;
mod dns;
mod encrypted;
mod extended_json;
mod hello;
mod http;
mod models;
mod mutate;
mod ocsp;
mod op_msg;
mod page_token;
mod random;
mod replies;
mod socks5;

use marula_driver::bson::{Document, append_document};

pub use encrypted::is_available as is_mongocrypt_available;
pub use mutate::mutate;
pub use random::Random;

/// A parser under test.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the cargo-fuzz target.
    pub name: &'static str,
    /// Parses the bytes. Panics if an invariant is violated.
    pub run: fn(&[u8]),
    /// The initial inputs, which are well-formed.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub const TARGETS: [Target; 15] = [
    connection_string::TARGET,
    extended_json::TARGET,
    bson::TARGET,
    op_msg::TARGET,
    compressed::TARGET,
    dns::TARGET,
    hello::TARGET,
    authentication::TARGET,
    socks5::TARGET,
    http::TARGET,
    ocsp::TARGET,
    replies::TARGET,
    page_token::TARGET,
    models::TARGET,
    encrypted::TARGET,
];

/// The bytes of a document that was parsed. Serde would write fewer levels of values.
fn encoded(document: &Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    append_document(document, &mut bytes).expect("a parsed document can be encoded");
    bytes
}

/// Runs a target with one input, for an external fuzzer.
///
/// # Panics
/// If an invariant is violated, or the target is unknown.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("a target of this name").run)(bytes);
}

/// Runs `count` inputs: the seeds, then mutations of previous inputs. Returns the number of inputs.
pub fn run_bounded(target: Target, count: usize) -> usize {
    let seeds = (target.seeds)();
    for seed in &seeds {
        (target.run)(seed);
    }
    let mut random = Random::new(0x006d_6172_756c_6100);
    for _ in seeds.len()..count {
        let mut input = random.pick(&seeds).cloned().unwrap_or_default();
        // Parts of a second seed are inserted, to combine different inputs.
        let other = random.pick(&seeds).cloned().unwrap_or_default();
        mutate(&mut input, &other, &mut random);
        (target.run)(&input);
    }
    count.max(seeds.len())
}
