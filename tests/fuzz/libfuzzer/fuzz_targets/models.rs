//! Runs the fuzz target `models` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| marula_fuzz_tests::targets::run("models", bytes));
