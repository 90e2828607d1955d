//! Parses projection specifications to [`Projection`]s, with the server's errors.

use super::super::path::check_field_path;
use super::super::{Env, Filter};
use super::{Dialect, Node, Projection};
use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::refusal::queries;
use crate::value::number::Number;
use crate::value::{format, metadata};
use bson::{Bson, Document};

/// Collects the fields of a specification.
pub(super) struct Builder<'e> {
    env: &'e Env,
    dialect: Dialect,
    inclusive: Option<bool>,
    keep_id: Option<bool>,
    fields: Vec<(String, Node)>,
}

impl<'e> Builder<'e> {
    pub(super) fn new(dialect: Dialect, env: &'e Env) -> Self {
        Builder {
            env,
            dialect,
            inclusive: None,
            keep_id: None,
            fields: Vec::new(),
        }
    }

    pub(super) fn build(mut self, spec: &Document) -> Result<Projection> {
        for (path, value) in spec {
            self.field(path, path, value)?;
        }
        let computed_only = adds_fields(&self.fields) && self.inclusive.is_none();
        let inclusive = self.inclusive.unwrap_or(
            computed_only
                || (self
                    .fields
                    .iter()
                    .any(|(_, node)| matches!(node, Node::ElemMatch(_) | Node::Positional)))
                || (self.fields.is_empty() && self.keep_id == Some(true)),
        );
        if !inclusive && adds_fields(&self.fields) && self.inclusive == Some(false) {
            return Err(Error::new(
                31252,
                "Cannot use an expression in an exclusion projection",
            ));
        }
        Ok(Projection {
            fields: self.fields,
            inclusive,
            keep_id: self.keep_id.unwrap_or(true),
        })
    }

    fn field(&mut self, full: &str, path: &str, value: &Bson) -> Result<()> {
        self.check_path(path, value)?;
        if self.dialect == Dialect::Find && !self.env.profile.version.at_least(4, 4) {
            match value {
                Bson::Document(inner) => Self::check_before_expressions(full, inner)?,
                // A value of another type is not an expression.
                other => return self.switch(full, crate::value::truthy(other)),
            }
        }
        match value {
            Bson::Boolean(_) | Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_) => {
                self.switch(full, crate::value::truthy(value))
            }
            Bson::Document(inner) => self.document(full, inner),
            other => self.computed(full, other),
        }
    }

    /// Fails if the document is not one of the projection operators of servers without expressions
    /// in projections.
    fn check_before_expressions(path: &str, inner: &Document) -> Result<()> {
        let text = format::document(inner);
        match inner.keys().next().map(String::as_str) {
            Some("$slice" | "$elemMatch" | "$meta") if inner.len() == 1 => Ok(()),
            Some(_) if inner.len() == 1 => Err(queries::PROJECTED_EXPRESSION.error(&[&path, &text])),
            _ => Err(Error::bad_value(format!(">1 field in obj: {text}"))),
        }
    }

    /// Validates a field name of the specification, which may end with the positional operator.
    fn check_path(&self, path: &str, value: &Bson) -> Result<()> {
        if !path.split('.').any(|part| part == "$") {
            return check_field_path(path);
        }
        if self.dialect == Dialect::Stage {
            return Err(Error::new(
                31324,
                "Cannot use positional projection in aggregation projection",
            ));
        }
        match path.strip_suffix(".$") {
            Some(before) if !before.split('.').any(|part| part == "$") => check_field_path(before)?,
            Some(_) => {
                return Err(Error::new(
                    31287,
                    format!("Cannot use positional operator twice: {path}"),
                ));
            }
            None => {
                return Err(Error::new(
                    31394,
                    format!(
                        "The positional operator may only be at the end of a path, but the path is {path}"
                    ),
                ));
            }
        }
        if matches!(value, Bson::Document(_) | Bson::Array(_) | Bson::String(_)) {
            return Err(Error::new(
                31271,
                "positional projection cannot be used with an expression or sub object",
            ));
        }
        Ok(())
    }

    fn switch(&mut self, path: &str, include: bool) -> Result<()> {
        if path == "_id" {
            self.keep_id = Some(include);
            return Ok(());
        }
        if let Some(positional) = path.strip_suffix(".$") {
            if !include {
                return Err(Error::new(
                    31395,
                    "positional projection cannot be used with exclusion",
                ));
            }
            if self.has(|node| matches!(node, Node::Positional)) {
                return Err(Error::new(
                    31276,
                    "Cannot specify more than one positional projection per query.",
                ));
            }
            if self.has(|node| matches!(node, Node::ElemMatch(_))) {
                return Err(Error::new(
                    31256,
                    "Cannot specify positional operator and $elemMatch.",
                ));
            }
            self.set_mode(path, true)?;
            return self.put(positional, Node::Positional);
        }
        self.set_mode(path, include)?;
        self.put(path, if include { Node::Include } else { Node::Exclude })
    }

    /// Returns whether any field satisfies the predicate.
    fn has(&self, wanted: fn(&Node) -> bool) -> bool {
        fn any(fields: &[(String, Node)], wanted: fn(&Node) -> bool) -> bool {
            fields.iter().any(|(_, node)| match node {
                Node::Inner(inner) => any(inner, wanted),
                node => wanted(node),
            })
        }
        any(&self.fields, wanted)
    }

    fn set_mode(&mut self, path: &str, include: bool) -> Result<()> {
        let profile = self.env.profile;
        let mixed = self.dialect == Dialect::Find && self.inclusive == Some(!include);
        queries::PROJECTION_MIX.check(profile, mixed, &[])?;
        queries::PROJECTION_EXCLUSION.check(profile, mixed && !include, &[&path])?;
        queries::PROJECTION_INCLUSION.check(profile, mixed && include, &[&path])?;
        match self.inclusive {
            Some(true) if !include => Err(Error::new(
                31254,
                format!("Cannot do exclusion on field {path} in inclusion projection"),
            )),
            Some(false) if include => Err(Error::new(
                31253,
                format!("Cannot do inclusion on field {path} in exclusion projection"),
            )),
            _ => {
                self.inclusive = Some(include);
                Ok(())
            }
        }
    }

    fn document(&mut self, full: &str, inner: &Document) -> Result<()> {
        let Some((first, argument)) = inner.iter().next() else {
            return match self.dialect {
                Dialect::Find => self.computed(full, &Bson::Document(Document::new())),
                Dialect::Stage => Err(Error::new(
                    51270,
                    "An empty sub-projection is not a valid value. Found empty object at path",
                )),
            };
        };
        if first.starts_with('$') {
            if self.dialect == Dialect::Find && inner.len() == 1 {
                match first.as_str() {
                    "$slice" if is_find_slice(argument) => {
                        let (skip, limit) = find_slice(argument)?;
                        return self.put(full, Node::Slice(skip, limit));
                    }
                    "$elemMatch" => {
                        let Bson::Document(condition) = argument else {
                            return Err(Error::new(31274, "elemMatch: Invalid argument, object required"));
                        };
                        if full.contains('.') {
                            return Err(Error::new(
                                31275,
                                "Cannot use $elemMatch projection on a nested field",
                            ));
                        }
                        if self.has(|node| matches!(node, Node::Positional)) {
                            return Err(Error::new(
                                31255,
                                "Cannot specify positional operator and $elemMatch.",
                            ));
                        }
                        let filter = Filter::parse_element(condition, self.env)?;
                        return self.put(full, Node::ElemMatch(filter));
                    }
                    // Unlike other expressions, `$meta` does not make the projection an inclusion.
                    "$meta" => {
                        let kind = metadata::parse(argument)?;
                        return self.put(full, Node::Computed(Expression::Meta(kind)));
                    }
                    _ => {}
                }
            }
            return self.computed(full, &Bson::Document(inner.clone()));
        }
        for (name, value) in inner {
            if name.starts_with('$') {
                return Err(Error::new(
                    31325,
                    format!("Expected only operators or only fields at {full}, found {name}"),
                ));
            }
            self.field(&format!("{full}.{name}"), name, value)?;
        }
        Ok(())
    }

    fn computed(&mut self, path: &str, value: &Bson) -> Result<()> {
        if self.inclusive == Some(false) {
            return Err(Error::new(
                31252,
                format!("Cannot use an expression {path}: {value} in an exclusion projection"),
            ));
        }
        if path != "_id" && !adds_fields(&self.fields) {
            self.inclusive = Some(true);
        }
        let expression = Expression::parse(value, self.env)?;
        self.put(path, Node::Computed(expression))
    }

    fn put(&mut self, path: &str, node: Node) -> Result<()> {
        put(&mut self.fields, path, path, node)
    }
}

