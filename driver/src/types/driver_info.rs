//! The name of a library that wraps the driver, for the handshake ([MongoDB Handshake]).
//!
//! [MongoDB Handshake]:
//! https://github.com/mongodb/specifications/blob/master/source/mongodb-handshake/handshake.md

use std::fmt;

/// Separates the names of several libraries (MongoDB Handshake, "Wrapping Libraries").
pub(crate) const DELIMITER: char = '|';

/// Who wraps the driver. Servers show it in their logs beside the driver's own name.
///
/// ```
/// use marula_driver::options::{ClientOptions, DriverInfo};
/// let mut options = ClientOptions::parse("mongodb://localhost")?;
/// options.driver_info = Some(DriverInfo::new("shop-toolkit").with_version("1.2"));
/// # Ok::<(), marula_driver::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DriverInfo {
    /// The library's name. Empty counts as not given.
    pub name: String,
    /// Its version. Empty counts as not given.
    pub version: Option<String>,
    /// What it runs on. Empty counts as not given.
    pub platform: Option<String>,
}

impl DriverInfo {
    /// A library of this name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// The library's version.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// What it runs on.
    #[must_use]
    pub fn with_platform(mut self, platform: impl Into<String>) -> Self {
        self.platform = Some(platform.into());
        self
    }

    /// The three parts: name, version, platform. An empty one is none.
    pub(crate) fn parts(&self) -> [Option<&str>; 3] {
        [
            Some(self.name.as_str()),
            self.version.as_deref(),
            self.platform.as_deref(),
        ]
        .map(|part| part.filter(|part| !part.is_empty()))
    }

    /// Rejects parts that contain the delimiter of the handshake.
    pub(crate) fn validate(&self) -> Result<(), InvalidDriverInfo> {
        for (part, name) in self.parts().into_iter().zip(["name", "version", "platform"]) {
            if part.is_some_and(|part| part.contains([DELIMITER, '\0'])) {
                return Err(InvalidDriverInfo { part: name });
            }
        }
        Ok(())
    }
}

/// A part of [`DriverInfo`] contains a character that separates parts in the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidDriverInfo {
    part: &'static str,
}

impl fmt::Display for InvalidDriverInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = self.part;
        write!(
            f,
            "the {part} of the driver info must not contain '{DELIMITER}' or a NUL"
        )
    }
}
