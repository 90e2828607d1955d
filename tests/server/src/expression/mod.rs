//! Aggregation expressions: parsed to a tree once, then evaluated per document. `Bson::Undefined`
//! represents a missing value within this module; it never reaches a document or a client.

pub(crate) mod arguments;
pub(crate) mod arithmetic;
pub(crate) mod array;
pub(crate) mod array_order;
pub(crate) mod convert;
pub(crate) mod date;
pub(crate) mod date_format;
pub(crate) mod date_parse;
pub(crate) mod date_parts;
pub(crate) mod logic;
pub(crate) mod math;
pub(crate) mod object;
pub(crate) mod parse;
pub(crate) mod set;
pub(crate) mod string;
pub(crate) mod string_search;

use crate::aggregate::quantile::Quantile;
use crate::error::{Error, Phase, Result};
use crate::query::Env;
use crate::value::{is_nullish, metadata, truthy};
use bson::{Bson, Document};

#[derive(Debug, Clone)]
pub(crate) enum Expression {
    Literal(Bson),
    /// A path from a variable. `$a` is `$$CURRENT.a`.
    Path(String, Vec<String>),
    Object(Vec<(String, Expression)>),
    Array(Vec<Expression>),
    Call(&'static Function, Vec<Expression>),
    CallNamed(&'static NamedFunction, Vec<(&'static str, Expression)>),
    And(Vec<Expression>),
    Or(Vec<Expression>),
    IfNull(Vec<Expression>),
    Cond(Box<[Expression; 3]>),
    Switch(Vec<(Expression, Expression)>, Option<Box<Expression>>),
    Let(Vec<(String, Expression)>, Box<Expression>),
    /// Input, variable, body.
    Map(Box<Expression>, String, Box<Expression>),
    /// Input, variable, condition, limit.
    Filter(Box<Expression>, String, Box<Expression>, Option<Box<Expression>>),
    /// Input, initial value, body.
    Reduce(Box<[Expression; 3]>),
    /// `$percentile` and `$median`.
    Quantile(Box<Quantile>),
    /// `$meta`
    Meta(&'static str),
}

/// An operator with positional arguments, which are evaluated before the call.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) min: usize,
    pub(crate) max: usize,
    pub(crate) run: fn(&[Bson], &Scope<'_>) -> Result<Bson>,
}

/// An operator with named arguments.
#[derive(Debug)]
pub(crate) struct NamedFunction {
    pub(crate) name: &'static str,
    pub(crate) required: &'static [&'static str],
    pub(crate) optional: &'static [&'static str],
    pub(crate) run: fn(&Named, &Scope<'_>) -> Result<Bson>,
}

/// The evaluated arguments of a [`NamedFunction`].
pub(crate) struct Named {
    pub(crate) operator: &'static str,
    values: Vec<(&'static str, Bson)>,
}

impl Named {
    /// The value of an argument, or `None` if it is absent.
    pub(crate) fn get(&self, name: &str) -> Option<&Bson> {
        self.values
            .iter()
            .find(|(other, _)| *other == name)
            .map(|(_, value)| value)
    }

    /// The value of a required argument.
    pub(crate) fn required(&self, name: &str) -> &Bson {
        self.get(name).unwrap_or(&Bson::Undefined)
    }

    /// Returns whether an argument is present and null or missing.
    pub(crate) fn is_null(&self, name: &str) -> bool {
        self.get(name).is_some_and(is_nullish)
    }
}

/// A variable of `$let`, `$map` and similar operators, linked to the enclosing scope.
pub(crate) struct Local<'s> {
    name: &'s str,
    value: &'s Bson,
    outer: Option<&'s Local<'s>>,
}

/// The evaluation context of an expression.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'s> {
    pub(crate) root: &'s Document,
    pub(crate) env: &'s Env,
    locals: Option<&'s Local<'s>>,
}

impl<'s> Scope<'s> {
    pub(crate) fn new(root: &'s Document, env: &'s Env) -> Scope<'s> {
        Scope {
            root,
            env,
            locals: None,
        }
    }
}

impl Expression {
    /// Parses an expression. `env` defines the available variables.
    pub(crate) fn parse(value: &Bson, env: &Env) -> Result<Expression> {
        parse::Parser::new(env).expression(value)
    }

    /// Evaluates against a document. Returns `Undefined` for a missing value.
    pub(crate) fn evaluate(&self, root: &Document, env: &Env) -> Result<Bson> {
        self.eval(&Scope::new(root, env))
    }

    /// Evaluates with `current` as `$$CURRENT`.
    pub(crate) fn evaluate_within(&self, root: &Document, current: &Bson, env: &Env) -> Result<Bson> {
        let local = Local {
            name: "CURRENT",
            value: current,
            outer: None,
        };
        self.eval(&Scope {
            locals: Some(&local),
            ..Scope::new(root, env)
        })
    }

    pub(crate) fn eval(&self, scope: &Scope<'_>) -> Result<Bson> {
        self.compute(scope).map_err(|error| self.in_phase(error))
    }

