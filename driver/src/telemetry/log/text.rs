//! Documents and errors as text.

use crate::{Error, ErrorKind, types::variables::Variables};

pub(super) use crate::telemetry::text::document;

const DEFAULT_MAX_DOCUMENT_LENGTH: usize = 1000;

/// The option, or else the environment variable, or else the default of the specification. An
/// invalid value of the variable is ignored.
pub(super) fn max_document_length(given: Option<usize>, variables: Variables<'_>) -> usize {
    let variable = || variables("MONGODB_LOG_MAX_DOCUMENT_LENGTH")?.parse().ok();
    given.or_else(variable).unwrap_or(DEFAULT_MAX_DOCUMENT_LENGTH)
}

/// An error as text. Without its reply, which may contain a secret, only code and name are
/// included.
pub(super) fn error(error: &Error) -> String {
    match error.kind() {
        ErrorKind::Command(command) if error.server_response().is_none() => {
            format!("redacted: {} ({})", command.code_name, command.code)
        }
        // The topology description is a field of its own.
        ErrorKind::ServerSelection(selection) => {
            format!(
                "no suitable server found for {} within {:?}",
                selection.wanted, selection.timeout
            )
        }
        _ => format!("{error:#}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bson::rawdoc, error::CommandError};

    #[test]
    fn the_option_takes_precedence_over_the_variable() {
        let set = |value: &'static str| {
            move |name: &str| (name == "MONGODB_LOG_MAX_DOCUMENT_LENGTH").then(|| value.to_owned())
        };
        assert_eq!(max_document_length(Some(5), &set("7")), 5);
        assert_eq!(max_document_length(None, &set("7")), 7);
        assert_eq!(max_document_length(None, &set("-7")), 1000);
        assert_eq!(max_document_length(None, &|_| None), 1000);
    }

    #[test]
    fn redacted_replies_are_not_logged() {
        let refused = Error::new(ErrorKind::Command(CommandError {
            code: 18,
            code_name: "AuthenticationFailed".into(),
            message: "who is s3cr3t".into(),
        }));
        assert_eq!(error(&refused), "redacted: AuthenticationFailed (18)");
        let shown = refused.with_response(&rawdoc! { "ok": 0 });
        assert!(error(&shown).contains("s3cr3t"));
    }
}
