//! Errors of commands.

use std::fmt;

use super::code;

/// The server replied to a command with `ok: 0`.
/// [`Error::server_response`](crate::Error::server_response) returns the complete reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandError {
    /// The server's error code; 0 if the reply has none.
    pub code: i32,
    /// The name of the code, e.g. `NamespaceNotFound`; empty if the reply has none.
    pub code_name: String,
    /// `errmsg`: the reason.
    pub message: String,
}

impl CommandError {
    /// Whether this is a "not writable primary" or "node is recovering" error (SDAM, `"not writable
    /// primary" and "node is recovering"`).
    pub(crate) fn is_state_change(&self) -> bool {
        is_state_change(self.code, &self.message)
    }
}

/// The message is compared only if the code is missing (SDAM, `"not writable primary" and "node is
/// recovering"`).
pub(super) fn is_state_change(code: i32, message: &str) -> bool {
    code::is_state_change(code)
        || (code == 0 && (message.contains("not master") || message.contains("node is recovering")))
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.code_name.as_str()) {
            (0, _) => write!(f, "the server refused the command: {}", self.message),
            (code, "") => write!(f, "error {code}: {}", self.message),
            (code, name) => write!(f, "error {code} ({name}): {}", self.message),
        }
    }
}

impl std::error::Error for CommandError {}
