//! Conditions of the filter operators.

use crate::bson::{Bson, Document};
use crate::error::{Error, Result, ValueError};
use crate::filter::{Filter, Pattern};
use crate::path::{AsPath, RawPath, value_path};

pub(super) fn compare<A: AsPath>(
    path: &A,
    operator: &'static str,
    value: Result<Bson, ValueError>,
) -> Filter<A::Root> {
    Filter::compare(
        path,
        operator,
        value.map_err(|e| Error::encode(path.raw().dotted(), e)),
    )
}

/// A comparison by order. Null is rejected: the server compares it only with null.
pub(super) fn ordered<A: AsPath>(
    path: &A,
    operator: &'static str,
    value: Result<Bson, ValueError>,
) -> Filter<A::Root> {
    if matches!(value, Ok(Bson::Null)) {
        return Filter::new(Err(unordered(path.raw(), operator)));
    }
    compare(path, operator, value)
}

pub(super) fn unordered(path: &RawPath, operator: &str) -> Error {
    Error::filter(
        path.dotted(),
        format!(
            "`{operator}` cannot compare with null: omit the condition, or use `.is_null()` or `.is_not_null()`"
        ),
    )
}

pub(super) fn matching<A: AsPath>(path: &A, pattern: Pattern) -> Filter<A::Root> {
    let condition = pattern.into_condition();
    Filter::on(path, condition.map_err(|e| Error::encode(path.raw().dotted(), e)))
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

pub(super) fn plain<A: AsPath>(path: &A, condition: Document) -> Filter<A::Root> {
    Filter::on(path, Ok(condition))
}
