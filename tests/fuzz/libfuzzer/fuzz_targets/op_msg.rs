//! Runs the fuzz target `op_msg` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| marula_fuzz_tests::targets::run("op_msg", bytes));
