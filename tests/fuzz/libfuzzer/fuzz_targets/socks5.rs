//! Runs the fuzz target `socks5` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| marula_fuzz_tests::targets::run("socks5", bytes));
