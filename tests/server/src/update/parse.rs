//! Parses update documents, with the server's errors for malformed or conflicting operators.

use super::Update;
use super::array::{PullCondition, Push};
use super::path::{Step, UpdatePath};
use crate::aggregate::Pipeline;
use crate::error::{Error, Result, code};
use crate::query::{Env, Filter};
use crate::refusal::queries;
use crate::value::number::Number;
use crate::value::{format, type_name};
use bson::{Bson, Document};
use std::collections::BTreeMap;

/// One operator with one path.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) path: UpdatePath,
    pub(crate) action: Action,
}

/// An update operator with its parsed argument.
#[derive(Debug)]
pub(crate) enum Action {
    Set(Bson),
    SetOnInsert(Bson),
    Unset,
    Inc(Number),
    Mul(Number),
    Min(Bson),
    Max(Bson),
    Rename(UpdatePath),
    CurrentDate,
    CurrentTimestamp,
    Bit(Vec<(String, Number)>),
    Push(Push),
    AddToSet(Vec<Bson>),
    Pull(PullCondition),
    PullAll(Vec<Bson>),
    /// True to remove the first element, false to remove the last one.
    Pop(bool),
}

impl Update {
    /// Parses the `u` of an update statement or the `update` of `findAndModify`.
    pub(crate) fn parse(update: &Bson, array_filters: Option<&[Bson]>, env: &Env) -> Result<Update> {
        match update {
            Bson::Array(stages) => {
                queries::ARRAY_FILTERS_PIPELINE.check(env.profile, array_filters.is_some(), &[])?;
                Pipeline::parse_update(stages, env).map(Update::Pipeline)
            }
            Bson::Document(update) if update.keys().next().is_some_and(|name| name.starts_with('$')) => {
                operators(update, array_filters.unwrap_or(&[]), env)
            }
            Bson::Document(replacement) => {
                if let Some(name) = replacement.keys().find(|name| name.starts_with('$')) {
                    return Err(Error::new(
                        code::DOLLAR_PREFIXED_FIELD_NAME,
                        format!(
                            "The dollar ($) prefixed field '{name}' in '{name}' is not allowed in the context of an update's \
                             replacement document. Consider using an aggregation pipeline with $replaceWith."
                        ),
                    ));
                }
                if array_filters.is_some_and(|filters| !filters.is_empty()) {
                    return Err(Error::failed_to_parse(
                        "arrayFilters may not be specified for replacement-style updates",
                    ));
                }
                Ok(Update::Replacement(replacement.clone()))
            }
            other => Err(Error::failed_to_parse(format!(
                "Update argument must be either an object or an array, found {}",
                type_name(other)
            ))),
        }
    }
}

fn operators(update: &Document, filters: &[Bson], env: &Env) -> Result<Update> {
    let array_filters = parse_array_filters(filters, env)?;
    let mut operations: Vec<Operation> = Vec::new();
    for (operator, fields) in update {
        check_operator(operator)?;
        let Bson::Document(fields) = fields else {
            return Err(Error::failed_to_parse(format!(
                "Modifiers operate on fields but we found type {} instead. For example: {{$mod: {{<field>: ...}}}} not \
                 {{{operator}: {}}}",
                type_name(fields),
                format::bson(fields)
            )));
        };
        queries::EMPTY_MODIFIER.check(env.profile, fields.is_empty(), &[operator, operator])?;
        for (path, argument) in fields {
            let operation = Operation {
                path: UpdatePath::parse(path)?,
                action: action(operator, path, argument, env)?,
            };
            check_rename(&operation)?;
            let second = match &operation.action {
                Action::Rename(to) => Some(to),
                _ => None,
            };
            for path in [Some(&operation.path), second].into_iter().flatten() {
                for earlier in &operations {
                    let renamed = match &earlier.action {
                        Action::Rename(to) => Some(to),
                        _ => None,
                    };
                    for taken in [Some(&earlier.path), renamed].into_iter().flatten() {
                        check_conflict(path, taken)?;
                    }
                }
            }
            operations.push(operation);
        }
    }
    check_identifiers(&operations, &array_filters, update)?;
    // New fields are added in name order; numeric names are ordered by value.
    operations.sort_by_key(|operation| order_key(&operation.path));
    Ok(Update::Operators {
        operations,
        array_filters,
    })
}

