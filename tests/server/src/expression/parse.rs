//! Parses BSON to expression trees, with the server's errors.

use super::arguments::{ArgumentCodes, check_arity, check_field_name};
use super::{Expression, Function, NamedFunction};
use crate::aggregate::quantile::Quantile;
use crate::command::api_version::check_expression;
use crate::error::{Error, Result, code};
use crate::features::Feature;
use crate::query::Env;
use crate::query::path::check_field_path;
use crate::refusal::queries;
use crate::value::{format, metadata};
use crate::version::Version;
use bson::{Bson, Document};

/// An expression parser that tracks the variables in scope.
pub(crate) struct Parser<'e> {
    env: &'e Env,
    locals: Vec<String>,
}

const FUNCTIONS: [&[Function]; 10] = [
    super::arithmetic::FUNCTIONS,
    super::math::FUNCTIONS,
    super::logic::FUNCTIONS,
    super::string::FUNCTIONS,
    super::string_search::FUNCTIONS,
    super::array::FUNCTIONS,
    super::set::FUNCTIONS,
    super::date::FUNCTIONS,
    super::convert::FUNCTIONS,
    super::object::FUNCTIONS,
];

const NAMED_FUNCTIONS: [&[NamedFunction]; 9] = [
    super::string::NAMED,
    super::string_search::NAMED,
    super::array_order::NAMED,
    super::date::NAMED,
    super::date_format::NAMED,
    super::date_parse::NAMED,
    super::date_parts::NAMED,
    super::convert::NAMED,
    super::object::NAMED,
];

impl<'e> Parser<'e> {
    pub(crate) fn new(env: &'e Env) -> Self {
        Parser {
            env,
            locals: Vec::new(),
        }
    }

    pub(crate) fn expression(&mut self, value: &Bson) -> Result<Expression> {
        match value {
            Bson::String(text) if text.starts_with('$') => self.path(text),
            Bson::Array(items) => items
                .iter()
                .map(|item| self.expression(item))
                .collect::<Result<_>>()
                .map(Expression::Array),
            Bson::Document(document) => self.object(document),
            other => Ok(Expression::Literal(other.clone())),
        }
    }

    fn path(&self, text: &str) -> Result<Expression> {
        let (variable, path) = match text.strip_prefix("$$") {
            Some(rest) => rest
                .split_once('.')
                .map_or((rest, None), |(variable, path)| (variable, Some(path))),
            None => ("CURRENT", Some(&text[1..])),
        };
        if variable.is_empty() {
            return Err(Error::failed_to_parse("empty variable names are not allowed"));
        }
        if text == "$" {
            return Err(Error::new(16872, "'$' by itself is not a valid FieldPath"));
        }
        if let Some(path) = path {
            check_field_path(path)?;
        }
        let parts: Vec<String> = path
            .map(|path| path.split('.').map(str::to_owned).collect())
            .unwrap_or_default();
        let system = matches!(variable, "CURRENT" | "ROOT" | "REMOVE" | "NOW")
            || variable == "SEARCH_META" && Feature::Variable.is_in(variable, self.env.profile.version);
        if !system
            && !self.locals.iter().any(|name| name == variable)
            && !self.env.variables.contains_key(variable)
        {
            return Err(undefined(variable, self.env.profile.version));
        }
        Ok(Expression::Path(variable.to_owned(), parts))
    }

    fn object(&mut self, document: &Document) -> Result<Expression> {
        if let Some((name, argument)) = document.iter().next()
            && name.starts_with('$')
        {
            if document.len() != 1 {
                return Err(Error::new(
                    15983,
                    format!(
                        "an object representing an expression must have exactly one field: {}",
                        format::document(document)
                    ),
                ));
            }
            return self.operator(name, argument);
        }
        let mut fields = Vec::with_capacity(document.len());
        for (name, value) in document {
            if name.starts_with('$') {
                return Err(Error::new(
                    15983,
                    format!("this object is already an object expression: {name}"),
                ));
            }
            if name.contains('.') {
                return Err(Error::new(
                    16405,
                    "FieldPath field names may not contain '.'. Consider using $getField or $setField.",
                ));
            }
            fields.push((name.clone(), self.expression(value)?));
        }
        Ok(Expression::Object(fields))
    }

