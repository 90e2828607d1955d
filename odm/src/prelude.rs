//! The traits whose methods build filters, updates and sorts: `use marula::prelude::*;`.

pub use crate::models::insert::Insert as _;
pub use crate::models::model::Model;
pub use crate::models::patch::Patch as _;
pub use crate::path::PathOps;
pub use crate::term::filter::FilterOps;
pub use crate::term::sort::SortOps;
pub use crate::term::update::{ArrayUpdateOps, UpdateOps};
