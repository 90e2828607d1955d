//! The table of what MongoDB refuses although the request is well-formed: the condition, the error
//! code and message, the versions and the deployments. A rule of one kind of request is a row of one
//! of the files of this folder, and the code that checks the rule returns the error of its row, so
//! that the table, the errors and the tests can't differ.

pub(crate) mod aggregation;
pub(crate) mod collections;
pub(crate) mod index_builds;
pub(crate) mod indexes;
pub(crate) mod queries;
pub(crate) mod sharding;
pub(crate) mod stable_api;
pub(crate) mod timeseries;
pub(crate) mod transactions;
pub(crate) mod writes;

use crate::error::{Error, Result};
use crate::settings::Kind;
use crate::version::Version;
use std::fmt::{self, Display};

/// A request that MongoDB refuses, and that this server refuses in the same way. The requests are
/// those of a user's mistakes, or of a feature that the version or the deployment does not have.
#[derive(Debug)]
#[non_exhaustive]
pub struct Refusal {
    /// A unique name, such as `text-index-collation`.
    pub id: &'static str,
    /// The condition under which MongoDB refuses the request.
    pub condition: &'static str,
    /// The error code.
    pub code: i32,
    /// The message. Each `{}` is replaced by a name or value of the request.
    pub message: &'static str,
    /// The server versions that refuse the request.
    pub versions: Versions,
    /// The deployments that refuse the request.
    pub deployments: Deployments,
    /// The source of the fact: a file and function of MongoDB's source, or a page of its manual.
    pub source: &'static str,
}

/// A range of server versions, `(major, minor)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    since: Option<(u32, u32)>,
    before: Option<(u32, u32)>,
}

impl Versions {
    /// All versions.
    pub(crate) const ALL: Versions = Versions {
        since: None,
        before: None,
    };

    /// The versions before `major.minor`.
    pub(crate) const fn before(major: u32, minor: u32) -> Versions {
        Versions {
            since: None,
            before: Some((major, minor)),
        }
    }

    /// The versions since `major.minor`.
    pub(crate) const fn since(major: u32, minor: u32) -> Versions {
        Versions {
            since: Some((major, minor)),
            before: None,
        }
    }

    /// The versions since the first and before the second one.
    pub(crate) const fn between(since: (u32, u32), before: (u32, u32)) -> Versions {
        Versions {
            since: Some(since),
            before: Some(before),
        }
    }

    /// Whether the range contains `major.minor`.
    pub fn contains(&self, major: u32, minor: u32) -> bool {
        self.since.is_none_or(|since| (major, minor) >= since)
            && self.before.is_none_or(|before| (major, minor) < before)
    }
}

impl Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.since, self.before) {
            (None, None) => f.write_str("all"),
            (None, Some((major, minor))) => write!(f, "before {major}.{minor}"),
            (Some((major, minor)), None) => write!(f, "since {major}.{minor}"),
            (Some(since), Some(before)) => {
                write!(f, "{}.{} to before {}.{}", since.0, since.1, before.0, before.1)
            }
        }
    }
}

/// Kinds of deployments. A load-balanced cluster is sharded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deployments {
    /// A standalone mongod.
    pub standalone: bool,
    /// A replica set.
    pub replica_set: bool,
    /// A sharded cluster.
    pub sharded: bool,
}

impl Deployments {
    pub(crate) const ALL: Deployments = Deployments {
        standalone: true,
        replica_set: true,
        sharded: true,
    };
    pub(crate) const STANDALONE: Deployments = Deployments {
        replica_set: false,
        sharded: false,
        ..Deployments::ALL
    };
    pub(crate) const REPLICA_SET: Deployments = Deployments {
        standalone: false,
        sharded: false,
        ..Deployments::ALL
    };
    /// Deployments with an oplog: those that have transactions and change streams.
    pub(crate) const REPLICATED: Deployments = Deployments {
        standalone: false,
        ..Deployments::ALL
    };
    pub(crate) const SHARDED: Deployments = Deployments {
        standalone: false,
        replica_set: false,
        sharded: true,
    };
    /// Deployments whose clients connect to mongod.
    pub(crate) const NOT_SHARDED: Deployments = Deployments {
        sharded: false,
        ..Deployments::ALL
    };

