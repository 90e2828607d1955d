//! The conditions of a filter: comparisons of fields, which are encoded without an intermediate
//! document, or a document.

use std::borrow::Cow;

use serde::ser::Error as _;

use crate::bson::{Bson, Document, DocumentWriter, EncodeError, IntoDocument, RawDocumentBuf, doc};
use crate::error::Result;
use crate::filter::combine;

/// Conditions that must all match.
#[derive(Clone, Debug)]
pub(crate) enum Conditions {
    /// No conditions, by [`Filter::everything`](crate::Filter::everything): the only filter without
    /// conditions that a write accepts. No combination of filters returns it.
    Everything,
    /// Comparisons of distinct fields. Without comparisons: [`Filter::default`](crate::Filter), which
    /// adds no condition to another filter.
    Flat(Vec<Comparison>),
    /// Any other conditions, as a filter document. An empty one matches every document.
    Tree(Document),
}

/// `{path: {operator: value}}`.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(super) path: Cow<'static, str>,
    /// `None` for `{path: value}`.
    pub(super) operator: Option<&'static str>,
    pub(super) value: Bson,
}

impl Comparison {
    fn into_tree(self) -> (String, Bson) {
        let value = match self.operator {
            Some(operator) => Bson::Document(doc! { operator: self.value }),
            None => self.value,
        };
        (self.path.into_owned(), value)
    }
}

/// Whether a filter document has a condition on such a path. The conditions on the elements of an array are those on
/// the array.
fn is_mentioned(filter: &Document, is_meant: &dyn Fn(&str) -> bool) -> bool {
    filter.iter().any(|(name, value)| match value {
        _ if !name.starts_with('$') => is_meant(name),
        expression if name == "$expr" => is_read(expression, is_meant),
        Bson::Array(filters) => filters
            .iter()
            .filter_map(Bson::as_document)
            .any(|filter| is_mentioned(filter, is_meant)),
        Bson::Document(filter) => is_mentioned(filter, is_meant),
        _ => false,
    })
}

/// Whether a filter document has `$expr`, also within `$and`, `$or` and `$nor`.
fn has_expression(filter: &Document) -> bool {
    filter.iter().any(|(name, value)| match (name.as_str(), value) {
        ("$expr", _) => true,
        ("$and" | "$or" | "$nor", Bson::Array(filters)) => {
            filters.iter().filter_map(Bson::as_document).any(has_expression)
        }
        _ => false,
    })
}

/// Whether an expression reads such a path, `"$path"`.
fn is_read(expression: &Bson, is_meant: &dyn Fn(&str) -> bool) -> bool {
    match expression {
        Bson::String(text) => text.strip_prefix('$').is_some_and(|path| {
            let of_root = path
                .strip_prefix("$ROOT.")
                .or_else(|| path.strip_prefix("$CURRENT."));
            is_meant(of_root.unwrap_or(path))
        }),
        Bson::Array(all) => all.iter().any(|expression| is_read(expression, is_meant)),
        Bson::Document(all) => all.values().any(|expression| is_read(expression, is_meant)),
        _ => false,
    }
}

/// Whether a filter document compares the value at such a path with another one than null.
fn is_compared(filter: &Document, is_meant: &dyn Fn(&str) -> bool) -> bool {
    filter.iter().any(|(name, value)| match value {
        _ if !name.starts_with('$') => is_meant(name) && is_comparison(value),
        Bson::Array(filters) => filters
            .iter()
            .filter_map(Bson::as_document)
            .any(|filter| is_compared(filter, is_meant)),
        _ => false,
    })
}

/// Whether a filter document compares the field at the path with such a value.
fn has_operand(filter: &Document, path: &str, is_meant: &dyn Fn(&Bson) -> bool) -> bool {
    filter.iter().any(|(name, value)| match value {
        Bson::Array(filters) if name.starts_with('$') => filters
            .iter()
            .filter_map(Bson::as_document)
            .any(|filter| has_operand(filter, path, is_meant)),
        Bson::Document(operators) if name == path => operators
            .iter()
            .any(|(operator, value)| is_operand(operator, value, is_meant)),
        value => name == path && is_meant(value),
    })
}

/// Whether an operator compares a field with such a value.
fn is_operand(operator: &str, value: &Bson, is_meant: &dyn Fn(&Bson) -> bool) -> bool {
    match (operator, value) {
        ("$eq" | "$ne" | "$gt" | "$gte" | "$lt" | "$lte", value) => is_meant(value),
        ("$in" | "$nin", Bson::Array(values)) => values.iter().any(is_meant),
        ("$not", Bson::Document(operators)) => operators
            .iter()
            .any(|(operator, value)| is_operand(operator, value, is_meant)),
        _ => false,
    }
}

/// Whether the operand of a path, a value or a document of operators, is a comparison with another value than null.
fn is_comparison(operand: &Bson) -> bool {
    match operand {
        Bson::Null => false,
        Bson::Document(operators) if operators.keys().any(|key| key.starts_with('$')) => {
            operators.iter().any(|(operator, value)| match operator.as_str() {
                "$exists" | "$type" => false,
                "$not" => is_comparison(value),
                _ => *value != Bson::Null,
            })
        }
        _ => true,
    }
}

