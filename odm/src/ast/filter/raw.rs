//! Filter documents of the application. In the trees, only this file reads the names of filter operators from
//! a document.

use super::encode::Keys;
use super::node::Truth;
use super::op::{Op, Regex};
use crate::{
    ast::sink::Sink,
    base::bson::{Bson, Document, IndexKey},
};

fn is_logical(key: &str) -> bool {
    matches!(key, "$and" | "$or" | "$nor")
}

/// Whether a document consists of operators, as opposed to a document to compare with.
fn are_operators(document: &Document) -> bool {
    !document.is_empty() && document.keys().all(|key| key.starts_with('$'))
}

/// The operators of a document, if it has others than logical ones only.
pub(super) fn only_operators(document: &Document) -> Option<Vec<Op>> {
    (are_operators(document) && !document.keys().any(|key| is_logical(key)))
        .then(|| operators(document.clone()))
}

fn parts(value: &Bson) -> impl Iterator<Item = &Document> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Bson::as_document)
}

/// How many documents match.
pub(super) fn truth(filter: &Document) -> Truth {
    Truth::all(filter.iter().map(|(key, value)| match key.as_str() {
        "$and" => Truth::all(parts(value).map(truth)),
        "$or" => Truth::any(parts(value).map(truth)),
        "$nor" => Truth::any(parts(value).map(truth)).not(),
        "$comment" => Truth::Always,
        _ => match value {
            Bson::Document(condition) if are_operators(condition) => truth_of_condition(condition),
            _ => Truth::Depends,
        },
    }))
}

/// How many values match the operators on a field, as [`Op::truth`].
fn truth_of_condition(condition: &Document) -> Truth {
    Truth::all(
        condition
            .iter()
            .map(|(operator, operand)| match (operator.as_str(), operand) {
                ("$in", Bson::Array(values)) if values.is_empty() => Truth::Never,
                ("$nin", Bson::Array(values)) if values.is_empty() => Truth::Always,
                ("$not", Bson::Document(negated)) if are_operators(negated) => {
                    truth_of_condition(negated).not()
                }
                _ => Truth::Depends,
            }),
    )
}

/// The value that a filter requires a field to be equal to, in its conditions or in an `$and`.
pub(super) fn equality<'a>(filter: &'a Document, path: &str) -> Option<&'a Bson> {
    let own = filter.get(path).and_then(|value| match value {
        Bson::Document(condition) if are_operators(condition) => {
            condition
                .get("$eq")
                .or_else(|| match &condition.get_array("$in").ok()?[..] {
                    [value] => Some(value),
                    _ => None,
                })
        }
        Bson::RegularExpression(_) => None,
        value => Some(value),
    });
    own.or_else(|| parts(filter.get("$and")?).find_map(|part| equality(part, path)))
}

/// Whether a filter has a condition on a path for which this returns `true`. The conditions on the
/// elements of an array are those on the array.
pub(super) fn mentions(filter: &Document, is_wanted: &dyn Fn(&str) -> bool) -> bool {
    filter.iter().any(|(key, value)| match value {
        _ if !key.starts_with('$') => is_wanted(key),
        expression if key == "$expr" => reads(expression, is_wanted),
        Bson::Array(filters) => filters
            .iter()
            .filter_map(Bson::as_document)
            .any(|filter| mentions(filter, is_wanted)),
        Bson::Document(filter) => mentions(filter, is_wanted),
        _ => false,
    })
}

/// Whether an expression reads a path, `"$path"`, for which this returns `true`.
pub(super) fn reads(expression: &Bson, is_wanted: &dyn Fn(&str) -> bool) -> bool {
    match expression {
        Bson::String(text) => text.strip_prefix('$').is_some_and(|path| {
            let of_root = path
                .strip_prefix("$ROOT.")
                .or_else(|| path.strip_prefix("$CURRENT."));
            is_wanted(of_root.unwrap_or(path))
        }),
        Bson::Array(all) => all.iter().any(|expression| reads(expression, is_wanted)),
        Bson::Document(all) => all.values().any(|expression| reads(expression, is_wanted)),
        _ => false,
    }
}

/// Whether a filter has `$expr`, also within `$and`, `$or` and `$nor`.
pub(super) fn has_expression(filter: &Document) -> bool {
    filter.iter().any(|(key, value)| match key.as_str() {
        "$expr" => true,
        key if is_logical(key) => parts(value).any(has_expression),
        _ => false,
    })
}

/// The first operator that is not on a field, such as `$where`, and not `$comment`.
pub(super) fn operator_beside_fields(filter: &Document) -> Option<&str> {
    filter.iter().find_map(|(key, value)| {
        if is_logical(key) {
            parts(value).find_map(operator_beside_fields)
        } else {
            (key.starts_with('$') && key != "$comment").then_some(key.as_str())
        }
    })
}

