//! Metadata of a library that wraps the driver ([MongoDB Handshake]).
//!
//! [MongoDB Handshake]:
//! https://github.com/mongodb/specifications/blob/master/source/mongodb-handshake/handshake.md

use std::fmt;

/// Separates the values of several libraries (MongoDB Handshake, "Supporting Wrapping Libraries").
pub(crate) const DELIMITER: char = '|';

/// A library that wraps the driver. It is sent in the handshake, and servers log it beside the name
/// of the driver.
///
/// No part may contain `|` or a NUL; such a part is an
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) error when the client is created or the
/// metadata is [appended](crate::Client::append_metadata).
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
    /// The name of the library. An empty name is not sent.
    pub name: String,
    /// The version of the library. An empty version is not sent.
    pub version: Option<String>,
    /// The platform of the library, e.g. a language or runtime. An empty platform is not sent.
    pub platform: Option<String>,
}

impl DriverInfo {
    /// A library with this name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Sets the version.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Sets the platform.
    #[must_use]
    pub fn with_platform(mut self, platform: impl Into<String>) -> Self {
        self.platform = Some(platform.into());
        self
    }

    /// Name, version and platform. An empty part is `None`.
    pub(crate) fn parts(&self) -> [Option<&str>; 3] {
        [
            Some(self.name.as_str()),
            self.version.as_deref(),
            self.platform.as_deref(),
        ]
        .map(|part| part.filter(|part| !part.is_empty()))
    }

    /// Rejects parts that contain the delimiter or a NUL.
    pub(crate) fn validate(&self) -> Result<(), InvalidDriverInfo> {
        for (part, name) in self.parts().into_iter().zip(["name", "version", "platform"]) {
            if part.is_some_and(|part| part.contains([DELIMITER, '\0'])) {
                return Err(InvalidDriverInfo { part: name });
            }
        }
        Ok(())
    }
}

/// A part of [`DriverInfo`] contains the delimiter or a NUL.
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
