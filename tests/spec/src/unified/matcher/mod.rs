//! Whether a value is what a test expects: the root rules, loose numbers, and the `$$` operators.

mod operators;
#[cfg(test)]
mod tests;

use marula_driver::bson::{Bson, Document};

/// What operators ask of the test's entities.
pub(crate) trait Lookup {
    /// The BSON value of an entity.
    ///
    /// # Errors
    /// When there is no such entity, or when it is something else.
    fn value(&self, id: &str) -> Result<Bson, String>;

    /// The `lsid` of a session entity.
    ///
    /// # Errors
    /// As of [`value`](Self::value).
    fn session_id(&self, id: &str) -> Result<Document, String>;
}

/// Where the value is, for messages.
#[derive(Clone, Copy)]
struct Place<'a> {
    parent: Option<&'a Place<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl Place<'_> {
    const ROOT: Place<'static> = Place {
        parent: None,
        step: Step::Root,
    };

    fn text(&self) -> String {
        let before = self.parent.map(Place::text).unwrap_or_default();
        match self.step {
            Step::Root => "$".to_owned(),
            Step::Key(key) => format!("{before}.{key}"),
            Step::Index(index) => format!("{before}[{index}]"),
        }
    }

    fn fault<T>(&self, message: impl std::fmt::Display) -> Result<T, String> {
        Err(format!("{}: {message}", self.text()))
    }
}

/// Compares a value with what is expected of it. With `root`, a document may have keys that are not expected.
///
/// # Errors
/// The first difference and where it is; or an operator that is used wrongly.
pub(crate) fn matches(
    expected: &Bson,
    actual: Option<&Bson>,
    root: bool,
    lookup: &dyn Lookup,
) -> Result<(), String> {
    compare(expected, actual, root, lookup, &Place::ROOT)
}

/// As [`matches`], for a root document.
pub(crate) fn matches_root(
    expected: &Document,
    actual: &Document,
    lookup: &dyn Lookup,
) -> Result<(), String> {
    let (expected, actual) = (Bson::Document(expected.clone()), Bson::Document(actual.clone()));
    matches(&expected, Some(&actual), true, lookup)
}

/// The operator that a document is, with its operand.
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
    place: &Place<'_>,
) -> Result<(), String> {
    if let Bson::Document(document) = expected
        && let Some((name, operand)) = operator(document)
    {
        return operators::apply(name, operand, actual, root, lookup, place);
    }
    let Some(actual) = actual else {
        return place.fault(format!("expected {}, found nothing", show(expected)));
    };
    match (expected, actual) {
        (Bson::Document(expected), Bson::Document(actual)) => {
            documents(expected, actual, root, lookup, place)
        }
        (Bson::Array(expected), Bson::Array(actual)) => {
            if expected.len() != actual.len() {
                let found = show(&Bson::Array(actual.clone()));
                return place.fault(format!(
                    "expected {} element(s), found {}: {found}",
                    expected.len(),
                    actual.len()
                ));
            }
            for (index, (expected, actual)) in expected.iter().zip(actual).enumerate() {
                let place = Place {
                    parent: Some(place),
                    step: Step::Index(index),
                };
                if matches!(expected, Bson::Document(d) if operator(d).is_some_and(|(name, _)| name == "$$unsetOrMatches"))
                {
                    return place.fault("$$unsetOrMatches cannot be an element of an array");
                }
                compare(expected, Some(actual), false, lookup, &place)?;
            }
            Ok(())
        }
        _ if same_scalar(expected, actual) => Ok(()),
        _ => place.fault(format!("expected {}, found {}", show(expected), show(actual))),
    }
}

fn documents(
    expected: &Document,
    actual: &Document,
    root: bool,
    lookup: &dyn Lookup,
    place: &Place<'_>,
) -> Result<(), String> {
    for (key, value) in expected {
        if key.starts_with("$$") {
            return place.fault(format!("the operator {key} must stand alone"));
        }
        let place = Place {
            parent: Some(place),
            step: Step::Key(key),
        };
        compare(value, actual.get(key), false, lookup, &place)?;
    }
    if root {
        return Ok(());
    }
    match actual.keys().find(|key| !expected.contains_key(key.as_str())) {
        None => Ok(()),
        Some(key) => place.fault(format!(
            "unexpected key \"{key}\" in {}",
            show(&Bson::Document(actual.clone()))
        )),
    }
}

/// Numbers of 32 and 64 bits and doubles compare by value; everything else by type too.
fn same_scalar(expected: &Bson, actual: &Bson) -> bool {
    match (Number::of(expected), Number::of(actual)) {
        (Some(expected), Some(actual)) => expected.equals(actual),
        (None, None) => identical(expected, actual),
        _ => false,
    }
}

/// A number whose type does not matter.
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

/// Equal in type and value; the order of keys is free.
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

fn same_documents(a: &Document, b: &Document) -> bool {
    a.len() == b.len()
        && a.iter()
            .all(|(key, value)| b.get(key).is_some_and(|other| identical(value, other)))
}

/// The alias of a value's type that `$$type` and `$type` know.
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

/// A value for a message, cut short.
pub(crate) fn show(value: &Bson) -> String {
    const LONGEST: usize = 600;
    let text = marula_driver::bson::to_relaxed_json(value);
    let mut text = text.unwrap_or_else(|error| format!("<{error}>"));
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
        text.push('…');
    }
    format!("{text} ({})", type_name(value))
}