fn order_key(path: &UpdatePath) -> Vec<(usize, String)> {
    path.text
        .split('.')
        .map(|part| {
            (
                part.parse::<usize>().map_or(usize::MAX, |index| index),
                part.to_owned(),
            )
        })
        .collect()
}

fn check_operator(operator: &str) -> Result<()> {
    const KNOWN: [&str; 15] = [
        "$set",
        "$setOnInsert",
        "$unset",
        "$inc",
        "$mul",
        "$min",
        "$max",
        "$rename",
        "$currentDate",
        "$bit",
        "$push",
        "$addToSet",
        "$pull",
        "$pullAll",
        "$pop",
    ];
    if KNOWN.contains(&operator) {
        return Ok(());
    }
    Err(Error::failed_to_parse(format!(
        "Unknown modifier: {operator}. Expected a valid update modifier or pipeline-style update specified as an array"
    )))
}

fn check_conflict(path: &UpdatePath, taken: &UpdatePath) -> Result<()> {
    match path.conflicts_with(taken) {
        None => Ok(()),
        Some(at) => Err(Error::new(
            code::CONFLICTING_UPDATE_OPERATORS,
            format!(
                "Updating the path '{}' would create a conflict at '{at}'",
                path.text
            ),
        )),
    }
}

fn check_rename(operation: &Operation) -> Result<()> {
    let Action::Rename(to) = &operation.action else {
        return Ok(());
    };
    let from = &operation.path;
    let shown = format!("{}: \"{}\"", from.text, to.text);
    if from.text == to.text {
        return Err(Error::bad_value(format!(
            "The source and target field for $rename must differ: {shown}"
        )));
    }
    if from.conflicts_with(to).is_some() {
        return Err(Error::bad_value(format!(
            "The source and target field for $rename must not be on the same path: {shown}"
        )));
    }
    for (name, path) in [("source", from), ("destination", to)] {
        if path.is_positional() {
            return Err(Error::bad_value(format!(
                "The {name} field for $rename may not be dynamic: {}",
                path.text
            )));
        }
    }
    Ok(())
}

fn parse_array_filters(filters: &[Bson], env: &Env) -> Result<BTreeMap<String, Filter>> {
    let mut parsed = BTreeMap::new();
    for filter in filters {
        let Bson::Document(filter) = filter else {
            return Err(Error::type_mismatch("array filters must be objects"));
        };
        let mut identifiers = Vec::new();
        identifiers_of(filter, &mut identifiers);
        let identifier = *identifiers.first().ok_or_else(|| {
            Error::failed_to_parse("Cannot use an expression without a top-level field name in arrayFilters")
        })?;
        if let Some(other) = identifiers.iter().find(|other| **other != identifier) {
            return Err(Error::failed_to_parse(format!(
                "Error parsing array filter :: caused by :: Expected a single top-level field name, found \
                 '{identifier}' and '{other}'"
            )));
        }
        if !identifier.starts_with(|c: char| c.is_ascii_lowercase())
            || !identifier.chars().all(|c| c.is_ascii_alphanumeric())
        {
            return Err(Error::bad_value(format!(
                "Error parsing array filter :: caused by :: The top-level field name must be an alphanumeric string \
                 beginning with a lowercase letter, found '{identifier}'"
            )));
        }
        if parsed
            .insert(identifier.to_owned(), Filter::parse(filter, env)?)
            .is_some()
        {
            return Err(Error::failed_to_parse(format!(
                "Found multiple array filters with the same top-level field name {identifier}"
            )));
        }
    }
    Ok(parsed)
}

/// Collects the first path components of a filter, including those within `$and`, `$or` and `$nor`.
fn identifiers_of<'f>(filter: &'f Document, found: &mut Vec<&'f str>) {
    for (name, value) in filter {
        match (name.as_str(), value) {
            ("$and" | "$or" | "$nor", Bson::Array(clauses)) => {
                for clause in clauses.iter().filter_map(Bson::as_document) {
                    identifiers_of(clause, found);
                }
            }
            (name, _) if name.starts_with('$') => {}
            (name, _) => found.push(name.split('.').next().unwrap_or(name)),
        }
    }
}

