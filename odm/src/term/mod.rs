//! The typed parts of calls: sorts, expressions, filters, searches, updates, and the paths of encrypted fields.

pub mod encryption;
pub mod expr;
pub mod filter;
pub mod search;
pub mod sort;
pub mod update;