    fn compute(&self, scope: &Scope<'_>) -> Result<Bson> {
        match self {
            Expression::Literal(value) => Ok(value.clone()),
            Expression::Path(variable, parts) => Ok(resolve(variable, parts, scope)),
            Expression::Object(fields) => {
                let mut document = Document::new();
                for (name, field) in fields {
                    let value = field.eval(scope)?;
                    if !matches!(value, Bson::Undefined) {
                        document.insert(name, value);
                    }
                }
                Ok(Bson::Document(document))
            }
            Expression::Array(items) => {
                let null_for_missing = |value| {
                    if matches!(value, Bson::Undefined) {
                        Bson::Null
                    } else {
                        value
                    }
                };
                let values = items.iter().map(|item| item.eval(scope).map(null_for_missing));
                values.collect::<Result<Vec<_>>>().map(Bson::Array)
            }
            Expression::Call(function, arguments) => {
                let values = arguments
                    .iter()
                    .map(|item| item.eval(scope))
                    .collect::<Result<Vec<_>>>()?;
                (function.run)(&values, scope)
            }
            Expression::CallNamed(function, arguments) => {
                let values = arguments
                    .iter()
                    .map(|(name, item)| item.eval(scope).map(|value| (*name, value)))
                    .collect::<Result<Vec<_>>>()?;
                (function.run)(
                    &Named {
                        operator: function.name,
                        values,
                    },
                    scope,
                )
            }
            Expression::And(all) => {
                for item in all {
                    if !truthy(&item.eval(scope)?) {
                        return Ok(Bson::Boolean(false));
                    }
                }
                Ok(Bson::Boolean(true))
            }
            Expression::Or(any) => {
                for item in any {
                    if truthy(&item.eval(scope)?) {
                        return Ok(Bson::Boolean(true));
                    }
                }
                Ok(Bson::Boolean(false))
            }
            Expression::IfNull(choices) => {
                let mut value = Bson::Undefined;
                for choice in choices {
                    value = choice.eval(scope)?;
                    if !is_nullish(&value) {
                        break;
                    }
                }
                Ok(value)
            }
            Expression::Cond(parts) => {
                let [condition, then, otherwise] = parts.as_ref();
                if truthy(&condition.eval(scope)?) {
                    then.eval(scope)
                } else {
                    otherwise.eval(scope)
                }
            }
            Expression::Switch(branches, default) => {
                for (case, then) in branches {
                    if truthy(&case.eval(scope)?) {
                        return then.eval(scope);
                    }
                }
                match default {
                    Some(default) => default.eval(scope),
                    None if branches.iter().all(|(case, _)| case.is_constant()) => Err(Error {
                        phase: Phase::Optimizing,
                        ..Error::new(
                            40069,
                            "Cannot execute a switch statement where all the cases evaluate to false without a default.",
                        )
                    }),
                    None => Err(Error::new(
                        40066,
                        "$switch could not find a matching branch for an input, and no default was specified.",
                    )),
                }
            }
            Expression::Let(variables, body) => {
                let values = variables
                    .iter()
                    .map(|(name, value)| value.eval(scope).map(|value| (name.as_str(), value)))
                    .collect::<Result<Vec<_>>>()?;
                eval_with(&values, scope, body)
            }
            Expression::Map(input, name, body) => {
                let Some(items) = input_array("$map", 16883, input.eval(scope)?)? else {
                    return Ok(Bson::Null);
                };
                let null_for_missing = |value| {
                    if matches!(value, Bson::Undefined) {
                        Bson::Null
                    } else {
                        value
                    }
                };
                let mapped = items.iter().map(|item| {
                    let local = Local {
                        name,
                        value: item,
                        outer: scope.locals,
                    };
                    body.eval(&Scope {
                        locals: Some(&local),
                        ..*scope
                    })
                    .map(null_for_missing)
                });
                mapped.collect::<Result<Vec<_>>>().map(Bson::Array)
            }
            Expression::Filter(input, name, condition, limit) => {
                let Some(items) = input_array("$filter", 28651, input.eval(scope)?)? else {
                    return Ok(Bson::Null);
                };
                let limit = match limit {
                    None => usize::MAX,
                    Some(limit) => array::filter_limit(&limit.eval(scope)?)?,
                };
                let mut kept = Vec::new();
                for item in items {
                    if kept.len() >= limit {
                        break;
                    }
                    let local = Local {
                        name,
                        value: &item,
                        outer: scope.locals,
                    };
                    if truthy(&condition.eval(&Scope {
                        locals: Some(&local),
                        ..*scope
                    })?) {
                        kept.push(item);
                    }
                }
                Ok(Bson::Array(kept))
            }
            Expression::Reduce(parts) => {
                let [input, initial, body] = parts.as_ref();
                let Some(items) = input_array("$reduce", 40080, input.eval(scope)?)? else {
                    return Ok(Bson::Null);
                };
                let mut value = initial.eval(scope)?;
                for item in &items {
                    let accumulated = Local {
                        name: "value",
                        value: &value,
                        outer: scope.locals,
                    };
                    let local = Local {
                        name: "this",
                        value: item,
                        outer: Some(&accumulated),
                    };
                    let next = body.eval(&Scope {
                        locals: Some(&local),
                        ..*scope
                    })?;
                    value = next;
                }
                Ok(value)
            }
            Expression::Meta(kind) => metadata::get(scope.root, kind),
            Expression::Quantile(quantile) => Ok(quantile.of_value(&quantile.input.eval(scope)?)),
        }
    }

