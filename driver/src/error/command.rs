//! A command that the server refused.

use std::fmt;

use super::code;

/// A reply with `ok: 0`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandError {
    /// The server's error code; 0 when it sent none.
    pub code: i32,
    /// The code's name; empty when the server sent none.
    pub code_name: String,
    /// The server's message.
    pub message: String,
}

impl CommandError {
    /// "not writable primary" and "node is recovering" errors of the SDAM specification.
    pub(crate) fn is_state_change(&self) -> bool {
        is_state_change(self.code, &self.message)
    }
}

/// The message counts only if there is no code (SDAM, "not writable primary and node is recovering").
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
