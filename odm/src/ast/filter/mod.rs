//! The tree of the conditions of a filter.
//!
//! A filter is built by the combinations of [`Node`], which decide what is one document and what is an
//! `$and`. Every question about it is a function over one walk ([`Node::each`]), and one encoder writes
//! every form.

mod element;
mod encode;
mod node;
mod op;
mod raw;
mod walk;

pub(crate) use element::Element;
pub(crate) use encode::Keys;
pub(crate) use node::{Leaf, Mark, Node};
pub(crate) use op::{Bits, Bounds, Geo, Op, Part, Regex};
pub(crate) use raw::operators;
pub(crate) use walk::{Condition, Seen};

#[cfg(test)]
mod tests;
