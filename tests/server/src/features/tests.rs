//! Checks the tables of names against the parsers that use them.

use super::*;
use crate::aggregate::Pipeline;
use crate::command::{table, table_admin};
use crate::error::{Result, code};
use crate::expression::Expression;
use crate::query::{Env, Filter};
use crate::refusal::ServerProfile;
use crate::settings::Kind;
use bson::{Bson, doc};

/// Asserts that a name of a table is rejected as not implemented, or is implemented and its
/// argument invalid; never as unknown.
fn is_known<T>(name: &str, parsed: Result<T>, unknown: &[i32]) {
    if let Err(error) = parsed {
        let expected = error.code == code::NOT_IMPLEMENTED || !unknown.contains(&error.code);
        assert!(expected, "{name}: {} {}", error.code, error.message);
        assert!(
            !error.message.starts_with("unknown "),
            "{name}: {}",
            error.message
        );
    }
}

fn pipeline(stage: bson::Document) -> Result<Pipeline> {
    Pipeline::parse(&[Bson::Document(stage)], &Env::default())
}

#[test]
fn expressions() {
    let env = Env::default();
    for name in EXPRESSIONS {
        is_known(name, Expression::parse(&doc! { *name: {} }.into(), &env), &[168]);
    }
    let unknown = Expression::parse(&doc! { "$unknownOperator": 1 }.into(), &env);
    assert_eq!(unknown.err().map(|error| error.code), Some(168));
}

#[test]
fn accumulators() {
    for name in ACCUMULATORS {
        is_known(
            name,
            pipeline(doc! { "$group": { "_id": 1, "a": { *name: {} } } }),
            &[15952],
        );
    }
    let unknown = pipeline(doc! { "$group": { "_id": 1, "a": { "$unknownAccumulator": {} } } });
    assert_eq!(unknown.err().map(|error| error.code), Some(15952));
}

#[test]
fn query_operators() {
    let env = Env::default();
    for name in QUERY_OPERATORS {
        let top = Filter::parse(&doc! { *name: {} }, &env);
        let field = Filter::parse(&doc! { "a": { *name: {} } }, &env);
        is_known(name, top, &[]);
        is_known(name, field, &[]);
    }
    for unknown in [doc! { "$unknownTop": 1 }, doc! { "a": { "$unknownOperator": 1 } }] {
        let error = Filter::parse(&unknown, &env).err();
        assert_eq!(error.map(|error| error.code), Some(code::BAD_VALUE), "{unknown}");
    }
}

#[test]
fn variables() {
    let env = Env::default();
    for name in VARIABLES {
        is_known(
            name,
            Expression::parse(&format!("$${name}").into(), &env),
            &[17276],
        );
    }
    let unknown = Expression::parse(&"$$UNKNOWN".into(), &env);
    assert_eq!(unknown.err().map(|error| error.code), Some(17276));
}

#[test]
fn stages() {
    for name in STAGES {
        is_known(name, pipeline(doc! { *name: {} }), &[40324]);
    }
    let unknown = pipeline(doc! { "$unknownStage": {} });
    assert_eq!(unknown.err().map(|error| error.code), Some(40324));
}

/// All kinds.
const ALL: [Feature; 7] = [
    Feature::Stage,
    Feature::Expression,
    Feature::Accumulator,
    Feature::WindowFunction,
    Feature::QueryOperator,
    Feature::Variable,
    Feature::Command,
];

#[test]
fn additions_to_a_series_are_not_in_the_next_ones_first_versions() {
    let has = |name: &str, version: &str| Feature::Stage.is_in(name, version.parse().unwrap());
    assert!(!has("$vectorSearch", "6.0.10") && has("$vectorSearch", "6.0.11"));
    assert!(!has("$vectorSearch", "7.0.1") && has("$vectorSearch", "7.0.2"));
    assert!(has("$vectorSearch", "7.1.0") && !has("$vectorSearch", "5.3.0"));
    assert!(has("$match", "4.2.0") && !has("$fill", "5.2.0") && has("$fill", "6.0.0"));
}

#[test]
fn every_first_version_is_listed_once() {
    for feature in ALL {
        let all = since::names(feature);
        for (position, (name, _)) in all.iter().enumerate() {
            assert!(!all[..position].iter().any(|(other, _)| other == name), "{name}");
        }
    }
}

