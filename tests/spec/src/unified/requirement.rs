//! `runOnRequirements`: the topologies and versions of a test, and the check of a deployment.

use marula_driver::bson::{Bson, Document};
use marula_mongocrypt::Library;

use super::{
    deployment::Topology,
    matcher::identical,
    stop::{Step, Stop},
    version::Version,
};

/// The server versions of the full matrix, beginning with the oldest that the driver supports.
const RELEASES: [&str; 7] = ["4.2", "4.4", "5.0", "6.0", "7.0", "8.0", "8.2"];

/// The order of preference of topologies in the short matrix.
const PREFERENCE: [Topology; 4] = [
    Topology::ReplicaSet,
    Topology::Sharded,
    Topology::Single,
    Topology::LoadBalanced,
];

/// A topology and a server version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) topology: Topology,
    pub(crate) version: Version,
}

/// Properties of a deployment other than topology and version.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// The reply to `getParameter: "*"`.
    pub(crate) parameters: Document,
    /// Whether authentication is required.
    pub(crate) auth: bool,
}

/// Selects targets by topology and version only: one, or all in the full matrix.
pub(crate) fn targets(file: &[Document], test: &[Document], full: bool) -> Vec<Target> {
    let releases: Vec<Version> = RELEASES
        .iter()
        .rev()
        .filter_map(|text| Version::parse(text))
        .collect();
    let mut targets = Vec::new();
    for topology in PREFERENCE {
        let allowed = |version: &Version| {
            let target = Target {
                topology,
                version: *version,
            };
            allows(file, target) && allows(test, target)
        };
        let mut versions: Vec<Version> = releases.iter().copied().filter(allowed).collect();
        if versions.is_empty() {
            // Use the bounds of the requirements, which are the closest versions.
            versions = bounds(file)
                .into_iter()
                .chain(bounds(test))
                .filter(|version| releases.iter().any(|release| version >= release))
                .filter(allowed)
                .collect();
            versions.sort_unstable_by(|a, b| b.cmp(a));
            versions.truncate(1);
        }
        if !full {
            versions.truncate(1);
        }
        targets.extend(versions.into_iter().map(|version| Target { topology, version }));
        if !full && !targets.is_empty() {
            break;
        }
    }
    targets
}

fn bounds(requirements: &[Document]) -> Vec<Version> {
    requirements
        .iter()
        .flat_map(|requirement| ["minServerVersion", "maxServerVersion"].map(|key| version(requirement, key)))
        .flatten()
        .collect()
}

fn version(requirement: &Document, key: &str) -> Option<Version> {
    requirement.get_str(key).ok().and_then(Version::parse)
}

fn allows(requirements: &[Document], target: Target) -> bool {
    requirements.is_empty()
        || requirements
            .iter()
            .any(|requirement| is_satisfied_by(requirement, target))
}

fn is_satisfied_by(requirement: &Document, target: Target) -> bool {
    version(requirement, "minServerVersion").is_none_or(|least| target.version >= least)
        && version(requirement, "maxServerVersion").is_none_or(|most| target.version <= most)
        && requirement.get_array("topologies").map_or(true, |names| {
            names.iter().filter_map(Bson::as_str).any(|name| {
                name == target.topology.name()
                    || (name == "sharded-replicaset" && target.topology == Topology::Sharded)
            })
        })
}

/// Returns whether the matching requirements demand authentication.
pub(crate) fn requires_auth(requirements: &[Document], target: Target) -> bool {
    let mut here = requirements
        .iter()
        .filter(|requirement| is_satisfied_by(requirement, target))
        .peekable();
    here.peek().is_some() && here.all(|requirement| matches!(requirement.get_bool("auth"), Ok(true)))
}

