//! Server versions, as far as wire versions say them.

use std::fmt;

/// The first wire version of each release (`maxWireVersion` of `hello`).
const RELEASES: [(i32, u32, u32); 18] = [
    (8, 4, 2),
    (9, 4, 4),
    (13, 5, 0),
    (14, 5, 1),
    (15, 5, 2),
    (16, 5, 3),
    (17, 6, 0),
    (18, 6, 1),
    (19, 6, 2),
    (20, 6, 3),
    (21, 7, 0),
    (22, 7, 1),
    (23, 7, 2),
    (24, 7, 3),
    (25, 8, 0),
    (26, 8, 1),
    (27, 8, 2),
    (28, 8, 3),
];

/// The wire version of the newest release of the table.
const NEWEST: i32 = 28;

/// The version of a server, as far as its wire version (`maxWireVersion`) says it. `Display` prints
/// `major.minor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerVersion {
    wire_version: i32,
}

impl ServerVersion {
    /// The version of a server with this `maxWireVersion`.
    #[must_use]
    pub const fn of_wire_version(wire_version: i32) -> Self {
        Self { wire_version }
    }

    /// The release `major.minor`, or the next one that has a wire version of its own. A release that is
    /// newer than this version of the driver is any that is newer than those it knows.
    #[must_use]
    pub fn release(major: u32, minor: u32) -> Self {
        let found = RELEASES.iter().find(|(_, at, of)| (*at, *of) >= (major, minor));
        Self {
            wire_version: found.map_or(NEWEST + 1, |(wire, ..)| *wire),
        }
    }

    /// `maxWireVersion` of the server.
    #[must_use]
    pub fn wire_version(self) -> i32 {
        self.wire_version
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match RELEASES.iter().find(|(wire, ..)| *wire == self.wire_version) {
            Some((_, major, minor)) => write!(f, "{major}.{minor}"),
            None if self.wire_version < 8 => f.write_str("4.0 or older"),
            None => write!(f, "newer than 8.3 (wire version {})", self.wire_version),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_the_names_of_their_wire_versions() {
        let names = [
            (6, "4.0 or older"),
            (8, "4.2"),
            (9, "4.4"),
            (13, "5.0"),
            (17, "6.0"),
            (21, "7.0"),
            (25, "8.0"),
            (27, "8.2"),
            (30, "newer than 8.3 (wire version 30)"),
        ];
        for (wire_version, name) in names {
            assert_eq!(ServerVersion::of_wire_version(wire_version).to_string(), name);
        }
    }

    #[test]
    fn releases_have_their_wire_versions() {
        assert_eq!(ServerVersion::release(5, 0).wire_version(), 13);
        assert_eq!(ServerVersion::release(4, 3).wire_version(), 9);
        assert_eq!(ServerVersion::release(99, 0).wire_version(), NEWEST + 1);
        assert!(ServerVersion::release(4, 2) < ServerVersion::release(8, 2));
    }
}