/// Whether there are computed fields other than `$meta`.
fn adds_fields(fields: &[(String, Node)]) -> bool {
    fields.iter().any(|(_, node)| match node {
        Node::Computed(Expression::Meta(_)) => false,
        Node::Computed(_) => true,
        Node::Inner(inner) => adds_fields(inner),
        _ => false,
    })
}

fn put(fields: &mut Vec<(String, Node)>, full: &str, path: &str, node: Node) -> Result<()> {
    let collision = |rest: &str| {
        Error::new(
            31249,
            format!("Invalid $project :: caused by :: Path collision at {full} remaining portion {rest}"),
        )
    };
    match path.split_once('.') {
        None => {
            if fields.iter().any(|(name, _)| name == path) {
                return Err(Error {
                    code: 31250,
                    ..collision(path)
                });
            }
            fields.push((path.to_owned(), node));
            Ok(())
        }
        Some((first, rest)) => {
            if !fields.iter().any(|(name, _)| name == first) {
                fields.push((first.to_owned(), Node::Inner(Vec::new())));
            }
            match fields.iter_mut().find(|(name, _)| name == first) {
                Some((_, Node::Inner(inner))) => put(inner, full, rest, node),
                _ => Err(collision(rest)),
            }
        }
    }
}

fn is_find_slice(argument: &Bson) -> bool {
    match argument {
        Bson::Array(items) => items.len() == 2 && items.iter().all(crate::value::is_number),
        other => crate::value::is_number(other),
    }
}

fn find_slice(argument: &Bson) -> Result<(i64, Option<i64>)> {
    let number = |value: &Bson| Number::from_bson(value).map_or(0, Number::to_saturated_i64);
    match argument {
        Bson::Array(items) => {
            let limit = number(&items[1]);
            if limit <= 0 {
                return Err(Error::new(28724, "Third argument to $slice must be positive"));
            }
            Ok((number(&items[0]), Some(limit)))
        }
        other => Ok((number(other), None)),
    }
}
