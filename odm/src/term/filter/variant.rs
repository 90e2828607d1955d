//! Conditions on the variant of an enum field. The derives call these in `is_…` accessors.

use crate::{
    ast::filter::Op,
    path::{Mode, Path},
    term::filter::Filter,
};

/// Condition for an internally or adjacently tagged variant: the tag is in the field `tag_name`.
pub fn tagged<R, T, M: Mode>(path: &Path<R, T, M>, tag_name: &'static str, tag: &'static str) -> Filter<R> {
    Filter::on(&path.step::<String>(tag_name), Ok(Op::Eq(tag.into())))
}

/// Condition for an externally tagged variant: the value is a document with the variant as its key.
pub fn keyed<R, T, M: Mode>(path: &Path<R, T, M>, tag: &'static str) -> Filter<R> {
    Filter::on(&path.step::<String>(tag), Ok(Op::Exists(true)))
}

/// Condition for a variant that is stored as a string: its name.
pub fn named<R, T, M: Mode>(path: &Path<R, T, M>, tag: &'static str) -> Filter<R> {
    Filter::on(path, Ok(Op::Eq(tag.into())))
}
