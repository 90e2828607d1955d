//! What an operation needs of the server's version.

use std::borrow::Cow;

use crate::{Error, ServerAddress};

/// The first wire version of each release (`maxWireVersion` of `hello`).
const RELEASES: [(i32, u32, u32); 13] = [
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
    (25, 8, 0),
    (27, 8, 2),
];

/// A feature that an operation uses, and the first MongoDB version that has it. On an older server,
/// the operation fails with [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported), and nothing
/// is sent.
///
/// ```
/// use marula_driver::options::{FindOptions, ServerRequirement};
/// let computed = ServerRequirement::new(4, 4, "a projection with expressions");
/// let options = FindOptions::default().requires(computed);
/// # drop(options);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerRequirement {
    major: u32,
    minor: u32,
    feature: Cow<'static, str>,
}

impl ServerRequirement {
    /// `feature` needs MongoDB `major.minor` or later. The feature is the subject of the sentence of
    /// the error, such as `$unionWith`.
    pub fn new(major: u32, minor: u32, feature: impl Into<Cow<'static, str>>) -> Self {
        Self {
            major,
            minor,
            feature: feature.into(),
        }
    }

    /// The first version, `(major, minor)`.
    #[must_use]
    pub fn version(&self) -> (u32, u32) {
        (self.major, self.minor)
    }

    /// The requirement with the later version; the first one if the versions are equal.
    #[must_use]
    pub fn or_later(self, other: Self) -> Self {
        if other.version() > self.version() {
            other
        } else {
            self
        }
    }

    /// The lowest `maxWireVersion` of the servers that have the feature.
    fn wire_version(&self) -> i32 {
        RELEASES
            .iter()
            .find(|(_, major, minor)| (*major, *minor) >= self.version())
            .map_or(i32::MAX, |(wire, ..)| *wire)
    }

    /// Fails if the server, which has this `maxWireVersion`, is older.
    pub(crate) fn check(&self, wire_version: i32, address: &ServerAddress) -> Result<(), Error> {
        if wire_version >= self.wire_version() {
            return Ok(());
        }
        let found = RELEASES.iter().rev().find(|(wire, ..)| *wire <= wire_version);
        let found = found.map_or_else(
            || format!("wire version {wire_version}"),
            |(_, major, minor)| format!("MongoDB {major}.{minor}"),
        );
        Err(Error::unsupported(format!(
            "{} requires MongoDB {}.{} or later, and the server {address} is {found}",
            self.feature, self.major, self.minor
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_servers_are_refused_with_both_versions() {
        let address = ServerAddress::Tcp {
            host: "a".into(),
            port: 1,
        };
        let requirement = ServerRequirement::new(5, 0, "`$setWindowFields`");
        assert!(requirement.check(13, &address).is_ok());
        assert!(requirement.check(99, &address).is_ok());
        let error = requirement.check(9, &address).unwrap_err().to_string();
        assert!(
            error.contains(
                "`$setWindowFields` requires MongoDB 5.0 or later, and the server a:1 is MongoDB 4.4"
            ),
            "{error}"
        );
    }

    #[test]
    fn the_later_requirement_applies() {
        let (old, new) = (
            ServerRequirement::new(4, 4, "a"),
            ServerRequirement::new(5, 3, "b"),
        );
        assert_eq!(old.clone().or_later(new.clone()), new);
        assert_eq!(new.clone().or_later(old), new);
    }
}
