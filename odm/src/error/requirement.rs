//! What a declared schema needs of the deployment.

use std::fmt;

/// The version of a server, as far as its wire version (`maxWireVersion`) says it. `Display` prints `major.minor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerVersion {
    wire_version: i32,
}

impl ServerVersion {
    pub(crate) const fn of(wire_version: i32) -> Self {
        ServerVersion { wire_version }
    }

    /// `maxWireVersion` of the server.
    #[must_use]
    pub fn wire_version(self) -> i32 {
        self.wire_version
    }
}

/// The versions since 4.2, by their wire versions from 8.
const VERSIONS: [&str; 20] = [
    "4.2", "4.4", "4.5", "4.6", "4.7", "5.0", "5.1", "5.2", "5.3", "6.0", "6.1", "6.2", "6.3", "7.0", "7.1",
    "7.2", "7.3", "8.0", "8.1", "8.2",
];

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let index = usize::try_from(self.wire_version - 8).ok();
        match index.and_then(|index| VERSIONS.get(index)) {
            Some(version) => f.write_str(version),
            None if self.wire_version < 8 => f.write_str("4.0 or older"),
            None => write!(f, "newer than 8.2 (wire version {})", self.wire_version),
        }
    }
}

/// What the deployment or the client lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Requirement {
    /// A server of a newer version. If the members of the deployment have several versions, the oldest decides.
    Server {
        /// The first version that supports it.
        since: ServerVersion,
        /// The version of the server.
        found: ServerVersion,
    },
    /// A replica set or a sharded cluster: the server is a standalone.
    ReplicaSet,
    /// A client that does not declare the strict Stable API
    /// ([`ServerApi::strict`](crate::driver::options::ServerApi::strict)), which does not contain it.
    NotStrict,
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Requirement::Server { since, found } => {
                write!(f, "MongoDB {since} or later, the server is {found}")
            }
            Requirement::ReplicaSet => {
                f.write_str("a replica set or a sharded cluster, the server is a standalone")
            }
            Requirement::NotStrict => {
                f.write_str("a client without `apiStrict`: it is not part of the Stable API, version 1")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_the_names_of_their_wire_versions() {
        let names = [
            (8, "4.2"),
            (9, "4.4"),
            (13, "5.0"),
            (17, "6.0"),
            (21, "7.0"),
            (25, "8.0"),
            (27, "8.2"),
            (6, "4.0 or older"),
            (30, "newer than 8.2 (wire version 30)"),
        ];
        for (wire_version, name) in names {
            assert_eq!(ServerVersion::of(wire_version).to_string(), name);
        }
    }
}
