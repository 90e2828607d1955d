//! Passwords and tokens.

use std::fmt;

/// A password or token. `Debug` prints `<redacted>`. The text is zeroed when it is dropped, if a feature that depends on
/// `zeroize` is enabled.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) String);

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text. It must not be logged or included in an error.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

#[cfg(any(feature = "aws-auth", feature = "encryption"))]
impl Drop for Secret {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.0);
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<redacted>")
    }
}
