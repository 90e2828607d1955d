//! Runs the fuzz target `connection_string` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| marula_fuzz_tests::targets::run("connection_string", bytes));
