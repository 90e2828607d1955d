//! The settings of one server instance, and the server parameters with their defaults.

use crate::auth::AccessSettings;
use crate::start_error::StartError;
use crate::version::Version;
use crate::wire::compress::Compressor;
use bson::{Bson, Document, doc};
use std::path::PathBuf;
use std::sync::Arc;
use tokio_rustls::rustls::ServerConfig;

/// The kind of a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Kind {
    /// A standalone mongod.
    #[default]
    Single,
    /// Three replica set members.
    ReplicaSet,
    /// Two mongos of a sharded cluster.
    Sharded,
    /// Two mongos of a sharded cluster behind load balancers.
    LoadBalanced,
}

impl Kind {
    /// Number of mongod or mongos processes that clients connect to, without load balancers.
    pub(crate) fn processes(self) -> usize {
        match self {
            Kind::Single => 1,
            Kind::ReplicaSet => 3,
            Kind::Sharded | Kind::LoadBalanced => 2,
        }
    }

    /// Whether clients connect to mongos.
    pub(crate) fn is_mongos(self) -> bool {
        matches!(self, Kind::Sharded | Kind::LoadBalanced)
    }
}

/// The settings of one server instance.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) kind: Kind,
    pub(crate) version: Version,
    /// The compressors that a connection can negotiate.
    pub(crate) compressors: Vec<Compressor>,
    /// Ignored by other deployments than replica sets.
    pub(crate) replica_set_name: String,
    /// `host:port` of each member in the replica set configuration. Default: the addresses.
    pub(crate) advertised_hosts: Option<Vec<String>>,
    /// Server parameters that differ from their defaults.
    pub(crate) parameters: Document,
    pub(crate) access: AccessSettings,
    /// `None` for connections without TLS.
    pub(crate) tls: Option<Arc<ServerConfig>>,
    /// The path at which the first process also listens.
    pub(crate) unix_path: Option<PathBuf>,
    /// Whether violations of the protocol are written to standard error when they are recorded.
    pub(crate) print_violations: bool,
    /// Whether search indexes and the stages of Atlas Search are enabled.
    pub(crate) search: bool,
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

/// Whether `setParameter` can change the parameter at run time.
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

/// Fails if the parameter does not exist or the value does not have the type of its default.
pub(crate) fn check_parameter(defaults: &Document, name: &str, value: &Bson) -> Result<(), StartError> {
    let number = |value: &Bson| crate::value::is_number(value);
    match defaults.get(name) {
        None => Err(StartError::UnknownParameter {
            name: name.to_owned(),
        }),
        Some(default)
            if std::mem::discriminant(default) == std::mem::discriminant(value)
                || (number(default) && number(value)) =>
        {
            Ok(())
        }
        Some(default) => Err(StartError::InvalidParameterType {
            name: name.to_owned(),
            expected: crate::value::type_name(default),
        }),
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
        assert!(check_parameter(&defaults, "unknown", &Bson::Null).is_err());
    }
}