impl Conditions {
    /// No conditions: every document matches, and a combination with other conditions is these.
    pub(crate) fn none() -> Self {
        Self::Flat(Vec::new())
    }

    /// The result of a combination that every document matches.
    fn unnamed_everything() -> Self {
        Self::Tree(Document::new())
    }

    /// Whether these are [`none`](Conditions::none).
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::Flat(comparisons) if comparisons.is_empty())
    }

    /// The conditions as the result of a combination: not [`Everything`](Conditions::Everything).
    pub(super) fn unnamed(self) -> Self {
        match self {
            Self::Everything => Self::unnamed_everything(),
            other => other,
        }
    }

    /// `{_id: id}`.
    pub(crate) fn id(id: Bson) -> Self {
        // Without `$eq` the server would interpret a document as operators and a regular expression
        // as a pattern.
        let operator = match id {
            Bson::Document(_) | Bson::RegularExpression(_) => Some("$eq"),
            _ => None,
        };
        Self::Flat(vec![Comparison {
            path: Cow::Borrowed("_id"),
            operator,
            value: id,
        }])
    }

    /// Comparisons of distinct paths.
    pub(crate) fn comparisons(all: impl IntoIterator<Item = (String, &'static str, Bson)>) -> Self {
        let comparison = |(path, operator, value)| Comparison {
            path: Cow::Owned(path),
            operator: Some(operator),
            value,
        };
        Self::Flat(all.into_iter().map(comparison).collect())
    }

    /// Whether a condition is one on a path for which this returns `true`.
    pub(crate) fn mentions(&self, is_meant: &dyn Fn(&str) -> bool) -> bool {
        match self {
            Self::Everything => false,
            Self::Flat(comparisons) => comparisons.iter().any(|comparison| is_meant(&comparison.path)),
            Self::Tree(document) => is_mentioned(document, is_meant),
        }
    }

    /// Whether a condition compares the value at a path for which this returns `true`.
    pub(crate) fn compares(&self, is_meant: &dyn Fn(&str) -> bool) -> bool {
        match self {
            Self::Everything => false,
            Self::Flat(comparisons) => comparisons.iter().any(|comparison| {
                is_meant(&comparison.path)
                    && match comparison.operator {
                        Some("$exists" | "$type") => false,
                        Some("$not") => is_comparison(&comparison.value),
                        _ => comparison.value != Bson::Null,
                    }
            }),
            Self::Tree(document) => is_compared(document, is_meant),
        }
    }

    /// Whether a condition compares the field at the path with a value for which this returns `true`.
    pub(crate) fn compares_with(&self, path: &str, is_meant: &dyn Fn(&Bson) -> bool) -> bool {
        match self {
            Self::Everything => false,
            Self::Flat(comparisons) => comparisons.iter().any(|comparison| {
                comparison.path == path
                    && match comparison.operator {
                        Some(operator) => is_operand(operator, &comparison.value, is_meant),
                        None => is_meant(&comparison.value),
                    }
            }),
            Self::Tree(document) => has_operand(document, path, is_meant),
        }
    }

    /// Whether a condition is an expression (`$expr`).
    pub(crate) fn has_expression(&self) -> bool {
        match self {
            Self::Everything | Self::Flat(_) => false,
            Self::Tree(document) => has_expression(document),
        }
    }

    /// Whether there are no conditions.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Everything => true,
            Self::Flat(comparisons) => comparisons.is_empty(),
            Self::Tree(document) => document.is_empty(),
        }
    }

    /// Disjunction.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (none, other) | (other, none) if none.is_none() => other.unnamed(),
            // Every document matches one of the two, so the result has no conditions.
            (Self::Everything, _) | (_, Self::Everything) => Self::unnamed_everything(),
            (a, b) if a.is_unnamed_everything() || b.is_unnamed_everything() => Self::unnamed_everything(),
            (nothing, other) | (other, nothing) if nothing.is_nothing() => other,
            (a, b) => Self::Tree(combine::or(a.into_tree(), b.into_tree())),
        }
    }

    /// Whether the only condition is that a field is equal to a value.
    pub(crate) fn is_only(&self, path: &str) -> bool {
        matches!(self, Self::Flat(all) if all.len() == 1) && self.equality(path).is_some()
    }

    /// The conditions as a filter document.
    pub(crate) fn into_tree(self) -> Document {
        match self {
            Self::Everything => Document::new(),
            Self::Flat(comparisons) => comparisons.into_iter().map(Comparison::into_tree).collect(),
            Self::Tree(document) => document,
        }
    }

    /// Whether every document matches although this is not [`Everything`](Conditions::Everything):
    /// there are no conditions, or all of them always match.
    pub(crate) fn is_unnamed_everything(&self) -> bool {
        match self {
            Self::Everything => false,
            Self::Flat(comparisons) => comparisons
                .iter()
                .all(|c| c.operator.is_some_and(|o| combine::is_always_true(o, &c.value))),
            Self::Tree(document) => combine::matches_everything(document),
        }
    }

    /// Whether no document matches, such as for [`Filter::nothing`](crate::Filter::nothing).
    fn is_nothing(&self) -> bool {
        matches!(self, Self::Tree(document) if combine::matches_nothing(document))
    }

    /// The value that a field must be equal to, if the conditions require one.
    pub(crate) fn equality(&self, path: &str) -> Option<&Bson> {
        match self {
            Self::Everything => None,
            Self::Flat(comparisons) => {
                comparisons
                    .iter()
                    .filter(|c| c.path == path)
                    .find_map(|c| match (c.operator, &c.value) {
                        (None | Some("$eq"), value) => Some(value),
                        (Some("$in"), Bson::Array(values)) => combine::only(values),
                        _ => None,
                    })
            }
            Self::Tree(document) => combine::equality(document, path),
        }
    }

    /// Conjunction.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Everything, all) | (all, Self::Everything) if all.is_empty() => Self::unnamed_everything(),
            (Self::Everything, all) | (all, Self::Everything) => all,
            (Self::Flat(mut a), Self::Flat(b)) if b.iter().all(|b| a.iter().all(|a| a.path != b.path)) => {
                a.extend(b);
                Self::Flat(a)
            }
            (a, b) => Self::Tree(combine::and(a.into_tree(), b.into_tree())),
        }
    }

    /// Rejects conditions on the root document itself.
    pub(crate) fn check_placed(&self) -> Result<()> {
        match self {
            Self::Flat(comparisons) if comparisons.iter().any(|c| c.path.is_empty()) => {
                Err(combine::unplaced())
            }
            Self::Flat(_) | Self::Everything => Ok(()),
            Self::Tree(document) => combine::check_placed(document),
        }
    }
}

