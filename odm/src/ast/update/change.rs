//! One operator on one path.

use std::borrow::Cow;

use super::operator::Operator;
use crate::{
    ast::filter::{Node, Op},
    base::{bson::Bson, error::Error},
};

/// The condition of a filtered positional segment, `$[f0]`.
pub(crate) type ArrayFilter = Result<Node, Box<Error>>;

/// An operator on a path.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) operator: Operator,
    pub(crate) path: Cow<'static, str>,
    pub(crate) operand: Bson,
    /// The conditions of `$[f0]`, `$[f1]` … in the path.
    pub(crate) array_filters: Vec<ArrayFilter>,
    /// The enum variants that the path goes through, except those inside elements that have an
    /// array filter.
    pub(crate) variants: Vec<Variant>,
}

impl Change {
    /// A change of a path without array filters and variants.
    pub(crate) fn new(operator: Operator, path: impl Into<Cow<'static, str>>, operand: Bson) -> Self {
        Change {
            operator,
            path: path.into(),
            operand,
            array_filters: Vec::new(),
            variants: Vec::new(),
        }
    }

    /// The paths that the operator changes.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &str> {
        let second = match (&self.operator, &self.operand) {
            (Operator::Rename, Bson::String(to)) => Some(to.as_str()),
            _ => None,
        };
        [&*self.path].into_iter().chain(second)
    }

    /// The value that the field has afterwards, if the operator states it.
    pub(crate) fn set_value(&self) -> Option<&Bson> {
        matches!(self.operator, Operator::Set | Operator::SetOnInsert).then_some(&self.operand)
    }
}

/// The variant that a stored value must have for an update of its fields to apply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variant {
    /// The path of the tag, or of the content of an externally tagged variant.
    pub(crate) path: String,
    /// The tag; `None` for an externally tagged variant.
    pub(crate) tag: Option<&'static str>,
}

impl Variant {
    /// The operator that matches a value of the variant at the path.
    pub(crate) fn op(tag: Option<&'static str>) -> Op {
        match tag {
            Some(tag) => Op::Eq(tag.into()),
            None => Op::Exists(true),
        }
    }

    /// The condition that all values have these variants.
    pub(crate) fn conditions(variants: Vec<Variant>) -> Node {
        let condition = |variant: Variant| Node::leaf(variant.path, Self::op(variant.tag));
        Node::document(variants.into_iter().map(condition).collect())
    }
}
