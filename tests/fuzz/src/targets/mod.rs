//! Fuzz targets: each takes any bytes, gives them to a reader of the driver, and checks what must hold whatever they are.
//!
//! The targets run in two ways. `cargo test` feeds each a bounded number of inputs, mutated from seeds by a generator that
//! is the same everywhere; `FUZZ_INPUTS` sets how many. `libfuzzer/` is a workspace of its own that hands the same functions
//! to cargo-fuzz, which looks for new paths through the code for as long as it is let.
//!
//! Beyond "no panic", each target compares: what was read is written, read again, and must be the same.

mod bson;
mod compressed;
mod connection_string;
mod dns;
mod extended_json;
mod mutate;
mod op_msg;
mod random;

pub use mutate::mutate;
pub use random::Random;

/// A reader under test.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name cargo-fuzz knows it by.
    pub name: &'static str,
    /// Gives the bytes to the reader. Panics when a rule is broken.
    pub run: fn(&[u8]),
    /// Well-formed inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// Every target.
pub const TARGETS: [Target; 6] = [
    connection_string::TARGET,
    extended_json::TARGET,
    bson::TARGET,
    op_msg::TARGET,
    compressed::TARGET,
    dns::TARGET,
];

/// Gives one input to the target of that name, for a fuzzer that brings its own.
///
/// # Panics
/// When a rule is broken, or when there is no such target.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("a target of this name").run)(bytes);
}

/// Runs `count` inputs: the seeds, and then mutations of what was run before. Returns how many were run.
pub fn run_bounded(target: Target, count: usize) -> usize {
    let seeds = (target.seeds)();
    for seed in &seeds {
        (target.run)(seed);
    }
    let mut random = Random::new(0x006d_6172_756c_6100);
    for _ in seeds.len()..count {
        let mut input = random.pick(&seeds).cloned().unwrap_or_default();
        // A second seed is sometimes spliced in, so that parts of different inputs meet.
        let other = random.pick(&seeds).cloned().unwrap_or_default();
        mutate(&mut input, &other, &mut random);
        (target.run)(&input);
    }
    count.max(seeds.len())
}
