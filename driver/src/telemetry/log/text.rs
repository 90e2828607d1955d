//! Documents and errors as text of limited length (Logging, "Truncation of large documents").

use std::fmt::{self, Write};

use crate::{
    Error, ErrorKind,
    bson::{ExtendedJson, RawDocument},
    types::{text::truncate, variables::Variables},
};

const DEFAULT_MAX_DOCUMENT_LENGTH: usize = 1000;
const ELLIPSIS: &str = "...";

/// The option, or else the environment variable, or else the default of the specification. An
/// invalid value of the variable is ignored.
pub(super) fn max_document_length(given: Option<usize>, variables: Variables<'_>) -> usize {
    let variable = || variables("MONGODB_LOG_MAX_DOCUMENT_LENGTH")?.parse().ok();
    given.or_else(variable).unwrap_or(DEFAULT_MAX_DOCUMENT_LENGTH)
}

/// A string of limited length.
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
            // Later text must not be appended after a character that did not fit.
            self.left = 0;
            return Err(fmt::Error);
        }
        Ok(())
    }
}

/// A document as relaxed Extended JSON, truncated after `limit` bytes at a character boundary. The
/// truncated part is not serialized.
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
    fn documents_are_truncated_at_character_boundaries() {
        // {"a": "é€😀"}: the characters are at the bytes 7 to 8, 9 to 11, 12 to 15.
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
