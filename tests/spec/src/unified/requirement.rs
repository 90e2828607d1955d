//! On which deployments a test runs, and which of them are chosen.

use marula_driver::bson::{Bson, Document};

use super::{
    deployment::Topology,
    matcher::identical,
    missing,
    stop::{Step, Stop},
    version::Version,
};

/// The releases that a full run goes through.
const RELEASES: [&str; 7] = ["4.2", "4.4", "5.0", "6.0", "7.0", "8.0", "8.2"];

/// The order in which the topology of a short run is chosen.
const PREFERENCE: [Topology; 4] = [
    Topology::ReplicaSet,
    Topology::Sharded,
    Topology::Single,
    Topology::LoadBalanced,
];

/// Where a test can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) topology: Topology,
    pub(crate) version: Version,
}

/// What is known of a deployment, beside its place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// The reply to `getParameter: '*'`.
    pub(crate) parameters: Document,
    /// Whether clients must authenticate.
    pub(crate) auth: bool,
}

/// The places where a test may run, by version and topology alone: of each topology one, or all.
pub(crate) fn places(file: &[Document], test: &[Document], full: bool) -> Vec<Place> {
    let releases: Vec<Version> = RELEASES
        .iter()
        .rev()
        .filter_map(|text| Version::parse(text))
        .collect();
    let mut places = Vec::new();
    for topology in PREFERENCE {
        let allowed = |version: &Version| {
            let place = Place {
                topology,
                version: *version,
            };
            allows(file, place) && allows(test, place)
        };
        let mut versions: Vec<Version> = releases.iter().copied().filter(allowed).collect();
        if versions.is_empty() {
            // The bounds themselves are the nearest versions there are.
            versions = bounds(file)
                .into_iter()
                .chain(bounds(test))
                .filter(allowed)
                .collect();
            versions.sort_unstable_by(|a, b| b.cmp(a));
            versions.truncate(1);
        }
        if !full {
            versions.truncate(1);
        }
        places.extend(versions.into_iter().map(|version| Place { topology, version }));
        if !full && !places.is_empty() {
            break;
        }
    }
    places
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

fn allows(requirements: &[Document], place: Place) -> bool {
    requirements.is_empty()
        || requirements
            .iter()
            .any(|requirement| is_place(requirement, place))
}

fn is_place(requirement: &Document, place: Place) -> bool {
    version(requirement, "minServerVersion").is_none_or(|least| place.version >= least)
        && version(requirement, "maxServerVersion").is_none_or(|most| place.version <= most)
        && requirement.get_array("topologies").map_or(true, |names| {
            names.iter().filter_map(Bson::as_str).any(|name| {
                name == place.topology.name()
                    || (name == "sharded-replicaset" && place.topology == Topology::Sharded)
            })
        })
}

/// Whether a test can only run there where clients must log in.
pub(crate) fn needs_users(requirements: &[Document], place: Place) -> bool {
    let mut here = requirements
        .iter()
        .filter(|requirement| is_place(requirement, place))
        .peekable();
    here.peek().is_some() && here.all(|requirement| matches!(requirement.get_bool("auth"), Ok(true)))
}

/// Whether the deployment meets one of the requirements in everything.
///
/// # Errors
/// Why it meets none: what the driver lacks if that is all that is in the way, else what the deployment is not.
pub(crate) fn check(requirements: &[Document], place: Place, facts: &Facts) -> Step {
    if requirements.is_empty() {
        return Ok(());
    }
    let mut reasons: Vec<String> = Vec::new();
    let mut lacking = None;
    for requirement in requirements {
        match unmet(requirement, place, facts) {
            None => return Ok(()),
            Some(Stop::Pending(what)) => lacking = Some(what),
            Some(Stop::Failed(why) | Stop::Skipped(why)) => {
                if !reasons.contains(&why) {
                    reasons.push(why);
                }
            }
        }
    }
    Err(match lacking {
        Some(what) => Stop::Pending(what),
        None => Stop::Skipped(format!("runOnRequirements: {}", reasons.join("; "))),
    })
}

fn unmet(requirement: &Document, place: Place, facts: &Facts) -> Option<Stop> {
    let not = |why: &str| Some(Stop::Skipped(why.to_owned()));
    if !is_place(requirement, place) {
        return not("no such topology or version");
    }
    if matches!(requirement.get_str("serverless"), Ok("require")) {
        return not("serverless: require");
    }
    if let Ok(parameters) = requirement.get_document("serverParameters") {
        for (name, wanted) in parameters {
            match facts.parameters.get(name) {
                Some(value) if loosely_equal(wanted, value) => {}
                found => return not(&format!("server parameter {name} is {found:?}, not {wanted:?}")),
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
            if missing::mechanism(mechanism) {
                return Some(Stop::Pending(mechanism.to_owned()));
            }
            return not(&format!("authMechanism: {mechanism}"));
        }
    }
    match requirement.get("csfle") {
        Some(Bson::Boolean(true) | Bson::Document(_)) => Some(Stop::Pending(missing::ENCRYPTION.to_owned())),
        _ => None,
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

    fn place(topology: Topology, version: &str) -> Place {
        Place {
            topology,
            version: Version::parse(version).expect("a version"),
        }
    }

    #[test]
    fn a_short_run_takes_the_preferred_topology_and_the_newest_version() {
        assert_eq!(places(&[], &[], false), [place(Topology::ReplicaSet, "8.2")]);
        let old = [doc! { "maxServerVersion": "4.4.99" }];
        assert_eq!(places(&old, &[], false), [place(Topology::ReplicaSet, "4.4")]);
        let both = [doc! { "topologies": ["single", "sharded"] }];
        assert_eq!(places(&both, &[], false), [place(Topology::Sharded, "8.2")]);
        assert_eq!(places(&both, &old, false), [place(Topology::Sharded, "4.4")]);
        let between = [doc! { "minServerVersion": "8.1", "maxServerVersion": "8.1" }];
        assert_eq!(places(&between, &[], false), [place(Topology::ReplicaSet, "8.1")]);
        let never = [doc! { "minServerVersion": "99.0", "maxServerVersion": "1.0" }];
        assert_eq!(places(&never, &[], false), []);
    }

    #[test]
    fn a_full_run_takes_all() {
        assert_eq!(places(&[], &[], true).len(), 28);
        let new = [doc! { "minServerVersion": "8.0", "topologies": ["replicaset"] }];
        assert_eq!(places(&new, &[], true).len(), 2);
    }

    #[test]
    fn users_are_needed_where_no_requirement_does_without() {
        let needs = |requirements: &[Document]| needs_users(requirements, place(Topology::Single, "8.2"));
        let sharded = doc! { "topologies": ["sharded"] };
        assert!(needs(&[doc! { "auth": true }]));
        assert!(needs(&[doc! { "auth": true }, sharded.clone()]));
        assert!(!needs(&[
            doc! { "auth": true },
            doc! { "minServerVersion": "4.4" }
        ]));
        assert!(!needs(&[doc! { "auth": false }]));
        assert!(!needs(&[sharded]));
        assert!(!needs(&[]));
    }

    #[test]
    fn one_requirement_must_be_met_wholly() {
        let facts = Facts {
            parameters: doc! { "enableTestCommands": true, "number": 1 },
            auth: false,
        };
        let here = place(Topology::Single, "8.2");
        let meets = |requirements: &[Document]| check(requirements, here, &facts);
        assert!(meets(&[]).is_ok());
        assert!(meets(&[doc! { "serverParameters": { "number": 1.0, "enableTestCommands": true } }]).is_ok());
        assert!(matches!(
            meets(&[doc! { "serverParameters": { "other": 1 } }]),
            Err(Stop::Skipped(_))
        ));
        assert!(meets(&[doc! { "topologies": ["sharded"] }, doc! { "auth": false }]).is_ok());
        assert!(matches!(
            meets(&[doc! { "serverless": "require" }]),
            Err(Stop::Skipped(_))
        ));
        assert!(meets(&[doc! { "serverless": "forbid" }]).is_ok());
        assert!(matches!(meets(&[doc! { "csfle": true }]), Err(Stop::Pending(_))));
        assert!(meets(&[doc! { "csfle": false }]).is_ok());
        assert!(matches!(meets(&[doc! { "auth": true }]), Err(Stop::Skipped(_))));
        assert!(matches!(
            meets(&[doc! { "authMechanism": "MONGODB-OIDC" }]),
            Err(Stop::Pending(_))
        ));
        assert!(matches!(
            meets(&[doc! { "authMechanism": "PLAIN" }]),
            Err(Stop::Skipped(_))
        ));
    }
}
