//! The server version that an operation needs.

use std::borrow::Cow;

use super::{address::ServerAddress, server_version::ServerVersion};

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

    /// The message of the error if the server, which has this `maxWireVersion`, is older.
    pub(crate) fn missing(&self, wire_version: i32, address: &ServerAddress) -> Option<String> {
        let found = ServerVersion::of_wire_version(wire_version);
        (found < ServerVersion::release(self.major, self.minor)).then(|| {
            format!(
                "{} requires MongoDB {}.{} or later, and the server {address} is MongoDB {found}",
                self.feature, self.major, self.minor
            )
        })
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
        assert!(requirement.missing(13, &address).is_none());
        assert!(requirement.missing(99, &address).is_none());
        let error = requirement.missing(9, &address).unwrap();
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
