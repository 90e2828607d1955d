//! Conditions on which variant an enum field holds; the derives call these for `is_…` accessors.

use crate::bson::doc;
use crate::filter::Filter;
use crate::path::{Mode, Path};

/// The variant's tag is in a field beside or around its content.
pub fn tagged<R, T, M: Mode>(path: &Path<R, T, M>, tag_name: &'static str, tag: &'static str) -> Filter<R> {
    Filter::on(&path.step::<String>(tag_name), Ok(doc! { "$eq": tag }))
}

/// The variant is the one key of a document.
pub fn keyed<R, T, M: Mode>(path: &Path<R, T, M>, tag: &'static str) -> Filter<R> {
    Filter::on(&path.step::<String>(tag), Ok(doc! { "$exists": true }))
}

/// The variant is stored as its name.
pub fn named<R, T, M: Mode>(path: &Path<R, T, M>, tag: &'static str) -> Filter<R> {
    Filter::on(path, Ok(doc! { "$eq": tag }))
}
