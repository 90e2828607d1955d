//! The changes of an update.
//!
//! [`Operator`] is the only list of update operators: its table answers every question about them.
//! [`Operators`] are the changes of one update, without conflicts, which one encoder writes.

mod change;
mod operator;
mod operators;

pub(crate) use change::{ArrayFilter, Change, Variant};
pub(crate) use operator::{AroundEncrypted, Inserted, Operator};
pub(crate) use operators::{Operators, own_filter};

use crate::ast::part::RawPart;

/// An update, ready to be sent.
#[derive(Clone, Debug)]
pub(crate) enum Changes {
    Operators(Operators),
    /// The stages of an aggregation pipeline.
    Stages(Vec<RawPart>),
}

#[cfg(test)]
mod tests;
