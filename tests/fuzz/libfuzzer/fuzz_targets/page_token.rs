//! Runs the fuzz target `page_token` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| marula_fuzz_tests::targets::run("page_token", bytes));
