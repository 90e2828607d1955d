//! object operators.

use super::{Function, NamedFunction};

pub(super) const FUNCTIONS: &[Function] = &[];
pub(super) const NAMED: &[NamedFunction] = &[];