    fn operator(&mut self, name: &str, argument: &Bson) -> Result<Expression> {
        let version = self.env.profile.version;
        let unrecognized = || {
            Error::new(
                code::INVALID_PIPELINE_OPERATOR,
                format!("Unrecognized expression '{name}'"),
            )
        };
        if !Feature::Expression.is_in(name, version) {
            return Err(unrecognized());
        }
        check_expression(name, self.env)?;
        match name {
            "$literal" | "$const" => return Ok(Expression::Literal(argument.clone())),
            "$and" => return self.list(argument).map(Expression::And),
            "$or" => return self.list(argument).map(Expression::Or),
            "$ifNull" => {
                let choices = self.list(argument)?;
                queries::IF_NULL_ARGUMENTS.check(self.env.profile, choices.len() != 2, &[&choices.len()])?;
                if choices.len() < 2 {
                    return Err(Error::new(
                        1_257_300,
                        format!("$ifNull needs at least two arguments, had: {}", choices.len()),
                    ));
                }
                return Ok(Expression::IfNull(choices));
            }
            "$cond" => return self.cond(argument),
            "$switch" => return self.switch(argument),
            "$let" => return self.let_in(argument),
            "$map" => return self.map(argument),
            "$filter" => return self.filter(argument),
            "$reduce" => return self.reduce(argument),
            "$meta" => return metadata::parse(argument).map(Expression::Meta),
            "$percentile" | "$median" => {
                let env = self.env;
                return Quantile::parse(name, argument, env, &mut |value| self.expression(value))
                    .map(|quantile| Expression::Quantile(Box::new(quantile)));
            }
            _ => {}
        }
        if let Some(function) = FUNCTIONS
            .iter()
            .flat_map(|list| list.iter())
            .find(|f| f.name == name)
        {
            let arguments = self.list(argument)?;
            check_arity(function, arguments.len())?;
            return Ok(Expression::Call(function, arguments));
        }
        if let Some(function) = NAMED_FUNCTIONS
            .iter()
            .flat_map(|list| list.iter())
            .find(|f| f.name == name)
        {
            return self.named(function, argument);
        }
        Err(Feature::Expression.refuse(name, version, unrecognized))
    }

    fn named(&mut self, function: &'static NamedFunction, argument: &Bson) -> Result<Expression> {
        let codes = ArgumentCodes::of(function.name);
        let owned;
        let fields = match argument {
            Bson::Document(fields) => fields,
            // `$getField` and one other operator also accept their only argument without an object.
            other if function.name == "$getField" => {
                owned = bson::doc! { "field": other.clone(), "input": "$$CURRENT" };
                &owned
            }
            _ => {
                return Err(Error::new(
                    codes.not_an_object,
                    format!("{} only supports an object as its argument", function.name),
                ));
            }
        };
        let bare_operator =
            function.name == "$getField" && fields.keys().next().is_some_and(|key| key.starts_with('$'));
        if bare_operator {
            let fields = bson::doc! { "field": fields.clone(), "input": "$$CURRENT" };
            return self.named(function, &Bson::Document(fields));
        }
        let mut arguments = Vec::with_capacity(fields.len());
        for (name, value) in fields {
            let known = function
                .required
                .iter()
                .chain(function.optional)
                .find(|known| *known == name);
            let Some(known) = known else {
                return Err(Error::new(
                    codes.unknown,
                    format!("{} found an unknown argument: {name}", function.name),
                ));
            };
            arguments.push((*known, self.expression(value)?));
        }
        check_field_name(function.name, &arguments, self.env)?;
        for required in function.required {
            if !fields.contains_key(required) {
                let code = codes.missing.iter().find(|(name, _)| name == required);
                return Err(Error::new(
                    code.map_or(code::FAILED_TO_PARSE, |(_, code)| *code),
                    format!("{} requires '{required}' to be specified", function.name),
                ));
            }
        }
        Ok(Expression::CallNamed(function, arguments))
    }