    pub(crate) fn contains(self, kind: Kind) -> bool {
        match kind {
            Kind::Single => self.standalone,
            Kind::ReplicaSet => self.replica_set,
            Kind::Sharded | Kind::LoadBalanced => self.sharded,
        }
    }
}

impl Display for Deployments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Deployments::ALL {
            return f.write_str("all");
        }
        let names = [
            (self.standalone, "standalone"),
            (self.replica_set, "replica set"),
            (self.sharded, "sharded"),
        ];
        let names: Vec<&str> = names
            .iter()
            .filter(|(on, _)| *on)
            .map(|(_, name)| *name)
            .collect();
        f.write_str(&names.join(", "))
    }
}

/// The version and the deployment that a request is checked against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServerProfile {
    pub(crate) version: Version,
    pub(crate) kind: Kind,
}

impl Default for ServerProfile {
    /// The newest version as a replica set, for expressions and filters that were checked before.
    fn default() -> Self {
        ServerProfile {
            version: Version::NEWEST,
            kind: Kind::ReplicaSet,
        }
    }
}

impl Refusal {
    /// Whether the version and the deployment refuse the request.
    pub(crate) fn applies(&self, profile: ServerProfile) -> bool {
        self.versions
            .contains(profile.version.major, profile.version.minor)
            && self.deployments.contains(profile.kind)
    }

    /// The error, with the names and values of the request in its message.
    pub(crate) fn error(&self, values: &[&dyn Display]) -> Error {
        let mut parts = self.message.split("{}");
        let mut message = parts.next().unwrap_or_default().to_owned();
        for (index, part) in parts.enumerate() {
            if let Some(value) = values.get(index) {
                message.push_str(&value.to_string());
            }
            message.push_str(part);
        }
        Error::new(self.code, message)
    }

    /// Fails if the condition holds, and the version and the deployment refuse it.
    pub(crate) fn check(
        &self,
        profile: ServerProfile,
        condition: bool,
        values: &[&dyn Display],
    ) -> Result<()> {
        if condition && self.applies(profile) {
            return Err(self.error(values));
        }
        Ok(())
    }
}

/// Declares the rows of a file: a constant for each row, and `ROWS`, the list of all.
macro_rules! rows {
    ($($name:ident: $id:literal, $code:expr, $versions:expr, $deployments:expr, $condition:literal, $message:literal, $source:literal;)*) => {
        $(pub(crate) const $name: $crate::refusal::Refusal = $crate::refusal::Refusal {
            id: $id,
            condition: $condition,
            code: $code,
            message: $message,
            versions: $versions,
            deployments: $deployments,
            source: $source,
        };)*
        pub(super) const ROWS: &[$crate::refusal::Refusal] = &[$($name),*];
    };
}
use rows;

const TABLES: [(&str, &[Refusal]); 10] = [
    ("Collections", collections::ROWS),
    ("Indexes", indexes::ROWS),
    ("Index builds", index_builds::ROWS),
    ("Time series", timeseries::ROWS),
    ("Writes", writes::ROWS),
    ("Queries", queries::ROWS),
    ("Aggregation", aggregation::ROWS),
    ("Transactions", transactions::ROWS),
    ("Sharded collections", sharding::ROWS),
    ("Stable API", stable_api::ROWS),
];

/// The requests that this server refuses because MongoDB does, by subject: the names of the subjects
/// with their rows. The README has the same table.
pub fn refusals() -> &'static [(&'static str, &'static [Refusal])] {
    &TABLES
}

#[cfg(test)]
mod tests;
