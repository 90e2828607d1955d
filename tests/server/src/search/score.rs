//! The modification of the score of an operator.

use super::evaluate::values_at;
use super::invalid;
use crate::error::{Error, Result};
use crate::value::number::Number;
use bson::{Bson, Document};

#[derive(Debug, Clone)]
pub(super) enum Score {
    Boost(f64),
    /// The number at a path, or another one if there is none.
    BoostBy(String, f64),
    Constant(f64),
    Function(Function),
}

/// An expression of `score.function`.
#[derive(Debug, Clone)]
pub(super) enum Function {
    Relevance,
    Constant(f64),
    Path(String, f64),
    Add(Vec<Function>),
    Multiply(Vec<Function>),
    Log(Box<Function>),
    Log1p(Box<Function>),
    /// Path, number of documents without one, origin, scale, offset, decay.
    Gauss(String, f64, [f64; 4]),
}

fn number(value: Option<&Bson>) -> Option<f64> {
    value.and_then(Number::from_bson).map(Number::to_f64)
}

/// A path as text, or as `{value, undefined}`.
fn path(value: Option<&Bson>) -> Result<(String, f64)> {
    match value {
        Some(Bson::String(path)) => Ok((path.clone(), 0.0)),
        Some(Bson::Document(fields)) => match fields.get_str("value") {
            Ok(path) => Ok((path.to_owned(), number(fields.get("undefined")).unwrap_or(0.0))),
            Err(_) => Err(invalid("\"score.path.value\" is required")),
        },
        _ => Err(invalid("\"score.path\" must be a string or a document")),
    }
}

fn number_at(document: &Document, path: &str, undefined: f64) -> f64 {
    let paths = [path.to_owned()];
    values_at(document, &paths)
        .find_map(|value| Number::from_bson(&value).map(Number::to_f64))
        .unwrap_or(undefined)
}

impl Score {
    pub(super) fn parse(fields: &Document) -> Result<Score> {
        if fields.len() != 1 {
            return Err(invalid(
                "\"score\" must have one of [boost, constant, embedded, function]",
            ));
        }
        if let Ok(boost) = fields.get_document("boost") {
            return match (number(boost.get("value")), boost.get_str("path")) {
                (Some(factor), Err(_)) if factor > 0.0 => Ok(Score::Boost(factor)),
                (None, Ok(path)) => Ok(Score::BoostBy(
                    path.to_owned(),
                    number(boost.get("undefined")).unwrap_or(0.0),
                )),
                _ => Err(invalid("\"score.boost\" must have a positive value, or a path")),
            };
        }
        if let Ok(constant) = fields.get_document("constant") {
            return number(constant.get("value"))
                .map(Score::Constant)
                .ok_or_else(|| invalid("\"score.constant.value\" must be a number"));
        }
        match fields.get("function") {
            Some(function) => Function::parse(function).map(Score::Function),
            None => Err(Error::not_served("this score of a search operator")),
        }
    }

    pub(super) fn of(&self, score: f64, document: &Document) -> f64 {
        match self {
            Score::Boost(factor) => score * factor,
            Score::BoostBy(path, undefined) => score * number_at(document, path, *undefined),
            Score::Constant(constant) => *constant,
            Score::Function(function) => function.of(score, document),
        }
    }
}

impl Function {
    fn parse(value: &Bson) -> Result<Function> {
        let one = value.as_document().filter(|fields| fields.len() == 1);
        let Some((name, argument)) = one.and_then(|fields| fields.iter().next()) else {
            return Err(invalid("an expression of \"score.function\" must have one field"));
        };
        let list = || match argument {
            Bson::Array(items) if items.len() >= 2 => items.iter().map(Function::parse).collect(),
            _ => Err(invalid(format!(
                "\"score.function.{name}\" must have at least two expressions"
            ))),
        };
        match name.as_str() {
            "score" if argument.as_str() == Some("relevance") => Ok(Function::Relevance),
            "constant" => number(Some(argument))
                .map(Function::Constant)
                .ok_or_else(|| invalid("\"score.function.constant\" must be a number")),
            "path" => path(Some(argument)).map(|(path, undefined)| Function::Path(path, undefined)),
            "add" => list().map(Function::Add),
            "multiply" => list().map(Function::Multiply),
            "log" => Ok(Function::Log(Box::new(Function::parse(argument)?))),
            "log1p" => Ok(Function::Log1p(Box::new(Function::parse(argument)?))),
            "gauss" => {
                let fields = argument
                    .as_document()
                    .ok_or_else(|| invalid("\"score.function.gauss\" must be a document"))?;
                let (path, undefined) = path(fields.get("path"))?;
                let required = |name: &str| {
                    number(fields.get(name))
                        .ok_or_else(|| invalid(format!("\"score.function.gauss.{name}\" is required")))
                };
                let offset = number(fields.get("offset")).unwrap_or(0.0);
                let decay = number(fields.get("decay")).unwrap_or(0.5);
                Ok(Function::Gauss(
                    path,
                    undefined,
                    [required("origin")?, required("scale")?, offset, decay],
                ))
            }
            other => Err(invalid(format!(
                "\"score.function\": unrecognized field \"{other}\""
            ))),
        }
    }

    fn of(&self, score: f64, document: &Document) -> f64 {
        match self {
            Function::Relevance => score,
            Function::Constant(constant) => *constant,
            Function::Path(path, undefined) => number_at(document, path, *undefined),
            Function::Add(all) => all.iter().map(|one| one.of(score, document)).sum(),
            Function::Multiply(all) => all.iter().map(|one| one.of(score, document)).product(),
            Function::Log(one) => one.of(score, document).log10(),
            Function::Log1p(one) => (one.of(score, document) + 1.0).log10(),
            Function::Gauss(path, undefined, [origin, scale, offset, decay]) => {
                let distance = (number_at(document, path, *undefined) - origin).abs() - offset;
                let variance = -(scale * scale) / (2.0 * decay.ln());
                (-distance.max(0.0).powi(2) / (2.0 * variance)).exp()
            }
        }
    }
}
