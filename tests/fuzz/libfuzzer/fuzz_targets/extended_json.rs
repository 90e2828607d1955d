//! Runs the fuzz target `extended_json` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| marula_fuzz_tests::targets::run("extended_json", bytes));