impl IntoDocument for Conditions {
    fn into_raw_document(self) -> Result<RawDocumentBuf, EncodeError> {
        let comparisons = match self {
            Self::Tree(document) => return document.into_raw_document(),
            Self::Flat(comparisons) => comparisons,
            Self::Everything => Vec::new(),
        };
        let mut bytes = Vec::with_capacity(64);
        let mut filter = DocumentWriter::new(&mut bytes);
        let document = filter.begin();
        for Comparison {
            path,
            operator,
            value,
        } in &comparisons
        {
            match operator {
                Some(operator) => {
                    let condition = filter.begin_document(path);
                    filter.bson(operator, value);
                    filter.end(condition);
                }
                None => filter.bson(path, value),
            }
        }
        filter.end(document);
        filter.finish()?;
        RawDocumentBuf::from_bytes(bytes).map_err(EncodeError::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(path: &'static str, operator: &'static str, value: i32) -> Conditions {
        Conditions::Flat(vec![Comparison {
            path: Cow::Borrowed(path),
            operator: Some(operator),
            value: Bson::Int32(value),
        }])
    }

    #[test]
    fn both_forms_have_the_same_encoding() {
        let regex = Bson::RegularExpression(crate::bson::Regex {
            pattern: crate::bson::cstr!("a").into(),
            options: crate::bson::cstr!("i").into(),
        });
        let all = [
            Conditions::none(),
            Conditions::Everything,
            Conditions::id(Bson::Int32(1)),
            Conditions::id(Bson::Document(doc! { "a": 1 })),
            Conditions::id(regex),
            flat("a", "$gt", 1),
            flat("a", "$gt", 1).and(flat("b.c", "$lte", 2)),
            flat("a", "$gt", 1).and(flat("a", "$lt", 2)),
            flat("a", "$gt", 1).and(flat("a", "$gt", 2)),
            Conditions::none().and(flat("a", "$gt", 1)),
        ];
        for conditions in all {
            let tree = conditions.clone().into_tree();
            assert_eq!(conditions.is_empty(), tree.is_empty());
            let sent = conditions.into_raw_document().unwrap();
            assert_eq!(sent, tree.into_raw_document().unwrap());
        }
    }

    #[test]
    fn comparisons_of_the_same_field_become_a_document() {
        let two = flat("a", "$gt", 1).and(flat("b", "$gt", 1));
        assert!(matches!(&two, Conditions::Flat(all) if all.len() == 2));
        let tree = two.and(flat("a", "$lt", 5)).into_tree();
        assert_eq!(tree, doc! { "a": { "$gt": 1, "$lt": 5 }, "b": { "$gt": 1 } });
        assert!(flat("", "$gt", 1).check_placed().is_err());
        assert!(
            Conditions::Tree(doc! { "": { "$gt": 1 } })
                .check_placed()
                .is_err()
        );
    }

    #[test]
    fn a_key_with_nul_is_an_error() {
        assert!(flat("a\0b", "$gt", 1).into_raw_document().is_err());
    }
}
