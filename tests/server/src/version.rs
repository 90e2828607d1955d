//! Server versions, and the wire version of each.

use crate::start_error::StartError;
use std::fmt;
use std::str::FromStr;

/// A server version, `major.minor.patch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
    pub(crate) patch: u32,
}

impl Version {
    /// The newest version that MongoDB has released.
    pub(crate) const NEWEST: Version = Version {
        major: 8,
        minor: 2,
        patch: 0,
    };

    /// The `maxWireVersion` of a server of this version.
    pub(crate) fn max_wire_version(self) -> i32 {
        let minor = self.minor.min(9) as i32;
        match self.major {
            4 if minor < 4 => 8,
            4 => 9,
            // One wire version per release since 5.0.
            5 => 13 + minor,
            6 => 17 + minor,
            7 => 21 + minor,
            8 => 25 + minor,
            _ => 29 + minor,
        }
    }

    /// Whether this version is at least `major.minor`.
    pub(crate) fn at_least(self, major: u32, minor: u32) -> bool {
        (self.major, self.minor) >= (major, minor)
    }
}

impl FromStr for Version {
    type Err = StartError;

    fn from_str(text: &str) -> Result<Self, StartError> {
        let error = || StartError::UnsupportedVersion {
            version: text.to_owned(),
        };
        let mut parts = text.split('.').map(str::parse::<u32>);
        let mut next = || parts.next().transpose().map_err(|_| error());
        let major = next()?.ok_or_else(error)?;
        let minor = next()?.unwrap_or(0);
        let patch = next()?.unwrap_or(0);
        if parts.next().is_some() {
            return Err(error());
        }
        let version = Version { major, minor, patch };
        if version
            < (Version {
                major: 4,
                minor: 2,
                patch: 0,
            })
            || major > 9
        {
            return Err(error());
        }
        Ok(version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_versions_follow_the_published_table() {
        let wire = |text: &str| text.parse::<Version>().unwrap().max_wire_version();
        assert_eq!(
            [
                "4.2.0", "4.4.1", "5.0.0", "6.0.3", "7.0.0", "7.3.0", "8.0.0", "8.2.0"
            ]
            .map(wire),
            [8, 9, 13, 17, 21, 24, 25, 27]
        );
    }

    #[test]
    fn unsupported_versions_are_rejected() {
        for text in ["4.0.0", "x", "", "8.2.0.1", "10.0.0"] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }
}
