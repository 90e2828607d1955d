//! The traits whose methods build filters, updates and sorts: `use marula::prelude::*;`.

pub use crate::filter::FilterOps;
pub use crate::model::Model;
pub use crate::path::PathOps;
pub use crate::sort::SortOps;
pub use crate::update::{ArrayUpdateOps, UpdateOps};
