//! The questions about conditions.

#![deny(clippy::wildcard_enum_match_arm)]

use std::borrow::Cow;
use std::ops::ControlFlow::{self, Break, Continue};

use super::element::Element;
use super::node::{Leaf, Mark, Node};
use super::op::Op;
use super::raw;
use crate::{
    ast::part::RawPart,
    base::{
        bson::Bson,
        error::{Error, Result},
    },
};

/// A condition in a tree.
#[derive(Clone, Copy)]
pub(crate) enum Seen<'a> {
    Leaf(&'a Leaf),
    Expr,
    Text,
    Raw(&'a RawPart),
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

/// A condition on a field that every document of a conjunction matches.
#[derive(Clone, Debug)]
pub(crate) struct Condition<'n> {
    pub(crate) path: Cow<'n, str>,
    pub(crate) op: &'n Op,
    /// The number of the `$elemMatch` whose element matches the condition; 0 outside of one.
    pub(crate) element: usize,
}

/// A conjunction: its conditions, and its disjunctions.
#[derive(Debug, Default)]
pub(crate) struct Conjunction<'n> {
    pub(crate) conditions: Vec<Condition<'n>>,
    /// The alternatives of each `$or`.
    pub(crate) disjunctions: Vec<&'n [Node]>,
    elements: usize,
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
            Node::Expr(_) => visit(Seen::Expr, at),
            Node::Text(_) => visit(Seen::Text, at),
            Node::Raw(raw) => visit(Seen::Raw(raw), at),
        }
    }

    /// The conditions of a conjunction. Those of encrypted fields, and negated ones, are left out.
    pub(crate) fn conjunction(&self) -> Conjunction<'_> {
        let mut all = Conjunction::default();
        self.add_to(&mut all, "", 0);
        all
    }

    fn add_to<'n>(&'n self, all: &mut Conjunction<'n>, array: &str, element: usize) {
        match self {
            Node::Leaf(leaf) if leaf.mark == Mark::Encrypted => {}
            Node::Leaf(leaf) => {
                let path = if array.is_empty() {
                    Cow::Borrowed(&*leaf.path)
                } else {
                    Cow::Owned(Self::joined(array, &leaf.path).into_owned())
                };
                let Op::ElemMatch(within) = &leaf.op else {
                    all.conditions.push(Condition {
                        path,
                        op: &leaf.op,
                        element,
                    });
                    return;
                };
                all.elements += 1;
                let element = all.elements;
                match &**within {
                    Element::Value(_, Mark::Encrypted) => {}
                    Element::Value(ops, Mark::Plain) => {
                        all.conditions.extend(ops.iter().map(|op| Condition {
                            path: path.clone(),
                            op,
                            element,
                        }));
                    }
                    Element::Fields(node) => node.add_to(all, &path, element),
                }
            }
            Node::Fields(parts) | Node::All(parts) => {
                parts.iter().for_each(|part| part.add_to(all, array, element));
            }
            Node::Any(parts) if array.is_empty() => all.disjunctions.push(parts),
            Node::Any(_)
            | Node::Default
            | Node::Everything
            | Node::Nor(_)
            | Node::Expr(_)
            | Node::Text(_)
            | Node::Raw(_) => {}
        }
    }

    /// Whether a condition is a document of the application.
    pub(crate) fn has_raw(&self) -> bool {
        self.any(|seen, _| matches!(seen, Seen::Raw(_)))
    }

    /// Whether a condition is a text search.
    pub(crate) fn has_text(&self) -> bool {
        self.any(|seen, _| matches!(seen, Seen::Text))
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

    /// Calls the function for each condition, and returns its first result that is not `None`.
    fn find<'n, T>(&'n self, mut wanted: impl FnMut(Seen<'n>, At<'_>) -> Option<T>) -> Option<T> {
        let mut found = None;
        let _ = self.each(&mut |seen, at| {
            found = wanted(seen, at);
            if found.is_some() { Break(()) } else { Continue(()) }
        });
        found
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
            Seen::Expr | Seen::Text => false,
            Seen::Raw(part) => {
                let mut is_found = false;
                if at.array.is_empty() {
                    raw::each_condition(&part.document, &mut |path, op| is_found |= is_wanted(path, &op));
                }
                is_found
            }
        })
    }

    /// Whether a condition selects an element of the array at the path: one on the array or on a field of its elements that is
    /// not negated. A raw one counts as one.
    pub(crate) fn selects_element(&self, array: &str) -> bool {
        let array = without_positions(array);
        let is_on = |path: &str| is_within_elements(path, &array);
        self.any(|seen, at| {
            let is_outermost = at.array.is_empty() && !at.is_negated;
            match seen {
                Seen::Leaf(leaf) => is_outermost && leaf.op.negated().is_none() && is_on(&leaf.path),
                Seen::Expr | Seen::Text => false,
                Seen::Raw(part) => is_outermost && raw::mentions(&part.document, &is_on),
            }
        })
    }

    /// Whether a condition is an expression (`$expr`).
    pub(crate) fn has_expression(&self) -> bool {
        self.any(|seen, _| match seen {
            Seen::Leaf(leaf) => leaf.op.is_expression(),
            Seen::Expr => true,
            Seen::Text => false,
            Seen::Raw(part) => raw::has_expression(&part.document),
        })
    }

    /// The value that a field must be equal to, if the conditions require one.
    pub(crate) fn equality(&self, path: &str) -> Option<&Bson> {
        self.find(|seen, at| match seen {
            _ if !at.is_certain || !at.array.is_empty() => None,
            Seen::Leaf(leaf) if leaf.path == path => leaf.op.equality(),
            Seen::Raw(part) => raw::equality(&part.document, path),
            Seen::Leaf(_) | Seen::Expr | Seen::Text => None,
        })
    }

    /// Whether the only condition is that a field is equal to a value.
    pub(crate) fn is_only(&self, path: &str) -> bool {
        matches!(self, Node::Leaf(leaf) if leaf.path == path && leaf.op.equality().is_some())
    }

    /// The first condition on an encrypted field: on one of these paths or inside of it, or by an operator of encrypted
    /// fields.
    pub(crate) fn encrypted(&self, fields: &[String]) -> Option<String> {
        self.find(|seen, at| {
            let Seen::Leaf(leaf) = seen else { return None };
            let path = Self::joined(at.array, &leaf.path);
            let mut fields = fields.iter().filter(|field| !field.is_empty());
            let field = fields.find(|field| is_within_elements(&path, field)).cloned();
            field.or_else(|| (leaf.mark == Mark::Encrypted).then(|| path.into_owned()))
        })
    }

    /// The first of these encrypted fields that is in a value which a condition compares with another one than null. An empty path
    /// is in every document.
    pub(crate) fn compares_around(&self, fields: &[String]) -> Option<String> {
        self.find(|seen, at| {
            let Seen::Leaf(leaf) = seen else { return None };
            let path = without_positions(&Self::joined(at.array, &leaf.path));
            let is_around = |field: &&String| {
                if field.is_empty() {
                    leaf.op.compares_document()
                } else {
                    leaf.op.compares_whole()
                        && is_within_elements(field, &path)
                        && !is_within_elements(&path, field)
                }
            };
            fields.iter().find(is_around).cloned()
        })
    }

    /// Whether a document of the application is a part that it does not state to be
    /// [unchecked](RawPart::is_unchecked).
    pub(crate) fn has_raw_part(&self) -> bool {
        self.any(|seen, _| matches!(seen, Seen::Raw(part) if !part.is_unchecked))
    }

    /// The first of these fields that a document of the application has a condition on.
    pub(crate) fn named_in_raw_part(&self, fields: &[String]) -> Option<String> {
        self.find(|seen, at| {
            let Seen::Raw(part) = seen else { return None };
            let is_about = |field: &str, name: &str| {
                let path = Self::joined(at.array, name);
                is_within_elements(&path, field) || is_within_elements(field, &without_positions(&path))
            };
            let mut fields = fields.iter();
            fields
                .find(|field| raw::mentions(&part.document, &|name| is_about(field, name)))
                .cloned()
        })
    }

    /// The first operator that is not a condition on a field, such as `$where`, and not `$comment`.
    pub(crate) fn operator_beside_fields(&self) -> Option<String> {
        self.find(|seen, at| match seen {
            Seen::Leaf(leaf) => leaf.op.is_expression().then(|| "$expr".to_owned()),
            Seen::Expr => Some("$expr".to_owned()),
            Seen::Text => Some("$text".to_owned()),
            Seen::Raw(part) if at.array.is_empty() => {
                raw::operator_beside_fields(&part.document).map(str::to_owned)
            }
            Seen::Raw(_) => None,
        })
    }

    /// The path of the first condition that is an `$elemMatch`.
    pub(crate) fn path_of_elem_match(&self) -> Option<String> {
        self.find(|seen, at| match seen {
            Seen::Leaf(leaf) => matches!(leaf.op, Op::ElemMatch(_)).then(|| leaf.path.to_string()),
            Seen::Raw(part) if at.array.is_empty() => raw::path_of_elem_match(&part.document),
            Seen::Raw(_) | Seen::Expr | Seen::Text => None,
        })
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
            if let Node::Raw(part) = part {
                raw::only_operators(&part.document)
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

/// Whether a path is `outer`, or inside of it, in all elements of arrays. A position in the path is a name only where `outer` has it.
fn is_within_elements(path: &str, outer: &str) -> bool {
    let mut names = path.split('.');
    outer
        .split('.')
        .all(|outer| names.by_ref().find(|name| *name == outer || !is_position(name)) == Some(outer))
}

fn is_position(name: &str) -> bool {
    name.starts_with('$') || name.bytes().all(|byte| byte.is_ascii_digit())
}

/// A path without the positions of elements of arrays.
fn without_positions(path: &str) -> String {
    let names: Vec<&str> = path.split('.').filter(|name| !is_position(name)).collect();
    names.join(".")
}