/// The versions that the matrix of refusals tests.
const VERSIONS: [&str; 7] = ["4.2", "4.4", "5.0", "6.0", "7.0", "8.0", "8.2"];

/// Parses a name where it is allowed, with an argument that may be invalid.
fn parse_name(feature: Feature, name: &str, env: &Env) -> Result<()> {
    let group = |field: bson::Document| doc! { "$group": { "_id": 1, "a": field } };
    let window = |function: bson::Document| doc! { "$setWindowFields": { "output": { "a": function } } };
    let parsed = |stage: bson::Document| Pipeline::parse(&[Bson::Document(stage)], env).map(|_| ());
    match feature {
        Feature::Stage => parsed(doc! { name: {} }),
        Feature::Expression => Expression::parse(&doc! { name: {} }.into(), env).map(|_| ()),
        Feature::Accumulator => parsed(group(doc! { name: {} })),
        Feature::WindowFunction => parsed(window(doc! { name: {} })),
        Feature::QueryOperator => Filter::parse(&doc! { name: {} }, env).map(|_| ()),
        Feature::Variable => Expression::parse(&format!("$${name}").into(), env).map(|_| ()),
        Feature::Command => Ok(()),
    }
}

/// The error for a name that the version does not have.
fn unknown_name(feature: Feature, name: &str, version: Version) -> (i32, String) {
    match feature {
        Feature::Stage => (40324, format!("Unrecognized pipeline stage name: '{name}'")),
        Feature::Expression => (168, format!("Unrecognized expression '{name}'")),
        Feature::Accumulator => (15952, format!("unknown group operator '{name}'")),
        Feature::WindowFunction if !version.at_least(5, 0) => (
            40324,
            "Unrecognized pipeline stage name: '$setWindowFields'".to_owned(),
        ),
        Feature::WindowFunction => (9, format!("Unrecognized window function, {name}")),
        Feature::QueryOperator => (2, format!("unknown top level operator: {name}")),
        Feature::Variable => (17276, format!("Use of undefined variable: {name}")),
        Feature::Command => (59, String::new()),
    }
}

#[test]
fn names_are_unknown_before_their_first_version() {
    let parsed = ALL.into_iter().filter(|feature| *feature != Feature::Command);
    for (feature, (name, _)) in
        parsed.flat_map(|feature| since::names(feature).iter().map(move |name| (feature, name)))
    {
        for version in VERSIONS {
            let version: Version = version.parse().unwrap();
            let env = Env::of(ServerProfile {
                version,
                kind: Kind::ReplicaSet,
            });
            let (code, message) = unknown_name(feature, name, version);
            let result = parse_name(feature, name, &env);
            if feature.is_in(name, version) {
                let unknown =
                    result.is_err_and(|error| error.code == code && error.message.starts_with(&message));
                assert!(!unknown, "{name} on {version}");
            } else {
                let error = result.unwrap_err();
                assert_eq!(error.code, code, "{name} on {version}: {}", error.message);
                assert!(
                    error.message.starts_with(&message),
                    "{name} on {version}: {}",
                    error.message
                );
            }
        }
    }
}

#[test]
fn commands_are_unknown_before_their_first_version() {
    for (name, first) in since::names(Feature::Command) {
        let exists = |mongos, version: &str| is_command(name, mongos, version.parse().unwrap());
        assert!(!exists(true, "4.2") && !exists(false, "4.2"), "{name}");
        assert!(
            exists(true, "8.2") || exists(false, "8.2"),
            "{name} since {first:?}"
        );
    }
}

#[test]
fn every_command_is_listed_once() {
    let all: Vec<&str> = [COMMANDS, MONGOD_COMMANDS, MONGOS_COMMANDS].concat();
    for (position, name) in all.iter().enumerate() {
        assert!(!all[..position].contains(name), "{name}");
    }
}

/// Asserts that the README lists each name in backticks.
fn is_in_readme<'n>(names: impl IntoIterator<Item = &'n str>) {
    let readme = include_str!("../../README.md");
    for name in names {
        assert!(readme.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn readme_lists_what_is_implemented_and_what_is_not() {
    for commands in [table::COMMANDS, table_admin::COMMANDS] {
        is_in_readme(commands.iter().map(|command| command.name));
    }
    is_in_readme(crate::aggregate::parse::IMPLEMENTED);
    for names in [EXPRESSIONS, ACCUMULATORS, QUERY_OPERATORS, VARIABLES] {
        is_in_readme(names.iter().copied());
    }
}
