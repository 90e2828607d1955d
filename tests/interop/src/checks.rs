//! Counting and printing checks.

use mongodb::error::{Error, ErrorKind, Result, WriteFailure};
use std::fmt::Debug;
use tokio::time::error::Elapsed;

/// The checks so far.
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

    /// An operation succeeds with this result. Compares what `Debug` shows, so that the types of BSON values and the order
    /// of fields count too, which `==` of documents ignores.
    pub(crate) fn eq<T: Debug, E: Debug>(&mut self, name: &str, got: Result<T>, expected: E) {
        match got {
            Ok(got) => self.is(name, got, expected),
            Err(error) => self.fail(name, &format!("expected {expected:?}, got the error {error}")),
        }
    }

    /// A value is as expected; compares as [`eq`](Self::eq) does.
    pub(crate) fn is<T: Debug, E: Debug>(&mut self, name: &str, got: T, expected: E) {
        let (got, expected) = (format!("{got:?}"), format!("{expected:?}"));
        if got == expected {
            self.pass(name);
        } else {
            self.fail(name, &format!("expected {expected}, got {got}"));
        }
    }

    /// An operation fails with this code; gives the error for more checks.
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

    /// An operation fails with this code, and its message contains a text.
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

    /// Notes how a section ended: an error that no check expected, or a hang, counts as a failure.
    pub(crate) fn section_ended(&mut self, name: &str, ran: std::result::Result<Result<()>, Elapsed>) {
        match ran {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                // What the client made of a section's own complaint says only that it is one.
                let why = error
                    .get_custom::<String>()
                    .cloned()
                    .unwrap_or_else(|| error.to_string());
                self.fail(&format!("section {name}"), &format!("stopped by: {why}"));
            }
            Err(_) => self.fail(&format!("section {name}"), "did not end"),
        }
    }

    /// Prints the counts; `true` if nothing failed.
    pub(crate) fn summary(&self) -> bool {
        println!("{} passed, {} failed", self.passed, self.failed);
        self.failed == 0 && self.passed > 0
    }
}

/// The server's code in an error, if the server sent one.
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

/// The server's message in an error.
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

/// The server's name of the code in an error of a command.
pub(crate) fn code_name_of(error: &Error) -> &str {
    match &*error.kind {
        ErrorKind::Command(error) => &error.code_name,
        _ => "",
    }
}