/// Visits the conditions on fields, also within `$and`, `$or` and `$nor`.
pub(super) fn each_condition(filter: &Document, visit: &mut dyn FnMut(&str, Op)) {
    for (key, value) in filter {
        match value {
            Bson::Array(filters) if key.starts_with('$') => filters
                .iter()
                .filter_map(Bson::as_document)
                .for_each(|filter| each_condition(filter, visit)),
            _ if key.starts_with('$') => {}
            Bson::Document(condition) => operators(condition.clone())
                .into_iter()
                .for_each(|op| visit(key, op)),
            value => visit(key, Op::Is(value.clone())),
        }
    }
}

/// The path of the first condition that is an `$elemMatch`.
pub(super) fn path_of_elem_match(filter: &Document) -> Option<String> {
    let mut found = None;
    each_condition(filter, &mut |path, op| {
        if found.is_none() && op.sent() == "$elemMatch" {
            found = Some(path.to_owned());
        }
    });
    found
}

/// The operators of a condition on a field, or the document that the field is compared with.
pub(crate) fn operators(mut condition: Document) -> Vec<Op> {
    if !are_operators(&condition) {
        return vec![Op::Is(Bson::Document(condition))];
    }
    let options = condition
        .contains_key("$regex")
        .then(|| condition.remove("$options"))
        .flatten();
    condition
        .into_iter()
        .map(|(name, operand)| operator(name, operand, options.as_ref()))
        .collect()
}

fn operator(name: String, operand: Bson, options: Option<&Bson>) -> Op {
    match (name.as_str(), operand) {
        ("$eq", value) => Op::Eq(value),
        ("$ne", value) => Op::Ne(value),
        ("$gt", value) => Op::Gt(value),
        ("$gte", value) => Op::Gte(value),
        ("$lt", value) => Op::Lt(value),
        ("$lte", value) => Op::Lte(value),
        ("$in", Bson::Array(values)) => Op::In(values),
        ("$nin", Bson::Array(values)) => Op::Nin(values),
        ("$all", Bson::Array(values)) => Op::All(values),
        ("$exists", Bson::Boolean(present)) => Op::Exists(present),
        ("$not", Bson::Document(negated)) if are_operators(&negated) => Op::Not(operators(negated)),
        ("$not", pattern @ Bson::RegularExpression(_)) => Op::Not(vec![Op::Regex(Box::new(Regex {
            pattern,
            options: None,
        }))]),
        ("$regex", pattern) => Op::Regex(Box::new(Regex {
            pattern,
            options: options.cloned(),
        })),
        (_, operand) => Op::Raw(Box::new((name, operand))),
    }
}

/// Whether an operator can match a missing field.
pub(super) fn matches_missing(operator: &str) -> bool {
    !matches!(
        operator,
        "$type"
            | "$regex"
            | "$options"
            | "$all"
            | "$size"
            | "$elemMatch"
            | "$mod"
            | "$bitsAllSet"
            | "$bitsAnySet"
            | "$bitsAllClear"
            | "$bitsAnyClear"
            | "$geoWithin"
            | "$geoIntersects"
            | "$near"
            | "$nearSphere"
    )
}

/// Whether an operator compares the field with another value than null.
pub(super) fn is_comparison(operator: &str, operand: &Bson) -> bool {
    !matches!(operator, "$exists" | "$type") && *operand != Bson::Null
}

/// Whether the server supports the operator only at the top level of a query.
pub(super) fn is_top_level_only(operator: &str) -> bool {
    matches!(operator, "$near" | "$nearSphere")
}

/// Writes a filter document, so that its structure is visible to the sink.
pub(super) fn encode<S: Sink>(filter: &Document, keys: Keys<'_>, to: &mut S) {
    for (key, value) in filter {
        match value {
            Bson::Array(all) if is_logical(key) => {
                let array = to.begin_array(key);
                for (at, part) in all.iter().enumerate() {
                    match part {
                        Bson::Document(part) => {
                            let begun = to.begin_document(IndexKey::new(at).as_str());
                            encode(part, keys, to);
                            to.end(begun);
                        }
                        part => to.value(IndexKey::new(at).as_str(), part),
                    }
                }
                to.end(array);
            }
            value if key.starts_with('$') => to.value(key, value),
            Bson::Document(condition) if is_condition(condition) => {
                let begun = to.begin_document(&keys.path(key));
                encode_operators(condition, to);
                to.end(begun);
            }
            value => to.value(&keys.path(key), value),
        }
    }
}

/// Whether the server reads a document as operators: its first name decides.
fn is_condition(document: &Document) -> bool {
    document.keys().next().is_some_and(|key| key.starts_with('$'))
}

fn encode_operators<S: Sink>(condition: &Document, to: &mut S) {
    for (operator, operand) in condition {
        match (operator.as_str(), operand) {
            ("$not", Bson::Document(negated)) if is_condition(negated) => {
                let begun = to.begin_document(operator);
                encode_operators(negated, to);
                to.end(begun);
            }
            ("$elemMatch", Bson::Document(element)) => {
                let begun = to.begin_document(operator);
                if is_condition(element) && !element.keys().next().is_some_and(|key| is_logical(key)) {
                    encode_operators(element, to);
                } else {
                    encode(element, Keys::Own, to);
                }
                to.end(begun);
            }
            (operator, operand) => to.value(operator, operand),
        }
    }
}
