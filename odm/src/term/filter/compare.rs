//! Conditions of the filter operators.

use crate::{
    ast::filter::{Element, Mark, Op, operators},
    base::{
        bson::{Bson, Document},
        error::{Error, Result, ValueError},
    },
    path::{AsPath, RawPath, value_path},
    term::filter::{Filter, Pattern},
    values::value::has_operator_names,
};

/// A comparison with a value.
pub(super) fn compare<A: AsPath>(
    path: &A,
    op: impl FnOnce(Bson) -> Op,
    value: Result<Bson, ValueError>,
) -> Filter<A::Root> {
    Filter::on(
        path,
        value.map(op).map_err(|e| Error::encode(path.raw().dotted(), e)),
    )
}

/// `$ne`.
pub(super) fn unequal<A: AsPath>(path: &A, value: Result<Bson, ValueError>) -> Filter<A::Root> {
    if matches!(value, Ok(Bson::RegularExpression(_))) {
        let reason = "the server does not compare with a regular expression by `$ne`: use `not` with `eq` for regular \
                      expressions that are not equal, or with `regex` for strings that do not match";
        return Filter::new(Err(Error::filter(path.raw().dotted(), reason)));
    }
    compare(path, Op::Ne, value)
}

/// `$in` or `$nin`.
pub(super) fn in_list<A: AsPath>(
    path: &A,
    op: impl FnOnce(Vec<Bson>) -> Op,
    values: Result<Vec<Bson>, ValueError>,
) -> Filter<A::Root> {
    if let Ok(values) = &values
        && let Some(reason) = not_in_lists(values)
    {
        return Filter::new(Err(Error::filter(path.raw().dotted().replace('\0', ""), reason)));
    }
    Filter::on(
        path,
        values.map(op).map_err(|e| Error::encode(path.raw().dotted(), e)),
    )
}

/// Why the server would not compare with one of the values in `$in` and `$nin`.
pub(crate) fn not_in_lists(values: &[Bson]) -> Option<&'static str> {
    values.iter().find_map(|value| match value {
        Bson::RegularExpression(_) => Some(
            "in `$in` and `$nin` the server matches a regular expression as a pattern: for equal regular \
             expressions use `eq`, for a pattern `regex`",
        ),
        Bson::Document(document) if is_refused_in_lists(document) => Some(
            "the server rejects a document whose first name starts with `$` in `$in` and `$nin`: \
             use conditions with `eq`, joined by `|`",
        ),
        _ => None,
    })
}

/// A complete DBRef is a value in lists.
fn is_refused_in_lists(document: &Document) -> bool {
    let Some(first) = document.keys().next() else {
        return false;
    };
    let is_reference = matches!(first.as_str(), "$ref" | "$id" | "$db")
        && document.contains_key("$ref")
        && document.contains_key("$id");
    first.starts_with('$') && !is_reference
}

/// `{$elemMatch: {$eq: value}}`: an element is equal to the value.
pub(super) fn element_equal(value: Bson) -> Op {
    Op::ElemMatch(Box::new(Element::Value(vec![Op::Eq(value)], Mark::Plain)))
}

/// Whether `{field: {$eq: value}}` also matches a field that has no element equal to the value: for
/// an array the field that is this array, and for null the missing field.
pub(super) fn matches_beside_elements(value: &Bson) -> bool {
    matches!(value, Bson::Array(_) | Bson::Null)
}

/// Whether `$all` does not compare the elements with the value: a regular expression is a pattern,
/// a document with operators a condition, and an array also matches the whole field.
pub(super) fn cannot_be_operand_of_all(value: &Bson) -> bool {
    matches!(value, Bson::RegularExpression(_)) || matches_beside_elements(value) || has_operator_names(value)
}

/// The operand of a comparison by order. Null is rejected, because the server compares it only with
/// null, and a regular expression, which it does not compare.
fn ordered_operand(path: &RawPath, op: fn(Bson) -> Op, value: Result<Bson, ValueError>) -> Result<Op> {
    let value = value.map_err(|e| Error::encode(path.dotted(), e))?;
    let reason = match value {
        Bson::Null => "null: omit the condition, or use `.is_null()` or `.is_not_null()`",
        Bson::RegularExpression(_) => "a regular expression: for a pattern use `regex`",
        value => return Ok(op(value)),
    };
    let op = op(Bson::Null);
    Err(Error::filter(
        path.dotted(),
        format!("`{}` cannot compare with {reason}", op.sent()),
    ))
}

/// A comparison by order.
pub(super) fn ordered<A: AsPath>(
    path: &A,
    op: fn(Bson) -> Op,
    value: Result<Bson, ValueError>,
) -> Filter<A::Root> {
    Filter::on(path, ordered_operand(path.raw(), op, value))
}

/// `$gte` and `$lte`.
pub(super) fn between<A: AsPath>(
    path: &A,
    least: Result<Bson, ValueError>,
    greatest: Result<Bson, ValueError>,
) -> Filter<A::Root> {
    let bounds = || {
        Ok(vec![
            ordered_operand(path.raw(), Op::Gte, least)?,
            ordered_operand(path.raw(), Op::Lte, greatest)?,
        ])
    };
    Filter::on_one_element(path, bounds())
}

pub(super) fn matching<A: AsPath>(path: &A, pattern: Pattern) -> Filter<A::Root> {
    let operator = pattern.into_operator();
    Filter::on(path, operator.map_err(|e| Error::encode(path.raw().dotted(), e)))
}

/// Whether the value is an array inside an array. The server does not compare its elements with the
/// operand.
pub(super) fn is_element<A: AsPath>(path: &A) -> bool {
    if A::own_arrays(path) == 0 || path.raw().is_plain() {
        return false;
    }
    let raw = value_path(path);
    raw.dotted().is_empty() || raw.arrays().last() == Some(&raw.dotted().len())
}

/// A document of operators, or one to compare with.
pub(super) fn raw<A: AsPath>(path: &A, condition: Document) -> Filter<A::Root> {
    Filter::on_any_element(path, Ok(operators(condition)))
}
