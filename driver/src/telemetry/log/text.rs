//! Documents and errors as text, no longer than wanted.

use std::fmt::{self, Write};

use crate::{
    Error, ErrorKind,
    bson::{ExtendedJson, RawDocument},
    types::{text::truncate, variables::Variables},
};

const DEFAULT_MAX_DOCUMENT_LENGTH: usize = 1000;
const ELLIPSIS: &str = "...";

/// The option, else the environment variable, else the default of the specification. A malformed
/// variable is ignored.
pub(super) fn max_document_length(given: Option<usize>, variables: Variables<'_>) -> usize {
    let variable = || variables("MONGODB_LOG_MAX_DOCUMENT_LENGTH")?.parse().ok();
    given.or_else(variable).unwrap_or(DEFAULT_MAX_DOCUMENT_LENGTH)
}

/// A text of limited length.
struct Limited {
    text: String,
    left: usize,
}

impl Write for Limited {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let fits = truncate(more, self.left);
        self.text.push_str(fits);
        self.left -= fits.len();
        if fits.len() < more.len() {
            // Nothing that comes later may slip in behind a character that did not fit.
            self.left = 0;
            return Err(fmt::Error);
        }
        Ok(())
    }
}

/// A document as relaxed Extended JSON, cut after `limit` bytes, or a few less if a character would be cut. What is cut is
/// not even written.
pub(super) fn document(document: &RawDocument, limit: usize) -> String {
    let mut limited = Limited {
        text: String::new(),
        left: limit,
    };
    if write!(limited, "{}", ExtendedJson::relaxed(document)).is_err() {
        limited.text.push_str(ELLIPSIS);
    }
    limited.text
}

/// An error as text. Without its reply, only code and name are shown.
pub(super) fn error(error: &Error) -> String {
    match error.kind() {
        ErrorKind::Command(command) if error.server_response().is_none() => {
            format!("redacted: {} ({})", command.code_name, command.code)
        }
        // The description of the deployment is a field of its own.
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
    fn documents_are_cut_at_characters() {
        // {"a": "é€😀"}: the characters take the bytes 7 and 8, 9 to 11, 12 to 15.
        let wide = rawdoc! { "a": "é€😀" };
        let whole = "{\"a\": \"é€😀\"}";
        assert_eq!(document(&wide, 18), whole);
        assert_eq!(document(&wide, 1000), whole);
        for (limit, kept) in [
            (17, "{\"a\": \"é€😀\""),
            (16, "{\"a\": \"é€😀"),
            (15, "{\"a\": \"é€"),
            (13, "{\"a\": \"é€"),
            (12, "{\"a\": \"é€"),
            (11, "{\"a\": \"é"),
            (9, "{\"a\": \"é"),
            (8, "{\"a\": \""),
            (1, "{"),
            (0, ""),
        ] {
            assert_eq!(document(&wide, limit), format!("{kept}..."), "{limit}");
        }
    }

    #[test]
    fn the_application_counts_before_the_variable() {
        let set = |value: &'static str| {
            move |name: &str| (name == "MONGODB_LOG_MAX_DOCUMENT_LENGTH").then(|| value.to_owned())
        };
        assert_eq!(max_document_length(Some(5), &set("7")), 5);
        assert_eq!(max_document_length(None, &set("7")), 7);
        assert_eq!(max_document_length(None, &set("-7")), 1000);
        assert_eq!(max_document_length(None, &|_| None), 1000);
    }

    #[test]
    fn secret_replies_are_not_shown() {
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
