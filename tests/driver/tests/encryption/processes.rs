//! Tests in processes of their own, which this program starts with the name of the test in an environment variable.

use std::{
    env,
    process::{Command, ExitCode},
};

use libtest_mimic::Failed;
use marula_driver_tests::crypt_shared;

use super::Test;

/// The environment variable with the name of the test that this process runs.
const CASE: &str = "MARULA_ENCRYPTION_CASE";

/// The name of the test that this process runs. `None`: all tests.
pub(crate) fn case() -> Option<String> {
    env::var(CASE).ok()
}

/// Runs one test in this process.
pub(crate) fn run_case(tests: &[(&str, Test)], name: &str) -> ExitCode {
    let Some((_, test)) = tests.iter().find(|(other, _)| *other == name) else {
        eprintln!("there is no test {name}");
        return ExitCode::FAILURE;
    };
    match test() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            eprintln!("{}", failed.message().unwrap_or("failed"));
            ExitCode::FAILURE
        }
    }
}

/// Runs a test in a process of its own, where commands are analyzed by the library `crypt_shared`.
pub(crate) fn run(name: &str) -> Result<(), Failed> {
    let output = Command::new(env::current_exe()?)
        .env(CASE, name)
        .env(crypt_shared::VARIABLE, "1")
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(format!("{}\n{}", output.status, String::from_utf8_lossy(&text)).into())
}
