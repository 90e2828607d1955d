//! Writes conditions: as bytes, as a document, and as text without values.

#![deny(clippy::wildcard_enum_match_arm)]

use std::borrow::Cow;

use super::element::Element;
use super::node::{Leaf, Node};
use super::op::Op;
use super::raw;
use crate::{
    ast::sink::{Documents, Sink, to_bytes},
    base::bson::{Bson, Document, EncodeError, IndexKey, RawDocumentBuf, doc},
};

/// Where the paths of the conditions are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keys<'a> {
    /// In the documents themselves.
    Own,
    /// In a part of them: below this path, or at it if their own path is empty.
    Under(&'a str),
}

impl<'a> Keys<'a> {
    pub(super) fn path(self, path: &'a str) -> Cow<'a, str> {
        match self {
            Keys::Own => Cow::Borrowed(path),
            Keys::Under(outer) if path.is_empty() => Cow::Borrowed(outer),
            Keys::Under(outer) => Cow::Owned(format!("{outer}.{path}")),
        }
    }
}

impl Node {
    /// Writes the conditions into a document that was begun.
    pub(crate) fn encode<S: Sink>(&self, keys: Keys<'_>, to: &mut S) {
        match self {
            Node::Default | Node::Everything => {}
            Node::Leaf(leaf) => leaf.encode(&[], keys, to),
            Node::Fields(parts) => encode_document(parts, keys, to),
            Node::All(parts) => encode_parts("$and", parts, keys, to),
            Node::Any(parts) => encode_parts("$or", parts, keys, to),
            Node::Nor(parts) => encode_parts("$nor", parts, keys, to),
            Node::Expr(expression) => to.value("$expr", expression),
            Node::Text(search) => to.document("$text", search),
            Node::Raw(raw) => raw::encode(&raw.document, keys, to),
        }
    }

    /// The conditions as a document.
    pub(crate) fn to_document(&self) -> Document {
        self.to_document_of(Keys::Own)
    }

    /// The conditions in the form in which they are sent.
    pub(crate) fn to_bytes(&self) -> Result<RawDocumentBuf, EncodeError> {
        to_bytes(|to| self.encode(Keys::Own, to))
    }

    /// The conditions as a document of paths at another place.
    pub(crate) fn to_document_of(&self, keys: Keys<'_>) -> Document {
        Documents::of(|to| self.encode(keys, to))
    }
}

/// Writes the parts of a document. The operators of one path are written together.
fn encode_document<S: Sink>(parts: &[Node], keys: Keys<'_>, to: &mut S) {
    for (at, part) in parts.iter().enumerate() {
        let Node::Leaf(leaf) = part else {
            part.encode(keys, to);
            continue;
        };
        let is_written = parts[..at]
            .iter()
            .any(|part| matches!(part, Node::Leaf(before) if before.key() == leaf.key()));
        if !is_written {
            leaf.encode(&parts[at + 1..], keys, to);
        }
    }
}

fn encode_parts<S: Sink>(operator: &str, parts: &[Node], keys: Keys<'_>, to: &mut S) {
    let array = to.begin_array(operator);
    for (at, part) in parts.iter().enumerate() {
        let document = to.begin_document(IndexKey::new(at).as_str());
        part.encode(keys, to);
        to.end(document);
    }
    to.end(array);
}

impl Leaf {
    /// Writes the condition, with the operators that follow on the same path.
    fn encode<S: Sink>(&self, following: &[Node], keys: Keys<'_>, to: &mut S) {
        let path = keys.path(&self.path);
        if let Op::Is(value) = &self.op {
            return to.value(&path, value);
        }
        if let Op::EncryptedText(part, text) = &self.op {
            let expression = Op::encrypted_text(self.op.sent(), *part, &path, text);
            return to.document("$expr", &expression);
        }
        let operators = to.begin_document(&path);
        self.op.encode(to);
        for part in following {
            if let Node::Leaf(leaf) = part
                && leaf.key() == self.path
            {
                leaf.op.encode(to);
            }
        }
        to.end(operators);
    }
}

impl Op {
    /// Writes the operator into a document of operators.
    fn encode<S: Sink>(&self, to: &mut S) {
        let name = self.sent();
        match self {
            // These are no operators of a field, and no document of operators contains them.
            Op::Is(_) | Op::EncryptedText(..) => {}
            Op::Eq(value)
            | Op::Ne(value)
            | Op::Gt(value)
            | Op::Gte(value)
            | Op::Lt(value)
            | Op::Lte(value) => to.value(name, value),
            Op::In(values) | Op::Nin(values) | Op::All(values) => to.values(name, values),
            Op::AllElements(values) => {
                let equal = |value: &Bson| doc! { "$elemMatch": { "$eq": value } };
                let all: Vec<Bson> = values.iter().map(equal).map(Bson::Document).collect();
                to.values(name, &all);
            }
            Op::Exists(present) => to.bool(name, *present),
            Op::Type(alias) => to.str(name, alias),
            Op::Regex(regex) => {
                to.value(name, &regex.pattern);
                if let Some(options) = &regex.options {
                    to.value("$options", options);
                }
            }
            Op::Mod(divisor, remainder) => {
                to.values(name, &[Bson::Int64(*divisor), Bson::Int64(*remainder)]);
            }
            Op::Size(number) | Op::Bits(_, number) => to.i64(name, *number),
            Op::Geo(_, operand) => to.value(name, operand),
            Op::ElemMatch(element) => {
                let begun = to.begin_document(name);
                element.encode(to);
                to.end(begun);
            }
            Op::Not(ops) => {
                let begun = to.begin_document(name);
                ops.iter().for_each(|op| op.encode(to));
                to.end(begun);
            }
            Op::Raw(raw) => to.value(name, &raw.1),
        }
    }
}

impl Element {
    /// Writes the conditions into a document that was begun.
    fn encode<S: Sink>(&self, to: &mut S) {
        match self {
            Element::Value(ops, _) => ops.iter().for_each(|op| op.encode(to)),
            Element::Fields(node) => node.encode(Keys::Own, to),
        }
    }

    pub(crate) fn to_document(&self) -> Document {
        Documents::of(|to| self.encode(to))
    }
}
