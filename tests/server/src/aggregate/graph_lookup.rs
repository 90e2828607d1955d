//! `$graphLookup`: a breadth-first search in a collection, from each document.

use super::Source;
use crate::command::view;
use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::query::filter::Test;
use crate::query::path::{self, Path, check_field_path, expanded};
use crate::query::{Env, Filter};
use crate::storage::Collection;
use crate::storage::key::Key;
use crate::value::compare::compare;
use crate::value::format;
use crate::value::number::Number;
use crate::value::type_name;
use bson::{Bson, Document};
use std::collections::BTreeSet;

/// A `$graphLookup` stage.
#[derive(Debug, Clone)]
pub(crate) struct GraphLookup {
    from: String,
    into: String,
    start: Expression,
    connect_from: Path,
    connect_to: Path,
    /// `restrictSearchWithMatch`
    restriction: Filter,
    max_depth: Option<i64>,
    depth_field: Option<String>,
}

impl GraphLookup {
    pub(super) fn parse(spec: &Document, env: &Env) -> Result<GraphLookup> {
        let from = match spec.get("from") {
            Some(Bson::String(from)) => from.clone(),
            Some(other) => {
                return Err(Error::failed_to_parse(format!(
                    "$graphLookup 'from' field must be a string, but found {}",
                    type_name(other)
                )));
            }
            None => {
                return Err(Error::failed_to_parse(format!(
                    "missing 'from' option to $graphLookup stage specification: {}",
                    format::document(spec)
                )));
            }
        };
        let (mut into, mut start, mut connect_from, mut connect_to) = (None, None, None, None);
        let (mut restriction, mut max_depth, mut depth_field) = (Filter::Constant(true), None, None);
        for (name, value) in spec {
            match (name.as_str(), value) {
                ("from", _) => {}
                ("startWith", value) => start = Some(Expression::parse(value, env)?),
                ("maxDepth", value) => max_depth = Some(depth(value)?),
                ("restrictSearchWithMatch", Bson::Document(filter)) => {
                    restriction = Filter::parse(filter, env)?;
                    if restriction.near().is_some() || restriction.text().is_some() {
                        return Err(Error::not_served("$near and $text in restrictSearchWithMatch"));
                    }
                }
                ("restrictSearchWithMatch", other) => {
                    return Err(Error::new(
                        40185,
                        format!(
                            "restrictSearchWithMatch must be an object, found {}",
                            type_name(other)
                        ),
                    ));
                }
                ("as" | "connectFromField" | "connectToField" | "depthField", Bson::String(path)) => {
                    check_field_path(path)?;
                    match name.as_str() {
                        "as" => into = Some(path.clone()),
                        "connectFromField" => connect_from = Some(Path::new(path)),
                        "connectToField" => connect_to = Some(Path::new(path)),
                        _ => depth_field = Some(path.clone()),
                    }
                }
                ("as" | "connectFromField" | "connectToField" | "depthField", other) => {
                    return Err(Error::new(
                        40103,
                        format!(
                            "expected string as argument for {name}, found: {}",
                            type_name(other)
                        ),
                    ));
                }
                _ => {
                    return Err(Error::new(
                        40104,
                        format!("Unknown argument to $graphLookup: {name}"),
                    ));
                }
            }
        }
        let (Some(into), Some(start), Some(connect_from), Some(connect_to)) =
            (into, start, connect_from, connect_to)
        else {
            return Err(Error::new(
                40105,
                "$graphLookup requires 'from', 'as', 'startWith', 'connectFromField', and 'connectToField' to be specified.",
            ));
        };
        Ok(GraphLookup {
            from,
            into,
            start,
            connect_from,
            connect_to,
            restriction,
            max_depth,
            depth_field,
        })
    }

    pub(super) fn run(
        &self,
        documents: Vec<Document>,
        source: Source<'_>,
        env: &Env,
    ) -> Result<Vec<Document>> {
        let collection = view::joined(source, &self.from)?;
        let mut joined = Vec::with_capacity(documents.len());
        for mut document in documents {
            let start = match self.start.evaluate(&document, env)? {
                Bson::Array(values) => values,
                Bson::Undefined => Vec::new(),
                value => vec![value],
            };
            let found = match collection.as_deref() {
                Some(collection) => self.search(start, collection, env)?,
                None => Vec::new(),
            };
            path::set(&mut document, &self.into, Bson::Array(found));
            joined.push(document);
        }
        Ok(joined)
    }

    /// The documents reached from the values, in the order of their depth.
    fn search(&self, start: Vec<Bson>, collection: &Collection, env: &Env) -> Result<Vec<Bson>> {
        let key = |value: &Bson| {
            let folded = env.collation.as_ref().map(|collation| collation.fold(value));
            Key(vec![folded.unwrap_or_else(|| value.clone())])
        };
        let mut visited = BTreeSet::new();
        let mut queried = BTreeSet::new();
        let mut found = Vec::new();
        let mut frontier = start;
        let mut depth = 0_i64;
        while !frontier.is_empty() && self.max_depth.is_none_or(|most| depth <= most) {
            let mut next = Vec::new();
            for id in collection.matching(&self.connected(frontier, env), env)? {
                let Some(document) = collection.record(id) else {
                    continue;
                };
                let Some(own) = document.get("_id") else {
                    return Err(Error::new(
                        40271,
                        format!(
                            "Documents in the '{}' namespace must contain an _id for de-duplication in $graphLookup",
                            self.from
                        ),
                    ));
                };
                if !visited.insert(key(own)) {
                    continue;
                }
                for value in expanded(document, &self.connect_from).into_iter().flatten() {
                    if queried.insert(key(&value)) {
                        next.push(value);
                    }
                }
                let mut document = document.as_ref().clone();
                if let Some(field) = &self.depth_field {
                    path::set(&mut document, field, Bson::Int64(depth));
                }
                found.push(Bson::Document(document));
            }
            frontier = next;
            depth += 1;
        }
        Ok(found)
    }

    /// The filter on the documents that are connected with one of the values.
    fn connected(&self, mut values: Vec<Bson>, env: &Env) -> Filter {
        values.sort_by(|a, b| compare(a, b, env.collation.as_ref()));
        let mut all = vec![Filter::Field(
            self.connect_to.clone(),
            Test::In(values.clone(), Vec::new()),
        )];
        // Null does not equal a missing field here.
        if values.iter().any(crate::value::is_nullish) {
            all.push(Filter::Field(self.connect_to.clone(), Test::Exists));
        }
        all.push(self.restriction.clone());
        Filter::And(all)
    }
}

fn depth(value: &Bson) -> Result<i64> {
    let number = Number::from_bson(value).ok_or_else(|| {
        Error::new(
            40100,
            format!("maxDepth requires numeric argument, found {}", type_name(value)),
        )
    })?;
    if number.to_f64() < 0.0 {
        return Err(Error::new(
            40101,
            format!(
                "maxDepth requires a nonnegative argument, found: {}",
                format::bson(value)
            ),
        ));
    }
    number.to_exact_i64().ok_or_else(|| {
        Error::new(
            40102,
            format!(
                "maxDepth could not be represented as a long long: {}",
                format::bson(value)
            ),
        )
    })
}
