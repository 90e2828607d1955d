//! Conditions on one element of an array: the operand of `$elemMatch` and of `$pull`.

#![deny(clippy::wildcard_enum_match_arm)]

use super::node::{Leaf, Mark, Node};
use super::op::Op;
use crate::{
    ast::part::RawPart,
    base::{
        bson::Bson,
        error::{Error, Result},
    },
};

/// Conditions that the same element of an array must match.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Element {
    /// Operators on the element itself.
    Value(Vec<Op>, Mark),
    /// Conditions on the fields of an element.
    Fields(Node),
}

impl Element {
    /// The conditions on an element, of which those on the element itself have an empty path.
    pub(crate) fn of(node: Node) -> Result<Self> {
        let mut groups = Groups {
            value: Vec::new(),
            fields: Node::Default,
            mark: Mark::Plain,
        };
        groups.add(node);
        let Groups { value, fields, mark } = groups;
        if value.is_empty() {
            fields.check_placed()?;
            return Ok(Element::Fields(fields));
        }
        if !fields.is_empty() {
            return Err(Error::filter(
                "",
                "a condition on the whole element cannot be combined with conditions on its fields",
            ));
        }
        Ok(Element::Value(conjunction(value)?, mark))
    }

    /// The mark of the operators on the element itself.
    pub(crate) fn mark(&self) -> Mark {
        match self {
            Element::Value(_, mark) => *mark,
            Element::Fields(_) => Mark::Plain,
        }
    }

    /// The operators on the element itself.
    pub(super) fn operators(&self) -> &[Op] {
        match self {
            Element::Value(ops, _) => ops,
            Element::Fields(_) => &[],
        }
    }

    /// The operators on the element itself, for a place that takes no others.
    pub(crate) fn into_operators(self) -> Option<Vec<Op>> {
        match self {
            Element::Value(ops, _) => Some(ops),
            Element::Fields(node) => node.raw_operators(),
        }
    }
}

/// The conditions on an element, divided.
struct Groups {
    /// Operators on the element itself: in each group every operator is once.
    value: Vec<Vec<Op>>,
    fields: Node,
    mark: Mark,
}

impl Groups {
    fn add(&mut self, node: Node) {
        if !is_on_element(&node) {
            return self.add_fields(node);
        }
        if let Node::All(parts) = node {
            return parts.into_iter().for_each(|part| self.add(part));
        }
        let is_operator = |part: &Node| matches!(part, Node::Leaf(leaf) if leaf.path.is_empty());
        let (operators, others): (Vec<_>, Vec<_>) = node.into_parts().into_iter().partition(is_operator);
        let mut group = Vec::new();
        for part in operators {
            if let Node::Leaf(leaf) = part {
                self.push(leaf, &mut group);
            }
        }
        others.into_iter().for_each(|part| self.add(part));
        self.value.extend(Some(group).filter(|group| !group.is_empty()));
    }

    fn push(&mut self, leaf: Leaf, group: &mut Vec<Op>) {
        if let Op::Is(Bson::Document(document)) = leaf.op {
            // A raw condition without operators: the fields of the element.
            return self.add_fields(Node::Raw(RawPart::checked(document)));
        }
        if leaf.mark == Mark::Encrypted {
            self.mark = Mark::Encrypted;
        }
        group.push(leaf.op);
    }

    fn add_fields(&mut self, node: Node) {
        let fields = std::mem::replace(&mut self.fields, Node::Default);
        self.fields = fields.and(node);
    }
}

/// Whether a condition, or one of a conjunction, is on the element itself.
fn is_on_element(node: &Node) -> bool {
    match node {
        Node::Leaf(leaf) => leaf.path.is_empty(),
        Node::Fields(parts) | Node::All(parts) => parts.iter().any(is_on_element),
        Node::Default
        | Node::Everything
        | Node::Any(_)
        | Node::Nor(_)
        | Node::Expr(_)
        | Node::Text(_)
        | Node::Raw(_) => false,
    }
}

/// The operators of all groups. An operator that occurs twice is negated twice, because the server has
/// no `$and` for operators of one value.
fn conjunction(groups: Vec<Vec<Op>>) -> Result<Vec<Op>> {
    let has = |ops: &[Op], op: &Op| ops.iter().any(|other| other.sent() == op.sent());
    let mut merged: Vec<Op> = Vec::new();
    let mut rest = Vec::new();
    for group in groups.into_iter().map(without_not) {
        if group.iter().any(|op| has(&merged, op)) {
            rest.push(group);
        } else {
            merged.extend(group);
        }
    }
    if rest.is_empty() {
        return Ok(merged);
    }
    if merged.iter().any(|op| matches!(op, Op::Not(_))) {
        return Err(Error::filter(
            "",
            "`not` on an array element cannot be combined with a second condition that uses the same operator; use `ne`, \
             `not_in`, or one condition of each kind",
        ));
    }
    merged.push(Op::Not(vec![Op::Not(conjunction(rest)?)]));
    Ok(merged)
}

/// The same condition without `$not`, if it negates an operator that has an opposite.
fn without_not(mut group: Vec<Op>) -> Vec<Op> {
    for at in 0..group.len() {
        let [negated] = group[at].inner() else { continue };
        if let Some(opposite) = negated.opposite()
            && !group.iter().any(|op| op.sent() == opposite.sent())
        {
            group[at] = opposite;
        }
    }
    group
}
