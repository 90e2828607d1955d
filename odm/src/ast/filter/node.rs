//! The tree of conditions, and its combinations.

#![deny(clippy::wildcard_enum_match_arm)]

use std::borrow::Cow;
use std::{iter, slice};

use super::op::Op;
use super::raw;
use crate::{
    ast::part::RawPart,
    base::bson::{Bson, Document},
};

/// Conditions on a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// No conditions, by `Filter::default()`: adds nothing to another filter.
    Default,
    /// No conditions, by `Filter::everything()`: the only filter without conditions that a write
    /// accepts. No combination of filters returns it.
    Everything,
    /// A condition on a field.
    Leaf(Leaf),
    /// Conditions that are written into one document. Not one alone: without any, this is a
    /// combination that every document matches.
    Fields(Vec<Node>),
    /// `$and`.
    All(Vec<Node>),
    /// `$or`.
    Any(Vec<Node>),
    /// `$nor`.
    Nor(Vec<Node>),
    /// `$expr`.
    Expr(Bson),
    /// `$text`.
    Text(Document),
    /// A filter document of the application.
    Raw(RawPart),
}

/// `{path: {operator: value}}`. The path of a condition on an array element itself is empty.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Leaf {
    pub(crate) path: Cow<'static, str>,
    pub(crate) op: Op,
    pub(crate) mark: Mark,
}

/// Whether the operator of a condition is one of an encrypted field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mark {
    #[default]
    Plain,
    Encrypted,
}

/// How many documents match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    /// Every document matches.
    Always,
    /// No document matches.
    Never,
    Depends,
}

impl Truth {
    pub(super) fn not(self) -> Self {
        match self {
            Truth::Always => Truth::Never,
            Truth::Never => Truth::Always,
            Truth::Depends => Truth::Depends,
        }
    }

    /// The truth of a conjunction.
    pub(super) fn all(parts: impl IntoIterator<Item = Truth>) -> Self {
        let mut all = Truth::Always;
        for part in parts {
            match part {
                Truth::Always => {}
                Truth::Never => return Truth::Never,
                Truth::Depends => all = Truth::Depends,
            }
        }
        all
    }

    /// The truth of a disjunction.
    pub(super) fn any(parts: impl IntoIterator<Item = Truth>) -> Self {
        Self::all(parts.into_iter().map(Truth::not)).not()
    }
}

/// Whether a part can be added to a document of conditions.
enum Fit {
    /// The document has no such key, or no such operator of the field.
    Adds,
    /// The document contains the part.
    Equal,
    Conflicts,
}

impl Node {
    pub(crate) fn leaf(path: impl Into<Cow<'static, str>>, op: Op) -> Self {
        Node::Leaf(Leaf {
            path: path.into(),
            op,
            mark: Mark::Plain,
        })
    }

    /// `{_id: id}`.
    pub(crate) fn id(id: Bson) -> Self {
        // Without `$eq` the server would interpret a document as operators and a regular expression
        // as a pattern.
        let is_syntax = matches!(id, Bson::Document(_) | Bson::RegularExpression(_));
        Self::leaf("_id", if is_syntax { Op::Eq(id) } else { Op::Is(id) })
    }

    /// Operators of one path. An operator occurs once in them.
    pub(crate) fn operators(path: Cow<'static, str>, ops: Vec<Op>, mark: Mark) -> Self {
        let paths = iter::repeat_n(path, ops.len());
        let leaf = |(path, op)| Node::Leaf(Leaf { path, op, mark });
        Self::document(paths.zip(ops).map(leaf).collect())
    }

    /// Conditions with different keys, in one document.
    pub(crate) fn document(mut parts: Vec<Node>) -> Self {
        match parts.len() {
            1 => parts.remove(0),
            _ => Node::Fields(parts),
        }
    }

    /// The result of a combination that every document matches.
    pub(crate) fn without_conditions() -> Self {
        Node::Fields(Vec::new())
    }

    /// Matches no document.
    pub(crate) fn nothing() -> Self {
        Node::Nor(vec![Self::without_conditions()])
    }

    /// The conditions as the result of a combination: not [`Node::Everything`].
    pub(crate) fn combined(self) -> Self {
        if self == Node::Everything {
            Self::without_conditions()
        } else {
            self
        }
    }