    /// Parses the arguments of an operator: the elements of an array, or a single argument.
    fn list(&mut self, argument: &Bson) -> Result<Vec<Expression>> {
        match argument {
            Bson::Array(items) => items.iter().map(|item| self.expression(item)).collect(),
            other => Ok(vec![self.expression(other)?]),
        }
    }

    fn cond(&mut self, argument: &Bson) -> Result<Expression> {
        let [condition, then, otherwise] = match argument {
            Bson::Array(items) => match items.as_slice() {
                [a, b, c] => [self.expression(a)?, self.expression(b)?, self.expression(c)?],
                _ => {
                    return Err(Error::new(
                        16020,
                        format!(
                            "Expression $cond takes exactly 3 arguments. {} were passed in.",
                            items.len()
                        ),
                    ));
                }
            },
            Bson::Document(fields) => self.fields(
                "$cond",
                fields,
                &["if", "then", "else"],
                &[],
                17083,
                [17080, 17081, 17082],
            )?,
            _ => {
                return Err(Error::new(
                    16020,
                    "Expression $cond takes exactly 3 arguments. 1 were passed in.",
                ));
            }
        };
        Ok(Expression::Cond(Box::new([condition, then, otherwise])))
    }

    /// Returns the required fields of an object argument in order. Unknown fields are errors.
    fn fields<const N: usize>(
        &mut self,
        operator: &str,
        fields: &Document,
        required: &[&str; N],
        others: &[&str],
        unknown_code: i32,
        missing_codes: [i32; N],
    ) -> Result<[Expression; N]> {
        if let Some(name) = fields
            .keys()
            .find(|name| !required.contains(&name.as_str()) && !others.contains(&name.as_str()))
        {
            return Err(Error::new(
                unknown_code,
                format!("Unrecognized parameter to {operator}: {name}"),
            ));
        }
        let mut parsed = Vec::with_capacity(N);
        for (name, missing_code) in required.iter().zip(missing_codes) {
            let value = fields.get(*name).ok_or_else(|| {
                Error::new(missing_code, format!("Missing '{name}' parameter to {operator}"))
            })?;
            parsed.push(self.expression(value)?);
        }
        parsed
            .try_into()
            .map_err(|_| Error::new(code::INTERNAL_ERROR, "argument count"))
    }