fn check_identifiers(
    operations: &[Operation],
    filters: &BTreeMap<String, Filter>,
    update: &Document,
) -> Result<()> {
    let mut used = Vec::new();
    for operation in operations {
        for step in &operation.path.steps {
            if let Step::Filtered(identifier) = step {
                if !filters.contains_key(identifier) {
                    return Err(Error::bad_value(format!(
                        "No array filter found for identifier '{identifier}' in path '{}'",
                        operation.path.text
                    )));
                }
                used.push(identifier);
            }
        }
    }
    match filters.keys().find(|identifier| !used.contains(identifier)) {
        None => Ok(()),
        Some(identifier) => Err(Error::failed_to_parse(format!(
            "The array filter for identifier '{identifier}' was not used in the update {}",
            format::document(update)
        ))),
    }
}

fn action(operator: &str, path: &str, argument: &Bson, env: &Env) -> Result<Action> {
    let shown = || format!("{{{path}: {}}}", format::bson(argument));
    Ok(match operator {
        "$set" => Action::Set(argument.clone()),
        "$setOnInsert" => Action::SetOnInsert(argument.clone()),
        "$unset" => Action::Unset,
        "$inc" => Action::Inc(Number::from_bson(argument).ok_or_else(|| {
            Error::type_mismatch(format!("Cannot increment with non-numeric argument: {}", shown()))
        })?),
        "$mul" => Action::Mul(Number::from_bson(argument).ok_or_else(|| {
            Error::type_mismatch(format!("Cannot multiply with non-numeric argument: {}", shown()))
        })?),
        "$min" => Action::Min(argument.clone()),
        "$max" => Action::Max(argument.clone()),
        "$rename" => match argument {
            Bson::String(to) => Action::Rename(UpdatePath::parse(to)?),
            _ => {
                return Err(Error::bad_value(format!(
                    "The 'to' field for $rename must be a string: {}",
                    shown()
                )));
            }
        },
        "$currentDate" => current_date(argument)?,
        "$bit" => super::number::parse_bit(path, argument)?,
        "$push" => Action::Push(Push::parse(argument)?),
        "$addToSet" => Action::AddToSet(super::array::each("$addToSet", argument)?),
        "$pull" => Action::Pull(PullCondition::parse(argument, env)?),
        "$pullAll" => match argument {
            Bson::Array(items) => Action::PullAll(items.clone()),
            other => {
                return Err(Error::bad_value(format!(
                    "$pullAll requires an array argument but was given a {}",
                    type_name(other)
                )));
            }
        },
        _ => match Number::from_bson(argument).map(Number::to_exact_i64) {
            Some(Some(1)) => Action::Pop(false),
            Some(Some(-1)) => Action::Pop(true),
            Some(_) => {
                return Err(Error::failed_to_parse(format!(
                    "$pop expects 1 or -1, found: {}",
                    format::bson(argument)
                )));
            }
            None => {
                return Err(Error::failed_to_parse(format!(
                    "Expected a number in: {path}: {}",
                    format::bson(argument)
                )));
            }
        },
    })
}

fn current_date(argument: &Bson) -> Result<Action> {
    match argument {
        Bson::Boolean(_) => Ok(Action::CurrentDate),
        Bson::Document(options) => match (options.get("$type"), options.len()) {
            (Some(Bson::String(kind)), 1) if kind == "date" => Ok(Action::CurrentDate),
            (Some(Bson::String(kind)), 1) if kind == "timestamp" => Ok(Action::CurrentTimestamp),
            (Some(_), 1) => Err(Error::bad_value(
                "The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: {field : {$type: 'date'}}}",
            )),
            _ => Err(Error::bad_value("Unrecognized $currentDate option")),
        },
        other => Err(Error::bad_value(format!(
            "{} is not valid type for $currentDate. Please use a boolean ('true') or a $type expression ({{$type: 'timestamp/date'}}).",
            type_name(other)
        ))),
    }
}
