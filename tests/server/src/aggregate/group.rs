//! `$group`, `$bucket`, and the group of `$sortByCount`.

use super::accumulator::{Accumulator, GroupState};
use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::query::Env;
use crate::storage::key::Key;
use crate::value::compare::compare;
use crate::value::{format, type_name};
use bson::{Bson, Document, doc};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The grouping key.
#[derive(Debug, Clone)]
enum By {
    Value(Expression),
    /// Expression, `boundaries`, `default`.
    Bucket(Expression, Vec<Bson>, Option<Bson>),
}

/// A `$group` or `$bucket` stage.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    by: By,
    accumulators: Vec<Accumulator>,
}

impl Group {
    pub(super) fn parse(spec: &Document, env: &Env) -> Result<Group> {
        let id = spec
            .get("_id")
            .ok_or_else(|| Error::new(15955, "a group specification must include an _id"))?;
        let accumulators = spec
            .iter()
            .filter(|(name, _)| *name != "_id")
            .map(|(name, value)| Accumulator::parse(name, value, env))
            .collect::<Result<_>>()?;
        Ok(Group {
            by: By::Value(Expression::parse(id, env)?),
            accumulators,
        })
    }

    pub(super) fn parse_count(by: &Bson, env: &Env) -> Result<Group> {
        let expression = match by {
            Bson::String(text) if text.starts_with('$') => true,
            Bson::Document(document) => document.keys().next().is_some_and(|name| name.starts_with('$')),
            _ => false,
        };
        if !expression {
            return Err(Error::new(
                40148,
                "the sortByCount field must be defined as a $-prefixed path or expression",
            ));
        }
        Group::parse(&doc! { "_id": by.clone(), "count": { "$sum": 1 } }, env)
    }

    pub(super) fn parse_bucket(spec: &Document, env: &Env) -> Result<Group> {
        if let Some(name) = spec
            .keys()
            .find(|name| !matches!(name.as_str(), "groupBy" | "boundaries" | "default" | "output"))
        {
            return Err(Error::new(
                40197,
                format!("Unrecognized option to $bucket: {name}."),
            ));
        }
        let (Some(by), Some(Bson::Array(boundaries))) = (spec.get("groupBy"), spec.get("boundaries")) else {
            return Err(Error::new(
                40198,
                "$bucket requires 'groupBy' and 'boundaries' to be specified.",
            ));
        };
        if boundaries.len() < 2 {
            return Err(Error::new(
                40192,
                format!(
                    "The $bucket 'boundaries' field must have at least 2 values, but found {} value(s).",
                    boundaries.len()
                ),
            ));
        }
        let boundaries = boundaries
            .iter()
            .map(|boundary| Expression::parse(boundary, env)?.evaluate(&Document::new(), env))
            .collect::<Result<Vec<_>>>()?;
        for pair in boundaries.windows(2) {
            if crate::value::compare::type_class(&pair[0]) != crate::value::compare::type_class(&pair[1]) {
                return Err(Error::new(
                    40193,
                    format!(
                        "All values in the 'boundaries' option to $bucket must have the same type. Found conflicting types {} and {}.",
                        type_name(&pair[0]),
                        type_name(&pair[1])
                    ),
                ));
            }
            if compare(&pair[0], &pair[1], None).is_ge() {
                return Err(Error::new(
                    40194,
                    format!(
                        "The 'boundaries' option to $bucket must be sorted, but elements {} and {} are not in ascending order.",
                        format::bson(&pair[0]),
                        format::bson(&pair[1])
                    ),
                ));
            }
        }
        let default = spec
            .get("default")
            .map(|value| Expression::parse(value, env)?.evaluate(&Document::new(), env))
            .transpose()?;
        if let Some(default) = &default
            && compare(default, &boundaries[0], None).is_ge()
            && compare(default, &boundaries[boundaries.len() - 1], None).is_lt()
        {
            return Err(Error::new(
                40199,
                "The $bucket 'default' field must be less than the lowest boundary or greater than or equal to the highest boundary.",
            ));
        }
        let count = doc! { "count": { "$sum": 1 } };
        let output = match spec.get("output") {
            None => &count,
            Some(Bson::Document(output)) => output,
            Some(_) => return Err(Error::new(40196, "The $bucket 'output' field must be an object")),
        };
        let accumulators = output
            .iter()
            .map(|(name, value)| Accumulator::parse(name, value, env))
            .collect::<Result<_>>()?;
        Ok(Group {
            by: By::Bucket(Expression::parse(by, env)?, boundaries, default),
            accumulators,
        })
    }

    pub(super) fn run(&self, documents: &[Document], env: &Env) -> Result<Vec<Document>> {
        let mut positions: BTreeMap<Key, usize> = BTreeMap::new();
        let mut groups: Vec<(Bson, Vec<GroupState>)> = Vec::new();
        for document in documents {
            let id = self.id(document, env)?;
            let folded = env
                .collation
                .as_ref()
                .map_or_else(|| id.clone(), |collation| collation.fold(&id));
            let position = match positions.entry(Key(vec![folded])) {
                Entry::Occupied(held) => *held.get(),
                Entry::Vacant(free) => {
                    let states = self
                        .accumulators
                        .iter()
                        .map(|accumulator| accumulator.start(&id, env))
                        .collect::<Result<_>>()?;
                    groups.push((id, states));
                    *free.insert(groups.len() - 1)
                }
            };
            for (accumulator, state) in self.accumulators.iter().zip(&mut groups[position].1) {
                accumulator.add(state, document, env)?;
            }
        }
        if matches!(self.by, By::Bucket(..)) {
            groups.sort_by(|a, b| compare(&a.0, &b.0, None));
        }
        groups
            .into_iter()
            .map(|(id, states)| {
                let mut row = doc! { "_id": id };
                for (accumulator, state) in self.accumulators.iter().zip(states) {
                    row.insert(&accumulator.name, accumulator.finish(state)?);
                }
                Ok(row)
            })
            .collect()
    }

    fn id(&self, document: &Document, env: &Env) -> Result<Bson> {
        match &self.by {
            By::Value(expression) => Ok(match expression.evaluate(document, env)? {
                Bson::Undefined => Bson::Null,
                value => value,
            }),
            By::Bucket(expression, boundaries, default) => {
                let value = expression.evaluate(document, env)?;
                let bucket = boundaries.windows(2).find(|pair| {
                    compare(&value, &pair[0], env.collation.as_ref()).is_ge()
                        && compare(&value, &pair[1], env.collation.as_ref()).is_lt()
                });
                match (bucket, default) {
                    (Some(pair), _) => Ok(pair[0].clone()),
                    (None, Some(default)) => Ok(default.clone()),
                    (None, None) => Err(Error::new(
                        7_158_303,
                        "$switch could not find a matching branch for an input, and no default was specified.",
                    )),
                }
            }
        }
    }
}
