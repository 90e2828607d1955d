//! What a filter holds: comparisons of fields, which most filters consist of and which are written straight to bytes, or a
//! document.

use std::borrow::Cow;

use serde::ser::Error as _;

use crate::bson::{Bson, Document, DocumentWriter, EncodeError, IntoDocument, RawDocumentBuf, doc};
use crate::error::Result;
use crate::filter::combine;

/// Conditions that all must hold.
#[derive(Clone, Debug)]
pub(crate) enum Conditions {
    /// One for each of several fields, of which no two are the same.
    Flat(Vec<Comparison>),
    /// All others.
    Tree(Document),
}

/// `{path: {operator: value}}`.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(super) path: Cow<'static, str>,
    /// None for `{path: value}`.
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

impl Conditions {
    /// What every document fulfils.
    pub(crate) fn none() -> Self {
        Self::Flat(Vec::new())
    }

    /// `{_id: id}`.
    pub(crate) fn id(id: Bson) -> Self {
        // Read as operators and as a pattern where `$eq` does not say that they are values.
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

    /// Whether every document fulfils them.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Flat(comparisons) => comparisons.is_empty(),
            Self::Tree(document) => document.is_empty(),
        }
    }

    /// As a document.
    pub(crate) fn into_tree(self) -> Document {
        match self {
            Self::Flat(comparisons) => comparisons.into_iter().map(Comparison::into_tree).collect(),
            Self::Tree(document) => document,
        }
    }

    /// These and others.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Flat(mut a), Self::Flat(b)) if b.iter().all(|b| a.iter().all(|a| a.path != b.path)) => {
                a.extend(b);
                Self::Flat(a)
            }
            (a, b) => Self::Tree(combine::and(a.into_tree(), b.into_tree())),
        }
    }

    /// Refuses conditions on the root document itself.
    pub(crate) fn check_placed(&self) -> Result<()> {
        match self {
            Self::Flat(comparisons) if comparisons.iter().any(|c| c.path.is_empty()) => {
                Err(combine::unplaced())
            }
            Self::Flat(_) => Ok(()),
            Self::Tree(document) => combine::check_placed(document),
        }
    }
}

impl IntoDocument for Conditions {
    fn into_raw_document(self) -> Result<RawDocumentBuf, EncodeError> {
        let comparisons = match self {
            Self::Tree(document) => return document.into_raw_document(),
            Self::Flat(comparisons) => comparisons,
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
    fn both_forms_are_sent_as_the_same_bytes() {
        let regex = Bson::RegularExpression(crate::bson::Regex {
            pattern: crate::bson::cstr!("a").into(),
            options: crate::bson::cstr!("i").into(),
        });
        let all = [
            Conditions::none(),
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
    fn only_comparisons_of_different_fields_stay_flat() {
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
    fn a_key_that_no_document_can_hold_is_an_error() {
        assert!(flat("a\0b", "$gt", 1).into_raw_document().is_err());
    }
}