/// Checks that the deployment satisfies one of the requirements.
///
/// # Errors
/// The reason why none is satisfied: pending if only a feature of the driver is missing, otherwise
/// skipped.
pub(crate) fn check(requirements: &[Document], target: Target, facts: &Facts) -> Step {
    if requirements.is_empty() {
        return Ok(());
    }
    let mut reasons: Vec<String> = Vec::new();
    let mut unsupported = None;
    for requirement in requirements {
        match unmet(requirement, target, facts) {
            None => return Ok(()),
            Some(Stop::Pending(what)) => unsupported = Some(what),
            Some(Stop::Failed(why) | Stop::Skipped(why)) => {
                if !reasons.contains(&why) {
                    reasons.push(why);
                }
            }
        }
    }
    Err(match unsupported {
        Some(what) => Stop::Pending(what),
        None => Stop::Skipped(format!("runOnRequirements: {}", reasons.join("; "))),
    })
}

fn unmet(requirement: &Document, target: Target, facts: &Facts) -> Option<Stop> {
    let not = |why: &str| Some(Stop::Skipped(why.to_owned()));
    if !is_satisfied_by(requirement, target) {
        return not("topology or version");
    }
    if matches!(requirement.get_str("serverless"), Ok("require")) {
        return not("serverless: require");
    }
    if let Ok(parameters) = requirement.get_document("serverParameters") {
        for (name, wanted) in parameters {
            match facts.parameters.get(name) {
                Some(value) if loosely_equal(wanted, value) => {}
                found => {
                    return not(&format!(
                        "server parameter {name} is {found:?}, expected {wanted:?}"
                    ));
                }
            }
        }
    }
    if let Ok(wanted) = requirement.get_bool("auth")
        && wanted != facts.auth
    {
        return not(&format!("auth: {wanted}"));
    }
    if let Ok(mechanism) = requirement.get_str("authMechanism") {
        let known = facts
            .parameters
            .get_array("authenticationMechanisms")
            .is_ok_and(|names| {
                names
                    .iter()
                    .filter_map(Bson::as_str)
                    .any(|name| name.eq_ignore_ascii_case(mechanism))
            });
        if !known {
            return not(&format!("authMechanism: {mechanism}"));
        }
    }
    match requirement.get("csfle") {
        Some(Bson::Boolean(true)) => libmongocrypt(None),
        Some(Bson::Boolean(false)) if Library::load(None).is_ok() => not("csfle: false"),
        Some(Bson::Document(csfle)) => libmongocrypt(csfle.get_str("minLibmongocryptVersion").ok()),
        _ => None,
    }
}

/// Why tests of encryption cannot run: libmongocrypt is missing or too old. It is an error if `MARULA_REQUIRE_MONGOCRYPT` is
/// set.
fn libmongocrypt(minimum: Option<&str>) -> Option<Stop> {
    match Library::load(None) {
        Ok(library) => {
            let minimum = minimum.and_then(Version::parse)?;
            let found = library.version();
            (Version([found.major, found.minor, found.patch]) < minimum)
                .then(|| Stop::Skipped(format!("libmongocrypt {minimum}, found {found}")))
        }
        Err(error) if std::env::var_os("MARULA_REQUIRE_MONGOCRYPT").is_some() => {
            Some(Stop::Failed(error.to_string()))
        }
        Err(_) => Some(Stop::Pending("libmongocrypt is not installed".to_owned())),
    }
}

fn loosely_equal(wanted: &Bson, value: &Bson) -> bool {
    let number = |value: &Bson| match value {
        Bson::Int32(number) => Some(f64::from(*number)),
        Bson::Int64(number) => Some(*number as f64),
        Bson::Double(number) => Some(*number),
        _ => None,
    };
    match (number(wanted), number(value)) {
        (Some(wanted), Some(value)) => wanted == value,
        _ => identical(wanted, value),
    }
}

#[cfg(test)]
mod tests {
    use marula_driver::bson::doc;

    use super::*;

    fn target(topology: Topology, version: &str) -> Target {
        Target {
            topology,
            version: Version::parse(version).expect("a version"),
        }
    }

