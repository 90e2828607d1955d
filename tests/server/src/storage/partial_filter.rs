//! `partialFilterExpression`: the filters that an index can have.

use crate::error::{Error, Result};
use crate::query::parse::is_operators;
use crate::query::{Env, Filter};
use crate::refusal::ServerProfile;
use crate::refusal::indexes as rows;
use crate::value::{truthy, type_name};
use bson::{Bson, Document};

/// The maximum number of levels since 6.0: `internalPartialFilterExpressionMaxDepth`.
const MAX_DEPTH: usize = 4;

/// A filter as MongoDB parses it. A conjunction with one clause is that clause.
enum Node {
    And(Vec<Node>),
    Or(Vec<Node>),
    /// An operator that every version allows.
    Leaf,
    /// An operator that is allowed since 6.0.
    LaterLeaf(String),
    /// An operator that no version allows.
    Other(String),
}

/// Fails on a filter that is not valid for any index: these checks precede those of the other
/// options.
pub(super) fn check_syntax(value: &Bson, profile: ServerProfile) -> Result<()> {
    let filter = object(value)?;
    check_context(filter)?;
    Filter::parse(filter, &env(profile)).map(drop)
}

fn env(profile: ServerProfile) -> Env {
    Env {
        profile,
        ..Env::default()
    }
}

/// Parses the filter of an index.
pub(super) fn parse(value: &Bson, profile: ServerProfile) -> Result<Filter> {
    let filter = object(value)?;
    check(&conjunction(nodes(filter)), 0, profile)?;
    Filter::parse(filter, &env(profile))
}

fn object(value: &Bson) -> Result<&Document> {
    value.as_document().ok_or_else(|| {
        Error::type_mismatch(format!(
            "The field 'partialFilterExpression' must be an object, but got {}",
            type_name(value)
        ))
    })
}

/// Fails on operators that the filter parser does not accept here.
fn check_context(filter: &Document) -> Result<()> {
    filter
        .iter()
        .try_for_each(|(name, value)| match (name.as_str(), value) {
            ("$expr" | "$jsonSchema", _) => Err(rows::PARTIAL_CONTEXT.error(&[name])),
            ("$text" | "$where", _) => Err(rows::PARTIAL_TEXT.error(&[name])),
            ("$and" | "$or" | "$nor", Bson::Array(clauses)) => clauses
                .iter()
                .filter_map(Bson::as_document)
                .try_for_each(check_context),
            _ => Ok(()),
        })
}

fn conjunction(mut nodes: Vec<Node>) -> Node {
    if nodes.len() == 1 {
        return nodes.remove(0);
    }
    Node::And(nodes)
}

/// The clauses of a filter.
fn nodes(filter: &Document) -> Vec<Node> {
    let clauses = |value: &Bson| -> Vec<Node> {
        let clauses = value.as_array().into_iter().flatten();
        clauses
            .filter_map(Bson::as_document)
            .map(|clause| conjunction(nodes(clause)))
            .collect()
    };
    let mut found = Vec::new();
    for (name, value) in filter {
        match (name.as_str(), value) {
            ("$and", _) => found.push(Node::And(clauses(value))),
            ("$or", _) => found.push(Node::Or(clauses(value))),
            ("$comment", _) => {}
            (name, _) if name.starts_with('$') => found.push(Node::Other(name.to_owned())),
            (_, Bson::Document(operators)) if is_operators(operators) => {
                found.extend(operators.iter().map(|(name, operand)| of_operator(name, operand)));
            }
            (_, Bson::RegularExpression(_)) => found.push(Node::Other("$regex".to_owned())),
            _ => found.push(Node::Leaf),
        }
    }
    found
}

fn of_operator(name: &str, operand: &Bson) -> Node {
    match name {
        "$eq" | "$lt" | "$lte" | "$gt" | "$gte" | "$type" => Node::Leaf,
        "$exists" if truthy(operand) => Node::Leaf,
        "$exists" => Node::Other("$not".to_owned()),
        "$in" | "$geoWithin" | "$geoIntersects" => Node::LaterLeaf(name.to_owned()),
        "$all" => Node::And(
            operand
                .as_array()
                .into_iter()
                .flatten()
                .map(|_| Node::Leaf)
                .collect(),
        ),
        other => Node::Other(other.to_owned()),
    }
}

fn check(node: &Node, level: usize, profile: ServerProfile) -> Result<()> {
    rows::PARTIAL_DEPTH.check(profile, level >= MAX_DEPTH, &[])?;
    let children = match node {
        Node::Leaf => return Ok(()),
        Node::LaterLeaf(name) => {
            return rows::PARTIAL_OPERATOR_BEFORE_6.check(profile, true, &[name]);
        }
        Node::Other(name) => {
            rows::PARTIAL_OPERATOR_BEFORE_6.check(profile, true, &[name])?;
            return Err(rows::PARTIAL_OPERATOR.error(&[name]));
        }
        Node::Or(children) => {
            rows::PARTIAL_OPERATOR_BEFORE_6.check(profile, true, &[&"$or"])?;
            children
        }
        Node::And(children) => {
            rows::PARTIAL_AND.check(profile, level > 0, &[])?;
            children
        }
    };
    children
        .iter()
        .try_for_each(|child| check(child, level + 1, profile))
}
