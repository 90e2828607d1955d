//! The JSON tests of the specifications. The library contains the suites and the runner.

use std::process::ExitCode;

fn main() -> ExitCode {
    marula_spec_tests::runner::main(marula_spec_tests::SUITES)
}
