//! Counts and prints the results of checks.

use mongodb::error::{Error, ErrorKind, Result, WriteFailure};
use std::fmt::Debug;
use tokio::time::error::Elapsed;

/// The counts of passed and failed checks.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    passed: usize,
    failed: usize,
}

impl Checks {
    fn pass(&mut self, name: &str) {
        self.passed += 1;
        println!("ok {name}");
    }

    pub(crate) fn fail(&mut self, name: &str, why: &str) {
        self.failed += 1;
        println!("FAILED {name}: {why}");
    }

    /// Checks that an operation succeeds with a result. Compares the `Debug` output, because `==`
    /// of documents ignores the order of fields and the types of numbers.
    pub(crate) fn eq<T: Debug, E: Debug>(&mut self, name: &str, got: Result<T>, expected: E) {
        match got {
            Ok(got) => self.is(name, got, expected),
            Err(error) => self.fail(name, &format!("expected {expected:?}, got the error {error}")),
        }
    }

    /// Checks a value. Compares as [`eq`](Self::eq) does.
    pub(crate) fn is<T: Debug, E: Debug>(&mut self, name: &str, got: T, expected: E) {
        let (got, expected) = (format!("{got:?}"), format!("{expected:?}"));
        if got == expected {
            self.pass(name);
        } else {
            self.fail(name, &format!("expected {expected}, got {got}"));
        }
    }

    /// Checks that an operation fails with a code, and returns the error.
    pub(crate) fn code<T>(&mut self, name: &str, code: i32, result: Result<T>) -> Option<Error> {
        match result {
            Ok(_) => self.fail(name, &format!("expected error {code}, but it succeeded")),
            Err(error) if code_of(&error) == Some(code) => {
                self.pass(name);
                return Some(error);
            }
            Err(error) => self.fail(name, &format!("expected error {code}, got: {error}")),
        }
        None
    }

    /// Checks that an operation fails with a code and a message that contains a text.
    pub(crate) fn code_and_message<T>(&mut self, name: &str, code: i32, text: &str, result: Result<T>) {
        if let Some(error) = self.code(name, code, result) {
            let message = message_of(&error);
            if message.contains(text) {
                self.pass(&format!("{name}: message"));
            } else {
                self.fail(
                    &format!("{name}: message"),
                    &format!("expected {text:?} in {message:?}"),
                );
            }
        }
    }

    /// Records the end of a section: an unexpected error or a timeout is a failure.
    pub(crate) fn section_ended(&mut self, name: &str, ran: std::result::Result<Result<()>, Elapsed>) {
        match ran {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                // For an error that the section itself returned, only the source has the message.
                let why = error
                    .get_custom::<String>()
                    .cloned()
                    .unwrap_or_else(|| error.to_string());
                self.fail(&format!("section {name}"), &format!("stopped by: {why}"));
            }
            Err(_) => self.fail(&format!("section {name}"), "timed out"),
        }
    }

    /// Prints the counts. Returns `true` if no check failed.
    pub(crate) fn summary(&self) -> bool {
        println!("{} passed, {} failed", self.passed, self.failed);
        self.failed == 0 && self.passed > 0
    }
}

/// The server error code of an error, if it has one.
pub(crate) fn code_of(error: &Error) -> Option<i32> {
    match &*error.kind {
        ErrorKind::Command(error) => Some(error.code),
        ErrorKind::Write(WriteFailure::WriteError(error)) => Some(error.code),
        ErrorKind::Write(WriteFailure::WriteConcernError(error)) => Some(error.code),
        ErrorKind::InsertMany(error) => match (&error.write_errors, &error.write_concern_error) {
            (Some(errors), _) if !errors.is_empty() => Some(errors[0].code),
            (_, Some(error)) => Some(error.code),
            _ => None,
        },
        _ => None,
    }
}

/// The server's message of an error.
pub(crate) fn message_of(error: &Error) -> String {
    match &*error.kind {
        ErrorKind::Command(error) => error.message.clone(),
        ErrorKind::Write(WriteFailure::WriteError(error)) => error.message.clone(),
        ErrorKind::Write(WriteFailure::WriteConcernError(error)) => error.message.clone(),
        ErrorKind::InsertMany(error) => match &error.write_errors {
            Some(errors) if !errors.is_empty() => errors[0].message.clone(),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

/// The code name of a command error.
pub(crate) fn code_name_of(error: &Error) -> &str {
    match &*error.kind {
        ErrorKind::Command(error) => &error.code_name,
        _ => "",
    }
}
