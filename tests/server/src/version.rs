//! The server version that one server instance claims, and the wire version that follows from it.

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
    /// The highest wire protocol version spoken by a server of this version.
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
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let error = || format!("invalid server version {text:?}, expected for example \"8.2.0\"");
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
            return Err(format!(
                "server version {text} is not supported, expected 4.2 to 9"
            ));
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
    fn refuses_other_versions() {
        for text in ["4.0.0", "x", "", "8.2.0.1", "10.0.0"] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }
}
