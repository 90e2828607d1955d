//! Projections: inclusion, exclusion, computed fields, and find's `$slice`, `$elemMatch` and positional `$`.

use super::{Env, Filter};
use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::value::number::Number;
use bson::{Bson, Document};

/// What a projection does at one field.
#[derive(Debug, Clone)]
enum Node {
    Include,
    Exclude,
    Inner(Vec<(String, Node)>),
    Computed(Expression),
    /// Skip (negative: from the end) and limit.
    Slice(i64, Option<i64>),
    ElemMatch(Filter),
    Positional,
}

/// A parsed projection.
#[derive(Debug, Clone)]
pub(crate) struct Projection {
    fields: Vec<(String, Node)>,
    /// Keep only what is named; otherwise drop only what is named.
    inclusive: bool,
    keep_id: bool,
}

/// Who asks: `find` has operators of its own, where `$project` has expressions of the same names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Find,
    Stage,
}

impl Projection {
    /// Parses the projection of `find` and `findAndModify`.
    pub(crate) fn parse_find(spec: &Document, env: &Env) -> Result<Projection> {
        Builder {
            env,
            dialect: Dialect::Find,
            inclusive: None,
            keep_id: None,
            fields: Vec::new(),
        }
        .build(spec)
    }

    /// Parses a `$project` stage.
    pub(crate) fn parse_stage(spec: &Document, env: &Env) -> Result<Projection> {
        if spec.is_empty() {
            return Err(Error::new(
                51272,
                "Invalid $project :: caused by :: projection specification must have at least one field",
            ));
        }
        Builder {
            env,
            dialect: Dialect::Stage,
            inclusive: None,
            keep_id: None,
            fields: Vec::new(),
        }
        .build(spec)
    }

    /// Applies a projection that has no positional part.
    pub(crate) fn apply(&self, document: &Document, env: &Env) -> Result<Document> {
        self.run(document, None, env)
    }

    /// Applies a projection to a document that a filter has matched.
    pub(crate) fn apply_matched(&self, document: &Document, filter: &Filter, env: &Env) -> Result<Document> {
        let position = if self.has_positional(&self.fields) {
            filter.matches_with_position(document, env)?.1
        } else {
            None
        };
        self.run(document, position, env)
    }

    fn has_positional(&self, fields: &[(String, Node)]) -> bool {
        fields.iter().any(|(_, node)| match node {
            Node::Positional => true,
            Node::Inner(inner) => self.has_positional(inner),
            _ => false,
        })
    }

    fn run(&self, document: &Document, position: Option<usize>, env: &Env) -> Result<Document> {
        let context = Context {
            root: document,
            position,
            env,
            inclusive: self.inclusive,
        };
        let mut out = Document::new();
        let id = self
            .fields
            .iter()
            .find(|(name, _)| name == "_id")
            .map(|(_, node)| node);
        for (name, value) in document {
            if name == "_id" && id.is_none() {
                if self.keep_id {
                    out.insert(name, value.clone());
                }
                continue;
            }
            match self.fields.iter().find(|(field, _)| field == name) {
                None if self.inclusive => {}
                None => {
                    out.insert(name, value.clone());
                }
                Some((_, Node::Computed(_))) if name == "_id" => {
                    out.insert(name, value.clone());
                }
                Some((_, node)) => {
                    if let Some(value) = context.existing(node, value)? {
                        out.insert(name, value);
                    }
                }
            }
        }
        context.add_computed(&self.fields, &mut out)?;
        Ok(out)
    }
}

struct Context<'c> {
    root: &'c Document,
    position: Option<usize>,
    env: &'c Env,
    inclusive: bool,
}

