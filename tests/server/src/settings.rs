//! What one server instance plays: its deployment kind, version, names and parameters.

use crate::auth::AccessSettings;
use crate::version::Version;
use crate::wire::compress::Compressor;
use bson::{Bson, Document, doc};
use std::path::PathBuf;
use std::sync::Arc;
use tokio_rustls::rustls::ServerConfig;

/// Which deployment the server plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Kind {
    /// One mongod that belongs to no set.
    #[default]
    Single,
    /// Three members of a set.
    ReplicaSet,
    /// Two mongos of one cluster.
    Sharded,
    /// Two mongos, and load balancers in front of them.
    LoadBalanced,
}

impl Kind {
    /// How many listening processes it has, load balancers not counted.
    pub(crate) fn processes(self) -> usize {
        match self {
            Kind::Single => 1,
            Kind::ReplicaSet => 3,
            Kind::Sharded | Kind::LoadBalanced => 2,
        }
    }

    /// Whether clients talk to mongos.
    pub(crate) fn is_mongos(self) -> bool {
        matches!(self, Kind::Sharded | Kind::LoadBalanced)
    }
}

/// The settings of one server instance.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) kind: Kind,
    pub(crate) version: Version,
    /// What connections can agree on.
    pub(crate) compressors: Vec<Compressor>,
    /// The replica set's name, if it plays one.
    pub(crate) set_name: String,
    /// The names under which the members of a set know each other, in place of their addresses.
    pub(crate) advertised_hosts: Option<Vec<String>>,
    /// Server parameters that differ from their defaults.
    pub(crate) parameters: Document,
    /// Who may use the server.
    pub(crate) access: AccessSettings,
    /// How connections are encrypted; `None`: not at all.
    pub(crate) tls: Option<Arc<ServerConfig>>,
    /// Where the first process listens besides its port.
    pub(crate) unix_path: Option<PathBuf>,
    /// Write violations of the protocol to standard error as they happen.
    pub(crate) print_violations: bool,
}

/// The server parameters with their defaults.
pub(crate) fn default_parameters(kind: Kind, version: Version) -> Document {
    let mut parameters = doc! {
        "acceptApiVersion2": false,
        "authenticationMechanisms": ["SCRAM-SHA-1", "SCRAM-SHA-256"],
        "cursorTimeoutMillis": 600_000_i64,
        "enableTestCommands": true,
        "localLogicalSessionTimeoutMinutes": 30,
        "logLevel": 0,
        "notablescan": false,
        "quiet": false,
        "requireApiVersion": false,
        "scramIterationCount": 10_000,
        "scramSHA256IterationCount": 15_000,
        "transactionLifetimeLimitSeconds": 60,
        "ttlMonitorSleepSecs": 60,
    };
    if version.at_least(9, 0) {
        parameters.insert("externalClientBaseBackoffMS", 0);
    }
    if !kind.is_mongos() {
        parameters.insert(
            "featureCompatibilityVersion",
            doc! { "version": format!("{}.{}", version.major, version.minor) },
        );
    }
    parameters
}

/// Parameters that can be changed while the server runs.
pub(crate) fn is_settable(name: &str) -> bool {
    matches!(
        name,
        "acceptApiVersion2"
            | "externalClientBaseBackoffMS"
            | "requireApiVersion"
            | "scramIterationCount"
            | "scramSHA256IterationCount"
            | "logLevel"
            | "notablescan"
            | "quiet"
            | "cursorTimeoutMillis"
            | "transactionLifetimeLimitSeconds"
            | "ttlMonitorSleepSecs"
    )
}

/// Checks that a parameter exists and that the value has the type of its default.
pub(crate) fn check_parameter(defaults: &Document, name: &str, value: &Bson) -> Result<(), String> {
    let number = |value: &Bson| crate::value::is_number(value);
    match defaults.get(name) {
        None => Err(format!("there is no server parameter {name}")),
        Some(default)
            if std::mem::discriminant(default) == std::mem::discriminant(value)
                || (number(default) && number(value)) =>
        {
            Ok(())
        }
        Some(default) => Err(format!(
            "server parameter {name} needs a value of type {}",
            crate::value::type_name(default)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_checked() {
        let defaults = default_parameters(Kind::Single, "8.2".parse().unwrap());
        assert!(check_parameter(&defaults, "requireApiVersion", &Bson::Boolean(true)).is_ok());
        assert!(check_parameter(&defaults, "logLevel", &Bson::Int64(1)).is_ok());
        assert!(check_parameter(&defaults, "requireApiVersion", &Bson::Null).is_err());
        assert!(check_parameter(&defaults, "what", &Bson::Null).is_err());
    }
}
