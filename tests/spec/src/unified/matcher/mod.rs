//! Matches values as the test format specifies: root documents, flexible numeric comparison, and
//! the `$$` operators.

mod operators;

#[cfg(test)]
mod tests;

use marula_driver::bson::{Bson, Document};
pub(crate) use operators::bytes_of_hex;

/// Access to entities for operators.
pub(crate) trait Lookup {
    /// The BSON value of an entity.
    ///
    /// # Errors
    /// Returns an error if the entity does not exist or is not a value.
    fn value(&self, id: &str) -> Result<Bson, String>;

    /// The `lsid` of a session entity.
    ///
    /// # Errors
    /// As for [`value`](Self::value).
    fn session_id(&self, id: &str) -> Result<Document, String>;
}

/// The path of a value, for messages.
#[derive(Clone, Copy)]
struct ValuePath<'a> {
    parent: Option<&'a ValuePath<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl ValuePath<'_> {
    const ROOT: ValuePath<'static> = ValuePath {
        parent: None,
        step: Step::Root,
    };

    fn text(&self) -> String {
        let before = self.parent.map(ValuePath::text).unwrap_or_default();
        match self.step {
            Step::Root => "$".to_owned(),
            Step::Key(key) => format!("{before}.{key}"),
            Step::Index(index) => format!("{before}[{index}]"),
        }
    }

    fn mismatch<T>(&self, message: impl std::fmt::Display) -> Result<T, String> {
        Err(format!("{}: {message}", self.text()))
    }
}

/// Matches a value against an expected one. With `root`, a document may have additional keys.
///
/// # Errors
/// Returns the first difference with its path, or an error for an invalid operator.
pub(crate) fn matches(
    expected: &Bson,
    actual: Option<&Bson>,
    root: bool,
    lookup: &dyn Lookup,
) -> Result<(), String> {
    compare(expected, actual, root, lookup, &ValuePath::ROOT)
}

/// Matches a root document.
pub(crate) fn matches_root(
    expected: &Document,
    actual: &Document,
    lookup: &dyn Lookup,
) -> Result<(), String> {
    let (expected, actual) = (Bson::Document(expected.clone()), Bson::Document(actual.clone()));
    matches(&expected, Some(&actual), true, lookup)
}

/// Returns the operator and operand of a document with one `$$` key.
fn operator(document: &Document) -> Option<(&str, &Bson)> {
    let mut pairs = document.iter();
    match (pairs.next(), pairs.next()) {
        (Some((key, operand)), None) if key.starts_with("$$") => Some((key, operand)),
        _ => None,
    }
}

fn compare(
    expected: &Bson,
    actual: Option<&Bson>,
    root: bool,
    lookup: &dyn Lookup,
    path: &ValuePath<'_>,
) -> Result<(), String> {
    if let Bson::Document(document) = expected
        && let Some((name, operand)) = operator(document)
    {
        return operators::apply(name, operand, actual, root, lookup, path);
    }
    let Some(actual) = actual else {
        return path.mismatch(format!("expected {}, found nothing", show(expected)));
    };
    match (expected, actual) {
        (Bson::Document(expected), Bson::Document(actual)) => documents(expected, actual, root, lookup, path),
        (Bson::Array(expected), Bson::Array(actual)) => {
            if expected.len() != actual.len() {
                let found = show(&Bson::Array(actual.clone()));
                return path.mismatch(format!(
                    "expected {} element(s), found {}: {found}",
                    expected.len(),
                    actual.len()
                ));
            }
            for (index, (expected, actual)) in expected.iter().zip(actual).enumerate() {
                let path = ValuePath {
                    parent: Some(path),
                    step: Step::Index(index),
                };
                if matches!(expected, Bson::Document(d) if operator(d).is_some_and(|(name, _)| name == "$$unsetOrMatches"))
                {
                    return path.mismatch("$$unsetOrMatches cannot be an element of an array");
                }
                compare(expected, Some(actual), false, lookup, &path)?;
            }
            Ok(())
        }
        _ if same_scalar(expected, actual) => Ok(()),
        _ => path.mismatch(format!("expected {}, found {}", show(expected), show(actual))),
    }
}

fn documents(
    expected: &Document,
    actual: &Document,
    root: bool,
    lookup: &dyn Lookup,
    path: &ValuePath<'_>,
) -> Result<(), String> {
    for (key, value) in expected {
        if key.starts_with("$$") {
            return path.mismatch(format!("the operator {key} must be the only key"));
        }
        let path = ValuePath {
            parent: Some(path),
            step: Step::Key(key),
        };
        compare(value, actual.get(key), false, lookup, &path)?;
    }
    if root {
        return Ok(());
    }
    match actual.keys().find(|key| !expected.contains_key(key.as_str())) {
        None => Ok(()),
        Some(key) => path.mismatch(format!(
            "unexpected key \"{key}\" in {}",
            show(&Bson::Document(actual.clone()))
        )),
    }
}