impl Context<'_> {
    /// The projected form of a field that exists.
    fn existing(&self, node: &Node, value: &Bson) -> Result<Option<Bson>> {
        Ok(match node {
            Node::Include => Some(value.clone()),
            Node::Exclude => None,
            // A computed field comes after the included ones, only _id keeps its place.
            Node::Computed(_) => None,
            Node::Inner(inner) => self.inner(inner, value)?,
            Node::Slice(skip, limit) => Some(match value {
                Bson::Array(items) => Bson::Array(slice(items, *skip, *limit)),
                other => other.clone(),
            }),
            Node::ElemMatch(filter) => match value {
                Bson::Array(items) => {
                    let mut found = None;
                    for item in items {
                        if filter.matches_element(item, self.env)? {
                            found = Some(Bson::Array(vec![item.clone()]));
                            break;
                        }
                    }
                    found
                }
                _ => None,
            },
            Node::Positional => Some(match value {
                Bson::Array(items) => {
                    let index = self.position.ok_or_else(|| {
                        Error::new(51246, "Executor error during find command :: caused by :: positional operator '.$' couldn't find a matching element in the array")
                    })?;
                    Bson::Array(items.get(index).cloned().into_iter().collect())
                }
                other => other.clone(),
            }),
        })
    }

    fn inner(&self, fields: &[(String, Node)], value: &Bson) -> Result<Option<Bson>> {
        match value {
            Bson::Document(document) => {
                let mut out = Document::new();
                for (name, value) in document {
                    match fields.iter().find(|(field, _)| field == name) {
                        None if self.inclusive => {}
                        None => {
                            out.insert(name, value.clone());
                        }
                        Some((_, node)) => {
                            if let Some(value) = self.existing(node, value)? {
                                out.insert(name, value);
                            }
                        }
                    }
                }
                Ok(Some(Bson::Document(out)))
            }
            Bson::Array(items) => {
                let mut out = Vec::with_capacity(items.len());
                for item in items {
                    out.extend(self.inner(fields, item)?);
                }
                Ok(Some(Bson::Array(out)))
            }
            // A scalar has no such field: kept by an exclusion, dropped by an inclusion.
            other => Ok((!self.inclusive).then(|| other.clone())),
        }
    }

    fn add_computed(&self, fields: &[(String, Node)], out: &mut Document) -> Result<()> {
        for (name, node) in fields {
            match node {
                Node::Computed(expression) => {
                    let value = expression.evaluate(self.root, self.env)?;
                    if matches!(value, Bson::Undefined) {
                        out.remove(name);
                    } else {
                        out.insert(name, value);
                    }
                }
                Node::Inner(inner) if has_computed(inner) => {
                    let held = out.get(name).cloned();
                    let value = self.computed_inner(inner, held)?;
                    out.insert(name, value);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Computed fields within an embedded document, or within every element of an array; a scalar gives way.
    fn computed_inner(&self, fields: &[(String, Node)], held: Option<Bson>) -> Result<Bson> {
        match held {
            Some(Bson::Array(items)) => {
                let items = items
                    .into_iter()
                    .map(|item| self.computed_inner(fields, Some(item)));
                items.collect::<Result<Vec<_>>>().map(Bson::Array)
            }
            held => {
                let mut document = match held {
                    Some(Bson::Document(document)) => document,
                    _ => Document::new(),
                };
                self.add_computed(fields, &mut document)?;
                Ok(Bson::Document(document))
            }
        }
    }
}

fn has_computed(fields: &[(String, Node)]) -> bool {
    fields.iter().any(|(_, node)| match node {
        Node::Computed(_) => true,
        Node::Inner(inner) => has_computed(inner),
        _ => false,
    })
}

/// find's `$slice`: a negative skip counts from the end.
fn slice(items: &[Bson], skip: i64, limit: Option<i64>) -> Vec<Bson> {
    let length = items.len() as i64;
    let (start, count) = match limit {
        None if skip < 0 => ((length + skip).max(0), -skip),
        None => (0, skip),
        Some(limit) => (
            if skip < 0 {
                (length + skip).max(0)
            } else {
                skip.min(length)
            },
            limit,
        ),
    };
    items
        .iter()
        .skip(start as usize)
        .take(count.max(0) as usize)
        .cloned()
        .collect()
}

struct Builder<'e> {
    env: &'e Env,
    dialect: Dialect,
    inclusive: Option<bool>,
    keep_id: Option<bool>,
    fields: Vec<(String, Node)>,
}

impl Builder<'_> {
    fn build(mut self, spec: &Document) -> Result<Projection> {
        for (path, value) in spec {
            self.field(path, path, value)?;
        }
        let computed_only = has_computed(&self.fields) && self.inclusive.is_none();
        let inclusive = self.inclusive.unwrap_or(
            computed_only
                || (self
                    .fields
                    .iter()
                    .any(|(_, node)| matches!(node, Node::ElemMatch(_) | Node::Positional)))
                || (self.fields.is_empty() && self.keep_id == Some(true)),
        );
        if !inclusive && has_computed(&self.fields) && self.inclusive == Some(false) {
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
        check_path(path)?;
        match value {
            Bson::Boolean(_) | Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_) => {
                self.switch(full, crate::value::truthy(value))
            }
            Bson::Document(inner) => self.document(full, inner),
            other => self.computed(full, other),
        }
    }

    fn switch(&mut self, path: &str, include: bool) -> Result<()> {
        if path == "_id" {
            self.keep_id = Some(include);
            return Ok(());
        }
        if let Some(positional) = path.strip_suffix(".$") {
            if self.dialect == Dialect::Stage || !include {
                return Err(Error::new(
                    31395,
                    "positional projection cannot be used with exclusion",
                ));
            }
            self.set_mode(path, true)?;
            return self.put(positional, Node::Positional);
        }
        self.set_mode(path, include)?;
        self.put(path, if include { Node::Include } else { Node::Exclude })
    }

    fn set_mode(&mut self, path: &str, include: bool) -> Result<()> {
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
                        let filter = Filter::parse_element(condition, self.env)?;
                        return self.put(full, Node::ElemMatch(filter));
                    }
                    "$meta" => return Err(Error::not_served("$meta in a projection")),
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
        if path != "_id" && !has_computed(&self.fields) {
            self.inclusive = Some(true);
        }
        let expression = Expression::parse(value, self.env)?;
        self.put(path, Node::Computed(expression))
    }

    fn put(&mut self, path: &str, node: Node) -> Result<()> {
        put(&mut self.fields, path, path, node)
    }
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

fn check_path(path: &str) -> Result<()> {
    if path.is_empty() || path.split('.').any(str::is_empty) {
        return Err(Error::new(
            15998,
            "FieldPath field names may not be empty strings.",
        ));
    }
    if path.starts_with('$') || path.split('.').any(|part| part.starts_with('$') && part != "$") {
        return Err(Error::new(
            16410,
            "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
        ));
    }
    Ok(())
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

#[cfg(test)]
mod tests;
