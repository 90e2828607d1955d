//! The questions about conditions.

#![deny(clippy::wildcard_enum_match_arm)]

use std::borrow::Cow;
use std::ops::ControlFlow::{self, Break, Continue};

use super::element::Element;
use super::node::{Leaf, Mark, Node};
use super::op::Op;
use super::raw;
use crate::bson::{Bson, Document};
use crate::error::{Error, Result};

/// A condition in a tree.
#[derive(Clone, Copy)]
pub(crate) enum Seen<'a> {
    Leaf(&'a Leaf),
    Expr(&'a Bson),
    Text,
    Raw(&'a Document),
}

/// The place of a condition.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    /// Whether every document that matches matches this condition.
    pub(crate) is_certain: bool,
    /// Whether the condition is below an `$nor`.
    pub(crate) is_negated: bool,
    /// The array whose elements an `$elemMatch` around the condition compares. Empty outside of one.
    pub(crate) array: &'a str,
}

type Visit<'v, 'n> = &'v mut dyn FnMut(Seen<'n>, At<'_>) -> ControlFlow<()>;

impl Node {
    /// Visits the conditions, those of an `$elemMatch` after the condition on the array.
    pub(crate) fn each<'n>(&'n self, visit: Visit<'_, 'n>) -> ControlFlow<()> {
        let at = At {
            is_certain: true,
            is_negated: false,
            array: "",
        };
        self.each_at(at, visit)
    }

    fn each_at<'n>(&'n self, at: At<'_>, visit: Visit<'_, 'n>) -> ControlFlow<()> {
        let uncertain = At {
            is_certain: false,
            ..at
        };
        match self {
            Node::Default | Node::Everything => Continue(()),
            Node::Leaf(leaf) => {
                visit(Seen::Leaf(leaf), at)?;
                let array = Self::joined(at.array, &leaf.path);
                leaf.op.each_in_elements(&array, visit)
            }
            Node::Fields(parts) | Node::All(parts) => parts.iter().try_for_each(|p| p.each_at(at, visit)),
            Node::Any(parts) => parts.iter().try_for_each(|p| p.each_at(uncertain, visit)),
            Node::Nor(parts) => {
                let is_negated = true;
                let negated = At {
                    is_negated,
                    ..uncertain
                };
                parts.iter().try_for_each(|p| p.each_at(negated, visit))
            }
            Node::Expr(expression) => visit(Seen::Expr(expression), at),
            Node::Text(_) => visit(Seen::Text, at),
            Node::Raw(document) => visit(Seen::Raw(document), at),
        }
    }

    /// Whether a condition is visited for which this returns `true`.
    fn any<'n>(&'n self, mut is_wanted: impl FnMut(Seen<'n>, At<'_>) -> bool) -> bool {
        let found = self.each(&mut |seen, at| {
            if is_wanted(seen, at) {
                Break(())
            } else {
                Continue(())
            }
        });
        found.is_break()
    }

    /// Whether a condition is one on a path for which this returns `true`. The conditions on the
    /// elements of an array are those on the array.
    pub(crate) fn mentions(&self, is_wanted: &dyn Fn(&str) -> bool) -> bool {
        self.any(|seen, at| match seen {
            Seen::Leaf(leaf) => at.array.is_empty() && is_wanted(&leaf.path),
            Seen::Expr(expression) => raw::reads(expression, is_wanted),
            Seen::Text => false,
            Seen::Raw(document) => at.array.is_empty() && raw::mentions(document, is_wanted),
        })
    }

    /// Whether a condition compares the value at a path for which this returns `true` with another
    /// value than null.
    pub(crate) fn compares(&self, is_wanted: &dyn Fn(&str) -> bool) -> bool {
        self.any_condition(&|path, op| is_wanted(path) && op.is_comparison())
    }

    /// Whether a condition compares the field at the path with a value for which this returns `true`.
    pub(crate) fn compares_with(&self, path: &str, is_wanted: &dyn Fn(&Bson) -> bool) -> bool {
        fn compares(op: &Op, is_wanted: &dyn Fn(&Bson) -> bool) -> bool {
            op.compared().iter().any(is_wanted) || op.inner().iter().any(|op| compares(op, is_wanted))
        }
        self.any_condition(&|name, op| name == path && compares(op, is_wanted))
    }

    fn any_condition(&self, is_wanted: &dyn Fn(&str, &Op) -> bool) -> bool {
        self.any(|seen, at| match seen {
            Seen::Leaf(leaf) => at.array.is_empty() && is_wanted(&leaf.path, &leaf.op),
            Seen::Expr(_) | Seen::Text => false,
            Seen::Raw(document) => {
                let mut is_found = false;
                if at.array.is_empty() {
                    raw::each_condition(document, &mut |path, op| is_found |= is_wanted(path, &op));
                }
                is_found
            }
        })
    }

    /// Whether a condition selects an element of the array at the path: one on the array or on a field of its elements that is
    /// not negated. A raw one counts as one.
    pub(crate) fn selects_element(&self, array: &str) -> bool {
        let is_on = |path: &str| {
            let mut names = without_positions(path);
            without_positions(array).all(|name| names.next() == Some(name))
        };
        self.any(|seen, at| {
            let is_outermost = at.array.is_empty() && !at.is_negated;
            match seen {
                Seen::Leaf(leaf) => is_outermost && leaf.op.negated().is_none() && is_on(&leaf.path),
                Seen::Expr(_) | Seen::Text => false,
                Seen::Raw(document) => is_outermost && raw::mentions(document, &is_on),
            }
        })
    }

    /// Whether a condition is an expression (`$expr`).
    pub(crate) fn has_expression(&self) -> bool {
        self.any(|seen, _| match seen {
            Seen::Leaf(leaf) => leaf.op.is_expression(),
            Seen::Expr(_) => true,
            Seen::Text => false,
            Seen::Raw(document) => raw::has_expression(document),
        })
    }

    /// The value that a field must be equal to, if the conditions require one.
    pub(crate) fn equality(&self, path: &str) -> Option<&Bson> {
        let mut equal = None;
        let _ = self.each(&mut |seen, at| {
            if at.is_certain && at.array.is_empty() {
                equal = match seen {
                    Seen::Leaf(leaf) if leaf.path == path => leaf.op.equality(),
                    Seen::Raw(document) => raw::equality(document, path),
                    Seen::Leaf(_) | Seen::Expr(_) | Seen::Text => None,
                };
            }
            if equal.is_some() { Break(()) } else { Continue(()) }
        });
        equal
    }

    /// Whether the only condition is that a field is equal to a value.
    pub(crate) fn is_only(&self, path: &str) -> bool {
        matches!(self, Node::Leaf(leaf) if leaf.path == path && leaf.op.equality().is_some())
    }

    /// The paths of the conditions by operators of encrypted fields.
    pub(crate) fn encrypted(&self) -> Vec<String> {
        let mut paths = Vec::new();
        let _ = self.each(&mut |seen, at| {
            if let Seen::Leaf(leaf) = seen
                && leaf.mark == Mark::Encrypted
            {
                paths.push(Self::joined(at.array, &leaf.path).into_owned());
            }
            Continue(())
        });
        paths
    }

    /// The first operator that is not a condition on a field, such as `$where`, and not `$comment`.
    pub(crate) fn operator_beside_fields(&self) -> Option<&str> {
        let mut operator = None;
        let _ = self.each(&mut |seen, at| {
            operator = match seen {
                Seen::Leaf(leaf) => leaf.op.is_expression().then_some("$expr"),
                Seen::Expr(_) => Some("$expr"),
                Seen::Text => Some("$text"),
                Seen::Raw(document) if at.array.is_empty() => raw::operator_beside_fields(document),
                Seen::Raw(_) => None,
            };
            if operator.is_some() {
                Break(())
            } else {
                Continue(())
            }
        });
        operator
    }

    /// The path of the first condition that is an `$elemMatch`.
    pub(crate) fn path_of_elem_match(&self) -> Option<String> {
        let mut found = None;
        let _ = self.each(&mut |seen, at| {
            found = match seen {
                Seen::Leaf(leaf) => matches!(leaf.op, Op::ElemMatch(_)).then(|| leaf.path.to_string()),
                Seen::Raw(document) if at.array.is_empty() => raw::path_of_elem_match(document),
                Seen::Raw(_) | Seen::Expr(_) | Seen::Text => None,
            };
            if found.is_some() { Break(()) } else { Continue(()) }
        });
        found
    }

    /// Rejects conditions on the root document itself, which the server does not support.
    pub(crate) fn check_placed(&self) -> Result<()> {
        let is_unplaced = self
            .any(|seen, at| at.array.is_empty() && matches!(seen, Seen::Leaf(leaf) if leaf.path.is_empty()));
        if is_unplaced {
            return Err(Error::filter(
                "",
                "the whole document cannot be compared; compare its fields",
            ));
        }
        Ok(())
    }

    /// The operators of raw filters that consist of them.
    pub(super) fn raw_operators(&self) -> Option<Vec<Op>> {
        let of_part = |part: &Node| {
            if let Node::Raw(document) = part {
                raw::only_operators(document)
            } else {
                None
            }
        };
        let all: Option<Vec<_>> = self.parts().iter().map(of_part).collect();
        Some(all?.into_iter().flatten().collect::<Vec<_>>()).filter(|ops| !ops.is_empty())
    }

    fn joined<'a>(array: &'a str, path: &'a str) -> Cow<'a, str> {
        match (array, path) {
            ("", path) => Cow::Borrowed(path),
            (array, "") => Cow::Borrowed(array),
            (array, path) => Cow::Owned(format!("{array}.{path}")),
        }
    }
}

impl Op {
    /// Visits the conditions on the fields of the elements of the array, also those that are negated.
    fn each_in_elements<'n>(&'n self, array: &str, visit: Visit<'_, 'n>) -> ControlFlow<()> {
        let Op::ElemMatch(element) = self else {
            return self
                .inner()
                .iter()
                .try_for_each(|op| op.each_in_elements(array, visit));
        };
        match &**element {
            Element::Value(ops, _) => ops.iter().try_for_each(|op| op.each_in_elements(array, visit)),
            Element::Fields(node) => {
                let at = At {
                    is_certain: false,
                    is_negated: false,
                    array,
                };
                node.each_at(at, visit)
            }
        }
    }
}

/// The names in a path, without the positions of elements of arrays.
fn without_positions(path: &str) -> impl Iterator<Item = &str> {
    let is_position = |name: &str| name.starts_with('$') || name.bytes().all(|byte| byte.is_ascii_digit());
    path.split('.').filter(move |name| !is_position(name))
}