/// Compares 32-bit and 64-bit integers and doubles by value, other scalars by type and value.
fn same_scalar(expected: &Bson, actual: &Bson) -> bool {
    match (Number::of(expected), Number::of(actual)) {
        (Some(expected), Some(actual)) => expected.equals(actual),
        (None, None) => identical(expected, actual),
        _ => false,
    }
}

/// A number compared by value.
#[derive(Clone, Copy)]
enum Number {
    Whole(i64),
    Float(f64),
}

impl Number {
    fn of(value: &Bson) -> Option<Self> {
        match value {
            Bson::Int32(value) => Some(Self::Whole(i64::from(*value))),
            Bson::Int64(value) => Some(Self::Whole(*value)),
            Bson::Double(value) => Some(Self::Float(*value)),
            _ => None,
        }
    }

    fn as_f64(self) -> f64 {
        match self {
            Self::Whole(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    fn equals(self, other: Self) -> bool {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => a == b,
            (a, b) => a.as_f64() == b.as_f64() || (a.as_f64().is_nan() && b.as_f64().is_nan()),
        }
    }

    fn at_most(self, other: Self) -> bool {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => a <= b,
            (a, b) => a.as_f64() <= b.as_f64(),
        }
    }
}

/// Returns whether the values are equal in type and value. Key order is ignored.
pub(crate) fn identical(a: &Bson, b: &Bson) -> bool {
    match (a, b) {
        (Bson::Document(a), Bson::Document(b)) => same_documents(a, b),
        (Bson::Array(a), Bson::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| identical(a, b))
        }
        (Bson::JavaScriptCodeWithScope(a), Bson::JavaScriptCodeWithScope(b)) => {
            a.code == b.code && same_documents(&a.scope, &b.scope)
        }
        (Bson::Double(a), Bson::Double(b)) => a == b || (a.is_nan() && b.is_nan()),
        (a, b) => a == b,
    }
}

/// Like [`identical`], but an expected document with the operator `$$type` matches all values of its
/// types.
pub(crate) fn identical_or_typed(expected: &Bson, actual: &Bson) -> bool {
    match (expected, actual) {
        (Bson::Document(document), _) if operator(document).is_some_and(|(name, _)| name == "$$type") => {
            document
                .get("$$type")
                .is_some_and(|types| operators::of_type(types, Some(actual), &ValuePath::ROOT).is_ok())
        }
        (Bson::Document(expected), Bson::Document(actual)) => {
            expected.len() == actual.len()
                && expected.iter().all(|(key, value)| {
                    actual
                        .get(key)
                        .is_some_and(|actual| identical_or_typed(value, actual))
                })
        }
        (Bson::Array(expected), Bson::Array(actual)) => {
            expected.len() == actual.len()
                && expected
                    .iter()
                    .zip(actual)
                    .all(|(expected, actual)| identical_or_typed(expected, actual))
        }
        _ => identical(expected, actual),
    }
}

fn same_documents(a: &Document, b: &Document) -> bool {
    a.len() == b.len()
        && a.iter()
            .all(|(key, value)| b.get(key).is_some_and(|other| identical(value, other)))
}

/// The alias of a value's type in `$$type` and `$type`.
pub(crate) fn type_name(value: &Bson) -> &'static str {
    match value {
        Bson::Double(_) => "double",
        Bson::String(_) => "string",
        Bson::Array(_) => "array",
        Bson::Document(_) => "object",
        Bson::Boolean(_) => "bool",
        Bson::Null => "null",
        Bson::RegularExpression(_) => "regex",
        Bson::JavaScriptCode(_) => "javascript",
        Bson::JavaScriptCodeWithScope(_) => "javascriptWithScope",
        Bson::Int32(_) => "int",
        Bson::Int64(_) => "long",
        Bson::Timestamp(_) => "timestamp",
        Bson::Binary(_) => "binData",
        Bson::ObjectId(_) => "objectId",
        Bson::DateTime(_) => "date",
        Bson::Symbol(_) => "symbol",
        Bson::Decimal128(_) => "decimal",
        Bson::Undefined => "undefined",
        Bson::MaxKey => "maxKey",
        Bson::MinKey => "minKey",
        Bson::DbPointer(_) => "dbPointer",
    }
}

/// Formats a value for a message, truncated.
pub(crate) fn show(value: &Bson) -> String {
    const MAX_LENGTH: usize = 600;
    let text = marula_driver::bson::to_relaxed_json(value);
    let mut text = text.unwrap_or_else(|error| format!("<{error}>"));
    if text.len() > MAX_LENGTH {
        let end = (0..=MAX_LENGTH).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
        text.push('…');
    }
    format!("{text} ({})", type_name(value))
}