    #[test]
    fn the_short_matrix_has_the_preferred_topology_and_the_latest_version() {
        assert_eq!(targets(&[], &[], false), [target(Topology::ReplicaSet, "8.2")]);
        let old = [doc! { "maxServerVersion": "4.4.99" }];
        assert_eq!(targets(&old, &[], false), [target(Topology::ReplicaSet, "4.4")]);
        let both = [doc! { "topologies": ["single", "sharded"] }];
        assert_eq!(targets(&both, &[], false), [target(Topology::Sharded, "8.2")]);
        assert_eq!(targets(&both, &old, false), [target(Topology::Sharded, "4.4")]);
        let between = [doc! { "minServerVersion": "8.1", "maxServerVersion": "8.1" }];
        assert_eq!(
            targets(&between, &[], false),
            [target(Topology::ReplicaSet, "8.1")]
        );
        let unsupported = [doc! { "maxServerVersion": "4.0.99" }];
        assert_eq!(targets(&unsupported, &[], false), []);
        let never = [doc! { "minServerVersion": "99.0", "maxServerVersion": "1.0" }];
        assert_eq!(targets(&never, &[], false), []);
    }

    #[test]
    fn the_full_matrix_has_all_targets() {
        assert_eq!(targets(&[], &[], true).len(), 28);
        let new = [doc! { "minServerVersion": "8.0", "topologies": ["replicaset"] }];
        assert_eq!(targets(&new, &[], true).len(), 2);
    }

    #[test]
    fn authentication_is_required_if_all_matching_requirements_demand_it() {
        let required =
            |requirements: &[Document]| requires_auth(requirements, target(Topology::Single, "8.2"));
        let sharded = doc! { "topologies": ["sharded"] };
        assert!(required(&[doc! { "auth": true }]));
        assert!(required(&[doc! { "auth": true }, sharded.clone()]));
        assert!(!required(&[
            doc! { "auth": true },
            doc! { "minServerVersion": "4.4" }
        ]));
        assert!(!required(&[doc! { "auth": false }]));
        assert!(!required(&[sharded]));
        assert!(!required(&[]));
    }

    #[test]
    fn one_requirement_must_be_satisfied_completely() {
        let facts = Facts {
            parameters: doc! { "enableTestCommands": true, "number": 1 },
            auth: false,
        };
        let here = target(Topology::Single, "8.2");
        let satisfies = |requirements: &[Document]| check(requirements, here, &facts);
        assert!(satisfies(&[]).is_ok());
        assert!(
            satisfies(&[doc! { "serverParameters": { "number": 1.0, "enableTestCommands": true } }]).is_ok()
        );
        assert!(matches!(
            satisfies(&[doc! { "serverParameters": { "other": 1 } }]),
            Err(Stop::Skipped(_))
        ));
        assert!(satisfies(&[doc! { "topologies": ["sharded"] }, doc! { "auth": false }]).is_ok());
        assert!(matches!(
            satisfies(&[doc! { "serverless": "require" }]),
            Err(Stop::Skipped(_))
        ));
        assert!(satisfies(&[doc! { "serverless": "forbid" }]).is_ok());
        let newer = doc! { "csfle": { "minLibmongocryptVersion": "99.0.0" } };
        assert_eq!(
            satisfies(&[doc! { "csfle": true }]).is_ok(),
            Library::load(None).is_ok()
        );
        assert!(satisfies(&[newer]).is_err());
        assert_eq!(
            satisfies(&[doc! { "csfle": false }]).is_err(),
            Library::load(None).is_ok()
        );
        assert!(matches!(
            satisfies(&[doc! { "auth": true }]),
            Err(Stop::Skipped(_))
        ));
        assert!(matches!(
            satisfies(&[doc! { "authMechanism": "PLAIN" }]),
            Err(Stop::Skipped(_))
        ));
    }
}