    /// Whether there are no conditions.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Node::Default | Node::Everything)
            || matches!(self, Node::Fields(parts) if parts.is_empty())
            || matches!(self, Node::Raw(raw) if raw.document.is_empty())
    }

    /// Conjunction: one document if the keys do not conflict, otherwise `$and`.
    pub(crate) fn and(self, other: Node) -> Node {
        match (self, other) {
            (Node::Default, Node::Default) => Node::Default,
            (a, b) if a.is_empty() && b.is_empty() => Self::without_conditions(),
            (empty, node) | (node, empty) if empty.is_empty() => node,
            (Node::All(mut parts), part) => {
                parts.push(part);
                Node::All(parts)
            }
            (a, b) => a.join(b),
        }
    }

    fn join(self, other: Node) -> Node {
        let fits = |document: &[Node]| -> Option<bool> {
            let mut all_equal = true;
            for part in other.parts() {
                match part.fit(document) {
                    Fit::Conflicts => return None,
                    Fit::Adds => all_equal = false,
                    Fit::Equal => {}
                }
            }
            Some(all_equal)
        };
        match fits(self.parts()) {
            Some(true) => self,
            Some(false) => {
                let mut document = self.into_parts();
                let own = document.len();
                let mut add = |part: Node| {
                    if !document[..own].iter().any(|known| known.is_same(&part)) {
                        document.push(part);
                    }
                };
                // A single part has no list of its own.
                if let Node::Fields(parts) = other {
                    parts.into_iter().for_each(add);
                } else {
                    add(other);
                }
                Node::Fields(document)
            }
            None => Node::All(vec![self, other]),
        }
    }

    /// The parts of the document.
    pub(super) fn parts(&self) -> &[Node] {
        if let Node::Fields(parts) = self {
            parts
        } else {
            slice::from_ref(self)
        }
    }

    pub(super) fn into_parts(self) -> Vec<Node> {
        if let Node::Fields(parts) = self {
            return parts;
        }
        let mut parts = Vec::with_capacity(2);
        parts.push(self);
        parts
    }

    /// Whether this part can be added to a document without changing the meaning of either.
    fn fit(&self, document: &[Node]) -> Fit {
        if document.iter().any(|part| part.is_same(self)) {
            return Fit::Equal;
        }
        let has_key = |key: &str| document.iter().any(|part| part.has_key(key));
        let is_free = match self {
            Node::Leaf(leaf) => document.iter().all(|part| leaf.is_mergeable_with(part)),
            Node::Raw(raw) => !raw.document.keys().any(|key| has_key(key)),
            Node::All(_) | Node::Any(_) | Node::Nor(_) | Node::Expr(_) | Node::Text(_) => {
                !self.operator().is_some_and(has_key)
            }
            // These have no keys, and `and` leaves them out.
            Node::Default | Node::Everything | Node::Fields(_) => true,
        };
        if is_free { Fit::Adds } else { Fit::Conflicts }
    }

    /// Whether both are sent as the same bytes. Documents with their fields in another order are equal, but the
    /// server distinguishes them.
    pub(crate) fn is_same(&self, other: &Node) -> bool {
        let bytes = |node: &Node| node.to_bytes().ok();
        self == other && bytes(self) == bytes(other)
    }

    /// Whether the part of a document has this key.
    fn has_key(&self, key: &str) -> bool {
        if let Node::Leaf(leaf) = self {
            leaf.key() == key
        } else if let Node::Raw(raw) = self {
            raw.document.contains_key(key)
        } else {
            self.operator() == Some(key)
        }
    }

    /// The operator of a condition that is not on a field.
    pub(super) fn operator(&self) -> Option<&'static str> {
        match self {
            Node::All(_) => Some("$and"),
            Node::Any(_) => Some("$or"),
            Node::Nor(_) => Some("$nor"),
            Node::Expr(_) => Some("$expr"),
            Node::Text(_) => Some("$text"),
            Node::Default | Node::Everything | Node::Leaf(_) | Node::Fields(_) | Node::Raw(_) => None,
        }
    }

    /// Disjunction. `a | b | c` is one `$or` of three.
    pub(crate) fn or(self, other: Node) -> Node {
        match (self, other) {
            (Node::Default, node) | (node, Node::Default) => node.combined(),
            // `or` leaves out alternatives that always or never match.
            (Node::Any(mut parts), part) if part.truth() == Truth::Depends => {
                parts.push(part);
                Node::Any(parts)
            }
            (a, b) => match (a.truth(), b.truth()) {
                // Every document matches one of the two, so the result has no conditions.
                (Truth::Always, _) | (_, Truth::Always) => Self::without_conditions(),
                (Truth::Never, _) => b,
                (_, Truth::Never) => a,
                (Truth::Depends, Truth::Depends) => Node::Any(vec![a, b]),
            },
        }
    }

    /// Negation.
    pub(crate) fn not(self) -> Node {
        Node::Nor(vec![self])
    }

    /// How many documents match.
    pub(crate) fn truth(&self) -> Truth {
        match self {
            Node::Default | Node::Everything => Truth::Always,
            Node::Leaf(leaf) => leaf.op.truth(),
            Node::Fields(parts) | Node::All(parts) => Truth::all(parts.iter().map(Node::truth)),
            Node::Any(parts) => Truth::any(parts.iter().map(Node::truth)),
            Node::Nor(parts) => Truth::any(parts.iter().map(Node::truth)).not(),
            Node::Expr(_) | Node::Text(_) => Truth::Depends,
            Node::Raw(raw) => raw::truth(&raw.document),
        }
    }

    /// Whether every document matches although the filter is not [`Node::Everything`], so that writes
    /// reject it.
    pub(crate) fn is_without_conditions(&self) -> bool {
        *self != Node::Everything && self.truth() == Truth::Always
    }
}

impl Leaf {
    /// The key in the filter document.
    pub(super) fn key(&self) -> &str {
        if self.op.is_expression() {
            "$expr"
        } else {
            &self.path
        }
    }

    /// Whether both can be in one document: they are conditions on different fields, or different
    /// operators of one field.
    fn is_mergeable_with(&self, part: &Node) -> bool {
        let Node::Leaf(other) = part else {
            return !part.has_key(self.key());
        };
        self.key() != other.key()
            || !(self.op.is_expression() || self.op.is_value() || other.op.is_value())
                && self.op.sent() != other.op.sent()
    }
}
