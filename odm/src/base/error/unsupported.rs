//! The requirements of a declared schema on the deployment.

use std::fmt;

use crate::driver::options::ServerVersion;

/// A property that the deployment or the client lacks.
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

/// A part of the declarations that the deployment does not support.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnsupportedFeature {
    /// The collection, as `database.collection`.
    pub namespace: String,
    /// What is not supported, such as "the option `hidden` of index `page_1` (model `Visit`)".
    pub feature: String,
    /// The property that the deployment lacks.
    pub requirement: Requirement,
}

/// `db.visits: the option `hidden` of index `page_1` (model `Visit`) needs MongoDB 4.4 or later, the server is 4.2`
impl fmt::Display for UnsupportedFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} needs {}",
            self.namespace, self.feature, self.requirement
        )
    }
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
