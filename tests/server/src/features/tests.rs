//! Checks the tables of names against the parsers that use them.

use super::*;
use crate::aggregate::Pipeline;
use crate::command::{table, table_admin};
use crate::error::{Result, code};
use crate::expression::Expression;
use crate::query::{Env, Filter};
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