    fn switch(&mut self, argument: &Bson) -> Result<Expression> {
        let Bson::Document(fields) = argument else {
            return Err(Error::new(40060, "$switch requires an object as an argument"));
        };
        let mut branches = Vec::new();
        let mut default = None;
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("branches", Bson::Array(items)) => {
                    for item in items {
                        let Bson::Document(branch) = item else {
                            return Err(Error::new(40062, "$switch expected each branch to be an object"));
                        };
                        let [case, then] = self.fields(
                            "$switch branch",
                            branch,
                            &["case", "then"],
                            &[],
                            40063,
                            [40064, 40065],
                        )?;
                        branches.push((case, then));
                    }
                }
                ("branches", _) => {
                    return Err(Error::new(40061, "$switch expected an array for 'branches'"));
                }
                ("default", value) => default = Some(Box::new(self.expression(value)?)),
                (other, _) => {
                    return Err(Error::new(
                        40067,
                        format!("$switch found an unknown argument: {other}"),
                    ));
                }
            }
        }
        if branches.is_empty() {
            return Err(Error::new(40068, "$switch requires at least one branch."));
        }
        Ok(Expression::Switch(branches, default))
    }

    fn let_in(&mut self, argument: &Bson) -> Result<Expression> {
        let Bson::Document(fields) = argument else {
            return Err(Error::new(16874, "$let only supports an object as its argument"));
        };
        if let Some(name) = fields.keys().find(|name| !matches!(name.as_str(), "vars" | "in")) {
            return Err(Error::new(
                16875,
                format!("Unrecognized parameter to $let: {name}"),
            ));
        }
        let Some(Bson::Document(vars)) = fields.get("vars") else {
            return Err(Error::new(16876, "Missing 'vars' parameter to $let"));
        };
        let Some(body) = fields.get("in") else {
            return Err(Error::new(16877, "Missing 'in' parameter to $let"));
        };
        let mut variables = Vec::with_capacity(vars.len());
        for (name, value) in vars {
            check_variable_name(name)?;
            variables.push((name.clone(), self.expression(value)?));
        }
        let depth = self.locals.len();
        self.locals.extend(vars.keys().cloned());
        let body = self.expression(body);
        self.locals.truncate(depth);
        Ok(Expression::Let(variables, Box::new(body?)))
    }

    fn within(&mut self, names: &[&str], body: &Bson) -> Result<Box<Expression>> {
        let depth = self.locals.len();
        self.locals.extend(names.iter().map(|name| (*name).to_owned()));
        let parsed = self.expression(body);
        self.locals.truncate(depth);
        parsed.map(Box::new)
    }

    fn variable(fields: &Document) -> Result<String> {
        match fields.get("as") {
            None => Ok("this".to_owned()),
            Some(Bson::String(name)) => {
                check_variable_name(name)?;
                Ok(name.clone())
            }
            Some(_) => Err(Error::failed_to_parse("'as' must be a string")),
        }
    }

    fn map(&mut self, argument: &Bson) -> Result<Expression> {
        let Bson::Document(fields) = argument else {
            return Err(Error::new(16878, "$map only supports an object as its argument"));
        };
        let [input] = self.fields("$map", fields, &["input"], &["as", "in"], 16879, [16880])?;
        let name = Self::variable(fields)?;
        let body = fields
            .get("in")
            .ok_or_else(|| Error::new(16882, "Missing 'in' parameter to $map"))?;
        let body = self.within(&[&name], body)?;
        Ok(Expression::Map(Box::new(input), name, body))
    }

    fn filter(&mut self, argument: &Bson) -> Result<Expression> {
        let Bson::Document(fields) = argument else {
            return Err(Error::new(
                28646,
                "$filter only supports an object as its argument",
            ));
        };
        let [input] = self.fields(
            "$filter",
            fields,
            &["input"],
            &["as", "cond", "limit"],
            28647,
            [28648],
        )?;
        let limited = fields.contains_key("limit");
        queries::FILTER_LIMIT.check(self.env.profile, limited, &[])?;
        let name = Self::variable(fields)?;
        let condition = fields
            .get("cond")
            .ok_or_else(|| Error::new(28650, "Missing 'cond' parameter to $filter"))?;
        let condition = self.within(&[&name], condition)?;
        let limit = fields
            .get("limit")
            .map(|limit| self.expression(limit))
            .transpose()?
            .map(Box::new);
        Ok(Expression::Filter(Box::new(input), name, condition, limit))
    }

    fn reduce(&mut self, argument: &Bson) -> Result<Expression> {
        let Bson::Document(fields) = argument else {
            return Err(Error::new(40075, "$reduce requires an object as an argument"));
        };
        let [input, initial] = self.fields(
            "$reduce",
            fields,
            &["input", "initialValue"],
            &["in"],
            40076,
            [40077, 40078],
        )?;
        let body = fields
            .get("in")
            .ok_or_else(|| Error::new(40079, "$reduce requires 'in' to be specified"))?;
        let body = self.within(&["this", "value"], body)?;
        Ok(Expression::Reduce(Box::new([input, initial, *body])))
    }
}

/// The error for an undefined variable.
fn undefined(variable: &str, version: Version) -> Error {
    if variable == "CLUSTER_TIME" {
        return Error::new(51144, "Builtin variable '$$CLUSTER_TIME' is not available");
    }
    Feature::Variable.refuse(variable, version, || {
        Error::new(17276, format!("Use of undefined variable: {variable}"))
    })
}

/// Checks a variable name. User variables begin with a lowercase letter or a non-ASCII character;
/// `CURRENT` may be redefined.
pub(crate) fn check_variable_name(name: &str) -> Result<()> {
    let mut chars = name.chars();
    let valid = chars
        .next()
        .is_some_and(|c| c.is_ascii_lowercase() || !c.is_ascii())
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii());
    if valid || name == "CURRENT" {
        return Ok(());
    }
    Err(Error::failed_to_parse(format!(
        "'{name}' starts with an invalid character for a user variable name"
    )))
}
