//! The attributes of a span that failed.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    error::Error as _,
    fmt::Write,
    io,
};

use opentelemetry::KeyValue;

use crate::{Error, ErrorKind, NetworkPhase};

/// `db.response.status_code`, `exception.message`, `exception.type` and `exception.stacktrace`.
pub(super) fn attributes(error: &Error) -> Vec<KeyValue> {
    let mut attributes = vec![
        KeyValue::new("exception.message", error.to_string()),
        KeyValue::new("exception.type", kind(error)),
        KeyValue::new("exception.stacktrace", stack(error)),
    ];
    if let Some(code) = error.code().filter(|code| *code != 0) {
        attributes.push(KeyValue::new("db.response.status_code", code.to_string()));
    }
    attributes
}

/// The error of an operation or a command whose future was dropped.
pub(super) fn dropped() -> Error {
    let why = io::Error::new(io::ErrorKind::Interrupted, "the operation was dropped");
    Error::network(NetworkPhase::Read, why)
}

/// The error and its sources, one per line. If `RUST_BACKTRACE` enables backtraces, that of the
/// task which runs the operation follows.
fn stack(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        // Writing to a string does not fail.
        let _ = write!(text, "\ncaused by: {cause}");
        source = cause.source();
    }
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        let _ = write!(text, "\n{backtrace}");
    }
    text
}

/// The path of the kind.
fn kind(error: &Error) -> &'static str {
    macro_rules! path {
        ($($kind:ident)+) => {
            match error.kind() {
                $(ErrorKind::$kind { .. } => concat!("marula_driver::ErrorKind::", stringify!($kind)),)+
            }
        };
    }
    path!(
        InvalidArgument ConnectionString Dns Encode Decode Network ServerSelection Pool Protocol InvalidReply
        Command Authentication Write BulkWrite ClientBulkWrite GridFs Encryption Unsupported CursorInterrupted Shutdown Timeout
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PoolError, ServerAddress, error::CommandError};

    #[test]
    fn errors_have_the_attributes_of_exceptions() {
        let refused = Error::new(ErrorKind::Command(CommandError {
            code: 89,
            code_name: "NetworkTimeout".into(),
            message: "too slow".into(),
        }));
        let text = |error: &Error| -> Vec<String> {
            attributes(error)
                .iter()
                .filter(|attribute| attribute.key.as_str() != "exception.stacktrace")
                .map(|attribute| format!("{}={}", attribute.key, attribute.value))
                .collect()
        };
        let message = format!("exception.message={refused}");
        assert_eq!(
            text(&refused),
            [
                message.as_str(),
                "exception.type=marula_driver::ErrorKind::Command",
                "db.response.status_code=89"
            ]
        );
        assert_eq!(text(&dropped()).len(), 2, "no reply, so there is no code");
        let cleared = Error::new(ErrorKind::Pool(PoolError::Cleared {
            address: ServerAddress::parse("db1:27017").expect("a valid address"),
            cause: Some(Box::new(dropped())),
        }));
        assert!(stack(&cleared).contains(&format!("caused by: {}", dropped())));
    }
}
