//! What can follow `|` in a filter.

use crate::{path::field::Embedded, term::filter::Filter};

/// A filter that can be an alternative of another one: of the same documents.
///
/// The operator `|` takes it, and not a [`Filter`], so that the compiler reports a condition on plain
/// elements of an array with a message of its own.
#[diagnostic::on_unimplemented(
    message = "`|` does not join a condition on `{R}` and a `{Self}`",
    label = "expected a condition on fields of the same documents",
    note = "conditions on plain elements of an array have no alternatives: use `is_in(..)`, in a filter also `elem_match(..) | elem_match(..)`"
)]
pub trait Alternative<R> {
    /// The filter.
    #[doc(hidden)]
    fn into_filter(self) -> Filter<R>;
}

#[diagnostic::do_not_recommend]
impl<R: Embedded> Alternative<R> for Filter<R> {
    fn into_filter(self) -> Filter<R> {
        self
    }
}