    /// Returns whether the server evaluates the expression before it reads documents.
    pub(crate) fn is_constant(&self) -> bool {
        let all = |items: &[Expression]| items.iter().all(Expression::is_constant);
        match self {
            Expression::Literal(_) => true,
            Expression::Path(variable, _) => variable == "NOW",
            Expression::Object(fields) => fields.iter().all(|(_, field)| field.is_constant()),
            Expression::Call(function, arguments) => function.name != "$rand" && all(arguments),
            Expression::CallNamed(function, arguments) => {
                function.name != "$getField" && arguments.iter().all(|(_, item)| item.is_constant())
            }
            Expression::Array(items)
            | Expression::And(items)
            | Expression::Or(items)
            | Expression::IfNull(items) => all(items),
            Expression::Cond(parts) => all(parts.as_slice()),
            Expression::Switch(branches, default) => {
                branches
                    .iter()
                    .all(|(case, then)| case.is_constant() && then.is_constant())
                    && default.as_ref().is_none_or(|default| default.is_constant())
            }
            Expression::Quantile(quantile) => quantile.input.is_constant(),
            Expression::Let(..)
            | Expression::Map(..)
            | Expression::Filter(..)
            | Expression::Reduce(..)
            | Expression::Meta(_) => false,
        }
    }

    /// Adds the phase to an error message: the server evaluates expressions without field paths
    /// during optimization.
    fn in_phase(&self, error: Error) -> Error {
        let phase = match error.phase {
            Phase::Parsing if self.is_constant() => Phase::Optimizing,
            Phase::Parsing => Phase::Executing,
            known => known,
        };
        Error { phase, ..error }
    }
}

fn input_array(operator: &str, code: i32, value: Bson) -> Result<Option<Vec<Bson>>> {
    match value {
        Bson::Array(items) => Ok(Some(items)),
        value if is_nullish(&value) => Ok(None),
        other => Err(Error::new(
            code,
            format!(
                "input to {operator} must be an array not {}",
                crate::value::type_name(&other)
            ),
        )),
    }
}

fn eval_with(values: &[(&str, Bson)], scope: &Scope<'_>, body: &Expression) -> Result<Bson> {
    match values.split_first() {
        None => body.eval(scope),
        Some(((name, value), rest)) => {
            let local = Local {
                name,
                value,
                outer: scope.locals,
            };
            eval_with(
                rest,
                &Scope {
                    locals: Some(&local),
                    ..*scope
                },
                body,
            )
        }
    }
}

fn resolve(variable: &str, parts: &[String], scope: &Scope<'_>) -> Bson {
    let mut local = scope.locals;
    while let Some(found) = local {
        if found.name == variable {
            return descend(found.value, parts);
        }
        local = found.outer;
    }
    match variable {
        "CURRENT" | "ROOT" => match parts.split_first() {
            None => {
                let mut root = scope.root.clone();
                metadata::clear(&mut root);
                Bson::Document(root)
            }
            Some((first, rest)) => scope
                .root
                .get(first)
                .map_or(Bson::Undefined, |value| descend(value, rest)),
        },
        "REMOVE" => Bson::Undefined,
        "NOW" => descend(&Bson::DateTime(scope.env.now), parts),
        "SEARCH_META" => metadata::get(scope.root, metadata::SEARCH_META)
            .map_or(Bson::Undefined, |meta| descend(&meta, parts)),
        other => scope
            .env
            .variables
            .get(other)
            .map_or(Bson::Undefined, |value| descend(value, parts)),
    }
}

/// Resolves a path. Over an array, returns the array of the values in its document elements.
fn descend(value: &Bson, parts: &[String]) -> Bson {
    let Some((first, rest)) = parts.split_first() else {
        return value.clone();
    };
    match value {
        Bson::Document(document) => document
            .get(first)
            .map_or(Bson::Undefined, |value| descend(value, rest)),
        Bson::Array(items) => Bson::Array(
            items
                .iter()
                .filter(|item| matches!(item, Bson::Document(_)))
                .map(|item| descend(item, parts))
                .filter(|found| !matches!(found, Bson::Undefined))
                .collect(),
        ),
        _ => Bson::Undefined,
    }
}

/// Evaluates a command's `let` and adds its variables to the environment.
pub(crate) fn define_let(variables: Option<&Document>, env: &mut Env) -> Result<()> {
    let Some(variables) = variables else { return Ok(()) };
    let mut values = Vec::with_capacity(variables.len());
    for (name, value) in variables {
        parse::check_variable_name(name)?;
        let value = Expression::parse(value, env)?.evaluate(&Document::new(), env)?;
        values.push((name.clone(), value));
    }
    env.variables.extend(values);
    Ok(())
}

#[cfg(test)]
mod tests;
